"""What the lectures share: chapters, paragraphs and tables on a terminal, and figures in a folder."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 92


def terminal() -> Console:
    """A console of a width that reads well."""
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


@dataclass(frozen=True)
class Lecture:
    """A lecture being given.

    Args:
        console: where it is read.
        out: folder for figures; None draws none.
    """

    console: Console = field(default_factory=terminal)
    out: Path | None = None

    def chapter(self, title: str) -> None:
        """The start of a chapter."""
        self.console.print()
        self.console.print(Rule(f"[bold]{escape(title)}", align="left", style="dim"))

    def say(self, text: str) -> None:
        """Paragraphs, separated by blank lines; one that is indented is shown line by line as it stands."""
        for paragraph in textwrap.dedent(text).strip("\n").split("\n\n"):
            if paragraph.startswith(" "):
                self.show(textwrap.dedent(paragraph))
            else:
                filled = textwrap.fill(" ".join(paragraph.split()), self.console.width)
                self.console.print(f"\n{escape(filled)}", soft_wrap=True)

    def show(self, text: str) -> None:
        """Lines that stand out: a formula, or what a program printed."""
        indented = textwrap.indent(text, "  ")
        self.console.print(f"\n{escape(indented)}", style="bold", soft_wrap=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A table; the first column is text, the others are numbers."""
        table = Table(box=None, header_style="dim", padding=(0, 3, 0, 0))
        for position, column in enumerate(columns):
            table.add_column(escape(column), justify="right" if position else "left", overflow="fold")
        for row in rows:
            table.add_row(*(escape(str(cell)) for cell in row))
        self.console.print()
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False))

    def figure(self, figure: Figure, name: str, *, title: str, description: str) -> None:
        """Saves a figure as SVG and PNG."""
        if self.out is None:
            return
        from ..plots.style.files import save

        self.out.mkdir(parents=True, exist_ok=True)
        for path in save(figure, self.out / name, title=title, description=description):
            self.console.print(f"  figure: {escape(str(path))}", style="dim", soft_wrap=True)
