"""Hostile values of a record: for numbers, categories, and rows of these.

`kind_of` reads an example dataset and, if given, the documented bounds. The result has ordinary values, between which a
record is replaced, and hostile ones, each with the family that `FAMILIES` describes.

A *foreign* value is not of the type of the records, such as None among numbers. Code that raises on it documents its
domain by that, so that such a pair is shown as refused; code that accepts it is audited.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

from ....mechanisms.core import ParameterError

FAMILIES = {
    "ordinary": "a record at a bound, first or last, removed or replaced",
    "sizes": "no record, one record, odd and even numbers of records",
    "equal": "all records equal, or half of them at each bound",
    "duplicates": "records that occur twice",
    "order": "the same records in another order, and one more",
    "nan": "NaN as one record, as most records, as all",
    "infinite": "infinities",
    "outside": "values beyond the bounds",
    "huge": "1e308, or the largest whole numbers",
    "tiny": "0 and 5e-324",
    "new": "a category that is not documented, empty and long texts",
    "absent": "a category that no other record has",
    "missing": "None",
    "shape": "a number in the place of a vector, an empty vector",
    "thousands": "thousands of equal records, also the number from which on the code behaves otherwise",
    "shifted": "bounds far from 0, where the function has a parameter `bounds`",
}
"""Families of hostile data, in the order in which they are audited."""
HUGE = 1e308
TINY = 5e-324
HUGE_INTEGER = 2**62
LONG_TEXT = 10_000
MAX_COLUMNS = 4
"""Largest number of columns whose values are changed one at a time."""
MAX_CATEGORIES = 4
"""Largest number of categories that stand for all."""


@dataclass(frozen=True)
class Hostile:
    """A hostile value of one record.

    Args:
        family: a name in `FAMILIES`.
        words: the value in words, without values of the data.
        value: the value.
        against: ordinary values that it replaces.
        foreign: whether it has another type than the records.
    """

    family: str
    words: str
    value: Any
    against: tuple[Any, ...]
    foreign: bool = False


@dataclass(frozen=True)
class Kind:
    """Ordinary and hostile values of one record.

    Args:
        name: "numbers", "categories", "rows".
        low, high, middle: ordinary values; low and high differ as much as the bounds allow.
        hostile: hostile values.
        others: further ordinary pairs: words, and both values.
        nan, zero, infinite, huge, tiny: values that whole datasets consist of; () where there is none.
    """

    name: str
    low: Any
    high: Any
    middle: Any
    hostile: tuple[Hostile, ...] = ()
    others: tuple[tuple[str, Any, Any], ...] = ()
    nan: tuple[Any, ...] = ()
    zero: tuple[Any, ...] = ()
    infinite: tuple[Any, ...] = ()
    huge: tuple[Any, ...] = ()
    tiny: tuple[Any, ...] = ()
    absent: tuple[Any, ...] = field(default=())


def kind_of(records: Sequence[Any], bounds: Any = None) -> Kind:
    """Return the kind of the records of a dataset, at least one.

    Args:
        records: numbers, texts, or rows: lists, tuples or dicts of these.
        bounds: documented bounds of a number, as (low, high); documented categories, as a list of texts; for rows, one
            of these for all columns, one for each column, or a dict from the name of a column. None where none is
            documented: the extremes of the example.

    Raises:
        ParameterError: no record, records of several kinds, or bounds that do not fit.
    """
    if not records:
        raise ParameterError("the example dataset has no record: give one with two or more.", argument="example")
    for fits, make in _KINDS:
        if all(map(fits, records)):
            return make(records, bounds)
    raise ParameterError(
        f"the records of the example must be numbers, texts, or rows of these, but the first is {records[0]!r}.",
        argument="example",
    )


# --- numbers ----------------------------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; True and False are whole numbers here."""
    return isinstance(value, Real) or type(value).__name__ in ("bool_", "bool")


def _numbers(records: Sequence[Any], bounds: Any) -> Kind:
    low, high = _range([value for value in records if math.isfinite(value)] or [0.0, 1.0], bounds)
    whole = all(isinstance(value, Integral) for value in (*records, low, high))
    width, middle = high - low, (low + high) // 2 if whole else low / 2 + high / 2
    nan, inf, huge = math.nan, math.inf, HUGE_INTEGER if whole else HUGE
    hostile = [
        Hostile("nan", "one NaN", nan, (low, high), whole),
        Hostile("infinite", "an infinity", inf, (low,), whole),
        Hostile("infinite", "a negative infinity", -inf, (high,), whole),
        Hostile("outside", "a value above the bounds", high + width, (low,)),
        Hostile("outside", "a value below the bounds", low - width, (high,)),
        Hostile("outside", "a value far above the bounds", high + 1000 * width, (low,)),
        Hostile("huge", "the whole number 2^62" if whole else "1e308", huge, (low,)),
        Hostile("huge", "the whole number -2^62" if whole else "-1e308", -huge, (high,)),
        Hostile("tiny", "5e-324", TINY, (high,), whole),
        Hostile("missing", "one None", None, (high,), True),
    ]
    return Kind(
        "numbers",
        low,
        high,
        middle,
        tuple(hostile),
        nan=() if whole else (nan,),
        zero=(type(low)(0),),
        infinite=() if whole else (inf,),
        huge=(huge,),
        tiny=() if whole else (TINY,),
    )


