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

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Bools, Floats, Outputs
from .forms import BELOW_ZERO, OutputRow, ResultForm, UnusualForm, code, kind_text, shape_label
from .guard import cut
from .reading import MAX_EXACT_INTEGER, PLAIN_TYPES, fits_floats, marks_of, read_result, type_name


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
        name = type_name(array.dtype)
        return _typed(array, form, code(kind_text((name,) if array.ndim == 1 else ("ndarray", name))))
    usual = array.shape[1:] == form.shape and form.plain
    if usual and array.dtype.kind in "iu":
        return Outputs(array)
    if not form.plain and not fits_floats(array):
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
        fits: Bools = np.zeros(len(rows), dtype=np.bool_)
    else:
        width = form.width if form.padded else flat.shape[1]
        allowed = finite[:, :width].copy()
        allowed[:, [i for i in form.exceptional if i < allowed.shape[1]]] = True
        fits = np.asarray(allowed.all(axis=1) & (finite.all(axis=1) | (not single)))
        numbers = np.where(finite, flat, 0.0)[fits, :width]
        if form.plain:
            values[fits] = numbers.reshape(-1, *form.shape)
        else:
            marks = marks_of(flat[fits, :width])
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


def _signed(values: Floats) -> Floats:
    """Return `values` with every -0.0 replaced by `BELOW_ZERO`."""
    negative = (values == 0.0) & np.signbit(values)
    return np.where(negative, BELOW_ZERO, values) if negative.any() else values


def _as_plain_array(results: Sequence[Any], form: ResultForm) -> Floats | None:
    """Return all results as one array if they are plain numbers, or numeric arrays of one shape: the common case.

    Returns None if their types must be checked one by one.
    """
    kinds = set(map(type, results))
    if (form.typed and not kinds <= PLAIN_TYPES) or (form.shape == () and form.kind and _unusual(kinds, form)):
        return None
    if kinds == {np.ndarray} and len({(result.shape, result.dtype.kind in "biuf") for result in results}) == 1:
        fit = results[0].dtype.kind in "biuf" and all(map(fits_floats, results))
        return np.stack(results).astype(np.float64) if fit else None
    if not kinds or not kinds <= PLAIN_TYPES:
        return None
    if kinds & {int, np.int64} and any(
        isinstance(n, (int, np.int64)) and abs(int(n)) > MAX_EXACT_INTEGER for n in results
    ):
        return None
    return np.array(results, dtype=np.float64)


_CODES = {kind: code(type_name(np.dtype(kind))) for kind in PLAIN_TYPES}


def _unusual(kinds: set[type], form: ResultForm) -> bool:
    """Return True if one of these types of plain numbers is not the usual one."""
    return kinds <= PLAIN_TYPES and any((type_name(np.dtype(kind)),) != form.kind for kind in kinds)
