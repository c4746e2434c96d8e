"""Write what documents and tables of contents take from the code: `make docs`. A test keeps them current.

Of hazards.md, learning.md and demos.md it writes the tables between "<!-- NAME -->" and "<!-- end -->"; of every
`__init__.py` the lines that name the modules and folders in it. The pages of all names and of all systems are for the
site only.
"""

import ast
import inspect
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dpassay.attacks.canaries import Canary, worst_case_initial
from dpassay.attacks.canaries.catalogue import catalogue as canaries
from dpassay.experiments import demos as documents
from dpassay.experiments.cli.listing import entries, kinds
from dpassay.experiments.config.sections import DataSection, OneRunSection
from dpassay.experiments.present.card.hazards import HAZARDS
from dpassay.experiments.systems import FAMILIES, System, load
from dpassay.mechanisms.core import Catalogue
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.catalogue import models, noises, samplings, schedules

HERE = Path(__file__).parent
ROOT = HERE.parent
LEARNING = HERE / "reference" / "learning.md"
HAZARDS_PAGE = HERE / "explanation" / "hazards.md"
DEMOS_PAGE = HERE / "reference" / "demos.md"
COURSE = HERE / "tutorials" / "course.md"
HOUR = re.compile(r"^### (\d+)\. ([^\n]*)\n\n\* \*\*Demos\*\*: (.*?)^\* \*\*Before", re.MULTILINE | re.DOTALL)
ROOMS = ("mechanisms", "attacks", "audit", "testing", "experiments", "integrations")
ENTRY = re.compile(r"\w+(\.py|/) |\s{8,}\S")  # a line of a table of contents, or its continuation
TESTS = HERE.parent / "tests" / "experiments" / "systems" / "tests_of_systems.toml"
"""The test of each system: family -> name of the system -> "FILE::TEST"."""
BLOCK = re.compile(r"(<!-- ((?!end)[\w -]+) -->\n\n).*?(\n?<!-- end -->)", re.DOTALL)
ARGS = re.compile(r"^Args:\n(.*?)(?:\n *\n|\Z)", re.DOTALL | re.MULTILINE)
ARGUMENT = re.compile(r"^ {4}(\w[\w, ]*): (.*(?:\n {5,}.*)*)", re.MULTILINE)

Options = dict[str, tuple[str, str]]
"""An option, or several joined by commas -> its default as TOML has it, and what the docstring says of it."""


def catalogue_page() -> str:
    """Every name of every kind, with a line on each."""
    parts = ["# Names\n\nAll names of a config and of the command line. `dpassay list KIND` shows the same.\n"]
    for kind, line in kinds().items():
        if kind == "systems":
            continue  # has a page of its own
        rows = [(f"`{name}`", said) for name, said in entries(kind).items()]
        parts.append(f"## {kind.capitalize()}\n\n{line[0].upper()}{line[1:]}\n\n{table(('name', 'what it is'), rows)}")
    return "\n".join(parts)


def systems_page() -> str:
    """Every system of the literature, by family: what it promises, and what implements, shows and tests it."""
    parts = [
        "# Systems\n\nWhat the literature describes, and where it is here. `dpassay list systems` shows it in short.\n"
    ]
    head = ("", "system", "guarantee", "relation", "implemented by", "shown by", "tested by")
    systems, tests = load(), tomllib.loads(TESTS.read_text())
    for family, title in FAMILIES.items():
        rows = [_system_row(system, tests[family][system.name]) for system in systems if system.family == family]
        if rows:
            parts.append(f"## {title}\n\n{table(head, rows)}")
    return "\n".join(parts)


def _system_row(system: System, test_id: str) -> tuple[str, ...]:
    shown = system.shown_by
    page = shown.removeprefix("docs/")
    link = os.path.relpath(HERE / page, HERE / "reference")
    implemented = ", ".join(f"`{path.partition(':')[2]}`" for path in system.implementation)
    file, _, test = test_id.partition("::")
    return (
        "" if system.number is None else str(system.number),
        system.name,
        system.guarantee,
        system.relation,
        implemented,
        f"[{page.rpartition('/')[2]}]({link})" if page != shown else f"`{shown}`",
        f"[{test.rpartition('::')[2].removeprefix('test_').replace('_', ' ')}](../../{file})",
    )


def learning_page() -> str:
    """The page as it is, with its tables written anew."""
    page = LEARNING.read_text()
    return BLOCK.sub(lambda block: f"{block[1]}{TABLES[block[2]]()}\n{block[3].lstrip()}", page)


def hazards_page() -> str:
    """The page as it is, with its table written anew."""
    page = HAZARDS_PAGE.read_text()
    return BLOCK.sub(lambda block: f"{block[1]}{hazards_table()}\n{block[3].lstrip()}", page)


def demos_page() -> str:
    """Return the page as it is, with the question, time and hour of each demo in its list."""
    page = DEMOS_PAGE.read_text()
    shows = dict(re.findall(r"^\| `([\w-]+)` \| [^|]* \| ([^|]*?) \|", page, re.MULTILINE))
    return BLOCK.sub(lambda block: f"{block[1]}{demos_table(shows)}\n{block[3].lstrip()}", page)


def demos_table(shows: Mapping[str, str]) -> str:
    """A row a demo, in the order of the course."""
    head = ("name", "question", "what it shows", "time", "hour of the course")
    rows = [
        (f"`{name}`", f"[{question}](../demos/{name}.md)", shows.get(name, ""), f"{seconds} s", str(hour))
        for name, (question, seconds, hour, _) in demos().items()
    ]
    return table(head, rows)


