"""One demo, played: executed cell by cell, shown in a terminal, and written as a page and a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from rich.console import Console

from ...audit.trials.folder import write_atomically
from ...mechanisms.core import ParameterError
from .document import Cell, Document
from .execution import CellRunner, Output
from .notebook import notebook
from .page import demo_page
from .terminal import show_cell, show_outputs


@dataclass(frozen=True)
class Demonstration:
    """A demo that can be executed.

    Args:
        document: its cells.
    """

    document: Document

    def run(self, seed: int | None = None, out: Path | None = None) -> SimpleNamespace:
        """Execute every cell silently, and return all names that the cells have set.

        Args:
            seed: value of SEED; by default that of the document.
            out: folder for the page, the notebook and the figures; None to write nothing.
        """
        return self.play(None, seed=seed, out=out, answers=True)

    def play(
        self,
        console: Console | None,
        *,
        seed: int | None = None,
        out: Path | None = None,
        code: bool = False,
        answers: bool = False,
    ) -> SimpleNamespace:
        """Execute the cells, and show each one in a terminal; return all names that the cells have set.

        Args:
            console: where text and outputs are shown while the cells run; None to show nothing.
            seed: value of SEED; by default that of the document.
            out: folder for NAME.html, NAME.ipynb, and each figure as SVG and PNG; None to write nothing.
            code: whether to show the code.
            answers: whether to show the answer to the exercise. What is neither shown nor written is not computed.
        """
        if out is not None:
            _create(out)
        document = self.document.with_seed(seed)
        execution, played = CellRunner(document, out), []
        for cell in document.cells:
            if answers or not cell.is_answer:
                played.append((cell, _step(execution, cell, console, code=code)))
            elif out is not None:
                played.append((cell, _step(execution, cell, None, code=code)))
        if out is not None:
            _write(document, played, out, console)
        names = {name: value for name, value in execution.names.items() if not name.startswith("__")}
        return SimpleNamespace(**names)


def _step(execution: CellRunner, cell: Cell, console: Console | None, *, code: bool) -> Sequence[Output]:
    """Execute and show one cell."""
    if console is None:
        return execution.run(cell) if cell.is_code else ()
    show_cell(console, cell, code=code)
    if not cell.is_code:
        return ()
    with console.status("running"):  # which shows nothing unless the console is a terminal
        outputs = execution.run(cell)
    show_outputs(console, outputs)
    return outputs


def _write(
    document: Document, played: Sequence[tuple[Cell, Sequence[Output]]], out: Path, console: Console | None
) -> None:
    """Write the page and the notebook."""
    texts = {"html": demo_page(document, played), "ipynb": notebook(played)}
    for suffix, text in texts.items():
        path = out / f"{document.name}.{suffix}"
        write_atomically(path, text.encode())
        if console is not None:
            console.print(f"  written: {path}", style="dim", markup=False, soft_wrap=True)


def _create(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if out.is_file() else error.strerror
        raise ParameterError(
            f"out must be a folder, or a path where one can be created, but {out} is not: {reason}. Choose another "
            "folder.",
            argument="out",
        ) from error
