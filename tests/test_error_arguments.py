"""Errors of the rooms that judge carry the argument they are about, which a configuration is shown the line of."""

import ast
from pathlib import Path

import pytest

import dpassay

ROOT = Path(dpassay.__file__).parent
FILES = sorted(path for room in ("attacks", "audit") for path in (ROOT / room).rglob("*.py"))


def raised(path):
    """Every `ParameterError(...)` of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ParameterError":
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_parameter_error_names_its_argument(path):
    nameless = [
        f"line {call.lineno}" for call in raised(path) if "argument" not in {keyword.arg for keyword in call.keywords}
    ]
    assert nameless == []


def test_there_are_errors_to_look_at():
    assert sum(1 for path in FILES for _ in raised(path)) > 100
