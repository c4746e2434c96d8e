"""The table of systems: every row has an implementation, a test that exists, and something that shows it."""

import ast
import re
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from dpassay.experiments.cli.listing import KINDS, demos, entries
from dpassay.experiments.config.source import CONFIGS, shipped
from dpassay.experiments.demos import document
from dpassay.experiments.systems import FAMILIES, load, table
from dpassay.mechanisms.core import ConfigError

CHECKOUT = Path(__file__).parents[3]
SYSTEMS = load()
TESTS = tomllib.loads(Path(__file__).with_name("tests_of_systems.toml").read_text())
"""Family -> name of a system -> "FILE::TEST"."""


@cache
def names_in(file):
    """Names of the tests of a file, methods as Class::method."""
    result = set()
    for node in ast.parse((CHECKOUT / file).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            result.add(node.name)
        elif isinstance(node, ast.ClassDef):
            result |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return result


def test_all_that_have_a_number_are_there():
    assert set(range(1, 124)) - {system.number for system in SYSTEMS} == set()


def test_no_number_and_no_name_stands_twice():
    numbers = [system.number for system in SYSTEMS if system.number is not None]
    assert len(numbers) == len(set(numbers))
    assert len({system.name for system in SYSTEMS}) == len(SYSTEMS)


def lacking(system):
    """What does not lead to an implementation, to what shows it, or to a statement."""
    for path in system.implementation:
        module, _, name = path.partition(":")
        if not hasattr(import_module(module), name):
            yield path
    kind, _, name = system.shown_by.removeprefix("dpassay ").partition(" ")
    shown = {"run": shipped, "demo": demos}.get(kind)
    page = CHECKOUT / system.shown_by
    if not (name in shown() if shown else page.suffix == ".md" and page.exists()):
        yield system.shown_by
    for field in ("implementation", "guarantee", "relation"):
        if not getattr(system, field):
            yield field


def test_every_row_leads_to_what_implements_and_shows_it():
    assert [(system.title, lack) for system in SYSTEMS for lack in lacking(system)] == []


@cache
def entries_of(name):
    """The names that an object has in the catalogues, such as "laplace" for Laplace."""
    places = [source for source, _ in KINDS.values() if isinstance(source, str)]
    split = [place.split(":") for place in places]
    catalogues = [getattr(import_module(f"dpassay.{module}"), attribute) for module, attribute in split]
    return {entry for one in catalogues for entry, path in one.entries.items() if path.endswith(f":{name}")}


@cache
def text_shown(shown_by):
    """The text of a page, of a config, or of a demo."""
    kind, _, name = shown_by.removeprefix("dpassay ").partition(" ")
    if kind == "run":
        return (CONFIGS / f"{name}.toml").read_text()
    if kind == "demo":
        return document(name).text
    return (CHECKOUT / shown_by).read_text()


def is_named(paths, text):
    """Whether a text names one of the objects, as in Python or as in a config."""
    objects = {path.partition(":")[2] for path in paths}
    names = objects.union(*map(entries_of, objects))
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names)


def test_what_shows_a_row_names_an_object_of_the_row():
    rows = [(system.title, system.shown_by, system.implementation) for system in SYSTEMS]
    assert [row for row in rows if not is_named(row[2], text_shown(row[1]))] == []


def test_an_object_that_a_text_does_not_name_is_noticed():
    text = text_shown("dpassay run laplace-count")
    assert is_named(["dpassay.mechanisms.noise.laplace:Laplace"], text)
    assert not is_named(["dpassay.mechanisms.accounting:ConcentratedDP"], text)
    assert not is_named(["dpassay.mechanisms.noise.laplace:Lap"], text)


def test_every_row_has_a_test_that_exists():
    tests = {system.title: TESTS[system.family][system.name].partition("::") for system in SYSTEMS}
    assert [title for title, (file, _, test) in tests.items() if test not in names_in(file)] == []


def test_every_test_belongs_to_a_row():
    named = {(family, name) for family, tests in TESTS.items() for name in tests}
    assert named == {(system.family, system.name) for system in SYSTEMS}


def test_the_command_line_lists_every_system():
    assert list(entries("systems")) == [system.title for system in SYSTEMS]


@pytest.mark.parametrize(
    ("text", "said"),
    [("[[system]]\nname = 'x'\n", "implementation"), ("[[sys", "definitions.toml"), ("x = 1\n", "system")],
)
def test_a_row_that_lacks_something_is_refused_by_file(text, said, tmp_path, monkeypatch):
    (tmp_path / "definitions.toml").write_text(text)
    monkeypatch.setattr(table, "__file__", str(tmp_path / "table.py"))
    with pytest.raises(ConfigError, match=said):
        load()


def test_families_are_in_the_order_of_their_numbers():
    numbers = [[system.number for system in SYSTEMS if system.family == family] for family in FAMILIES]
    flat = [number for family in numbers for number in family if number is not None]
    assert flat == sorted(flat)