def _range(values: Sequence[Any], bounds: Any) -> tuple[Any, Any]:
    """Return the documented bounds, or the extremes of the values; they differ."""
    if bounds is None:
        low, high = min(values), max(values)
        return low, high if high > low else low + 1
    if isinstance(bounds, Sequence) and len(bounds) == 2 and all(map(is_number, bounds)) and bounds[0] < bounds[1]:
        return bounds[0], bounds[1]
    raise ParameterError(
        f"bounds of numbers must be (low, high) with low < high, such as (0, 1), but given was {bounds!r}.",
        argument="bounds",
    )


# --- categories -------------------------------------------------------------------------------------------------------


def _categories(records: Sequence[Any], bounds: Any) -> Kind:
    if bounds is not None and not (isinstance(bounds, Sequence) and bounds and all(map(_is_text, bounds))):
        raise ParameterError(
            f"bounds of categories must be the list of all of them, such as ['a', 'b'], but given was {bounds!r}.",
            argument="bounds",
        )
    known = list(dict.fromkeys([*records, *(() if bounds is None or isinstance(bounds, str) else bounds)]))
    low = known[0]
    high = known[1] if len(known) > 1 else f"{low}2"
    new = next(name for name in (f"new{n or ''}" for n in range(len(known) + 1)) if name not in known)
    hostile = [
        Hostile("new", "a new category", new, (low,)),
        Hostile("new", "an empty text", "", (low,)),
        Hostile("new", "a long text", "x" * LONG_TEXT, (low,)),
        Hostile("new", "a text with other characters", "é\n'\",;", (low,)),
        Hostile("missing", "one None", None, (low,), True),
        Hostile("nan", "one NaN", math.nan, (low,), True),
    ]
    named = known[:MAX_CATEGORIES]
    others = [("another category", a, b) for i, a in enumerate(named) for b in named[i + 1 :] if (a, b) != (low, high)]
    return Kind("categories", low, high, high, tuple(hostile), tuple(others), absent=tuple(named))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


# --- rows -------------------------------------------------------------------------------------------------------------


def _rows(records: Sequence[Any], bounds: Any) -> Kind:
    first = records[0]
    names = list(first) if isinstance(first, dict) else list(range(len(first)))
    if not names or any(len(row) != len(names) for row in records):
        raise ParameterError(
            f"the rows of the example must have the same columns, at least one, but the first is {first!r}.",
            argument="example",
        )
    columns = {
        name: kind_of([row[name] for row in records], _bounds_of(bounds, name, at)) for at, name in enumerate(names)
    }

    def row(value: Callable[[Kind], Any]) -> Any:
        return with_values(first, {name: value(column) for name, column in columns.items()})

    def whole(value: Callable[[Kind], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the row whose columns of numbers all have this value, if they can."""
        if not all(value(column) for column in columns.values() if column.name == "numbers"):
            return ()
        if not any(column.name == "numbers" for column in columns.values()):
            return ()
        return (row(lambda column: value(column)[0] if column.name == "numbers" else column.low),)

    low, high = row(lambda column: column.low), row(lambda column: column.high)
    nan, zero = whole(lambda column: column.nan), whole(lambda column: column.zero)
    rows = [
        *(Hostile("nan", "a row of NaN", value, (low, high)) for value in nan),
        *(Hostile("tiny", "a row of zeros", value, (high,)) for value in zero),
        *(Hostile("infinite", "a row of infinities", value, (low,)) for value in whole(lambda column: column.infinite)),
        *(
            Hostile("huge", "a row of the largest numbers", value, (low,))
            for value in whole(lambda column: column.huge)
        ),
        Hostile("missing", "None in the place of a row", None, (high,), True),
    ]
    chosen = names if len(names) <= MAX_COLUMNS else [*names[: MAX_COLUMNS - 1], names[-1]]
    for at, name in enumerate(names):
        if name not in chosen:
            continue
        for value in columns[name].hostile:
            words, old = f"{value.words} in column {at + 1}", value.against[0]
            changed = with_values(low, {name: value.value})
            rows.append(replace(value, words=words, value=changed, against=(with_values(low, {name: old}),)))
    others = [
        (f"a row that differs in column {at + 1} only", start, with_values(start, {name: end}))
        for at, name in enumerate(names)
        if name in chosen and len(names) > 1
        for start, end in ((low, columns[name].high), (high, columns[name].low))
    ]
    middle = row(lambda column: column.middle)
    return Kind(
        "rows",
        low,
        high,
        middle,
        tuple(rows),
        tuple(others),
        nan,
        zero,
        whole(lambda column: column.infinite),
        whole(lambda column: column.huge),
        whole(lambda column: column.tiny),
    )


def with_values(row: Any, values: Mapping[Any, Any]) -> Any:
    """Return a row of the same type with other values in some of its columns."""
    if isinstance(row, dict):
        return {**row, **values}
    return type(row)(values.get(at, value) for at, value in enumerate(row))


def _bounds_of(bounds: Any, name: Any, at: int) -> Any:
    """Return the bounds of one column."""
    if isinstance(bounds, Mapping):
        return bounds.get(name, bounds.get(str(name)))
    if isinstance(bounds, Sequence) and any(isinstance(part, Sequence) and not _is_text(part) for part in bounds):
        return bounds[at] if at < len(bounds) else None
    return bounds


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict))


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Sequence[Any], Any], Kind]], ...] = (
    (is_number, _numbers),
    (_is_text, _categories),
    (_is_row, _rows),
)


def values_of(kind: Kind) -> Iterator[Hostile]:
    """Yield the hostile values of a kind in the order of the families."""
    order = {name: place for place, name in enumerate(FAMILIES)}
    yield from sorted(kind.hostile, key=lambda value: order[value.family])
