"""Collections of records: pairs built from one dataset, and the check that a pair is neighbouring.

A collection of records is an array (a record is a row), a list (an entry), a DataFrame or Series (a row), or a tuple of
these with equal lengths, such as `(X, y)`; also a tuple of numbers, texts or tuples, a range, a string, and a set. Any
other object (a number, a dict, an object) cannot be checked, and is accepted if the two datasets differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import suppress
from hashlib import blake2b
from numbers import Number
from typing import Any, TypeAlias

import numpy as np

from .arrays import Bools
from .base import Dataset, Mechanism, Neighbours
from .errors import NeighboursError, ParameterError, plural
from .record_edits import blanked, is_pandas, mixed, replaced, without
from .relation import Relation

Keys: TypeAlias = Sequence[Hashable]
"""One key per record; equal keys mean equal records."""
MAX_WORST_CASE_RECORDS = 10_000_000
"""Largest number of records of a worst case."""
MAX_KEY_BYTES = 64
"""Largest record, in bytes, that is its own key; the key of a longer record, such as an image, is a digest."""


def check_worst_case(n_records: float, **option: float) -> None:
    """Raise `ParameterError` if a worst case would have more than ten million records.

    Args:
        n_records: number of records of the worst case.
        option: the option that determines this number, as `name=value`.
    """
    if n_records <= MAX_WORST_CASE_RECORDS:
        return
    ((name, value),) = option.items()
    raise ParameterError(
        f"the worst case has {n_records:,.0f} records with {name} = {value!r}, and at most {MAX_WORST_CASE_RECORDS:,} "
        f"are made. Choose another {name}, or give a pair of neighbours.",
        argument=name,
        value=value,
    )


def remove_record(dataset: Dataset, index: int) -> Neighbours:
    """Return the pair under `add_remove` in which side 0 lacks record `index`.

    Args:
        dataset: a collection of records, at least one; side 1.
        index: which record; negative counts from the end.

    Raises:
        ParameterError: not a collection of records, or no such record.

    Example:
        >>> pair = remove_record(np.array([7, 8, 9]), 1)
        >>> pair.d0, pair.d1, pair.relation.value
        (array([7, 9]), array([7, 8, 9]), 'add_remove')
    """
    index = _checked_index(dataset, index)
    return Neighbours(_map_columns(dataset, lambda part: without(part, index)), dataset, Relation.ADD_REMOVE)


def replace_record(dataset: Dataset, index: int, replacement: Any) -> Neighbours:
    """Return the pair under `replace_one` in which side 0 has `replacement` where side 1 has record `index`.

    Args:
        dataset: a collection of records; side 1.
        index: which record; negative counts from the end.
        replacement: a record of the form of one row or entry; for `(X, y)` a tuple `(x, y)`.

    Raises:
        ParameterError: not a collection of records, no such record, or a record of another shape.

    Example:
        >>> replace_record([7, 8, 9], 0, 1).d0
        [1, 8, 9]
    """
    index = _checked_index(dataset, index)
    if isinstance(dataset, tuple) and not _is_records(dataset):
        if not isinstance(replacement, tuple) or len(replacement) != len(dataset):
            raise ParameterError(
                argument="replacement", value=replacement, allowed=f"be a tuple of {len(dataset)}, like the dataset"
            )
        d0: Dataset = tuple(replaced(part, index, new) for part, new in zip(dataset, replacement, strict=True))
    else:
        d0 = replaced(dataset, index, replacement)
    return Neighbours(d0, dataset, Relation.REPLACE_ONE)


def zero_record(dataset: Dataset, index: int) -> Neighbours:
    """Return the pair under `zero_out` in which record `index` of side 0 is all zeros.

    Args:
        dataset: a collection of numeric records; side 1.
        index: which record; negative counts from the end.

    Raises:
        ParameterError: not a collection of numeric records, or no such record.

    Example:
        >>> zero_record(np.array([[1, 2], [3, 4]]), -1).d0
        array([[1, 2],
               [0, 0]])
    """
    index = _checked_index(dataset, index)
    return Neighbours(_map_columns(dataset, lambda part: blanked(part, index)), dataset, Relation.ZERO_OUT)


def mixed_records(d0: Dataset, d1: Dataset, from_d1: Bools) -> Dataset:
    """Return the dataset with the records of `d1` where `from_d1`, `(n,)`, is True, and of `d0` elsewhere.

    Raises:
        ParameterError: two collections of records of different forms.

    Example:
        >>> mixed_records([7, 8, 9], [1, 2, 3], np.array([True, False, False]))
        [1, 8, 9]
    """
    parts0, parts1 = _parts(d0), _parts(d1)
    if len(parts0) != len(parts1):
        raise ParameterError(
            f"both datasets must have the same form, but one is a tuple of {len(parts0)} and the other of "
            f"{len(parts1)}.",
            argument="d1",
        )
    columns = tuple(mixed(part0, part1, from_d1) for part0, part1 in zip(parts0, parts1, strict=True))
    return columns if isinstance(d0, tuple) and not _is_records(d0) else columns[0]


def check_records(neighbours: Neighbours) -> None:
    """Check that two collections of records differ in exactly one record; raises `NeighboursError` otherwise.

    Equal datasets of any type, and a collection paired with another object, are refused.

    * `add_remove`: one side is the other plus exactly one record; the order does not matter.
    * `replace_one`: equally many records, of which exactly one differs, in place or as a multiset.
    * `zero_out`: equally many records, of which exactly one, in place, differs, and is all zeros in `d0`.

    Example:
        >>> check_records(Neighbours([1, 2], [2, 1, 5], "add_remove"))
        >>> check_records(Neighbours([1, 2], [1, 2], "add_remove"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        dpassay.mechanisms.core.errors.NeighboursError: d0 and d1 are the same: under 'add_remove' neighbours differ...
    """
    keys = _common_keys(neighbours.d0, neighbours.d1)
    if keys is None:
        check_different(neighbours)
    elif list(keys[0]) == list(keys[1]):
        raise _same(neighbours)
    else:
        _CHECKS[neighbours.relation](neighbours, *keys)


def as_single_records(neighbours: Neighbours) -> tuple[Dataset, Dataset] | None:
    """Return two datasets that are neighbouring if lists of numbers among them are single records; None if none are.

    Example:
        >>> as_single_records(Neighbours([], [0, 0, 0], "add_remove"))
        ([], [[0, 0, 0]])
    """
    flat = [
        isinstance(dataset, (list, np.ndarray)) and len(dataset) > 0 and all(isinstance(x, Number) for x in dataset)
        for dataset in (neighbours.d0, neighbours.d1)
    ]
    for wrapped in ((False, True), (True, False), (True, True)):
        if any(wrap and not one for wrap, one in zip(wrapped, flat, strict=True)):
            continue
        d0, d1 = (
            dataset if not wrap else [dataset] if isinstance(dataset, list) else dataset[None]
            for dataset, wrap in zip((neighbours.d0, neighbours.d1), wrapped, strict=True)
        )
        with suppress(ParameterError):
            check_records(Neighbours(d0, d1, neighbours.relation))
            return d0, d1
    return None


class RecordsMechanism(Mechanism):
    """Mechanism on a collection of records, whose pair must differ in exactly one record."""

    def _check_dataset(self, dataset: Dataset) -> None:
        """Raise `ParameterError` for a dataset of another form; by default every dataset passes."""

    def _check_pair(self, neighbours: Neighbours) -> None:
        for side in (0, 1):
            self._check_dataset(neighbours.side(side))
        check_records(neighbours)


def check_different(neighbours: Neighbours) -> None:
    """Check that two datasets of any type are different; raises `NeighboursError` if they are surely equal.

    Example:
        >>> check_different(Neighbours({"n": 3}, {"n": 4}, "add_remove"))
    """
    if _equal(neighbours.d0, neighbours.d1):
        raise _same(neighbours)


def _same(neighbours: Neighbours) -> NeighboursError:
    return NeighboursError(
        f"d0 and d1 are the same: under {neighbours.relation.value!r} neighbours differ in one record. Give two "
        "datasets, one with the record and one without it.",
        argument="d0",
    )


def n_records(dataset: Dataset) -> int | None:
    """Return the number of records of a dataset; None if it is not a collection of records."""
    if _is_records(dataset):
        return len(dataset)
    lengths = {_length(part) for part in _parts(dataset)}
    return lengths.pop() if len(lengths) == 1 else None


def _is_records(dataset: Dataset) -> bool:
    """Return True for a string, a set, a range, and a tuple whose entries are records and not columns."""
    if isinstance(dataset, tuple):
        return all(part is None or isinstance(part, (Number, str, bytes, tuple, dict)) for part in dataset)
    return isinstance(dataset, (str, bytes, bytearray, range, set, frozenset))


def _parts(dataset: Dataset) -> tuple[Any, ...]:
    """Return the columns of a collection as a tuple."""
    return dataset if isinstance(dataset, tuple) and not _is_records(dataset) else (dataset,)


def _equal(value0: Any, value1: Any) -> bool:
    """Return True if two datasets that are not collections are surely equal."""
    if value0 is value1:
        return True
    if isinstance(value0, dict) and isinstance(value1, dict):
        return value0.keys() == value1.keys() and all(_equal(value0[name], value1[name]) for name in value0)
    if isinstance(value0, (list, tuple)) and isinstance(value1, (list, tuple)):
        return len(value0) == len(value1) and all(map(_equal, value0, value1))
    if is_pandas(value0):
        return bool(value0.equals(value1))
    try:
        return bool(np.array_equal(value0, value1)) if isinstance(value0, np.ndarray) else bool(value0 == value1)
    except Exception:  # the comparison of arbitrary objects may raise anything
        return False


def _length(part: Any) -> int | None:
    if isinstance(part, np.ndarray):
        return len(part) if part.ndim else None
    return len(part) if isinstance(part, list) or is_pandas(part) else None


# --- building ---------------------------------------------------------------------------------------------------------


def _checked_index(dataset: Dataset, index: int) -> int:
    size = n_records(dataset)
    if size is None or (_is_records(dataset) and not isinstance(dataset, tuple)):
        raise ParameterError(
            "dataset must be a collection of records (an array, a list, a DataFrame, or a tuple of these with equal "
            f"lengths), but is {type(dataset).__name__}. Build the pair with Neighbours(d0, d1, relation) instead."
        )
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or not -size <= index < size:
        raise ParameterError(argument="index", value=index, allowed=f"be a whole number from {-size} to {size - 1}")
    return int(index) % size


def _map_columns(dataset: Dataset, change: Any) -> Dataset:
    columns = isinstance(dataset, tuple) and not _is_records(dataset)
    return tuple(change(part) for part in dataset) if columns else change(dataset)


# --- checking ---------------------------------------------------------------------------------------------------------


def _common_keys(d0: Dataset, d1: Dataset) -> tuple[Keys, Keys] | None:
    """Return the keys of the records of both sides; None if neither is a collection of records."""
    sizes = [n_records(d) for d in (d0, d1)]
    if sizes == [None, None]:
        return None
    if None in sizes or _kind(d0) != _kind(d1):
        raise NeighboursError(
            f"d0 is {_shown(d0)} and d1 is {_shown(d1)}: neighbours are both collections of records of the same kind.",
            argument="d0",
        )
    parts0, parts1 = _parts(d0), _parts(d1)
    if len(parts0) != len(parts1):
        raise NeighboursError(
            f"d0 is a tuple of {len(parts0)} and d1 of {len(parts1)}: neighbours have the same form.", argument="d0"
        )
    columns = [_keys_of(part0, part1) for part0, part1 in zip(parts0, parts1, strict=True)]
    if len(columns) == 1:
        return columns[0]
    return list(zip(*(c[0] for c in columns), strict=True)), list(zip(*(c[1] for c in columns), strict=True))


def _kind(dataset: Dataset) -> str:
    """Return the kind of a collection: only collections of the same kind may be compared."""
    if isinstance(dataset, (str, bytes, bytearray)):
        return "text" if isinstance(dataset, str) else "bytes"
    return "set" if isinstance(dataset, (set, frozenset)) else "sequence"


def _shown(dataset: Dataset) -> str:
    """Return a dataset as text for a message: its type and its beginning."""
    text = repr(dataset)
    return f"a {type(dataset).__name__}, {text if len(text) <= 60 else text[:57] + '...'}"


def _keys_of(part0: Any, part1: Any) -> tuple[Keys, Keys]:
    """Return the keys of one column on both sides, comparable with each other."""
    if any(isinstance(part, list) or _is_records(part) for part in (part0, part1)):
        rows0, rows1 = (np.asarray(part) if is_pandas(part) else part for part in (part0, part1))
        return [_key(record) for record in rows0], [_key(record) for record in rows1]
    if part0.shape[1:] != part1.shape[1:]:
        raise NeighboursError(
            f"the records of d0 have shape {part0.shape[1:]}, those of d1 {part1.shape[1:]}: neighbours have the same "
            "columns."
        )
    if is_pandas(part0) and is_pandas(part1):
        if part0.ndim == 2 and list(part0.columns) != list(part1.columns):
            raise NeighboursError(
                "d0 and d1 have different columns: neighbours have the same ones, in the same order.", argument="d0"
            )
        return _table_keys(part0), _table_keys(part1)
    array0, array1 = np.asarray(part0), np.asarray(part1)
    if array0.dtype.kind in "biufc" and array1.dtype.kind in "biufc":
        dtype = np.result_type(array0, array1)
        return _row_bytes(array0.astype(dtype)), _row_bytes(array1.astype(dtype))
    return [_key(record) for record in array0], [_key(record) for record in array1]


def _row_bytes(array: Any) -> Keys:
    """Return the bytes of each row, or a digest of them; -0.0 counts as 0.0, NaN as equal to itself."""
    if array.size == 0:
        return [b""] * len(array)
    rows = np.ascontiguousarray(array.reshape(len(array), -1))
    if rows.dtype.kind in "fc":
        rows = rows + 0.0
    width = rows.dtype.itemsize * rows.shape[1]
    if width > MAX_KEY_BYTES:
        return [blake2b(row, digest_size=16).digest() for row in rows]
    keys: Keys = rows.view(np.dtype((np.void, width))).ravel().tolist()
    return keys


def _table_keys(table: Any) -> Keys:
    """Return one key per row of a DataFrame or Series; the index is ignored."""
    columns = [table] if table.ndim == 1 else [table.iloc[:, i] for i in range(table.shape[1])]
    return list(zip(*([_key(v) for v in column.tolist()] for column in columns), strict=True))


def _key(record: Any) -> Hashable:
    """Return a hashable key of a record, equal for equal records; NaN equals itself."""
    if isinstance(record, np.ndarray):
        return _key(record.tolist())
    if isinstance(record, dict):
        return frozenset((name, _key(value)) for name, value in record.items())
    if isinstance(record, (list, tuple)):
        return tuple(_key(value) for value in record)
    if isinstance(record, (float, np.floating)) and record != record:
        return "NaN"
    return record if isinstance(record, Hashable) else repr(record)


def _surplus(keys0: Keys, keys1: Keys) -> tuple[int, int]:
    """Return the numbers of records of each side that the other side lacks, as multisets."""
    count0, count1 = Counter(keys0), Counter(keys1)
    return (count0 - count1).total(), (count1 - count0).total()


def _check_add_remove(neighbours: Neighbours, keys0: Keys, keys1: Keys) -> None:
    only0, only1 = _surplus(keys0, keys1)
    if (only0, only1) == (1, 1):
        raise _other_relation("one record is replaced", "replace_one", "add_remove", "remove_record")
    if sorted((only0, only1)) != [0, 1]:
        raise NeighboursError(
            "under 'add_remove' one dataset must be the other plus one record, but d0 has "
            f"{plural(len(keys0), 'record')}, d1 has {len(keys1)}, and {only0} of d0 are not in d1, {only1} of d1 not "
            "in d0. Build the pair with dpassay.mechanisms.core.records.remove_record.",
            argument="relation",
        )


def _check_replace_one(neighbours: Neighbours, keys0: Keys, keys1: Keys) -> None:
    in_place = _differing(keys0, keys1)
    if len(keys0) != len(keys1) or (len(in_place) != 1 and _surplus(keys0, keys1) != (1, 1)):
        if sorted(_surplus(keys0, keys1)) == [0, 1]:
            raise _other_relation("one record is added", "add_remove", "replace_one", "replace_record")
        raise NeighboursError(
            f"under 'replace_one' both datasets must hold equally many records and differ in exactly one, but d0 has "
            f"{plural(len(keys0), 'record')}, d1 has {len(keys1)}, and {_surplus(keys0, keys1)[0]} of d0 are not in "
            "d1. Build the pair with dpassay.mechanisms.core.records.replace_record.",
            argument="relation",
        )


def _other_relation(difference: str, relation: str, stated: str, builder: str) -> NeighboursError:
    """Return the error for a pair that is neighbouring under another relation than the stated one."""
    return NeighboursError(
        f"{difference} in this pair: its relation is {relation!r}, not {stated!r}. Name this relation, or build a pair "
        f"under {stated!r} with dpassay.mechanisms.core.records.{builder}.",
        argument="relation",
    )


def _check_zero_out(neighbours: Neighbours, keys0: Keys, keys1: Keys) -> None:
    in_place = _differing(keys0, keys1)
    if len(keys0) != len(keys1) or len(in_place) != 1:
        problem = f"d0 has {plural(len(keys0), 'record')}, d1 has {len(keys1)}, and {len(in_place)} differ in place"
    elif not _is_blank(neighbours.d0, in_place[0]):
        problem = f"record {in_place[0]} of d0, the one that differs, is not all zeros"
    else:
        return
    raise NeighboursError(
        "under 'zero_out' both datasets must hold equally many records and differ in one, which is all zeros in d0, "
        f"but {problem}. Build the pair with dpassay.mechanisms.core.records.zero_record.",
        argument="relation",
    )


def _differing(keys0: Keys, keys1: Keys) -> Sequence[int]:
    return [i for i, (key0, key1) in enumerate(zip(keys0, keys1, strict=False)) if key0 != key1]


def _is_blank(dataset: Dataset, index: int) -> bool:
    parts = _parts(dataset)
    rows = [part.iloc[index] if is_pandas(part) else part[index] for part in parts]
    return all(not np.any(np.asarray(row, dtype=object) != 0) for row in rows)


_CHECKS = {
    Relation.ADD_REMOVE: _check_add_remove,
    Relation.REPLACE_ONE: _check_replace_one,
    Relation.ZERO_OUT: _check_zero_out,
}
