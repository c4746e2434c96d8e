"""Figures of a page: one SVG element each, in the theme of the page, with a caption."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from .plots.style.files import described

FITS_A_TELEPHONE = 400.0
"""Width in points; wider figures scroll on a narrow screen, where their text would otherwise be too small to read."""


@dataclass(frozen=True)
class Figure:
    """Figure of a report.

    Args:
        name: name of the file, such as "bound-claim" or "audit-01-scores".
        svg: the SVG element for a page.
        title, caption: title and explanation of the figure.
    """

    name: str
    svg: Markup
    title: str
    caption: str


def load(files: Iterable[Path]) -> dict[str, Figure]:
    """Return the figures in the SVG files among `files`, by name."""
    return {path.stem: _figure(path) for path in files if path.suffix == ".svg"}


def of_audit(figures: dict[str, Figure], number: int) -> list[Figure]:
    """Return the figures of audit `number`, counted from 1."""
    return [figure for name, figure in figures.items() if re.match(rf"audit-0*{number}-", name)]


def without_repeated_captions(groups: list[list[Figure]]) -> list[list[Figure]]:
    """Return the figures without captions that already occur further up the page."""
    captions: set[str] = set()
    figures = []
    for group in groups:
        figures.append([replace(figure, caption="") if figure.caption in captions else figure for figure in group])
        captions.update(figure.caption for figure in group)
    return figures


def _figure(path: Path) -> Figure:
    """Return the element without styles, title and size, which the page sets; its ids begin with the file's name."""
    text = path.read_text(encoding="utf-8")
    title, caption = described(text)
    opening, _, body = text.partition(">")
    body = re.sub(r"<(title|desc|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    body = re.sub(r"""(\bid="|url\(#|href="#)""", rf"\g<1>{path.stem}-", body)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening)
    label = Markup.escape(title)
    width = f' style="--width:{box[1]}"' if box and float(box[1]) > FITS_A_TELEPHONE else ""
    size = f'viewBox="0 0 {box[1]} {box[2]}"{width}' if box else ""
    head = f'<svg {size} class="dpassay-figure" role="img" aria-label="{label}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    return Figure(path.stem, Markup(head + body), title, caption)
