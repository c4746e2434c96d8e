"""Pairs of neighbouring datasets with hostile data, from one example dataset.

    example, bounds, relations -> HostilePairs

The pairs depend on the example, the bounds and the relations alone, so that their number is fixed before any run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....mechanisms.core import Dataset, Neighbours, NeighboursError, ParameterError, Relation, check_different
from .forms import RecordsForm, code_of, form_of
from .values import FAMILIES, TINY, Hostile, Kind, is_number, kind_of, values_of

THOUSANDS = 3_000
"""Number of records of a dataset with thousands of equal records."""
MOST = 98
"""Number of records that are NaN in a dataset of 100."""
HALF = 5
"""Number of records at each bound in a dataset whose records are at the bounds."""
SHIFT = 100
"""Distance of shifted bounds from 0, in widths of the documented bounds."""
NOT_APPLICABLE = "do not apply to these records"
SAME = "the same as another pair"
IMPOSSIBLE = "cannot be made of such records"
LEFT_OUT = "left out by the call"
Change = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class HostilePair:
    """A pair of neighbouring datasets with hostile data.

    Args:
        family: a name in `FAMILIES`.
        words: what the pair is, without values of the data.
        neighbours: the pair.
        foreign: whether a side holds a value of another type than the records; see `values`.
        bounds: argument `bounds` of the function on this pair; None for the documented ones.
    """

    family: str
    words: str
    neighbours: Neighbours
    foreign: bool = False
    bounds: Any = None


@dataclass(frozen=True)
class HostilePairs:
    """The hostile pairs of an example.

    Args:
        pairs: in the order of the families.
        left_out: number of pairs that were not made, by the reason.
        kind: ordinary and hostile values of a record; None for a single value.
        form: form of the dataset; None for a single value.
    """

    pairs: tuple[HostilePair, ...]
    left_out: dict[str, int]
    kind: Kind | None
    form: RecordsForm | None


def hostile_pairs(
    example: Dataset,
    relations: Sequence[Relation],
    *,
    bounds: Any = None,
    records: bool = True,
    takes_bounds: bool = False,
    without: Sequence[str] = (),
) -> HostilePairs:
    """Return the hostile pairs of an example dataset.

    Args:
        example: an ordinary dataset.
        relations: relations of the pairs.
        bounds: documented bounds, as for `kind_of`.
        records: False if the dataset is a single value, such as a vector, and no collection of records.
        takes_bounds: whether the function has a parameter `bounds`.
        without: families that are left out.

    Raises:
        ParameterError: an example or bounds that cannot be used, or an unknown family.
    """
    unknown = [name for name in without if name not in FAMILIES]
    if unknown:
        raise ParameterError(
            f"without must name kinds of data among {', '.join(FAMILIES)}, but has {unknown[0]!r}.", argument="without"
        )
    form = form_of(example) if records else None
    if form is None:
        kind, proposed = None, _of_values(example, bounds, relations)
    else:
        kind = kind_of(form.records, bounds)
        proposed = _of_records(form, kind, relations)
        if takes_bounds and kind.name == "numbers" and bounds is not None:
            proposed = _chain(proposed, _shifted(form, bounds, relations))
    kept, left_out = _distinct(proposed, without)
    used = {pair.family for pair in kept} | set(without)
    left_out[NOT_APPLICABLE] = sum(name not in used for name in FAMILIES)
    order = list(FAMILIES)
    kept.sort(key=lambda pair: order.index(pair.family))
    return HostilePairs(tuple(kept), {name: n for name, n in left_out.items() if n}, kind, form)


def _chain(*parts: Iterable[HostilePair | None]) -> Iterator[HostilePair | None]:
    for part in parts:
        yield from part


def _distinct(proposed: Iterable[HostilePair | None], without: Sequence[str]) -> tuple[list[HostilePair], Counter[str]]:
    """Return the pairs, each once, and the numbers of the others."""
    kept: list[HostilePair] = []
    left_out: Counter[str] = Counter()
    known = set()
    for pair in proposed:
        if pair is None:
            left_out[IMPOSSIBLE] += 1
            continue
        if pair.family in without:
            left_out[LEFT_OUT] += 1
            continue
        d0, d1 = (code_of(side) or repr(side) for side in (pair.neighbours.d0, pair.neighbours.d1))
        texts = (frozenset((d0, d1)), pair.neighbours.relation, repr(pair.bounds))
        if d0 == d1 or texts in known:
            left_out[SAME] += 1
            continue
        known.add(texts)
        kept.append(pair)
    return kept, left_out


# --- collections of records -------------------------------------------------------------------------------------------


def _of_records(form: RecordsForm, kind: Kind, relations: Sequence[Relation]) -> Iterator[HostilePair | None]:
    for relation in relations:
        for family, words, (d0, d1), foreign in (
            *_changes(form.records, kind, relation),
            *_values(form, kind, relation),
        ):
            yield _built(form, family, words, d0, d1, relation, foreign=foreign)


def _built(
    form: RecordsForm, family: str, words: str, d0: list[Any], d1: list[Any], relation: Relation, **more: Any
) -> HostilePair | None:
    """Return a pair in the form of the example; None if its records have no such form."""
    try:
        return HostilePair(family, words, Neighbours(form.build(d0), form.build(d1), relation), **more)
    except (ValueError, TypeError, OverflowError):
        return None


def _changed(relation: Relation, base: list[Any], old: Any, new: Any, *, first: bool = False) -> Change:
    """Return both sides of a dataset to which the record `new` is added, or in which it replaces `old`."""
    one, other = [old], [new]
    if relation is Relation.ADD_REMOVE:
        one = []
    elif relation is Relation.ZERO_OUT:
        one = [_zero(new)]
    return (one + base, other + base) if first else (base + one, base + other)


def _zero(record: Any) -> Any:
    if isinstance(record, dict):
        return dict.fromkeys(record, 0)
    if isinstance(record, (list, tuple)):
        return type(record)(0 for _ in record)
    return type(record)(0) if is_number(record) else 0


def _changes(example: list[Any], kind: Kind, relation: Relation) -> Iterator[tuple[str, str, Change, bool]]:
    """Yield pairs of ordinary values in ordinary and unusual datasets: family, words, both sides, not foreign."""

    def change(base: list[Any], old: Any, new: Any, *, first: bool = False) -> Change:
        return _changed(relation, base, old, new, first=first)

    low, high, n = kind.low, kind.high, len(example)
    if relation is Relation.ADD_REMOVE:
        yield "ordinary", "the last record of the example", (example[:-1], example), False
        yield "ordinary", "the first record of the example", (example[1:], example), False
    yield "ordinary", "a record at the upper bound", change(example, low, high), False
    yield "ordinary", "a record at the lower bound", change(example, high, low), False
    yield "ordinary", "the first record, at the upper bound", change(example, low, high, first=True), False
    for words, old, new in kind.others:
        yield "ordinary", words, change(example, old, new), False
    yield "sizes", "no other record", change([], low, high), False
    yield "sizes", "no other record, at the lower bound", change([], high, low), False
    yield "sizes", "one other record", change([low], low, high), False
    yield "sizes", "one record less than the example has", change(example[:-1], low, high), False
    yield "equal", "all others at the lower bound", change([low] * n, low, high), False
    yield "equal", "all others at the upper bound", change([high] * n, high, low), False
    yield "equal", "all others in the middle", change([kind.middle] * n, kind.middle, high), False
    yield "equal", "half at each bound, even number", change([low, high] * HALF, low, high), False
    yield "equal", "half at each bound, odd number", change([low, high] * HALF + [low], low, high), False
    yield "duplicates", "the last record of the example, once more", change(example, low, example[-1]), False
    yield "duplicates", "each record twice", change(example * 2, low, high), False
    d0, d1 = change(example, low, high)
    yield "order", "the records in reverse order", (d0, d1[::-1]), False
    for name in kind.absent:
        rest = [record for record in example if record != name]
        yield "absent", "a category that no other record has", change(rest, high if name == low else low, name), False
    yield "thousands", f"{THOUSANDS:,} equal records", change([kind.middle] * THOUSANDS, kind.middle, high), False
    yield "thousands", f"{THOUSANDS:,} records at the upper bound", change([high] * THOUSANDS, high, low), False


def _values(form: RecordsForm, kind: Kind, relation: Relation) -> Iterator[tuple[str, str, Change, bool]]:
    """Yield pairs with hostile values: family, words, both sides, whether a value is foreign."""
    example, low, high = form.records, kind.low, kind.high
    for value in values_of(kind):
        for old in value.against if relation is Relation.REPLACE_ONE else value.against[:1]:
            yield value.family, _of(value, old, kind), _changed(relation, example, old, value.value), value.foreign
    for nan in kind.nan:
        yield "nan", "all others NaN", _changed(relation, [nan] * (MOST + 1), low, high), False
        yield "nan", "all others but one NaN", _changed(relation, [nan] * MOST + [low], low, high), False
        yield "nan", "all NaN, against one value", _changed(relation, [nan] * len(example), high, nan), False
    for family, words, values in (
        ("infinite", "an infinity as another record", kind.infinite),
        ("huge", "the largest numbers as other records", kind.huge * 2),
        ("tiny", "all others 0", kind.zero * len(example)),
        ("tiny", "all others 5e-324", kind.tiny * len(example)),
    ):
        if values:
            yield family, words, _changed(relation, list(values), low, high), False


def _of(value: Hostile, old: Any, kind: Kind) -> str:
    return f"{value.words}, against the upper bound" if len(value.against) > 1 and old is kind.high else value.words


def _shifted(form: RecordsForm, bounds: Any, relations: Sequence[Relation]) -> Iterator[HostilePair | None]:
    """Yield pairs whose values and bounds are far from 0."""
    low, high = bounds
    shift = SHIFT * (high - low)
    moved = (low + shift, high + shift)
    records = [record + shift for record in form.records if is_number(record)]
    kind = kind_of(records, moved)
    for relation in relations:
        changes = [
            ("a record at the upper bound", _changed(relation, records, kind.low, kind.high)),
            ("a record at the lower bound", _changed(relation, records, kind.high, kind.low)),
        ]
        changes += [("NaN", _changed(relation, records, kind.high, nan)) for nan in kind.nan]
        for words, (d0, d1) in changes:
            yield _built(form, "shifted", f"{words}, bounds far from 0", d0, d1, relation, bounds=moved)


def edge_pairs(made: HostilePairs, n: int, relations: Sequence[Relation]) -> list[HostilePair]:
    """Return pairs of equal records at the number `n` of records from which on the code behaves otherwise."""
    kind, form = made.kind, made.form
    assert kind is not None
    assert form is not None
    middle, pairs = kind.middle, []
    for relation in relations:
        if relation is Relation.ADD_REMOVE:
            changes = [("one record less", ([middle] * (n - 1), [middle] * n))]
        else:
            changes = [
                ("one of them replaced", _changed(relation, [middle] * (n - 1), middle, kind.high)),
                ("one record less, one replaced", _changed(relation, [middle] * max(n - 2, 0), middle, kind.high)),
            ]
        for words, (d0, d1) in changes:
            pair = _built(
                form, "thousands", f"equal records, as many as change the behaviour; {words}", d0, d1, relation
            )
            pairs += [] if pair is None else [pair]
    return pairs


def most_edge_pairs(relations: Sequence[Relation]) -> int:
    """Return the largest number of pairs of `edge_pairs`."""
    return sum(1 if relation is Relation.ADD_REMOVE else 2 for relation in relations)


# --- single values ----------------------------------------------------------------------------------------------------


def _of_values(example: Any, bounds: Any, relations: Sequence[Relation]) -> Iterator[HostilePair | None]:
    """Yield pairs of single values, each of which may be that of one user."""
    make = _changed_arrays if isinstance(example, (np.ndarray, dict)) and _has_arrays(example) else _changed_scalars
    for relation in relations:
        for family, words, d0, d1, foreign in make(example, bounds):
            pair = Neighbours(d0, d1, relation)
            try:
                check_different(pair)
            except NeighboursError:
                continue
            yield HostilePair(family, words, pair, foreign)


Values = Iterator[tuple[str, str, Any, Any, bool]]


def _changed_scalars(example: Any, bounds: Any) -> Values:
    """Yield pairs of numbers, texts or rows: family, words, both values, whether one is foreign."""
    values = example if isinstance(example, list) else [example]
    kind = kind_of(values if isinstance(example, list) else [example], bounds)
    if isinstance(example, list):  # a vector that is given as a list
        for family, words, d0, d1, foreign in _changed_arrays(np.array(example), bounds):
            yield family, words, _listed(d0), _listed(d1), foreign
        return
    low, high = kind.low, kind.high
    yield "ordinary", "the lower and the upper bound", low, high, False
    yield "ordinary", "the example and the lower bound", low, example, False
    yield "ordinary", "the example and the upper bound", example, high, False
    yield "ordinary", "the lower bound and the middle", low, kind.middle, False
    for words, old, new in kind.others:
        yield "ordinary", words, old, new, False
    for value in values_of(kind):
        for old in value.against:
            yield value.family, _of(value, old, kind), old, value.value, value.foreign


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _has_arrays(example: Any) -> bool:
    return isinstance(example, np.ndarray) or any(isinstance(part, (np.ndarray, list)) for part in example.values())


def _changed_arrays(example: Any, bounds: Any) -> Values:
    """Yield pairs of a vector, or of a dict of vectors, and one with other values."""
    parts = [np.asarray(part) for part in (example.values() if isinstance(example, dict) else [example])]
    whole = all(part.dtype.kind in "biu" for part in parts)

    def mapped(change: Callable[[Any], Any], *, as_float: bool = not whole) -> Any:
        kind = np.float64 if as_float else np.int64
        if isinstance(example, dict):
            return {name: change(np.asarray(part, dtype=kind)) for name, part in example.items()}
        return change(np.asarray(example, dtype=kind))

    low, high = ((0, 1) if whole else (-1.0, 1.0)) if bounds is None else bounds
    start = mapped(np.copy)
    for family, words, change in (
        ("ordinary", "all coordinates at the upper bound", _filled(high)),
        ("ordinary", "all coordinates at the lower bound", _filled(low)),
        ("ordinary", "one coordinate at the upper bound", _first(high)),
        ("ordinary", "the coordinates in reverse order", lambda part: part[::-1].copy()),
        ("tiny", "a zero vector", _filled(0.0)),
        ("tiny", "all coordinates 5e-324", _filled(TINY)),
        ("nan", "all coordinates NaN", _filled(math.nan)),
        ("nan", "one coordinate NaN", _first(math.nan)),
        ("infinite", "one coordinate infinite", _first(math.inf)),
        ("outside", "one coordinate above the bounds", _first(high + (high - low))),
        ("outside", "one coordinate far above the bounds", _first(high + 1000 * (high - low))),
        ("huge", "all coordinates 1e308", _filled(1e308)),
    ):
        foreign = (whole and family in ("nan", "infinite", "huge")) or (whole and "5e-324" in words)
        yield family, words, start, mapped(change, as_float=foreign or not whole), foreign
    yield (
        "ordinary",
        "all coordinates at the lower and at the upper bound",
        mapped(_filled(low)),
        mapped(_filled(high)),
        False,
    )
    scalars = [mapped(_scalar(value)) for value in (low, high)]
    yield "shape", "numbers in the place of vectors", *scalars, False
    yield "shape", "an empty vector", start, mapped(lambda part: part[:0].copy()), True
    yield "missing", "None", start, None, True


def _filled(value: float) -> Callable[[Any], Any]:
    return lambda part: np.full_like(part, value)


def _scalar(value: float) -> Callable[[Any], Any]:
    return lambda part: np.array(value, dtype=part.dtype)


def _first(value: float) -> Callable[[Any], Any]:
    def change(part: Any) -> Any:
        changed = np.copy(part)
        if changed.size:
            changed.flat[0] = value
        return changed

    return change
