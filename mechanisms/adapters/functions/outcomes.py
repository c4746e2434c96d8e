"""Results of a function, converted to `Outputs`: one row of numbers per run, or the event in its place.

    number, array, tuple, list, dict of these    a row of numbers; a dataclass is read as its fields, a set in the order
                                                 of its texts, a table by its columns, a date as microseconds, a
                                                 generator or a zip as a list
    a single NaN or infinite number              event "nan", "inf", "-inf"
    None                                         event "None"
    a string                                     event "text 'abc'"
    an exception                                 event "raised ValueError: its message"
    a form other than the usual one              event "shape (3,)", "keys a, b"
    a row with a rare exceptional value          event "nan at 0, 3", "text 'abc' at 1"
    a number of a rare type                      event "type int", "type list of float"

The usual `ResultForm` is fixed in advance from the first runs, so that the definition of an event never depends on the
other runs of a chunk. If the first runs show exceptional values (NaN, an infinity, None, a string, a whole number
that no float holds), the rest of the row is kept: such a value counts as 0, and its place gets a second
number, its mark, that identifies the value. If they show several forms, results are padded with zeros to the
longest, and one more number identifies the form: the length of a vector. See `ResultForm.place`. The sign of a zero is
kept: -0.0 is read as the number `BELOW_ZERO`. Types, which the numbers do not show, are kept as well (1, 1.0 or True,
float32 or float64, the order of keys, a list or a tuple): if those of the first runs differ, one more number identifies
them.

Long labels are cut and end in a digest, so that different labels stay different. Any other result, such as an object of
a user class, is refused: reading it as one more event would hide its contents.
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

from ...core import Floats, Outputs, ReleaseError, tensor_to_array
from .forms import (
    BELOW_ZERO,
    EXCEPTIONAL_NAMES,
    OutputRow,
    RaisedException,
    ResultForm,
    UnusualForm,
    by_name,
    code,
    fields_of,
    kind_text,
    shape_label,
)
from .guard import class_name, cut, in_words, short_repr

MAX_EXACT_INTEGER = 2**53
"""Largest n such that all whole numbers up to n are floats."""
PLAIN_TYPES = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.bool_})
"""Types of results that are read together as one array."""


def read_result(result: Any) -> OutputRow | UnusualForm:
    """Return one result as a row of numbers or an event; raise `ReleaseError` if it cannot be read as either."""
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
    if result is None or type(result) in PLAIN_TYPES or isinstance(result, (str, bytes)):
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


def collect(results: Sequence[Any], form: ResultForm) -> Outputs:
    """Return the results of some runs as `Outputs`; those that do not have the usual form are events."""
    plain = _as_plain_array(results, form)
    if plain is not None and form.typed:
        return _typed(plain, form, np.array([_CODES[type(result)] for result in results]))
    if plain is not None:
        return collect_array(plain, form)
    values = np.zeros((len(results), *form.shape))
    labels = [""] * len(results)
    texts: dict[float, str] = {}
    for i, result in enumerate(results):
        outcome = read_result(result)
        placed = form.place(outcome) if isinstance(outcome, OutputRow) else None
        if placed is not None:
            values[i] = placed
            if isinstance(outcome, OutputRow) and outcome.names:
                texts.update((float(outcome.marks[place]), text) for place, text in outcome.names.items())
        else:
            labels[i] = outcome.label if isinstance(outcome, UnusualForm) else form.label_of(outcome)
    return Outputs(_signed(values), np.array(labels, dtype=np.str_) if any(labels) else None, texts)


def collect_array(array: NDArray[Any], form: ResultForm) -> Outputs:
    """Return a numeric array with one row per run as `Outputs`; ordinary rows are read without a loop.

    The result is the same as that of `collect`.
    """
    if array.dtype.kind == "b":
        array = array.view(np.int8)
    if form.typed:
        name = _named(array.dtype)
        return _typed(array, form, code(kind_text((name,) if array.ndim == 1 else ("ndarray", name))))
    usual = array.shape[1:] == form.shape and form.plain
    if usual and array.dtype.kind in "iu":
        return Outputs(array)
    if not form.plain and not _fits_floats(array):
        return collect(list(array), form)
    with np.errstate(over="ignore"):  # long doubles beyond the range are infinite
        rows = np.asarray(array, dtype=np.float64)
    flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    finite = np.isfinite(flat)
    if usual and finite.all():
        return Outputs(_signed(rows))
    values = np.zeros((len(rows), *form.shape))
    label = shape_label(rows.shape[1:])
    single = rows.ndim == 1
    if not form.padded and label != form.label:
        fits: NDArray[np.bool_] = np.zeros(len(rows), dtype=np.bool_)
    else:
        width = form.width if form.padded else flat.shape[1]
        allowed = finite[:, :width].copy()
        allowed[:, [i for i in form.exceptional if i < allowed.shape[1]]] = True
        fits = np.asarray(allowed.all(axis=1) & (finite.all(axis=1) | (not single)))
        numbers = np.where(finite, flat, 0.0)[fits, :width]
        if form.plain:
            values[fits] = numbers.reshape(-1, *form.shape)
        else:
            marks = _marks(flat[fits, :width])
            values[fits, : numbers.shape[1]] = numbers
            for k, column in enumerate(form.exceptional):
                values[fits, width + k] = marks[:, column] if column < marks.shape[1] else 0.0
            if form.padded:
                values[fits, -1] = flat.shape[1] if rows.ndim == 2 else code(label)
    values = _signed(values)
    if fits.all():
        return Outputs(values)
    labels = ["" if ok else cut(label) for ok in fits]
    for i in np.flatnonzero(~fits & ~finite.all(axis=1)):
        outcome = read_result(rows[i])
        labels[i] = outcome.label if isinstance(outcome, UnusualForm) else outcome.event()
    return Outputs(values, np.array(labels, dtype=np.str_))


def _typed(array: NDArray[Any], form: ResultForm, codes: float | Floats) -> Outputs:
    """Return the same as `collect_array`, with a number for the types of each row at the end."""
    if form.exceptional or form.padded:
        rest = replace(form, shape=(form.shape[0] - 1,), typed=False)
    elif shape_label(array.shape[1:]) == form.label:
        rest = ResultForm(array.shape[1:], form.label)
    else:
        return collect(list(array), form)
    outputs = collect_array(array, rest)
    column = np.where(outputs.labels == "", codes, 0.0)
    return Outputs(np.column_stack([outputs.values.reshape(len(array), -1), column]), outputs.events)


def unmasked(result: Any) -> Any:
    """Return `result`; if it is a masked array, with masked entries as NaN."""
    return result.astype(np.float64).filled(np.nan) if _is_masked(result) else result


def _is_masked(result: Any) -> bool:
    return isinstance(result, np.ma.MaskedArray) and result.dtype.kind in "biuf" and bool(np.ma.is_masked(result))


def _signed(values: Floats) -> Floats:
    """Return `values` with every -0.0 replaced by `BELOW_ZERO`."""
    negative = (values == 0.0) & np.signbit(values)
    return np.where(negative, BELOW_ZERO, values) if negative.any() else values


def _as_plain_array(results: Sequence[Any], form: ResultForm) -> NDArray[np.float64] | None:
    """Return all results as one array if they are plain numbers, or numeric arrays of one shape: the common case.

    Returns None if their types must be checked one by one.
    """
    kinds = set(map(type, results))
    if (form.typed and not kinds <= PLAIN_TYPES) or (form.shape == () and form.kind and _unusual(kinds, form)):
        return None
    if kinds == {np.ndarray} and len({(result.shape, result.dtype.kind in "biuf") for result in results}) == 1:
        fit = results[0].dtype.kind in "biuf" and all(map(_fits_floats, results))
        return np.stack(results).astype(np.float64) if fit else None
    if not kinds or not kinds <= PLAIN_TYPES:
        return None
    if kinds & {int, np.int64} and any(
        isinstance(n, (int, np.int64)) and abs(int(n)) > MAX_EXACT_INTEGER for n in results
    ):
        return None
    return np.array(results, dtype=np.float64)


def _fits_floats(array: NDArray[Any]) -> bool:
    """Return True if no number of `array` is too large a whole number for a float."""
    if array.dtype.kind not in "iu" or not array.size or array.dtype.itemsize < 8:
        return True
    return int(array.max()) <= MAX_EXACT_INTEGER and int(array.min()) >= -MAX_EXACT_INTEGER


def _kind(result: Any, array: NDArray[Any]) -> tuple[str, ...]:
    """Return the types of a number, or of a regular array of numbers."""
    items = [item for item in array.flat if item is not None] if array.dtype == object else []
    number = _named(np.asarray(items).dtype) if items else _named(array.dtype)
    return (number,) if array.shape == () else (class_name(result), number)


def _named(dtype: np.dtype[Any]) -> str:
    """Return the name of a type of numbers; types of Python and of numpy share names."""
    if dtype.kind == "f":
        return "float" if dtype.itemsize == 8 else f"float{8 * dtype.itemsize}"
    return {"b": "bool", "i": "int", "u": "int"}.get(dtype.kind, "number")


_CODES = {kind: code(_named(np.dtype(kind))) for kind in PLAIN_TYPES}


def _unusual(kinds: set[type], form: ResultForm) -> bool:
    """Return True if one of these types of plain numbers is not the usual one."""
    return kinds <= PLAIN_TYPES and any((_named(np.dtype(kind)),) != form.kind for kind in kinds)


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
    if flat.dtype.kind == "f" or (_fits_floats(flat) and flat.dtype != object):
        with np.errstate(over="ignore"):  # long doubles beyond the range are infinite
            numbers = flat.astype(np.float64)
        marks = _marks(numbers)
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
        marks[i] = _marks(numbers[i : i + 1])[0]
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
    if array.dtype.kind in "biuf" and (isinstance(result, np.ndarray) or _fits_floats(array)):
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


def _marks(numbers: Floats) -> Floats:
    """Return 1, 2, 3 where `numbers` are NaN, infinite, minus infinite; 0 elsewhere."""
    marks = np.zeros(numbers.shape)
    if not np.isfinite(numbers).all():
        marks[np.isnan(numbers)], marks[numbers == np.inf], marks[numbers == -np.inf] = 1.0, 2.0, 3.0
    return marks
