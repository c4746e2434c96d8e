"""One result of a function, read as a row of numbers or an event: any object becomes plain data here.

Reading runs methods of the object, so it happens where the function runs: in this process, or in the isolated process
of the function, which imports this module, the modules that it needs, and numpy, but not the rest of the library.
`outcomes.py` has the table of what is read as what.
"""

from __future__ import annotations

import copy
import math
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, Set, ValuesView
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...core.errors import ReleaseError
from ...core.tensors import tensor_to_array
from .forms import (
    EXCEPTIONAL_NAMES,
    OutputRow,
    RaisedException,
    ReadResult,
    UnusualForm,
    by_name,
    code,
    fields_of,
    shape_label,
)
from .guard import class_name, cut, in_words, short_repr
from .names import names_of

MAX_EXACT_INTEGER = 2**53
"""Largest n such that all whole numbers up to n are floats."""
PLAIN_TYPES = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.bool_})
"""Types of results that are read together as one array."""


def read_result(result: Any) -> OutputRow | UnusualForm:
    """Return one result as a row of numbers or an event; raise `ReleaseError` if it cannot be read as either."""
    if type(result) is ReadResult:
        return result.outcome
    try:
        return _read(result)
    except ReleaseError:
        raise
    except RecursionError as error:
        raise ReleaseError(
            f"a run returned a {class_name(result)} that holds itself, or is nested too deeply to be read. Return a "
            "number, an array, a tuple, a dict of numbers, a string or None."
        ) from error
    except BaseException as error:
        raise ReleaseError(
            f"a run returned a {class_name(result)}, which raised {in_words(error)} when it was read. Return a "
            "number, an array, a tuple, a dict of numbers, a string or None; or turn it into one of these."
        ) from error


def _read(result: Any) -> OutputRow | UnusualForm:
    if isinstance(result, RaisedException):
        return UnusualForm(cut(f"raised {result.error}" + (f": {result.message}" if result.message else "")))
    if result is None:
        return UnusualForm("None", 4.0)
    if isinstance(result, (str, bytes)):
        plain = str(result) if isinstance(result, str) else bytes(result)  # numpy strings are shown like any other
        return UnusualForm(cut(f"text {plain!r}"), code(repr(plain)))
    if isinstance(result, Mapping):
        names = sorted(result, key=by_name)
        outside = "keys " + ", ".join(map(str, result))
        return _read_parts([result[name] for name in names], "keys " + ", ".join(map(str, names)), outside)
    if (inside := fields_of(result)) is not None:
        return _read_parts(list(inside.values()), "fields " + ", ".join(inside), class_name(result))
    array = _as_array(unmasked(tensor_to_array(result)))
    if array is not None:
        row = _read_array(array)
        return replace(row, kind=_kind(result, array)) if isinstance(row, OutputRow) else row
    if isinstance(result, (Sequence, np.ndarray)):
        return _read_parts(list(result), f"{type(result).__name__} of", class_name(result))
    if (outcome := _read_other(result)) is not None:
        return outcome
    raise ReleaseError(
        f"a run returned {short_repr(result)}, of type {class_name(result)}, which cannot be read as an outcome. "
        "Return a number, an array, a tuple, a dict of numbers, a string or None; or turn it into one of these."
    )


def _read_other(result: Any) -> OutputRow | UnusualForm | None:
    """Return an outcome of a less usual type; None if it cannot be read."""
    kind = class_name(result)
    if isinstance(result, Enum):
        return _read(str(result))
    if isinstance(result, (Set, KeysView, ValuesView, ItemsView)):
        parts = sorted(result, key=by_name) if isinstance(result, Set) else list(result)
        return _read_parts(parts, "set of" if isinstance(result, Set) else "list of", kind)
    if isinstance(result, (complex, np.complexfloating)):
        return _read_parts([result.real, result.imag], "complex", kind)
    if hasattr(result, "columns") and hasattr(result, "to_numpy"):
        columns = [result.iloc[:, i].tolist() for i in range(len(result.columns))]
        return _read_parts(columns, "columns " + ", ".join(map(str, result.columns)), kind)
    if isinstance(result, Decimal):
        number: Any = float(result)
    elif isinstance(result, (date, timedelta, np.datetime64, np.timedelta64)) and result != result:
        number = math.nan
    elif isinstance(result, (date, np.datetime64)):
        moment: Any = result
        number = _microseconds(np.datetime64(moment, "us"))
    elif isinstance(result, (timedelta, np.timedelta64)):
        number = _microseconds(np.timedelta64(result, "us"))
    else:
        return None
    row = _read_array(np.asarray(number))
    return replace(row, kind=(kind,)) if isinstance(row, OutputRow) else row


