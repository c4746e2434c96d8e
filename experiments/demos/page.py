"""Executed demo documents as self-contained HTML pages, in the style of all reports."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    blocks = [(cell.is_answer, _block(cell, outputs)) for cell, outputs in played]
    return page(
        "demo.html.j2",
        title=document.title,
        blocks=blocks,
        seed=document.seed,
        versions=versions_text(environment()),
    )


def _block(cell: Cell, outputs: Sequence[Output]) -> Markup:
    """Return the HTML of a cell: prose, or code and outputs."""
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
    return _drawing(output)


def _drawing(output: ShownFigure) -> Markup:
    (figure,) = load_figures(output.files).values()
    return Markup('<figure><div class="drawing">{}</div></figure>').format(figure.svg)


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
