"""A badge with the verdict of a saved result, as an SVG of two cells.

The text names the bound and the claim and never says "private": a claim that is not contradicted is not proved.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from ...audit.evidence.verdict import Verdict
from ...audit.results.result_text import Tone
from ...mechanisms.core import beside, html, number
from .checked import CheckedClaim, CheckedClaims

LABEL = "dpassay"
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


def badge(checked: CheckedClaims, *, label: str = LABEL) -> str:
    """Return the badge of a result: its verdict, and the numbers of the claim that decides it."""
    message = badge_text(checked)
    return _svg(html(label), html(message), COLOURS[checked.tone])


def badge_text(checked: CheckedClaims) -> str:
    """Return the text on the right of the badge."""
    counted = [claim for claim in checked.claims if not claim.expected]
    verdict, tone, n = checked.verdict, checked.tone, len(counted)
    those = [claim for claim in counted if claim.tone is tone]
    several = "" if n <= 1 else f" ({len(those)} of {n} claims)" if len(those) < n else f" ({n} claims)"
    if not those:
        return "no claims tested"
    if verdict is Verdict.DEPENDENT:
        return f"no verdict: dependent trials{several}"
    if verdict is Verdict.UNDERPOWERED:
        return f"underpowered{several}"
    if tone is Tone.WEAK:
        only = f": detects ε > {number(those[0].detectable)}, claimed {number(those[0].claim)}"
        return f"{checked.outcome}{several or only}"
    return f"{verdict.value}{several or f': {_numbers(those[0])}'}"


def _numbers(claim: CheckedClaim) -> str:
    """Return bound and claim; the claim only, where another delta or a witness refutes it."""
    if claim.bound > claim.claim:
        bound, claimed = beside(claim.bound, claim.claim)
    else:
        bound, claimed = number(claim.bound), number(claim.claim)
    elsewhere = claim.verdict is Verdict.VIOLATION and claim.bound <= claim.claim
    return f"claimed ε = {claimed}" if elsewhere else f"ε ≥ {bound}, claimed {claimed}"


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
        f'<g clip-path="url(#r)"><rect width="{left:.1f}" height="{_HEIGHT}" fill="#424242"/>'
        f'<rect x="{left:.1f}" width="{right:.1f}" height="{_HEIGHT}" fill="{colour}"/></g>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )


def _width(text: str) -> float:
    """Return the width of a cell in px; `textLength` fits the text to it in every font."""
    widths = (next((width for letters, width in _WIDTHS if c in letters), _USUAL) for c in text)
    return sum(widths) + _PADDING
