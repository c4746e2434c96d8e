"""Shared checks of arguments: each takes `name=value` and raises a `ParameterError` that names both.

    positive(epsilon=epsilon, sensitivity=sensitivity)

The fields of a class declare these checks instead: see constraints.py. `called_as` checks that a call fits the
signature of a function.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Collection
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Bools, Floats
from .errors import CallError, ParameterError, unknown_name_message
from .tensors import tensor_to_array

P = ParamSpec("P")
R = TypeVar("R")


def called_as(example: str, *, like: Callable[..., Any] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: a call that does not fit the signature raises `CallError`, which shows the call `example`.

    Args:
        example: a call that fits.
        like: a function with the same arguments, for a function that passes `**options` to it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        expected = signature(like or function)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            __tracebackhide__ = True
            try:
                expected.bind(*args, **kwargs)
            except TypeError as error:
                name = function.__qualname__.removesuffix(".__init__")
                raise CallError(name, str(error), example) from None
            return function(*args, **kwargs)

        return called

    return decorate


def _number(name: str, value: Any, allowed: str) -> float:
    """Return `value` as a float; raises `ParameterError` for NaN and anything but a real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        shown = f"{value!r} ({type(value).__name__})"
        raise ParameterError(argument=name, value=value, shown=shown, allowed=f"be {allowed}")
    if math.isnan(value):
        raise ParameterError(argument=name, value=value, shown="NaN", allowed=f"be {allowed}")
    return float(value)


def finite(**values: Any) -> None:
    """Check that each value is a finite real number."""
    for name, value in values.items():
        if not math.isfinite(_number(name, value, "a finite number")):
            raise ParameterError(argument=name, value=value, allowed="be a finite number")


def positive(**values: Any) -> None:
    """Check that each value is a finite real number > 0."""
    for name, value in values.items():
        number = _number(name, value, "a finite number > 0")
        if not (0.0 < number < math.inf):
            raise ParameterError(argument=name, value=value, allowed="be a finite number > 0")


def non_negative(**values: Any) -> None:
    """Check that each value is a finite real number >= 0."""
    for name, value in values.items():
        number = _number(name, value, "a finite number >= 0")
        if not (0.0 <= number < math.inf):
            raise ParameterError(argument=name, value=value, allowed="be a finite number >= 0")


def open_unit(**values: Any) -> None:
    """Check that each value lies strictly between 0 and 1, such as a confidence or a significance level."""
    for name, value in values.items():
        if not 0.0 < _number(name, value, "strictly between 0 and 1") < 1.0:
            raise ParameterError(argument=name, value=value, allowed="lie strictly between 0 and 1")


def delta_range(**values: Any) -> None:
    """Check that each value is a delta: 0 <= delta < 1."""
    for name, value in values.items():
        if not 0.0 <= _number(name, value, "in [0, 1)") < 1.0:
            raise ParameterError(argument=name, value=value, allowed="lie in [0, 1)")


def unit_interval(**values: Any) -> None:
    """Check that each value is a probability: 0 <= p <= 1."""
    for name, value in values.items():
        if not 0.0 <= _number(name, value, "in [0, 1]") <= 1.0:
            raise ParameterError(argument=name, value=value, allowed="lie in [0, 1]")


