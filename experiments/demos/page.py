"""Executed demo documents as self-contained HTML pages, in the style of all reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer

from ...mechanisms.core import html
from ..present.pages import load_figures, page, versions_text
from ..present.results.provenance import environment
from .document import Cell, Document
from .execution import Output, Printed, ShownFigure, ShownTable
from .terminal import is_number_column

_PROSE = MarkdownIt("commonmark", {"html": False}).enable("table")


def demo_page(document: Document, played: Sequence[tuple[Cell, Sequence[Output]]]) -> str:
    """Return the page of an executed document; its figures have been saved to files."""
    blocks = [(part[0].is_answer, _block(*part)) for part in pictures_first(played)]
    return page(
        "demo.html.j2", title=document.title, blocks=blocks, seed=document.seed, versions=versions_text(environment())
    )


def pictures_first(played: Sequence[tuple[Cell, Sequence[Output]]]) -> Iterator[tuple[Cell, Sequence[Output], bool]]:
    """Return the parts of a page: a cell, outputs, and whether the cell itself is shown before these outputs.

    A figure comes before the code that computes and draws it, which may be several cells without text between them.
    """
    held: list[tuple[Cell, Sequence[Output], bool]] = []
    for cell, outputs in played:
        if held and (not cell.is_code or cell.is_answer != held[0][0].is_answer):
            yield from held
            held = []
        figures = [output for output in outputs if isinstance(output, ShownFigure)]
        if figures:
            yield cell, figures, False
        held.append((cell, [output for output in outputs if not isinstance(output, ShownFigure)], True))
        if figures or not cell.is_code:
            yield from held
            held = []
    yield from held


def _block(cell: Cell, outputs: Sequence[Output], shows_code: bool) -> Markup:
    """Return the HTML of a part of a page: prose, or code and outputs."""
    if not shows_code:
        return Markup("").join(map(_output, outputs))
    if not cell.is_code:
        return _scrolling(Markup(_PROSE.render(cell.source)))
    coloured = highlight(cell.source, PythonLexer(), HtmlFormatter(nowrap=True))
    code = Markup('<pre tabindex="0"><code>{}</code></pre>').format(Markup(coloured))
    if cell.is_hidden:
        code = Markup("<details><summary>Code</summary>{}</details>").format(code)
    return code + Markup("").join(map(_output, outputs))


def _output(output: Output) -> Markup:
    if isinstance(output, Printed):
        return Markup('<pre class="output" tabindex="0">{}</pre>').format(html(output.text.rstrip()))
    if isinstance(output, ShownTable):
        return _scrolling(Markup(html_table(output)))
    return drawing(output.files)


def drawing(files: Iterable[Path], caption: str = "") -> Markup:
    """Return a figure from the files that it was saved to, with its form for a telephone where it has one."""
    wide, *narrow = (form.svg for form in load_figures(files).values())
    forms = [Markup('<div class="drawing{}">{}</div>').format(" roomy" if narrow else "", wide)]
    forms += [Markup('<div class="drawing narrow">{}</div>').format(form) for form in narrow]
    under = Markup("<figcaption>{}</figcaption>").format(html(caption)) if caption else ""
    return Markup("<figure>{}{}</figure>").format(Markup("").join(forms), under)


def html_table(output: ShownTable) -> str:
    """Return a table as HTML: columns of numbers are aligned to the right."""
    columns = output.columns
    sides = ["right" if is_number_column(texts) else "left" for _, texts in columns]
    head = "".join(
        f'<th scope="col" style="text-align:{side}">{escape(html(name))}</th>'
        for (name, _), side in zip(columns, sides, strict=True)
    )
    rows = zip(*(texts for _, texts in columns), strict=True)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{side}">{escape(html(text))}</td>' for text, side in zip(row, sides, strict=True)
        )
        + "</tr>\n"
        for row in rows
    )
    return f'<table class="places"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>'


def _scrolling(text: Markup) -> Markup:
    """Return HTML whose tables scroll inside their box."""
    inside = re.sub(r"<table(?: class=\"places\")?>", '<div class="wide" tabindex="0"><table class="places">', text)
    return Markup(inside.replace("</table>", "</table></div>"))
