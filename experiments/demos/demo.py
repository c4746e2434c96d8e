"""Output of the demos: chapters, paragraphs and tables in a terminal, and figures in a folder."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.axes import Axes
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table

from ...mechanisms.core.errors import ParameterError
from ..report.plots.style import new_figure, save

WIDTH = 92


def terminal() -> Console:
    """Return a console of a readable width."""
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


@dataclass(frozen=True)
class Demo:
    """Output of one demo.

    Args:
        console: console for the text.
        out: folder for figures; None for no figures.
    """

    console: Console = field(default_factory=terminal)
    out: Path | None = None

    def __post_init__(self) -> None:
        if self.out is None:
            return
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = "it is a file" if self.out.is_file() else error.strerror
            raise ParameterError(
                f"out must be a folder, or a path where one can be created, but {self.out} is not: {reason}. Choose "
                "another folder.",
                argument="out",
            ) from error

    def chapter(self, title: str) -> None:
        """Print the title of a chapter."""
        self.console.print()
        self.console.print(Rule(f"[bold]{escape(title)}", align="left", style="dim"))

    def say(self, text: str) -> None:
        """Print paragraphs, separated by blank lines; the lines of an indented paragraph are not wrapped."""
        for paragraph in textwrap.dedent(text).strip("\n").split("\n\n"):
            if paragraph.startswith(" "):
                self.show(textwrap.dedent(paragraph))
            else:
                filled = textwrap.fill(" ".join(paragraph.split()), self.console.width)
                self.console.print(f"\n{escape(filled)}", soft_wrap=True)

    def show(self, text: str) -> None:
        """Print highlighted lines, such as a formula or the output of a program."""
        indented = textwrap.indent(text, "  ")
        self.console.print(f"\n{escape(indented)}", style="bold", soft_wrap=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print a table; the first column is text, the others are numbers."""
        table = Table(box=None, header_style="dim", padding=(0, 3, 0, 0))
        for position, column in enumerate(columns):
            table.add_column(escape(column), justify="right" if position else "left", overflow="fold")
        for row in rows:
            table.add_row(*(escape(str(cell)) for cell in row))
        self.console.print()
        self.console.print(Padding(table, (0, 0, 0, 2), expand=False))

    def panels(
        self,
        name: str,
        *panels: Callable[[Axes], object],
        title: str,
        description: str,
        size: tuple[float, float] = (11.0, 4.2),
        widths: Sequence[float] | None = None,
    ) -> None:
        """Save a figure of panels side by side, as SVG and PNG; without a folder, draw nothing.

        Args:
            name: name of the files, without extension.
            panels: functions that draw on given axes, from left to right.
            title: title of the figure, for screen readers.
            description: description of each panel, for screen readers.
            size: width and height of the figure, in inches.
            widths: relative widths of the panels; None for equal widths.
        """
        if self.out is None:
            return
        figure = new_figure(*size)
        axes = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)[0]
        for draw, ax in zip(panels, axes, strict=True):
            draw(ax)
        for path in save(figure, self.out / name, title=title, description=description):
            self.console.print(f"  figure: {escape(str(path))}", style="dim", soft_wrap=True)