def whole(minimum: int, /, **values: Any) -> None:
    """Check that each value is a whole number >= `minimum`."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
            raise ParameterError(argument=name, value=value, allowed=f"be a whole number >= {minimum}")


def counted(minimum: int, /, **value: Any) -> int:
    """Return the single value as an int: a whole number >= `minimum`, also as a float such as 1e5."""
    ((name, raw),) = value.items()
    number = int(raw) if isinstance(raw, float) and raw.is_integer() else raw
    if isinstance(number, bool) or not isinstance(number, Integral) or number < minimum:
        allowed = f"be a whole number >= {minimum}, such as 1000 or 1e5"
        raise ParameterError(argument=name, value=raw, allowed=allowed)
    return int(number)


def real_numbers(**value: Any) -> Floats:
    """Return the single value, such as a tensor, as an array of real numbers, including infinities and NaN."""
    ((name, raw),) = value.items()
    try:
        array = np.asarray(tensor_to_array(raw))
        if array.dtype.kind not in "biufO" or (array.dtype == "O" and any(isinstance(x, complex) for x in array.flat)):
            raise TypeError
        with np.errstate(over="ignore"):
            numbers = array.astype(np.float64, copy=False)
        if array.dtype == np.longdouble and (np.isinf(numbers) & np.isfinite(array)).any():
            raise ParameterError(
                f"{name} must fit into 64 bits, but has numbers beyond 1.8e308. Scale them, or take their logarithms.",
                argument=name,
            )
        return numbers
    except ParameterError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} must be real numbers, but is {reprlib.repr(raw)}.", argument=name) from None


def rectangular(**value: Any) -> NDArray[Any]:
    """Return the single value as an array; its lists must be equally long at every depth."""
    ((name, raw),) = value.items()
    try:
        return np.asarray(raw)
    except (TypeError, ValueError, OverflowError):
        shown = reprlib.repr(raw)
        raise ParameterError(
            f"{name} must be a value or a list of equally long lists, but is {shown}.", argument=name
        ) from None


def numeric_rows(**value: Any) -> Floats:
    """Return the single value as a table of finite numbers, `(n, n_features)`."""
    ((name, raw),) = value.items()
    try:
        rows = real_numbers(**value)
    except ParameterError:
        shown = reprlib.repr(raw)
        raise ParameterError(f"{name} must be rows of numbers, but is {shown}.", argument=name) from None
    if rows.ndim != 2:
        raise ParameterError(f"{name} must be rows of numbers, but has shape {rows.shape}.", argument=name)
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        (row, column), first = bad[0], rows[tuple(bad[0])]
        raise ParameterError(
            f"{name} must be finite, but {len(bad):,} of its {rows.size:,} numbers are not; the first is {first}, in "
            f"row {row}, column {column} (from 0 on).",
            argument=name,
        )
    return rows


def missing_entries(column: NDArray[Any]) -> Bools:
    """Return which entries of a column are missing: None, NaN or NaT.

    >>> missing_entries(np.array([1.0, np.nan])), missing_entries(np.array(["a", None], dtype=object))
    (array([False,  True]), array([False,  True]))
    """
    if column.dtype.kind != "O":
        return np.asarray(column != column)  # true of NaN and NaT only
    from pandas import isna

    return np.asarray(isna(column), dtype=np.bool_)


def none_missing(**columns: NDArray[Any]) -> None:
    """Raise `ParameterError` if an entry of a column of names, one for each record, is missing."""
    for name, column in columns.items():
        if (missing := np.flatnonzero(missing_entries(column))).size:
            raise ParameterError(
                f"{name} must have a name for each record, but entry {missing[0]} is missing (None or NaN). Leave out "
                "such records, or give each a name.",
                argument=name,
            )


def instance(kind: type[Any], example: str, /, **values: Any) -> None:
    """Check that each value is an instance of `kind`; the error gives `example`, which constructs one."""
    for name, value in values.items():
        if not isinstance(value, kind):
            raise ParameterError(argument=name, value=value, allowed=f"be a {kind.__name__}, such as {example}")


def true_or_false(**values: Any) -> None:
    """Check that each value is True or False."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise ParameterError(argument=name, value=value, allowed="be True or False")


def one_of(allowed: Collection[str], /, **values: Any) -> None:
    """Check that each value is one of the names in `allowed`."""
    for name, value in values.items():
        if not isinstance(value, str) or value not in allowed:
            message = unknown_name_message(name, str(value), allowed)
            raise ParameterError(message, argument=name, value=value, allowed=f"be one of {', '.join(sorted(allowed))}")