def _microseconds(moment: np.datetime64 | np.timedelta64) -> float:
    """Return microseconds, of a date since 1970."""
    return float(moment.astype(np.int64))


def copied_result(result: Any) -> Any:
    """Return a copy of a result: a function may modify the same array, list or dict and return it from every run.

    A generator, a zip or another iterator is read into a list.
    """
    if result is None or type(result) in (*PLAIN_TYPES, ReadResult) or isinstance(result, (str, bytes)):
        return result
    try:
        is_iterator = isinstance(result, Iterator)
    except BaseException:  # an object whose class cannot be read
        return result
    if is_iterator:
        return list(result)
    try:
        return result.copy() if isinstance(result, np.ndarray) and result.dtype != object else copy.deepcopy(result)
    except BaseException:  # an object that cannot be copied is used directly
        return result


def unmasked(result: Any) -> Any:
    """Return `result`; if it is a masked array, with masked entries as NaN."""
    return result.astype(np.float64).filled(np.nan) if _is_masked(result) else result


def _is_masked(result: Any) -> bool:
    return isinstance(result, np.ma.MaskedArray) and result.dtype.kind in "biuf" and bool(np.ma.is_masked(result))


def fits_floats(array: NDArray[Any]) -> bool:
    """Return True if no number of `array` is too large a whole number for a float."""
    if array.dtype.kind not in "iu" or not array.size or array.dtype.itemsize < 8:
        return True
    return int(array.max()) <= MAX_EXACT_INTEGER and int(array.min()) >= -MAX_EXACT_INTEGER


def _kind(result: Any, array: NDArray[Any]) -> tuple[str, ...]:
    """Return the types of a number, or of a regular array of numbers."""
    items = [item for item in array.flat if item is not None] if array.dtype == object else []
    number = type_name(np.asarray(items).dtype) if items else type_name(array.dtype)
    return (number,) if array.shape == () else (class_name(result), number)


