"""A badge with the verdict of a saved result, as an SVG of two cells.

The text is the headline of the result and never says "private": a claim that is not contradicted is not proved.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from ....audit.results.result_text import ResultText, Tone
from ....mechanisms.core import html, typeset

LABEL = "dpassay"
LONGEST = 60
"""Largest number of characters of a headline that is shown in full."""
GREY = "#424242"
COLOURS = {
    Tone.VIOLATION: "#b3261e",
    Tone.CONSISTENT: "#2b6e3f",
    Tone.WEAK: "#6b6b00",
    Tone.UNDERPOWERED: "#8a5a00",
    Tone.DEPENDENT: "#5a5a5a",
}
"""Backgrounds, each with a contrast of at least 5:1 to white text."""
_WIDE, _NARROW, _SPACE = "mwMW%@≥∞", "fijlrt.,:;!'|I()[]-", " "
_WIDTHS = ((_WIDE, 9.6), (_NARROW, 4.4), (_SPACE, 3.9))
_USUAL, _PADDING, _HEIGHT = 7.0, 12.0, 20
"""Width of a character at 11 px, horizontal padding of a cell, and height, in px."""


def badge(text: ResultText, *, label: str = LABEL) -> str:
    """Return the badge of a result: its headline, in the colour of its tone."""
    return _svg(html(label), html(badge_text(text)), COLOURS.get(text.tone, GREY))


def badge_text(text: ResultText) -> str:
    """Return the text on the right of the badge: the headline, or of a long one the verdict."""
    headline = typeset(text.headline).partition(";")[0].replace("epsilon", "ε")
    return headline if len(headline) <= LONGEST else headline.partition(":")[0]


def _svg(label: str, message: str, colour: str) -> str:
    left, right = _width(label), _width(message)
    title = escape(f"{label}: {message}", {'"': "&quot;"})
    texts = "".join(
        f'<text x="{x:.1f}" y="14" textLength="{width - _PADDING:.1f}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(text)}</text>"
        for text, x, width in ((label, left / 2, left), (message, left + right / 2, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="{_HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<clipPath id="r"><rect width="{left + right:.0f}" height="{_HEIGHT}" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left:.1f}" height="{_HEIGHT}" fill="{GREY}"/>'
        f'<rect x="{left:.1f}" width="{right:.1f}" height="{_HEIGHT}" fill="{colour}"/></g>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )


def _width(text: str) -> float:
    """Return the width of a cell in px; `textLength` fits the text to it in every font."""
    widths = (next((width for letters, width in _WIDTHS if c in letters), _USUAL) for c in text)
    return sum(widths) + _PADDING
