"""Demo documents in a terminal: Markdown, code, and the outputs of the cells."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from .document import Cell
from .execution import Output, Printed, ShownFigure, ShownTable

WIDTH = 92
INDENT = (0, 0, 0, 2)


def terminal() -> Console:
    """Return a console of a readable width."""
    console = Console(highlight=False, theme=Theme({"markdown.code": "bold", "markdown.code_block": "bold"}))
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def show_cell(console: Console, cell: Cell, *, code: bool) -> None:
    """Print a Markdown cell; of a code cell print its code, if `code` and unless it is folded."""
    if not cell.is_code:
        console.print()
        console.print(_Markdown(cell.source))
    elif code and not cell.is_hidden:
        source = textwrap.indent(cell.source, "  ")
        coloured = Syntax(source, "python", theme="ansi_dark", background_color="default").highlight(source)
        console.print()
        console.print(coloured, end="", soft_wrap=True)


def show_outputs(console: Console, outputs: Sequence[Output]) -> None:
    """Print what a cell printed and displays; of a figure, its files."""
    for output in outputs:
        if isinstance(output, Printed):
            console.print(f"\n{escape(_indented(output.text.rstrip(), console.width))}", soft_wrap=True)
        elif isinstance(output, ShownTable):
            console.print()
            console.print(Padding(_table(output), INDENT, expand=False))
        else:
            _show_files(console, output)


def _indented(text: str, width: int) -> str:
    """Return indented lines, those wrapped that are longer than the width."""
    lines = (line if len(line) <= width - 2 else textwrap.fill(line, width - 2) for line in text.splitlines())
    return textwrap.indent("\n".join(lines), "  ")


def _show_files(console: Console, drawing: ShownFigure) -> None:
    shown = drawing.files or ["--out DIR saves it"]
    console.print()
    for path in shown:
        console.print(f"  figure: {escape(str(path))}", style="dim", soft_wrap=True)


def _table(output: ShownTable) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 3, 0, 0))
    for name, texts in output.columns:
        table.add_column(escape(name), justify="right" if is_number_column(texts) else "left", overflow="fold")
    for row in zip(*(texts for _, texts in output.columns), strict=True):
        table.add_row(*map(escape, row))
    return table


def is_number_column(texts: Sequence[str]) -> bool:
    """Return True if every text begins like a number or is a dash, so that the column is aligned to the right."""
    return all(text.lstrip("+-−≥≤<> ")[:1].isdigit() or text in ("–", "-", "", "inf") for text in texts)


class _Heading(Heading):
    """Heading at the left edge, with a rule."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield Text() if self.tag == "h2" else Text("", end="")
        yield Rule(Text(self.text.plain, style="bold"), align="left", style="dim")


class _Markdown(Markdown):
    elements = Markdown.elements | {"heading_open": _Heading}
