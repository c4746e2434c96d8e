"""Forms of a dataset: its records as a list, a dataset of the same form from other records, and its text in Python."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ....mechanisms.core import Dataset, ParameterError, is_pandas
from .values import is_number

MIN_REPEATS = 6
"""Number of equal records in a row that a text shows as one, times their number."""
MAX_JSON_LENGTH = 2_000
"""Largest number of characters of a dataset in a command line."""
MAX_CODE_LENGTH = 2_000
"""Largest number of characters of a dataset in a Python snippet."""


@dataclass(frozen=True)
class RecordsForm:
    """A dataset as a list of records, and back.

    Args:
        records: of the example.
        build: returns a dataset of the same form; raises where the records have no such form.
    """

    records: list[Any]
    build: Callable[[list[Any]], Dataset]


def form_of(example: Dataset) -> RecordsForm | None:
    """Return the form of an example dataset; None if it is a single value and no collection of records.

    A record of a tuple of aligned parts, such as (X, y), is a flat tuple of its values in all of them.

    Raises:
        ParameterError: a tuple whose parts are not collections of equally many records.

    Example:
        >>> form_of(([[0.2, 0.7], [0.5, 0.1]], ["a", "b"])).records
        [(0.2, 0.7, 'a'), (0.5, 0.1, 'b')]
    """
    if is_pandas(example):
        return _series(example) if example.ndim == 1 else _frame(example)
    if isinstance(example, np.ndarray) and example.ndim > 0:
        return RecordsForm(example.tolist(), lambda records: _array(records, example))
    if isinstance(example, list):
        return RecordsForm(list(example), list)
    if isinstance(example, tuple):
        return _aligned(example)
    return None


def _aligned(example: tuple[Any, ...]) -> RecordsForm:
    forms = [None if isinstance(part, tuple) else form_of(part) for part in example]
    known = [form for form in forms if form is not None]
    if not known or len(known) < len(forms) or len({len(form.records) for form in known}) != 1:
        raise ParameterError(
            "an example dataset that is a tuple must consist of aligned parts, as (X, y): arrays, lists or tables with "
            "one row for each record. Give other collections of records as a list.",
            argument="example",
        )

    def build(records: list[Any]) -> Any:
        if any(record is None for record in records):
            raise ValueError("the parts have no row None")
        parts, start = [], 0
        for form in known:
            like = form.records[0]
            end = start + len(_flat(like))
            parts.append(form.build([_like(like, record[start:end]) for record in records]))
            start = end
        return tuple(parts)

    rows = zip(*(form.records for form in known), strict=True)
    return RecordsForm([tuple(value for part in row for value in _flat(part)) for row in rows], build)


def _flat(part: Any) -> list[Any]:
    """Return the values of a row as a list; a single value as a list of one."""
    return list(part.values() if isinstance(part, dict) else part) if isinstance(part, (dict, list)) else [part]


def _like(part: Any, values: tuple[Any, ...]) -> Any:
    """Return other values in the form of a row, or of a single value."""
    if isinstance(part, dict):
        return dict(zip(part, values, strict=True))
    return list(values) if isinstance(part, list) else values[0]


def _array(records: list[Any], example: Any) -> Any:
    """Return an array like the example; a list where the records are not all numbers, or not all texts."""
    if example.dtype.kind not in "biuf":
        same = all(isinstance(record, str) for record in records) and example.dtype.kind == "U"
        return np.array(records, dtype=np.str_) if same else _objects(records, example)
    flat = [value for record in records for value in (record if isinstance(record, list) else [record])]
    if None in records or not all(map(is_number, flat)):
        return list(records)
    whole = example.dtype.kind in "biu" and all(not isinstance(value, float) for value in flat)
    array = np.array(records, dtype=_dtype(flat, example.dtype) if whole else np.float64)
    return array.reshape(len(records), *example.shape[1:])


def _dtype(values: list[Any], dtype: Any) -> Any:
    """Return the type of the example if it holds the values, else int64."""
    if dtype.kind == "b":
        return dtype if all(value in (0, 1) for value in values) else np.int64
    limits = np.iinfo(dtype)
    return dtype if all(limits.min <= value <= limits.max for value in values) else np.int64


def _objects(records: list[Any], example: Any) -> Any:
    array = np.empty(len(records), dtype=object)
    array[:] = records
    return array if example.dtype.kind == "O" else list(records)


def _series(example: Any) -> RecordsForm:
    def build(records: list[Any]) -> Any:
        made = type(example)(records, name=example.name, dtype=object)
        return _typed(made, example.dtype)

    return RecordsForm(example.tolist(), build)


def _frame(example: Any) -> RecordsForm:
    columns = list(example.columns)

    def build(records: list[Any]) -> Any:
        if any(record is None for record in records):
            raise ValueError("a table has no row None")
        parts = {name: [record[name] for record in records] for name in columns}
        made = type(example)(parts, columns=columns, dtype=object)
        for name in columns:
            made[name] = _typed(made[name], example[name].dtype)
        return made

    return RecordsForm(example.to_dict("records"), build)


def _typed(column: Any, dtype: Any) -> Any:
    """Return a column with the type of the example, or else with the one that its values need."""
    try:
        typed = column.astype(dtype)
    except (ValueError, TypeError, OverflowError):
        return column.infer_objects()
    same = all(a == b or (a != a and b != b) for a, b in zip(column, typed, strict=True))
    return typed if same else column.infer_objects()


# --- as text ----------------------------------------------------------------------------------------------------------


def json_of(dataset: Dataset) -> str:
    """Return a dataset as JSON for the command line; "" where it has no such form, as a tuple, or is long.

    >>> json_of(np.array([1.0, math.nan])), json_of({1, 2})
    ('[1.0, NaN]', '')
    """
    if isinstance(dataset, tuple):
        return ""
    try:
        text = json.dumps(dataset.tolist() if isinstance(dataset, np.ndarray | np.generic) else dataset)
    except (TypeError, ValueError):
        return ""
    return text if len(text) <= MAX_JSON_LENGTH else ""


def code_of(dataset: Dataset) -> str:
    """Return a dataset as a Python expression; "" where it is long, or has no such form.

    >>> code_of(np.array([0.5] * 3000 + [1.0]))
    'np.array([0.5] * 3000 + [1.0])'
    """
    if isinstance(dataset, tuple):
        parts = [code_of(part) for part in dataset]
        text = f"({', '.join(parts)}{',' * (len(parts) == 1)})" if all(parts) else ""
    elif is_pandas(dataset):
        inside = dataset.tolist() if dataset.ndim == 1 else dataset.to_dict("records")
        text = f"pd.{type(dataset).__name__}({_expression(inside)})"
    elif isinstance(dataset, np.ndarray):
        text = f"np.array({_expression(dataset.tolist())})"
    else:
        text = _expression(dataset)
    return text if len(text) <= MAX_CODE_LENGTH and " at 0x" not in text else ""


def _expression(value: Any) -> str:
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_expression, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_expression(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, np.ndarray):
        return f"np.array({_expression(value.tolist())})"
    if isinstance(value, np.generic):
        return _expression(value.item())
    if isinstance(value, str) and len(value) >= 100 and len(set(value)) == 1:
        return f"{value[0]!r} * {len(value)}"
    return repr(value)


def _list(values: list[Any]) -> str:
    """Return a list as an expression, in which equal entries that follow each other are written once."""
    parts: list[str] = []
    single: list[str] = []
    for text, group in groupby(map(_expression, values)):
        n = len(list(group))
        if n < MIN_REPEATS:
            single += [text] * n
            continue
        parts += [f"[{', '.join(single)}]"] if single else []
        parts.append(f"[{text}] * {n}")
        single = []
    return " + ".join([*parts, f"[{', '.join(single)}]"] if single or not parts else parts)


def is_finite(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return is_number(value) and math.isfinite(value)
