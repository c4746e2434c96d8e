"""Numbers and phrases of figures, in the signs of a printed page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....audit.results.result_text import Tone
from ....mechanisms import core
from ....mechanisms.core import plural, typeset

IN_FAMILY, NOTHING_ASSUMED = "if in the family", "nothing assumed"
"""Labels of two bounds on the same epsilon: one assumes a family of trade-off curves, one holds for all curves."""
WEAK = "consistent, weak"
"""Label of claims that would have been refuted only if the true epsilon were far above them."""
ABOVE, ABOVE_IF = "above the claim, not significant", "above the claim, on an assumption"
"""Labels of bounds that exceed their claim and refute nothing: by the correction for several audits, or a condition."""
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as in texts, typeset.

    >>> number(0.98765), number(float("inf")), number(None)
    ('0.9877', '∞', '–')
    """
    return typeset(core.number(value, digits))


def one_notation(values: Sequence[float]) -> list[str]:
    """Return the ticks of an axis in one notation: plain numbers, or powers of ten where these are too long.

    >>> one_notation([0.0, 0.01, 1.0, 1000.0]), one_notation([0.0, 1e-4, 0.01, 1.0]), one_notation([2e-5, 1e-3])
    (['0', '0.01', '1', '1,000'], ['0', '10⁻⁴', '10⁻²', '10⁰'], ['2×10⁻⁵', '1×10⁻³'])
    """
    sizes = [abs(value) for value in values if value]
    if all(1e-3 <= size < 1e7 for size in sizes):
        return [f"{value:,.0f}" if abs(value) >= 1e3 else number(value, 4) for value in values]
    parts = [f"{value:.3e}".partition("e") for value in values]
    short = [
        (mantissa.rstrip("0").rstrip("."), str(int(power)).translate(_SUPERSCRIPT)) for mantissa, _, power in parts
    ]
    whole = all(mantissa == "1" for (mantissa, _), value in zip(short, values, strict=True) if value)
    return [
        "0" if not value else f"10{power}" if whole else f"{mantissa}×10{power}"
        for value, (mantissa, power) in zip(values, short, strict=True)
    ]


def refuted_text(tones: Sequence[Tone], elsewhere: int, above: int) -> str:
    """Return the number of refuted claims, and of the bounds that exceed their claim without refuting it.

    Args:
        tones: of the corrected verdicts.
        elsewhere: number of claims that are refuted only at another delta than that of the audit.
        above: number of bounds above their claim that refute nothing.

    >>> refuted_text([Tone.VIOLATION] * 3 + [Tone.CONSISTENT] * 5, 0, 1)
    'Refuted at 3 of 8 points; 1 more bound is above its claim, but refutes nothing'
    >>> refuted_text([Tone.VIOLATION, Tone.WEAK], 1, 0), refuted_text([Tone.VIOLATION], 0, 0)
    ('Refuted at 1 of 2 points, at another delta', 'The claim is refuted')
    """
    refuted, total = sum(tone is Tone.VIOLATION for tone in tones), len(tones)
    text = f"Refuted at {refuted} of {total} points" if total > 1 else "The claim is refuted"
    if elsewhere:
        text += ", at another delta" if elsewhere == refuted else f", at {elsewhere} of them at another delta"
    if above:
        text += f"; {plural(above, 'more bound')} {'is above its' if above == 1 else 'are above their'} claim"
        text += ", but refutes nothing" if above == 1 else ", but refute nothing"
    return text


def delta_text(deltas: Iterable[float]) -> str:
    """Return " at delta = 1e-5" if all are equal, else an empty text."""
    distinct = set(deltas)
    return f" at delta = {number(distinct.pop())}" if len(distinct) == 1 else ""
