"""The structure of the package: no circular imports, imports in one direction, complete tables of contents."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import dpassay
from dpassay.mechanisms import core

ROOT = Path(dpassay.__file__).parent
ROOMS = ("mechanisms", "attacks", "audit", "testing", "experiments", "integrations")
FILES = sorted([*ROOT.glob("*.py"), *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))])
FOLDERS = sorted({path.parent for path in FILES})


def shown(path):
    return path.relative_to(ROOT).as_posix()


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in FILES}


@cache
def tree(path):
    return ast.parse(path.read_text())


def statements(node):
    """All statements of a module, those within others too: expressions, which are most of it, hold none."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield inner
            yield from statements(inner)


def imported(path):
    """Modules of the house that a file imports: inside functions and for types too."""
    package = path.relative_to(ROOT).parent.parts
    for node in statements(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join([*package[: len(package) - node.level + 1], *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in NAMES else base


def its_own_text(name, other):
    """A class may call the module next to it that writes its text, and which reads the class."""
    return other == f"{name.rpartition('.')[0]}.text"


def folder(name):
    """Name of the folder that a module lies in; a package is its own folder."""
    return name if NAMES[name].name == "__init__.py" else name.rpartition(".")[0]


def room(name):
    """Room of a module: the first two parts of its name."""
    return ".".join(name.split(".")[:2])


@cache
def graph():
    """What each module imports."""
    return {
        name: {other for other in imported(path) if other in NAMES and other != name and not its_own_text(name, other)}
        for name, path in NAMES.items()
    }


def circles(graph):
    """Groups of nodes that reach each other, by Tarjan's algorithm (1972)."""
    index, low, stack, groups = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                groups.append(sorted(group))

    for node in graph:
        if node not in index:
            visit(node)
    return groups


def grouped(key):
    """Imports between groups of modules; tables of contents, which import what they list, are left out."""
    groups = {}
    for name, others in graph().items():
        if NAMES[name].name != "__init__.py":
            groups.setdefault(key(name), set()).update(key(other) for other in others if key(other) != key(name))
    return groups


def test_no_modules_import_each_other():
    assert circles(graph()) == []


@pytest.mark.parametrize("key", [folder, room])
def test_no_folders_import_each_other(key):
    assert circles(grouped(key)) == []


def test_the_accountant_knows_no_mechanism():
    inside = ("mechanisms.accounting", "mechanisms.core")
    accountant = {name: others for name, others in graph().items() if name.startswith("mechanisms.accounting")}
    assert {other for others in accountant.values() for other in others if not other.startswith(inside)} == set()


def test_no_public_class_name_has_two_meanings():
    classes = {}
    for path in FILES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(shown(path))
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}


def test_no_import_runs_back_up():
    def level(name):
        room = name.partition(".")[0]
        return ROOMS.index(room) if room in ROOMS else len(ROOMS)  # what is installed above them: command and plugin

    back = [(name, other) for name, others in graph().items() for other in others if level(other) > level(name)]
    assert back == []


HEAVY = {"scipy.stats", "sklearn", "pandas", "matplotlib", "joblib", "dp_accounting"}
DRAWN = ("experiments.present.plots", "experiments.demos", "experiments.data.score_files")
"""What is asked for only where figures are drawn, a demo is shown, or a file of scores is read."""


def test_what_takes_long_to_import_is_imported_where_it_is_needed():
    """Within functions: scipy.stats alone takes a second, in each process that looks through a catalogue."""

    def loaded(path):
        for node in tree(path).body:
            names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            if isinstance(node, ast.ImportFrom):
                names = [] if node.level else [node.module, *(f"{node.module}.{name}" for name in names)]
            yield from (name for name in names if {name, name.partition(".")[0]} & HEAVY)

    results = {name: set(loaded(path)) for name, path in NAMES.items() if not name.startswith(DRAWN)}
    assert {name: heavy for name, heavy in results.items() if heavy} == {}


def test_a_room_is_listed_whole_in_its_init():
    """Each module and each room inside has a line in the docstring that begins with its name."""
    missing = {}
    for folder in (folder for folder in FOLDERS if (folder / "__init__.py").exists()):
        lines = (ast.get_docstring(tree(folder / "__init__.py")) or "").splitlines()
        here = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
        here |= {f"{path.name}/" for path in folder.iterdir() if (path / "__init__.py").exists()}
        missing[shown(folder)] = here - {line.split()[0] for line in lines if line}
    assert {folder: names for folder, names in missing.items() if names} == {}


CHECKOUT = Path(__file__).parent.parent
OUTSIDE = [
    *CHECKOUT.glob("*.md"),
    *(CHECKOUT / "docs").rglob("*.md"),
    *(CHECKOUT / "docs").rglob("*.py"),
    *(CHECKOUT / "benchmarks").glob("*.py"),
    *(CHECKOUT / "experiments").rglob("*.toml"),
    CHECKOUT / "pyproject.toml",
    CHECKOUT / "tests/conftest.py",
]


def test_a_function_that_only_its_module_uses_has_an_underscore():
    """Others are used in another module, page or benchmark, or listed in `__all__`, a catalogue or by a decorator.

    A function that nothing uses is one for users.
    """
    uses = Counter(word for path in [*FILES, *OUTSIDE] for word in set(re.findall(r"\w+", path.read_text())))
    apart = ("testing", "experiments.plugin", "pytest_plugin", "audit.results.witness.checker")  # called by name
    helpers = set()
    for name, path in NAMES.items():
        text = path.read_text()
        called = Counter(node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name))
        for node in tree(path).body if not name.startswith(apart) and "__all__" not in text else ():
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list:
                inside = sum(isinstance(n, ast.Name) and n.id == node.name for n in ast.walk(node))
                if uses[node.name] == 1 and called[node.name] > inside and f":{node.name}" not in text:
                    helpers.add((name, node.name))
    assert helpers == set()


def isolated():
    """Modules that an isolated process imports."""
    found, new = set(), {"mechanisms.adapters.functions.isolated_process"}
    while new:
        found |= new
        new = {other for name in new for other in graph()[name]} - found
    return found


def test_an_isolated_process_imports_python_numpy_and_modules_that_need_nothing_else():
    known = {*sys.stdlib_module_names, "numpy"}
    for name in isolated():
        assert NAMES[name].name != "__init__.py", name
        for node in statements(tree(NAMES[name])):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert {part.partition(".")[0] for part in names} <= known | {"pandas"}, name  # where it is loaded already


def test_names_of_the_core_are_imported_by_one_statement_where_a_line_holds_it():
    exported = set(dir(core))
    several = {}
    alone = {NAMES[name] for name in isolated()}  # which cannot import the whole core
    for path in (path for path in FILES if path.parent.name != "core" and path not in alone):
        lines = [
            node
            for node in tree(path).body
            if isinstance(node, ast.ImportFrom)
            and node.level
            and ".core." in f".{node.module}."
            and not node.module.endswith(("lazy_names", "fingerprint"))  # functions with the names of their modules
            and {alias.name for alias in node.names} <= exported
        ]
        names = sorted(alias.name for node in lines for alias in node.names)
        if len(lines) > 1 and len(f"from {'.' * lines[0].level}mechanisms.core import {', '.join(names)}") <= 120:
            several[shown(path)] = names
    assert several == {}


@pytest.mark.parametrize("room", ROOMS)
def test_the_tests_of_a_room_lie_in_the_same_folders(room):
    tests = Path(__file__).parent
    folders = {path.parent.relative_to(tests) for path in (tests / room).rglob("test_*.py")}
    assert {str(folder) for folder in folders if not (ROOT / folder).is_dir()} == set()


def test_no_folder_of_tests_passes_for_a_library():
    """pytest puts the folders of tests on the path, where what lies in them looks like a package of that name."""
    root = Path(__file__).parents[1]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    libraries = {re.match(r"[\w-]+", line)[0] for lines in extras.values() for line in lines}
    assert {"opacus", "ruff"} <= {name.partition("[")[0] for name in libraries}
    assert {path.name for path in (root / "tests").rglob("*") if path.is_dir()} & libraries == set()


def test_the_architecture_page_names_places_that_exist():
    text = (ROOT.parents[1] / "ARCHITECTURE.md").read_text()
    places = re.findall(r"`((?:mechanisms|attacks|audit|experiments|tests|docs)/[\w./-]*)`", text)
    assert len(places) > 60
    assert [place for place in places if not (ROOT.parents[1] / place).exists()] == []


def test_names_of_code_on_the_architecture_page_exist():
    text = (ROOT.parents[1] / "ARCHITECTURE.md").read_text()
    source = "\n".join(path.read_text() for path in FILES)
    names = set(re.findall(r"`([A-Z]\w+|[a-z]+_[a-z_]+|[A-Z]\w+\.\w+)`", text)) - {"CHANGELOG", "README"}
    assert len(names) >= 15
    assert sorted(name for name in names if not re.search(rf"\b{name.rpartition('.')[2]}\b", source)) == []


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("marker", ["not slow", "slow"])
def test_every_test_runs_in_exactly_one_part_of_make_test_all(marker):
    root = Path(__file__).parents[1]
    done = subprocess.run(["make", "--dry-run", "test-all"], cwd=root, capture_output=True, text=True, check=True)
    commands = [shlex.split(line) for line in done.stdout.splitlines() if " -m pytest " in line]
    parts = [words for words in commands if words[words.index("-m", 3) + 1] == marker]
    assert len(parts) >= 3
    times = {}
    for path in (root / "tests").rglob("test_*.py"):
        above = {place.relative_to(root).as_posix() for place in (path, *path.parents) if place.is_relative_to(root)}
        times[path] = [
            bool({word.rstrip("/") for word in words} & above)
            and not {word.removeprefix("--ignore=") for word in words if word.startswith("--ignore=")} & above
            for words in parts
        ].count(True)
    assert {name: n for name, n in times.items() if n != 1} == {}
