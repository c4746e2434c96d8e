"""Numbers and parameters as people write them, in figures and in reports alike."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """`value` to `digits` significant digits; "–" where there is none.

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


def power_of_ten(value: float, _position: object = None) -> str:
    """A tick of a logarithmic axis: 10⁻³ for whole powers, 0.1 and 1 plain, nothing in between.

    >>> power_of_ten(0.001), power_of_ten(1.0), power_of_ten(0.002)
    ('10⁻³', '1', '')
    """
    whole = round(math.log10(value)) if value > 0 else 0
    if not math.isclose(value, 10.0**whole, rel_tol=1e-6):
        return ""
    return f"{value:g}" if -1 <= whole <= 2 else f"10{str(whole).translate(_SUPERSCRIPT)}"


def value_text(value: Any) -> str:
    """A swept value: numbers short, a table by its name, the rest as JSON."""
    if isinstance(value, Mapping):
        return str(value.get("name") or json.dumps(value, default=str))
    if isinstance(value, float):
        return number(value, 4)
    return value if isinstance(value, str) else json.dumps(value, default=str)


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Swept parameters in one line: "epsilon = 0.5, k = 4"."""
    return ", ".join(f"{short_key(key)} = {value_text(value)}" for key, value in parameters.items())


def short_key(key: str) -> str:
    """The last word of a dotted key, spaced: "noise multiplier"."""
    return key.partition(",")[0].rpartition(".")[2].replace("_", " ")


def long_key(key: str) -> str:
    """A dotted key as the name of an axis: "epsilon of the mechanism"; of several joined keys, the first."""
    key = key.partition(",")[0]
    table, _, _name = key.rpartition(".")
    where = table.rpartition(".")[2].replace("_", " ")
    return f"{short_key(key)} of the {where}" if where else short_key(key)


def delta_text(deltas: Iterable[float]) -> str:
    """ " at delta = 1e-5" when all are the same, else nothing."""
    distinct = set(deltas)
    return f" at delta = {number(distinct.pop())}" if len(distinct) == 1 else ""


def cut(text: str, length: int) -> str:
    """At most `length` characters, with an ellipsis where some are missing."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
