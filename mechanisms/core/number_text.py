"""Numbers as text: the only place with a format of a float, so that a number reads the same wherever it is shown.

    number(value)                   significant digits, thousands separated
    beside(value, limit)            two numbers with enough digits to tell them apart
    p_value_text(p, significance)   enough digits to compare it to the significance
    fixed(value, decimals)          decimals, for the columns of a table
    percent(share)                  a share as per cent
    percent_below(share)            the same, rounded down: less than 1 is never "100 %"
    confidence_text(confidence)     a level as per cent, with all its digits
    parameter_text(value)           a parameter in the name of a claim or a law
    points(difference)              a signed difference of shares, in percentage points
    duration(seconds)               a time in the largest unit that it fills
    in_units(n_bytes)               a size in memory
    typeset(text)                   the same text with typographic signs, for pages and figures

All texts but `typeset` are ASCII: a user may print them on a terminal or into a file of any encoding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

SMALLEST_SHOWN = 1e-10
"""Smallest p-value that is shown as a number: bounds compute them down to 1e-12, and a correction multiplies them."""
_MISSING = "-"
_SIGNS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("+/-", "±"))


def number(value: float | None, digits: int = 4) -> str:
    """Return a number to `digits` significant digits; "-" where it is missing.

    >>> number(0.98765), number(1e-5), number(float("inf")), number(None), number(200_000), number(2.0)
    ('0.9877', '1e-5', 'inf', '-', '200,000', '2')
    """
    if value is None or math.isnan(value):
        return _MISSING
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value and not 1e-3 <= abs(value) < 1e7:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"
    if abs(value) >= 10**digits:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e" in text else text


def fixed(value: float | None, decimals: int = 3, *, sign: bool = False) -> str:
    """Return a number to `decimals` decimals, so that a column is aligned; "-" where it is missing.

    >>> fixed(0.5), fixed(1.25, 1), fixed(0.25, 2, sign=True), fixed(None)
    ('0.500', '1.2', '+0.25', '-')
    """
    if value is None or math.isnan(value):
        return _MISSING
    return f"{value:{'+' if sign else ''},.{decimals}f}"


def digits_beside(value: float, limit: float, digits: int) -> int:
    """Return the least number of digits, from `digits` on, with which `value` rounds neither to `limit` nor beyond it.

    >>> digits_beside(0.0495, 0.05, 1), digits_beside(0.04, 0.05, 1), digits_beside(1.0004, 1.0, 3)
    (3, 1, 5)
    """
    for more in range(digits, 16):
        rounded = float(f"{value:.{more}g}")
        if not math.isclose(rounded, limit, rel_tol=1e-9) and (rounded < limit) == (value < limit):
            return more
    return digits


def beside(value: float, limit: float, digits: int = 4) -> tuple[str, str]:
    """Return both numbers with enough digits to tell them apart.

    >>> beside(1.00004, 1.0), beside(2.5, 1.0), beside(1.0, 1.0)
    (('1.00004', '1'), ('2.5', '1'), ('1', '1'))
    """
    more = digits_beside(value, limit, digits) if math.isfinite(value) and math.isfinite(limit) else digits
    return number(value, more), number(limit, more)


def p_value_text(p_value: float, significance: float, digits: int = 2) -> str:
    """Return a p-value with enough digits to compare it to the significance; the smallest one is 1e-10.

    >>> p_value_text(0.0495, 0.05), p_value_text(0.0503, 0.05), p_value_text(0.012345, 0.05), p_value_text(0.0, 0.05)
    ('0.0495', '0.0503', '0.012', '<= 1e-10')
    """
    if p_value <= SMALLEST_SHOWN:
        return f"<= {number(SMALLEST_SHOWN)}"
    return number(p_value, digits_beside(p_value, significance, digits))


def percent(share: float | None, digits: int = 3) -> str:
    """Return a share in per cent, to `digits` digits.

    >>> percent(0.62345), percent(1.0), percent(0.0), percent(0.05), percent(None)
    ('62.3 %', '100 %', '0 %', '5 %', '-')
    """
    return _MISSING if share is None or math.isnan(share) else f"{number(100.0 * share, digits)} %"


def percent_below(share: float) -> str:
    """Return a share in whole per cent, rounded down, so that less than 1 is never shown as 100 %.

    >>> percent_below(0.999), percent_below(0.004)
    ('99 %', '0 %')
    """
    return f"{int(100 * share + 1e-9)} %"


def percent_range(shares: Iterable[float]) -> str:
    """Return the range of shares in whole per cent, rounded down.

    >>> percent_range([0.1, 0.92, 0.5]), percent_range([0.5])
    ('10 to 92 %', '50 %')
    """
    values = list(shares)
    low, high = percent_below(min(values)), percent_below(max(values))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def percent_between(lower: float, upper: float, digits: int = 3) -> str:
    """Return an interval of shares in per cent.

    >>> percent_between(0.012, 0.05)
    '1.2 to 5 %'
    """
    return f"{number(100.0 * lower, digits)} to {percent(upper, digits)}"


def points(difference: float, lower: float | None = None, upper: float | None = None) -> str:
    """Return a difference of shares in percentage points, with its interval if there is one.

    >>> points(0.125), points(0.125, 0.1, 0.15)
    ('+12.5 points', '+12.5 points (+10.0 to +15.0)')
    """
    text = f"{fixed(100.0 * difference, 1, sign=True)} points"
    if lower is None or upper is None:
        return text
    return f"{text} ({fixed(100.0 * lower, 1, sign=True)} to {fixed(100.0 * upper, 1, sign=True)})"


def confidence_text(confidence: float) -> str:
    """Return a confidence in per cent, with the first two digits of its distance from 1; three from 0.001 on.

    >>> confidence_text(0.95), confidence_text(0.975), confidence_text(1 - 1e-6), confidence_text(1 - 6.1e-7)
    ('95 %', '97.5 %', '99.9999 %', '99.999939 %')
    >>> confidence_text(0.9), confidence_text(0.875), confidence_text(0.123), confidence_text(1.0)
    ('90 %', '87.5 %', '12.3 %', '100 %')
    """
    significance = 1.0 - confidence
    if significance > 0.5:
        return percent(confidence)
    level = Decimal(100) - Decimal(f"{100.0 * significance:.{3 if significance >= 1e-3 else 2}g}")
    return f"{level.normalize():f} %"


def chance(probability: float) -> str:
    """Return a small probability as "1 in N".

    >>> chance(0.05), chance(1e-6), chance(0.5)
    ('1 in 20', '1 in 1,000,000', '1 in 2')
    """
    return "never" if probability <= 0.0 else f"1 in {float(f'{1.0 / probability:.3g}'):,.0f}"


def parameter_text(value: float) -> str:
    """Return the value of a parameter in the name of a claim or law: six digits, never grouped.

    >>> parameter_text(1.0), parameter_text(1e-5), parameter_text(200_000.0)
    ('1', '1e-05', '200000')
    """
    return f"{value:.6g}"


def duration(seconds: float) -> str:
    """Return a time in the largest unit that it fills.

    >>> duration(0.25), duration(12.3), duration(90.0), duration(8_000.0), duration(1e6)
    ('0.25 s', '12 s', '2 minutes', '2 hours', '12 days')
    """
    if seconds < 60.0:
        return f"{number(seconds, 2)} s"
    for size, unit in ((31_557_600.0, "years"), (86_400.0, "days"), (3_600.0, "hours")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.0f} {unit}"
    minutes = f"{seconds / 60.0:.0f}"
    return f"{minutes} minute{'' if minutes == '1' else 's'}"


def in_units(n_bytes: float) -> str:
    """Return a number of bytes in the largest unit that it fills.

    >>> in_units(3 * 2**30), in_units(100.0)
    ('3.0 GiB', '100 bytes')
    """
    for exponent, unit in ((50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if n_bytes >= 2**exponent:
            return f"{fixed(n_bytes / 2**exponent, 1)} {unit}"
    return f"{number(n_bytes)} bytes"


def typeset(text: str) -> str:
    """Return text with the signs of a printed page for their ASCII forms.

    >>> typeset("epsilon >= 2, p <= 1e-12; -; inf")
    'epsilon ≥ 2, p ≤ 1e-12; –; ∞'
    """
    for ascii_form, sign in _SIGNS:
        text = text.replace(ascii_form, sign)
    words = text.split(" ")
    return " ".join(_typeset_word(word) for word in words)


def _typeset_word(word: str) -> str:
    """Return a word with its missing, infinite or negative number typeset, punctuation kept."""
    bare = word.strip("(),;:.")
    replacement = {_MISSING: "–", "inf": "∞", "-inf": "−∞"}.get(bare)
    return word if replacement is None else word.replace(bare, replacement)


__all__ = [
    "SMALLEST_SHOWN",
    "beside",
    "chance",
    "confidence_text",
    "digits_beside",
    "duration",
    "fixed",
    "in_units",
    "number",
    "p_value_text",
    "parameter_text",
    "percent",
    "percent_below",
    "percent_between",
    "percent_range",
    "points",
    "typeset",
]
