"""What a function returned, made into `Outputs`: one row of numbers a run, or the event that took its place.

    number, array, tuple, list, dict of these    a row of numbers
    NaN or infinite numbers                      event "nan", "inf", "-inf", or "nan at 0, 3"
    None                                         event "None"
    a string                                     event "text 'abc'", cut at 60 characters
    an exception                                 event "raised ValueError"
    a form other than the usual one              event "shape (3,)", "keys a, b"

A `Form` is the usual one: fixed beforehand, so that what counts as an event never depends on the other runs of a chunk.
Anything else, such as an object of one's own, is refused: reading it as one more event would hide what it holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.base import Outputs
from mechanisms.errors import ReleaseError

LONGEST = 60
"""Characters of a text that are kept in the name of its event."""
PLAIN = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.bool_})
"""Types of results that are read all at once."""


@dataclass(frozen=True)
class Raised:
    """Stands for the result of a run that raised an exception.

    Args:
        error: name of the exception's class.
    """

    error: str


@dataclass(frozen=True)
class Form:
    """The usual form of a result.

    Args:
        shape: of the array, `()` for a number; of the vector `(n,)` that a dict or a mixed tuple is laid out in.
        label: how people call it, and what two results must share to have the same form.
    """

    shape: tuple[int, ...] = ()
    label: str = "shape ()"


@dataclass(frozen=True)
class Event:
    """Something other than a row of numbers."""

    label: str


@dataclass(frozen=True)
class Row:
    """A row of finite numbers and its form."""

    form: Form
    numbers: NDArray[np.float64]


def read(result: Any) -> Row | Event:
    """One result as a row of numbers or an event; raises `ReleaseError` if it is neither."""
    if isinstance(result, Raised):
        return Event(f"raised {result.error}")
    if result is None:
        return Event("None")
    if isinstance(result, (str, bytes)):
        plain = str(result) if isinstance(result, str) else bytes(result)  # a numpy string shows as any other
        return Event(f"text {_cut(repr(plain))}")
    if isinstance(result, Mapping):
        return _read_parts(
            [result[name] for name in sorted(result, key=str)], "keys " + ", ".join(sorted(map(str, result)))
        )
    if isinstance(result, Real):
        return _row(_as_float(result))
    array = _as_array(result)
    if array is not None:
        return _row(array)
    if isinstance(result, (Sequence, np.ndarray)):
        return _read_parts(list(result), f"{type(result).__name__} of")
    raise ReleaseError(
        f"a run returned {_cut(repr(result))}, of type {type(result).__name__}, which cannot be read as an outcome. "
        "Return a number, an array, a tuple, a dict of numbers, a string or None; or turn it into one of these."
    )


def collect(results: Sequence[Any], form: Form) -> Outputs:
    """The results of some runs as `Outputs`; those that do not have the usual form are events."""
    plain = _as_plain_array(results)
    if plain is not None:
        return collect_array(plain, form)
    values = np.zeros((len(results), *form.shape))
    labels = [""] * len(results)
    for i, result in enumerate(results):
        outcome = read(result)
        if isinstance(outcome, Row) and outcome.form == form:
            values[i] = outcome.numbers
        else:
            labels[i] = outcome.label if isinstance(outcome, Event) else _cut(outcome.form.label)
    return Outputs(values, np.array(labels, dtype=np.str_) if any(labels) else None)


def collect_array(array: NDArray[Any], form: Form) -> Outputs:
    """As `collect`, for a numeric array with one row a run, without a loop."""
    if array.dtype.kind == "b":
        array = array.view(np.int8)
    usual = array.shape[1:] == form.shape
    if usual and array.dtype.kind in "iu":
        return Outputs(array)
    rows = np.asarray(array, dtype=np.float64)
    odd = ~np.isfinite(rows.reshape(len(rows), math.prod(rows.shape[1:]))).all(axis=1)
    if usual and not odd.any():
        return Outputs(rows)
    labels = ["" if usual else _cut(_shape_label(rows.shape[1:]))] * len(rows)
    for i in np.flatnonzero(odd):
        labels[i] = _odd_label(rows[i])
    values = np.zeros((len(rows), *form.shape))
    if usual:
        values[~odd] = rows[~odd]
    return Outputs(values, np.array(labels, dtype=np.str_))


def _as_plain_array(results: Sequence[Any]) -> NDArray[np.float64] | None:
    """All the results as one array, when they are plain numbers, or numeric arrays of one shape: the common case."""
    kinds = set(map(type, results))
    if kinds == {np.ndarray} and len({(result.shape, result.dtype.kind in "biuf") for result in results}) == 1:
        return np.stack(results).astype(np.float64) if results[0].dtype.kind in "biuf" else None
    if not kinds or not kinds <= PLAIN:
        return None
    try:
        return np.array(results, dtype=np.float64)
    except OverflowError:
        return None


def _read_parts(parts: Sequence[Any], name: str) -> Row | Event:
    """A dict or tuple laid out as one vector; an event in one part makes an event of the whole."""
    outcomes = [read(part) for part in parts]
    odd = [outcome.label for outcome in outcomes if isinstance(outcome, Event)]
    if odd:
        return Event(_cut(f"{name} with {', '.join(odd)}"))
    rows = [outcome for outcome in outcomes if isinstance(outcome, Row)]
    vector = np.concatenate([row.numbers.ravel() for row in rows]) if rows else np.empty(0)
    shapes = [row.form.label.removeprefix("shape ") for row in rows]
    plain = all(shape == "()" for shape in shapes)
    label = (
        (name if not name.endswith(" of") else f"{name} {len(parts)} numbers")
        if plain
        else f"{name}: {'; '.join(shapes)}"
    )
    return Row(Form(vector.shape, label), vector)


def _row(numbers: float | NDArray[np.float64]) -> Row | Event:
    array = np.asarray(numbers, dtype=np.float64)
    return (
        Row(Form(array.shape, _shape_label(array.shape)), array)
        if np.isfinite(array).all()
        else Event(_odd_label(array))
    )


def _as_float(number: Any) -> float:
    """A float; whole numbers beyond its range become infinite, so that they show as an event."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _as_array(result: Any) -> NDArray[np.float64] | None:
    """A regular array of real numbers; None if `result` is not one."""
    try:
        array = np.asarray(result)
    except ValueError:
        return None
    if array.dtype == object and array.size and all(isinstance(item, (Real, type(None))) for item in array.flat):
        array = np.array([math.nan if item is None else _as_float(item) for item in array.flat]).reshape(array.shape)
    return array.astype(np.float64) if array.dtype.kind in "biuf" else None


def _shape_label(shape: tuple[int, ...]) -> str:
    return f"shape {shape}"


def _odd_label(row: NDArray[np.float64]) -> str:
    """Name of the event that a row with NaN or infinite numbers is."""
    flat = row.ravel()
    kinds = {"nan": np.isnan(flat), "inf": np.isposinf(flat), "-inf": np.isneginf(flat)}
    if row.ndim == 0:
        return next(kind for kind, here in kinds.items() if here.any())
    places = {kind: ", ".join(map(str, np.flatnonzero(here))) for kind, here in kinds.items() if here.any()}
    return _cut("; ".join(f"{kind} at {where}" for kind, where in places.items()))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
