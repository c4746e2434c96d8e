"""Text of numbers and parameters, for figures and reports."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ....audit.bounds.numerics.binomial import SMALLEST_P_VALUE
from ....audit.results.text import digits_beside
from ....mechanisms.core import line, plural
from ...config.sweep import CASE

DAGGER = "†"
"""Mark of a claim that is refuted at another delta than that of the audit, where the bound is below the claim."""
IN_FAMILY, NOTHING_ASSUMED = "if in the family", "nothing assumed"
"""Labels of two bounds on the same epsilon: one assumes a family of trade-off curves, one holds for all curves."""
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """Return `value` to `digits` significant digits; "–" where it is missing.

    >>> number(0.98765), number(1e-5), number(float("inf")), number(None), number(200_000)
    ('0.988', '1e-5', '∞', '–', '200,000')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value and not 1e-3 <= abs(value) < 1e7:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"
    if abs(value) >= 10**digits:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def p_text(p_value: float, significance: float, digits: int = 2) -> str:
    """Return a p-value with enough digits to compare it to the significance; the smallest one is 1e-12.

    >>> p_text(0.0495, 0.05), p_text(0.0503, 0.05), p_text(0.012345, 0.05), p_text(1e-12, 0.05)
    ('0.0495', '0.0503', '0.012', '≤ 1e-12')
    """
    if p_value <= SMALLEST_P_VALUE:
        return f"≤ {number(SMALLEST_P_VALUE)}"
    return number(p_value, digits_beside(p_value, significance, digits))


def distinguishable(value: float, limit: float, digits: int = 3) -> tuple[str, str]:
    """Return both numbers with enough digits to distinguish them.

    >>> distinguishable(1.0004, 1.0), distinguishable(2.5, 1.0)
    (('1.0004', '1'), ('2.5', '1'))
    """
    return number(value, digits_beside(value, limit, digits)), number(limit, digits_beside(value, limit, digits))


def share(value: float) -> str:
    """Return a share in percent, to three digits.

    >>> share(0.62345), share(1.0), share(0.0)
    ('62.3 %', '100 %', '0 %')
    """
    return f"{100 * value:.3g} %"


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


def value_text(value: Any) -> str:
    """Return the text of a swept value: short numbers, a table by its name, others as JSON."""
    if isinstance(value, Mapping):
        return line(str(value.get("name") or json.dumps(value, default=str)))
    if isinstance(value, float):
        return number(value, 4)
    return line(value) if isinstance(value, str) else json.dumps(value, default=str)


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Return swept parameters as one line; names appear without their key.

    >>> parameters_text({"mechanism.epsilon": 0.5, "attack.name": "threshold", "case": {"name": "black box"}})
    'epsilon = 0.5, threshold, black box'
    """
    texts = zip(parameters, short_keys(parameters), map(value_text, parameters.values()), strict=True)
    return ", ".join(text if _is_name(key) else f"{short} = {text}" for key, short, text in texts)


def distinct_texts(several: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return `parameters_text` of each, with full digits where two different ones would have the same text.

    >>> distinct_texts([{"mechanism.epsilon": 0.5}, {"mechanism.epsilon": 0.25}])
    ['epsilon = 0.5', 'epsilon = 0.25']
    >>> distinct_texts([{"mechanism.epsilon": 0.5}, {"mechanism.epsilon": 0.50001}])
    ['epsilon = 0.5', 'epsilon = 0.50001']
    """
    texts = [parameters_text(parameters) for parameters in several]
    exact = [json.dumps(parameters, sort_keys=True, default=str) for parameters in several]
    if len(set(texts)) == len(set(exact)):
        return texts
    return [
        ", ".join(
            f"{key} = {json.dumps(value, default=str)}"
            for key, value in zip(short_keys(parameters), parameters.values(), strict=True)
        )
        for parameters in several
    ]


def short_keys(keys: Iterable[str]) -> list[str]:
    """Return the short form of each dotted key, or the long one where two short forms are equal.

    >>> short_keys(["mechanism.epsilon", "claim.epsilon", "mechanism.steps"])
    ['epsilon of the mechanism', 'epsilon of the claim', 'steps']
    """
    several = list(keys)
    short = [_short_key(key) for key in several]
    return [long_key(key) if short.count(s) > 1 else s for key, s in zip(several, short, strict=True)]


def _short_key(key: str) -> str:
    """Return the last word of a dotted key, spaced: "noise multiplier"; for a name, its table: "mechanism"."""
    words = line(key).partition(",")[0].split(".")
    return (words[-2] if words[-1] == "name" and len(words) > 1 else words[-1]).replace("_", " ")


def long_key(key: str) -> str:
    """Return a dotted key as an axis label: "epsilon of the mechanism"; for joined keys, the first."""
    key = key.partition(",")[0]
    table, _, _name = key.rpartition(".")
    where = table.rpartition(".")[2].replace("_", " ")
    return f"{_short_key(key)} of the {where}" if where and not _is_name(key) else _short_key(key)


def _is_name(key: str) -> bool:
    """Return whether the values of a sweep key are names: of a mechanism, an attack, a case."""
    return key == CASE or key.partition(",")[0].endswith(".name")


def refuted_text(refuted: int, total: int, elsewhere: int) -> str:
    """Return the number of refuted claims, and of those refuted only at another delta than that of the audit.

    >>> refuted_text(3, 5, 0), refuted_text(3, 5, 1)
    ('The lower bound exceeds the claim at 3 of 5 points', '3 of 5 claims are refuted, 1 of them at another delta')
    >>> refuted_text(1, 1, 1)
    'The claim is refuted, at another delta'
    """
    if elsewhere == 0:
        return "The lower bound exceeds the claim" + (f" at {refuted} of {plural(total, 'point')}" if total > 1 else "")
    if total == 1:
        return "The claim is refuted, at another delta"
    claims = f"{refuted} of {total} claims {'is' if refuted == 1 else 'are'} refuted"
    return f"{claims}, at another delta" if elsewhere == refuted else f"{claims}, {elsewhere} of them at another delta"


def percent_of(share: float) -> str:
    """Return a share in percent, rounded down, so that less than 1 is never shown as 100 %.

    >>> percent_of(0.999)
    '99 %'
    """
    return f"{int(100 * share + 1e-9)} %"


def percent_range(shares: Collection[float]) -> str:
    """Return the range of shares: "10 to 92 %"."""
    low, high = percent_of(min(shares)), percent_of(max(shares))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def delta_text(deltas: Iterable[float]) -> str:
    """Return " at delta = 1e-5" if all are equal, else an empty text."""
    distinct = set(deltas)
    return f" at delta = {number(distinct.pop())}" if len(distinct) == 1 else ""


def cut(text: str, length: int) -> str:
    """Return at most `length` characters, with an ellipsis if the text is truncated."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def cut_inside(text: str, length: int) -> str:
    """Return at most `length` characters, with an ellipsis before the end, which tells similar names apart.

    >>> cut_inside("sparse-vector-without-noise / twin", 20)
    'sparse-vect…e / twin'
    """
    end = length * 2 // 5
    return text if len(text) <= length else f"{text[: length - end - 1].rstrip()}…{text[len(text) - end :]}"
