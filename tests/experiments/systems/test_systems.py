"""The table of systems: every row has an implementation, a test that exists, and something that shows it."""

import ast
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from dpassay.experiments.cli.listing import demos, entries
from dpassay.experiments.config.source import shipped
from dpassay.experiments.systems import FAMILIES, load, table
from dpassay.mechanisms.core.errors import ConfigError

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


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.title)
def test_a_row_leads_to_what_implements_and_shows_it(system):
    assert system.implementation
    for path in system.implementation:
        module, _, name = path.partition(":")
        assert hasattr(import_module(module), name), path
    kind, _, name = system.shown_by.removeprefix("dpassay ").partition(" ")
    shown = {"run": shipped, "demo": demos}.get(kind)
    assert name in shown() if shown else (CHECKOUT / system.shown_by).suffix == ".md", system.shown_by
    assert shown or (CHECKOUT / system.shown_by).exists(), system.shown_by
    assert system.guarantee
    assert system.relation


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.title)
def test_a_row_has_a_test_that_exists(system):
    file, _, test = TESTS[system.family][system.name].partition("::")
    assert test in names_in(file)


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
