"""Pages of the reference: a page for each package with public names, from docstrings; and the command line."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
ROOMS = ("mechanisms", "attacks", "audit", "testing", "experiments", "integrations")
SPAN = re.compile(r"`(?:[\w.]+\.)?(\w+)(?:\([^`\n]*\))?`")
ENTRY = re.compile(r"[\"`]([a-z0-9]+(?:-[a-z0-9]+)*)[\"`]")
IMPORT = re.compile(r"^from (dpassay[\w.]*) import (?:\(([^)]*)\)|([^\n#]*))", re.MULTILINE)


def pages(users: Mapping[str, str]) -> dict[str, str]:
    """Return package -> Markdown of its page.

    Args:
        users: path of a page from the root of the site -> its text; names that its code imports are linked to it.
    """
    used, written, documented = uses(users), {}, {}
    for package in packages():
        names = public(package)
        module = import_module(package)
        own = [name for name in names if id(getattr(module, name)) not in documented]
        documented |= {id(getattr(module, name)): f"{package}.{name}" for name in own}
        others = [documented[id(getattr(module, name))] for name in names if name not in own]
        written[package] = page(package, own, others, used)
    return written


def packages() -> list[str]:
    """Return every package with public names, the shorter import path first."""
    found = ["dpassay"]
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("__init__.py")):
            package = ".".join(("dpassay", *path.parent.relative_to(ROOT).parts))
            if public(package) and package != "dpassay.experiments.cli":  # has a page of its own
                found.append(package)
    return sorted(found[1:], key=lambda name: (name.count("."), name))


def public(package: str) -> list[str]:
    """Return the names that a package exports: `from .laplace import Laplace as Laplace`."""
    path = ROOT.joinpath(*package.split(".")[1:], "__init__.py")
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names += [a.asname for a in node.names if a.asname == a.name and not a.name.startswith("_")]
    return sorted(dict.fromkeys(names), key=str.lower)


def uses(users: Mapping[str, str]) -> dict[str, list[str]]:
    """Return name -> pages that import it from dpassay, name it in code, or use its name in a configuration."""
    found = defaultdict(set)
    classes = registered()
    for path, text in users.items():
        for _, a, b in IMPORT.findall(text):
            names = re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#.*", "", a or b))
            for name in names:
                found[name].add(path)
        for name in SPAN.findall(text):
            if not name.islower():  # words such as `audit` are commands and keys as well
                found[name].add(path)
        for entry in ENTRY.findall(text):
            for name in classes.get(entry, ()):
                found[name].add(path)
    return {name: sorted(paths) for name, paths in found.items()}


def registered() -> dict[str, set[str]]:
    """Return name in a configuration -> names of the classes that it has in the catalogues."""
    from dpassay.experiments.cli.listing import KINDS

    found = defaultdict(set)
    for source, _ in KINDS.values():
        if isinstance(source, str):
            module, _, name = source.partition(":")
            for entry, place in getattr(import_module(f"dpassay.{module}"), name).entries.items():
                found[entry].add(place.partition(":")[2].partition(".")[0])
    return found


def page(package: str, own: Iterable[str], others: Iterable[str], used: Mapping[str, list[str]]) -> str:
    """Return the page of a package: its names with their docstrings, and the pages that use them."""
    module = import_module(package)
    summary = (inspect.getdoc(module) or "").partition("\n")[0]
    own = list(own)
    parts = [f"# {package}\n\n{summary}\n", ", ".join(f"{{py:obj}}`~{package}.{name}`" for name in own) + "\n"]
    for name in own:
        parts.append(f"```{{eval-rst}}\n{directive(module, name)}\n```\n")
        if name in used:
            links = ", ".join(f"[{Path(path).stem}](../../{path})" for path in used[name])
            parts.append(f"Pages that use `{name}`: {links}.\n")
    if others := sorted(others):
        listed = ", ".join(f"{{py:obj}}`{path}`" for path in others)
        parts.append(f"Importable from here too: {listed}.\n")
    return "\n".join(parts)


def directive(module: ModuleType, name: str) -> str:
    """Return the directive of autodoc for a name."""
    thing, path = getattr(module, name), f"{module.__name__}.{name}"
    if inspect.isclass(thing):
        members = ", ".join(methods(thing))
        return f".. autoclass:: {path}\n   :show-inheritance:\n" + (f"   :members: {members}\n" if members else "")
    return f".. autofunction:: {path}\n" if inspect.isroutine(thing) else f".. py:data:: {path}\n"


def methods(cls: type) -> list[str]:
    """Return the public methods that a class defines and describes itself, in their order."""
    found = []
    for name, value in vars(cls).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
        written = inspect.unwrap(function) if callable(function) else None
        if inspect.isfunction(written) and written.__doc__ and not name.startswith("_"):
            found.append(name)
    return found


def command_line() -> str:
    """Return the page of the command line, from its own help texts."""
    import click
    import typer

    from dpassay.experiments.cli.commands import app

    group = typer.main.get_command(app)
    parts = ["# Command line\n\nThe texts of `dpassay COMMAND --help`.\n"]
    context = click.Context(group, info_name="dpassay")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        with click.Context(command, info_name=f"dpassay {name}", max_content_width=110, terminal_width=110) as inner:
            help_text = plain_help(command, inner)
        parts.append(f"## dpassay {name}\n\n{help_text}")
    return "\n".join(parts)


def plain_help(command: object, context: object) -> str:
    """Return the help of a command: its docstring, and a table of its arguments and options."""
    rows = []
    for option in command.params:  # type: ignore[attr-defined]
        names = ", ".join(f"`{text}`" for text in option.opts) or f"`{option.name}`"
        rows.append(f"| {names} | {_cell(getattr(option, 'help', '') or '')} |\n")
    return f"{inspect.cleandoc(command.help or '')}\n\n| | |\n|---|---|\n{''.join(rows)}"  # type: ignore[attr-defined]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