def type_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a type of numbers; types of Python and of numpy share names."""
    if dtype.kind == "f":
        return "float" if dtype.itemsize == 8 else f"float{8 * dtype.itemsize}"
    return {"b": "bool", "i": "int", "u": "int"}.get(dtype.kind, "number")


def _read_parts(parts: Sequence[Any], name: str, outside: str) -> OutputRow | UnusualForm:
    """Return a dict or tuple laid out as one vector; strings and None are exceptional values in it."""
    rows = []
    for part in parts:
        outcome = _read(part)
        if isinstance(outcome, UnusualForm):
            unnamed = outcome.mark in EXCEPTIONAL_NAMES
            label, mark = outcome.label, np.array([outcome.mark])
            outcome = OutputRow("shape ()", (), np.zeros(1), mark, {} if unnamed else {0: label}, ("",))
        rows.append(outcome)
    numbers = np.concatenate([row.numbers for row in rows]) if rows else np.empty(0)
    marks = np.concatenate([row.marks for row in rows]) if rows else np.empty(0)
    starts = np.cumsum([0, *(row.numbers.size for row in rows)]).tolist()
    names = {start + i: text for start, row in zip(starts, rows, strict=False) for i, text in row.names.items()}
    shapes = [row.label.removeprefix("shape ") for row in rows]
    if any(shape != "()" for shape in shapes):
        label = f"{name}: {'; '.join(shapes)}"
    else:
        label = shape_label(numbers.shape) if name.endswith(" of") else name
    return OutputRow(
        label, numbers.shape, numbers, marks, names, (outside, *(name for row in rows for name in row.kind))
    )


def _read_array(array: NDArray[Any]) -> OutputRow | UnusualForm:
    """Return an array of numbers, or of numbers and None, as a row; a single exceptional number is an event."""
    flat = array.ravel()
    names: dict[int, str] = {}
    if flat.dtype.kind == "f" or (fits_floats(flat) and flat.dtype != object):
        with np.errstate(over="ignore"):  # long doubles beyond the range are infinite
            numbers = flat.astype(np.float64)
        marks = marks_of(numbers)
    else:
        numbers, marks, names = _read_objects(flat.tolist())
    if array.shape == () and marks[0] and not (names and numbers[0]):
        return UnusualForm(cut(names.get(0) or EXCEPTIONAL_NAMES[float(marks[0])]), float(marks[0]))
    return OutputRow(shape_label(array.shape), array.shape, np.where(np.isfinite(numbers), numbers, 0.0), marks, names)


def _read_objects(items: Sequence[Any]) -> tuple[Floats, Floats, dict[int, str]]:
    """Return numbers, marks and names of items that are real numbers or None."""
    numbers, marks, names = np.zeros(len(items)), np.zeros(len(items)), {}
    for i, item in enumerate(items):
        if item is None:
            marks[i] = 4.0
            continue
        try:
            numbers[i] = float(item)
        except OverflowError:
            marks[i], names[i] = code(_integer(item)), _integer(item)
            continue
        marks[i] = marks_of(numbers[i : i + 1])[0]
        if isinstance(item, Integral) and int(item) != int(numbers[i]):
            marks[i], names[i] = float(int(item) - int(numbers[i])), _integer(item)
    return numbers, marks, names


def _integer(number: Any) -> str:
    """Return a name for a whole number that no float holds; hexadecimal if its decimals would take too long."""
    whole = int(number)
    return f"integer {whole}" if abs(whole) < 10**60 else f"integer {hex(whole)}"


def _as_array(result: Any) -> NDArray[Any] | None:
    """Return a regular array of real numbers, or of these and None; None if `result` is not one."""
    try:
        array = np.asarray(result)
    except ValueError:
        return None
    if array.dtype.kind in "biuf" and (isinstance(result, np.ndarray) or fits_floats(array)):
        return array if array.dtype.kind != "f" or not _has_large(result) else np.array(result, dtype=object)
    if isinstance(result, Real) or array.dtype.kind in "iu":
        return np.array(result, dtype=object)
    if array.dtype == object and array.size and all(isinstance(item, (Real, type(None))) for item in array.flat):
        return array
    return None


def _has_large(result: Any) -> bool:
    """Return True if a list or tuple of floats also holds a whole number too large for them."""
    return isinstance(result, (list, tuple)) and any(
        abs(int(item)) > MAX_EXACT_INTEGER for item in result if isinstance(item, Integral)
    )


def marks_of(numbers: Floats) -> Floats:
    """Return 1, 2, 3 where `numbers` are NaN, infinite, minus infinite; 0 elsewhere."""
    marks = np.zeros(numbers.shape)
    if not np.isfinite(numbers).all():
        marks[np.isnan(numbers)], marks[numbers == np.inf], marks[numbers == -np.inf] = 1.0, 2.0, 3.0
    return marks


def readable(rows: NDArray[Any] | list[Any], *, naming: bool) -> NDArray[Any] | list[Any]:
    """Return results as plain data that gives the same outputs: numbers as they are, `ReadResult` for other objects.

    Args:
        rows: a numeric array with one row per run, or a list with one entry per run.
        naming: True to find the names of the numbers of each result.
    """
    return rows if isinstance(rows, np.ndarray) else [_readable(result, naming) for result in rows]


_AS_THEY_ARE = PLAIN_TYPES | {type(None), str, bytes, RaisedException}


def _readable(result: Any, naming: bool) -> Any:
    if type(result) in _AS_THEY_ARE or (type(result) is np.ndarray and result.dtype.kind in "biuf"):
        return result
    outcome = read_result(result)
    names = names_of(result, outcome.numbers.size) if naming and isinstance(outcome, OutputRow) else ()
    return ReadResult(outcome, names)
