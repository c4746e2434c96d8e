"""Figures as files: SVG for screens (one file, light and dark), PNG at 200 dots per inch for papers.

The same numbers give the same bytes: no date, no random ids, no embedded fonts; text stays text.
"""

from __future__ import annotations

import io
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from .....audit.trials.folder import write_atomically
from .....mechanisms.core.printable import html
from .palette import dark_rules

FONT = "DejaVu Sans"
"""Font of the layout, which matplotlib includes. The fallback fonts of an SVG are narrower, so nothing overflows."""
DPI = 200
FALLBACK = f"'{FONT}',Verdana,Helvetica,Arial,sans-serif"
"""Fonts of an SVG: the font of the layout, then narrower ones."""
_STYLED: dict[Any, Any] = {
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.fonttype": "none",
    "svg.hashsalt": "dpassay",
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
}


def save(figure: Figure, stem: Path, *, title: str, description: str) -> list[Path]:
    """Write `stem`.svg and `stem`.png, without control characters in texts; return the two paths.

    `title` and `description` become the text alternative of the SVG, for screen readers.
    """
    _clean(figure)
    svg, png = stem.with_name(f"{stem.name}.svg"), stem.with_name(f"{stem.name}.png")
    write_atomically(svg, svg_text(figure, title=title, description=description).encode())
    figure.set_layout_engine("none")  # the layout is final
    write_atomically(png, _png(figure))
    return [svg, png]


def _png(figure: Figure) -> bytes:
    """Return the figure as PNG on white; unlike `savefig`, it is drawn once, without another layout."""
    pixels, before = io.BytesIO(), figure.dpi
    figure.set_dpi(DPI)
    figure.set_facecolor("white")
    try:
        with mpl.rc_context(_STYLED):
            FigureCanvasAgg(figure).print_png(pixels, metadata={"Software": None})  # type: ignore[no-untyped-call]
    finally:
        figure.set_dpi(before)
        figure.set_facecolor("none")
    return pixels.getvalue()


def _clean(figure: Figure) -> None:
    """Remove control characters from the texts of a figure, and switch off math between dollar signs."""
    for text in figure.findobj(Text):
        if text.get_text() != (printable := html(text.get_text())):
            text.set_text(printable)
        text.set_parse_math(False)


def svg_text(figure: Figure, *, title: str, description: str) -> str:
    """Return the figure as one SVG element that follows the theme of the reader."""
    buffer, before = io.StringIO(), figure.dpi
    try:
        with mpl.rc_context(_STYLED):
            FigureCanvasSVG(figure).print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))  # type: ignore[no-untyped-call]
    finally:
        figure.set_dpi(before)
    return _tidy(buffer.getvalue(), title, description)


def _tidy(text: str, title: str, description: str) -> str:
    """Return the SVG without prologue and unused ids, with title, description, dark form and rounded coordinates."""
    start = text.index("<svg")
    opening, body = text[start : text.index(">", start)], text[text.index(">", start) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    used = set(re.findall(r"""(?:url\(#|href="#)([^)"]+)""", body))
    body = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", body)
    body = re.sub(r' (?:d|x|y)="[^"]*"', _rounded, body)
    body = re.sub(r'(<path id="[^"]*" d="[^"]*") style="[^"]*"', r"\1", body)  # each use of a marker has its own style
    body = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", body)
    body = body.replace(f"font-family: '{FONT}'; ", "")
    body = re.sub(r"\n\s*", "\n", body)
    style = f".dpassay-figure text{{font-family:{FALLBACK}}}{dark_rules('.dpassay-figure')}"
    head = f"<title>{escape(html(title))}</title><desc>{escape(html(description))}</desc><style>{style}</style>"
    return f'{opening} class="dpassay-figure" role="img">{head}{body}'


def _rounded(attribute: re.Match[str]) -> str:
    """Round coordinates to 1/100 point, which halves the size of the file without a visible difference."""
    short = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), attribute[0])
    return re.sub(r"\s*([MLCQz])\s*", r"\1", short) if short.startswith(" d=") else short


def described(svg: str) -> tuple[str, str]:
    """Return title and description of an SVG that `save` wrote; empty where missing."""
    matches = (re.search(rf"<{tag}>(.*?)</{tag}>", svg, re.DOTALL) for tag in ("title", "desc"))
    title, description = (unescape(match[1]) if match else "" for match in matches)
    return title, description