def demos() -> dict[str, tuple[str, int, int, str]]:
    """Return demo -> its question, seconds, and the number and title of its hour of the course, in that order."""
    found = {}
    for number, title, named in HOUR.findall(COURSE.read_text()):
        for name in re.findall(r"\.\./demos/([\w-]+)\.md", named):
            document = documents.document(name)
            found[name] = document.title, document.seconds, int(number), title
    return found


def hazards_table() -> str:
    """A row a hazard: its command and its cure, or why it is out of scope."""
    rows = [
        (
            str(hazard.number),
            hazard.name,
            (f"`{hazard.command}`" + (" (in part)" if hazard.partly else "")) if hazard.in_scope else "",
            hazard.see,
            hazard.cure,
        )
        for hazard in HAZARDS
    ]
    return table(("", "hazard", "command", "what to see", "cure"), rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in (head, *rows)]
    return f"{lines[0]}|{'---|' * len(head)}\n{''.join(lines[1:])}"


def options(thing: Any) -> Options:
    """The options of a class, those of its bases first, or of a function."""
    parameters = inspect.signature(thing).parameters
    found: Options = {}
    for one in reversed(inspect.getmro(thing)) if inspect.isclass(thing) else [thing]:
        section = ARGS.search(inspect.cleandoc(one.__doc__ or ""))  # indented before Python 3.13
        for names, said in ARGUMENT.findall(section[1] if section else ""):
            if all(name in parameters for name in names.split(", ")):
                defaults = [default_text(parameters[name].default) for name in names.split(", ")]
                found[names] = ", ".join(dict.fromkeys(defaults)), " ".join(said.split())
    return found


def default_text(default: Any) -> str:
    """As TOML has it; nothing where the key is left out."""
    return "required" if default is inspect.Parameter.empty else "" if default is None else f"`{json.dumps(default)}`"


def options_table(thing: Any, without: Collection[str] = ()) -> str:
    """A row an option."""
    rows = [
        (", ".join(f"`{name}`" for name in names.split(", ")), default, said)
        for names, (default, said) in options(thing).items()
        if names not in without
    ]
    return table(("option", "default", "what it is"), rows)


def names_table(catalogue: Catalogue, without: Collection[str] = ()) -> str:
    """A row a name, with its options in the last column."""
    rows = []
    for name in catalogue.entries:
        inside = [
            f"`{names}`{default and f' ({default})'}: {said}"
            for names, (default, said) in options(catalogue.get(name)).items()
            if names not in without
        ]
        rows.append((f"`{name}`", catalogue.summary(name), "<br>".join(inside)))
    return table(("name", "what it is", "options, with their defaults"), rows)


def section_table(section: type[BaseModel]) -> str:
    """A row a key of a table of a config."""
    fields = section.model_fields.items()
    return table(("key", "what stands there"), [(f"`{key}`", field.description or "") for key, field in fields])


def contents(folder: Path) -> str:
    """Return the `__init__.py` of a folder, with one line for each module and folder in it.

    A line is the name and the first line of the docstring. Text before and after the lines stays.
    """
    path = folder / "__init__.py"
    text = path.read_text()
    docstring = ast.parse(text).body[0]
    children = [child for child in sorted(folder.iterdir()) if _is_listed(child)]
    names = {child: f"{child.name}/" if child.is_dir() else child.name for child in children}
    width = max((len(name) for name in names.values()), default=0) + 3
    listing = [_entry(f"{names[child]:<{width}}", child) for child in children]
    lines = ast.get_docstring(ast.parse(text)).splitlines()
    first = next((i for i, line in enumerate(lines) if ENTRY.match(line)), len(lines))
    rest = [line for line in lines[first:] if not ENTRY.match(line)]
    parts = ["\n".join(block).strip("\n") for block in (lines[:first], listing, rest)]
    written = '"""' + "\n\n".join(part for part in parts if part) + ('\n"""' if listing or rest else '"""')
    source = text.splitlines(keepends=True)
    return written + "\n" + "".join(source[docstring.end_lineno :])


def _is_listed(child: Path) -> bool:
    return (child.suffix == ".py" and child.name != "__init__.py") or (child / "__init__.py").exists()


def _entry(name: str, child: Path) -> str:
    module = child / "__init__.py" if child.is_dir() else child
    summary = ast.get_docstring(ast.parse(module.read_text())).partition("\n")[0].rstrip(".")
    return textwrap.fill(name + summary, 120, subsequent_indent=" " * len(name))


def folders() -> list[Path]:
    """Return every folder of the package, the rooms first."""
    inside = [path.parent for room in ROOMS for path in sorted((ROOT / room).rglob("__init__.py"))]
    return [*inside]


TABLES = {
    "options of dp-sgd": lambda: options_table(DPSGD),
    "models": lambda: names_table(models),
    "samplings": lambda: names_table(samplings),
    "noises": lambda: names_table(noises),
    "schedules": lambda: names_table(schedules),
    "options of every canary": lambda: options_table(Canary),
    "canaries": lambda: names_table(canaries, without=options(Canary)),
    "options of worst-case": lambda: options_table(worst_case_initial, without=("model", "X, y")),
    "keys of data": lambda: section_table(DataSection),
    "keys of game": lambda: section_table(OneRunSection),
}


if __name__ == "__main__":
    HAZARDS_PAGE.write_text(hazards_page())
    DEMOS_PAGE.write_text(demos_page())
    LEARNING.write_text(learning_page())
    for folder in folders():
        (folder / "__init__.py").write_text(contents(folder))
