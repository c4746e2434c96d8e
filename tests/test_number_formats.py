"""Numbers become text in one module: nowhere else in the package is a float formatted, texts of errors apart."""

import ast
import re

import pytest
from tests.test_structure import FILES, shown, tree

FLOAT_FORMAT = re.compile(r"[gGfFeE%]$")
OF_STRING = re.compile(r"\{[^{}]*:[^{}]*[gGfFeE%]\}|%[-+ #0-9.]*[gGfFeE]")
EXCEPTIONS = {
    "mechanisms/core/number_text.py": "the module of these formats",
    "audit/results/witness/checker.py": "a file that is copied beside a witness and runs without this package",
    "experiments/present/builds/badge.py": "coordinates of an SVG",
    "experiments/present/plots/style.py": "coordinates of an SVG",
    "experiments/present/plots/labels.py": "powers of ten of the ticks of an axis",
    "experiments/demos/execution.py": "columns of a user's table in one notation",
    "audit/recording/recorded.py": "as many digits as tell two recorded numbers apart",
}
"""File -> why it formats floats itself."""


def text_of(node):
    """The constant parts of a format, with a digit for what is computed."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in parts)


class FloatFormats(ast.NodeVisitor):
    """Lines with a format of a float, outside texts of errors."""

    def __init__(self):
        self.lines = []

    def visit_Raise(self, node):
        pass

    def visit_Call(self, node):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name.endswith("Error") or name == "require":
            return
        if name == "format":
            of_string = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Constant)
            built_in = isinstance(called, ast.Name) and len(node.args) > 1
            if (of_string and OF_STRING.search(str(called.value.value))) or (
                built_in and FLOAT_FORMAT.search(text_of(node.args[1]))
            ):
                self.lines.append(node.lineno)
        self.generic_visit(node)

    def visit_FormattedValue(self, node):
        if node.format_spec is not None and FLOAT_FORMAT.search(text_of(node.format_spec)):
            self.lines.append(node.lineno)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        left = node.left.value if isinstance(node.left, ast.Constant) else None
        if isinstance(node.op, ast.Mod) and isinstance(left, str) and OF_STRING.search(left):
            self.lines.append(node.lineno)
        self.generic_visit(node)


def float_formats(module):
    visitor = FloatFormats()
    visitor.visit(module)
    return visitor.lines


def test_numbers_become_text_in_one_module():
    found = {shown(path): lines for path in FILES if (lines := float_formats(tree(path)))}
    others = {name: lines for name, lines in found.items() if name not in EXCEPTIONS}
    assert not others, "use a function of mechanisms/core/number_text.py"
    assert found.keys() == EXCEPTIONS.keys(), "an exception that is no longer needed"


@pytest.mark.parametrize(
    ("code", "n"),
    [
        ('f"{x:.3g}"', 1),
        ('f"{x:.{digits}f}"', 1),
        ('f"{x:.0%}"', 1),
        ('format(x, ".2e")', 1),
        ('"{:.2f}".format(x)', 1),
        ('"%.3g" % x', 1),
        ('f"{n:,} of {name:<10}"', 0),
        ('raise ValueError(f"{x:g}")', 0),
        ("f'{shown(f\"{x:g}\")}'", 1),
    ],
)
def test_each_way_to_format_a_float_is_seen(code, n):
    assert len(float_formats(ast.parse(code))) == n
