"""Execution of the cells of a document in one namespace, with what they print and display."""

from __future__ import annotations

import ast
import contextlib
import io
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ..present.plots.style import save
from .document import Cell, Document


@dataclass(frozen=True)
class Printed:
    """Text that a cell printed, or the `repr` of its last expression."""

    text: str


@dataclass(frozen=True)
class ShownTable:
    """DataFrame that a cell displays."""

    frame: pd.DataFrame

    @property
    def columns(self) -> list[tuple[str, list[str]]]:
        """Names and texts of the columns, the index first unless it only counts the rows."""
        index = self.frame.index
        counts_rows = isinstance(index, pd.RangeIndex) and index.name is None
        frame = self.frame if counts_rows else self.frame.reset_index()
        return [(str(name), _texts(frame[name])) for name in frame.columns]


@dataclass(frozen=True)
class ShownFigure:
    """Figure that a cell displays.

    Args:
        figure: the figure.
        alt: text alternative; the attribute `alt` of the figure.
        files: the SVG and PNG files that it was saved to, if any.
    """

    figure: Figure
    alt: str
    files: tuple[Path, ...] = ()


Output = Printed | ShownTable | ShownFigure


@dataclass
class CellRunner:
    """Cells of a document, executed one after the other as in a notebook.

    Functions are in the module `__main__`, so that workers of joblib receive them by value.

    Args:
        document: the document.
        out: folder for the figures; None to save none.
    """

    document: Document
    out: Path | None = None
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    n_figures: int = 0

    def run(self, cell: Cell) -> Sequence[Output]:
        """Execute a code cell, and return what it printed and displays.

        An exception leaves with a note that names the demo, the cell and the line.
        """
        body, last = self._compiled(cell)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                exec(body, self.names)
                value = None if last is None else eval(last, self.names)
            except Exception as error:
                error.add_note(f"in demo {self.document.name}, cell {cell.number}, line {self._line(error, cell)}")
                raise
        outputs: list[Output] = [Printed(printed.getvalue())] if printed.getvalue() else []
        return outputs if value is None else [*outputs, self._displayed(value)]

    def _compiled(self, cell: Cell) -> tuple[CodeType, CodeType | None]:
        """Return the statements of a cell, and its last expression, with the line numbers of the file."""
        file = str(self.document.path)
        tree = ast.parse("\n" * (cell.line - 1) + cell.source, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        expression = compile(ast.Expression(last.value), file, "eval") if isinstance(last, ast.Expr) else None
        return compile(tree, file, "exec"), expression

    def _line(self, error: Exception, cell: Cell) -> int:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(self.document.path) and frame.lineno]
        return lines[-1] if lines else cell.line

    def _displayed(self, value: Any) -> Output:
        if isinstance(value, pd.DataFrame):
            return ShownTable(value)
        if not isinstance(value, Figure):
            return Printed(f"{value!r}\n")
        self.n_figures += 1
        alt = getattr(value, "alt", "")
        if self.out is None:
            return ShownFigure(value, alt)
        stem = self.out / f"{self.document.name}-{self.n_figures}"
        return ShownFigure(value, alt, tuple(save(value, stem, title=alt, description="")))


def _texts(column: pd.Series[Any]) -> list[str]:
    """Return the values of a column as texts, floats with the same number of decimals, at most 6 significant digits."""
    if not pd.api.types.is_float_dtype(column):
        return ["–" if value is None else str(value) for value in column]
    texts = ["–" if pd.isna(value) else f"{value:.6g}" for value in column]
    if any("e" in text for text in texts):
        return texts
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    return [text if text == "–" else f"{value:.{decimals}f}" for text, value in zip(texts, column, strict=True)]
