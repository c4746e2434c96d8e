"""Errors of the rooms that judge carry the argument they are about, which a configuration is shown the line of."""

import ast
from pathlib import Path

import dpassay

ROOT = Path(dpassay.__file__).parent
FILES = sorted(path for room in ("attacks", "audit") for path in (ROOT / room).rglob("*.py"))


def raised(path):
    """Every `ParameterError(...)` of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ParameterError":
            yield node


def test_a_parameter_error_names_its_argument():
    calls = [(path.relative_to(ROOT).as_posix(), call) for path in FILES for call in raised(path)]
    assert len(calls) > 100
    nameless = [
        f"{file}, line {call.lineno}"
        for file, call in calls
        if "argument" not in {keyword.arg for keyword in call.keywords}
    ]
    assert nameless == []
