"""Noise that records the numbers it is added to, so that a replay can keep the noisy value and move the noise.

A primitive returns its draw as an ordinary number or array that also stores that it is
factor * draw + offset, as long as numbers are added to it or multiplied with it. On a replay, where the offset
differs from the recorded one, the draw is moved by the difference, once: the sum is then the recorded value, and all
results computed from it are the same on both sides. The distance that the draw was moved determines
its privacy cost. (Alignment of randomness: Zhang and Kifer 2017, LightDP.)

Any other operation on a draw (`float`, `math.log`, C code) uses its plain value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partialmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Bools, Floats

__tracebackhide__ = True  # pytest shows the lines of the program, not those of this module

RELATIVE_TOLERANCE = 1e-9
"""Relative difference below which two numbers are considered equal."""
MAX_FOLLOWED_ENTRIES = 100_000
"""Largest number of entries of a draw whose use is followed; larger draws are plain values."""


@dataclass(frozen=True, eq=False)
class Step:
    """Use of a draw together with other numbers: value = factor * draw[places] + offset."""

    places: NDArray[np.intp]
    factor: Floats
    offset: Floats
    value: Floats


@dataclass(eq=False)
class RecordedDraw:
    """Result of one call of a primitive, whose use is followed.

    Args:
        result: the numbers of the draw, flattened.
        script: the same draw when it was recorded; None when recording.

    Attributes:
        steps: uses of the draw so far.
        shift: amount by which each number of the draw was moved down on this replay.
        settled: mask of the numbers that were moved: these are not moved again.
        uneven: the first factor that differs from the recorded one, after the recorded one.
        added: True if the draw was added to, or multiplied by, anything; comparisons do not count.
    """

    result: Floats
    script: RecordedDraw | None = None
    steps: list[Step] = field(default_factory=list)
    uneven: tuple[float, float] | None = None
    added: bool = False
    shift: Floats = field(init=False)
    settled: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.shift = np.zeros(self.result.shape)
        self.settled = np.zeros(self.result.shape, dtype=np.bool_)

    def followed(self, step: Step) -> Floats:
        """Return the value of a step: on a replay the recorded value if the draw can be moved to it."""
        position = len(self.steps)
        self.steps.append(step)
        if self.script is None or position >= len(self.script.steps):
            return self.value(step)
        recorded = self.script.steps[position]
        if not np.array_equal(recorded.places, step.places):
            return self.value(step)
        even = np.isclose(step.factor, recorded.factor, rtol=RELATIVE_TOLERANCE, atol=0.0)
        if not even.all() and self.uneven is None:
            first = np.flatnonzero(~even.ravel())[0]
            self.uneven = float(recorded.factor.ravel()[first]), float(step.factor.ravel()[first])
        with np.errstate(all="ignore"):
            distance = step.offset / step.factor - recorded.offset / recorded.factor
        same = even & ((step.offset == recorded.offset) | (np.isnan(step.offset) & np.isnan(recorded.offset)))
        distance = np.where(same, 0.0, distance)
        fresh = (distance != 0.0) & ~self.settled[step.places]
        self.shift[step.places[fresh]] = distance[fresh]
        self.settled[step.places[fresh]] = True
        reproduced = np.isclose(distance, self.shift[step.places], rtol=RELATIVE_TOLERANCE, atol=0.0, equal_nan=True)
        return np.where(reproduced, recorded.value, self.value(step))

    def value(self, step: Step) -> Floats:
        """Return the value of a step at the present position of the draw."""
        shift = self.shift[step.places]
        with np.errstate(all="ignore"):
            placed = step.factor * (self.result[step.places] - shift) + step.offset
        return np.where(shift == 0.0, step.value, placed)


@dataclass(frozen=True, eq=False)
class View:
    """Relation of a number or an array of a program to a draw."""

    draw: RecordedDraw
    places: NDArray[np.intp]
    factor: Floats
    offset: Floats
    then: Floats
    """Shift of the draw when the value was computed."""

    def picked(self, pick: Callable[[Any], Any]) -> View:
        """Return the view of some of its numbers."""
        return View(self.draw, *(np.asarray(pick(part)) for part in (self.places, self.factor, self.offset, self.then)))

    def now(self, value: Any) -> Any:
        """Return the value at the present position of the draw; `value` is the value at the time of computation."""
        shift = self.draw.shift[self.places]
        with np.errstate(all="ignore"):
            placed = self.factor * (self.draw.result[self.places] - shift) + self.offset
        return np.where(np.isclose(shift, self.then, rtol=RELATIVE_TOLERANCE, atol=0.0, equal_nan=True), value, placed)


def as_noisy(result: Any, script: RecordedDraw | None) -> tuple[Any, RecordedDraw | None]:
    """Return a result as a number or array whose use is followed, with its draw; or the result itself and None."""
    array = np.asarray(result)
    if array.dtype.kind not in "fi" or array.size > MAX_FOLLOWED_ENTRIES:
        return result, None
    if not (isinstance(result, np.ndarray) or type(result) in SCALARS):
        return result, None
    draw = RecordedDraw(array.astype(np.float64).ravel(), script)
    places = np.arange(array.size).reshape(array.shape)
    ones, zeros = np.broadcast_to(1.0, array.shape), np.broadcast_to(0.0, array.shape)
    view = View(draw, places, ones, zeros, zeros)
    return _with_view(result, view), draw


def as_plain(value: Any) -> Any:
    """Return the value without its view."""
    if isinstance(value, _Scalar):
        return value.plain()
    return value.view(np.ndarray) if isinstance(value, NoisyArray) else value


def at_last(value: Any) -> Any:
    """Return the plain value at the end of a run, at the final position of its draw."""
    view, plain_value = _view(value), as_plain(value)
    return plain_value if view is None else view.now(plain_value)[()]


def _view(value: Any) -> View | None:
    return getattr(value, "_view", None) if isinstance(value, (_Scalar, NoisyArray)) else None


def _with_view(value: Any, view: View | None) -> Any:
    """Return a plain number or array with a view."""
    if view is None:
        return value
    if isinstance(value, np.ndarray):
        array = value.view(NoisyArray)
        array._view = view
        return array
    kind = SCALARS.get(type(value))
    if kind is None:
        return value
    scalar = kind(value)
    scalar._view = view
    return scalar


def _followed_result(view: View, result: Any, multiply: Any, add: Any) -> Any:
    """Return `result`, which equals multiply * value + add, with its use followed."""
    shape = np.shape(result)
    with np.errstate(all="ignore"):
        factor = np.broadcast_to(np.asarray(view.factor * multiply, dtype=np.float64), shape)
        offset = np.broadcast_to(np.asarray(view.offset * multiply + add, dtype=np.float64), shape)
    if not (np.isfinite(factor) & (factor != 0.0)).all():
        return result
    places = np.broadcast_to(view.places, shape)
    step = Step(places, factor, offset, np.array(result, dtype=np.float64))
    values = view.draw.followed(step)
    if isinstance(result, np.ndarray):
        followed = values.astype(result.dtype, copy=False) if not np.array_equal(values, step.value) else result
    else:
        followed = type(result)(values)
    return _with_view(followed, View(view.draw, places, factor, offset, view.draw.shift[places].copy()))


def _combined(name: str, left: Any, right: Any, result: Any) -> Any:
    """Return the result of an operation on two numbers or arrays, at least one of which has a view."""
    first, second = _view(left), _view(right)
    for view in (first, second):
        if view is not None:
            view.draw.added = True
    if first is not None and second is not None and (name in ("multiply", "divide") or first.draw is second.draw):
        value = UFUNCS[name](at_last(left), at_last(right))
        return type(result)(value) if np.ndim(result) == 0 else value
    view, other, sign = (second, left, -1.0) if first is None else (first, right, 1.0)
    if view is None or (first is None and name == "divide"):
        return result
    other = at_last(other)
    with np.errstate(all="ignore"):
        if name == "add":
            return _followed_result(view, result, 1.0, other)
        if name == "subtract":
            return _followed_result(view, result, sign, other if first is None else np.negative(other))
        return _followed_result(view, result, other if name == "multiply" else np.divide(1.0, other), 0.0)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
}
UFUNCS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def _ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the result of a numpy function on inputs with views; follow sums, scalar products and comparisons."""
    if any(not isinstance(value, (_Scalar, NoisyArray)) and _foreign(value) for value in inputs):
        return NotImplemented
    out = options.pop("out", ())
    bare = [as_plain(value) for value in inputs]
    if out:
        options["out"] = tuple(as_plain(value) for value in out)
    name = ufunc.__name__
    if method == "__call__" and name in COMPARISONS and not options and _numbers(bare):
        difference = np.asarray(_difference(np.subtract, *inputs))
        if np.isfinite(difference).all():
            return ufunc(difference, 0)
    result = getattr(ufunc, method)(*bare, **options)
    for array in out:
        if isinstance(array, NoisyArray):
            array._view = None
    if np.asarray(result).dtype.kind not in "fi":
        return result
    if method == "__call__" and name in OPERATIONS and "where" not in options:
        followed = _combined(name, inputs[0], inputs[1], result)
    elif method == "__call__" and name == "negative" and (view := _view(inputs[0])) is not None:
        followed = _followed_result(view, result, -1.0, 0.0)
    elif method == "reduce" and name == "add" and options.get("where", True) is True:
        followed = _summed(inputs[0], result, options)
    else:
        return result
    if out:
        np.copyto(options["out"][0], as_plain(followed), casting="unsafe")
        if isinstance(out[0], NoisyArray):
            out[0]._view = _view(followed)
        return out[0]
    return followed


def _difference(subtract: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the difference that decides a comparison: it is followed, but does not count as a use as noise."""
    draws = [(view.draw, view.draw.added) for view in (_view(left), _view(right)) if view is not None]
    difference = as_plain(subtract(left, right))
    for draw, before in draws:
        draw.added = before
    return difference


def _numbers(values: list[Any]) -> bool:
    return all(np.asarray(value).dtype.kind in "bfi" for value in values)


def _foreign(value: Any) -> bool:
    """Return True if another library overrides numpy functions on this value."""
    kind = type(value)
    return (
        hasattr(kind, "__array_ufunc__")
        and kind.__array_ufunc__ is not np.ndarray.__array_ufunc__
        and not (issubclass(kind, (np.ndarray, np.generic)))
    )


def _summed(array: Any, result: Any, options: dict[str, Any]) -> Any:
    """Return a sum over a draw: its first number is followed, and the others are part of the offset."""
    view, axis = _view(array), options.get("axis", 0)
    if view is None or options.get("keepdims") or not view.places.size or not isinstance(axis, (int, type(None))):
        return result
    first = view.picked(lambda part: part.ravel()[0] if axis is None else np.take(part, 0, axis))
    rest = np.asarray(result, dtype=np.float64) - first.factor * first.draw.result[first.places] - first.offset
    return _followed_result(first, result, 1.0, rest)


class NoisyArray(np.ndarray[Any, Any]):
    """Array known to be factor * draw + offset; without a view an ordinary array."""

    _view: View | None = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return _ufunc(ufunc, method, inputs, options)

    def __getitem__(self, key: Any) -> Any:
        result, view = self.view(np.ndarray)[as_plain(key)], self._view
        return result if view is None else _with_view(result, view.picked(lambda part: part[as_plain(key)]))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.view(np.ndarray)[as_plain(key)] = as_plain(value)
        self._view = None

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """Return the array in another shape."""
        reshaped, view = self.view(np.ndarray).reshape(*shape, **options), self._view
        return (
            reshaped
            if view is None
            else _with_view(reshaped, view.picked(lambda part: part.reshape(*shape, **options)))
        )

    def ravel(self, *order: Any, **options: Any) -> Any:
        """Return the array in one dimension."""
        flat, view = self.view(np.ndarray).ravel(*order, **options), self._view
        return flat if view is None else _with_view(flat, view.picked(lambda part: part.ravel(*order, **options)))

    flatten = ravel

    def copy(self, *order: Any, **options: Any) -> Any:
        """Return a copy with the same view."""
        return _with_view(self.view(np.ndarray).copy(*order, **options), self._view)

    def tolist(self) -> Any:
        """Return the numbers as a list, each with its view."""
        if self._view is None or not self.ndim:
            return super().tolist()
        return [item.tolist() if isinstance(item, NoisyArray) else _python(item) for item in self]

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()

    def _changed(self, name: str, *args: Any, **options: Any) -> None:
        getattr(self.view(np.ndarray), name)(*args, **options)
        self._view = None

    sort = partialmethod(_changed, "sort")
    partition = partialmethod(_changed, "partition")
    fill = partialmethod(_changed, "fill")
    put = partialmethod(_changed, "put")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()


def _python(number: Any) -> Any:
    """Return a number of numpy as one of Python, with its view."""
    return _with_view(as_plain(number).item(), _view(number)) if isinstance(as_plain(number), np.generic) else number


class _Scalar:
    """Common methods of the numbers with a view; the base class comes from `SCALARS`."""

    _view: View | None = None
    _kind: type[Any]

    def plain(self) -> Any:
        """Return the number as it was computed."""
        return self._kind(self._kind.__pos__(self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return _ufunc(ufunc, method, inputs, options)

    def __neg__(self) -> Any:
        result = -self.plain()
        return result if self._view is None else _followed_result(self._view, result, -1.0, 0.0)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._kind, (self.plain(),)


def _arithmetic(name: str, *, swapped: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float, np.integer, np.floating)):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        result = OPERATIONS[name](as_plain(left), as_plain(right))
        return _combined(name, left, right, result) if isinstance(result, (int, float, np.number)) else result

    return method


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float, np.integer, np.floating)):
            return NotImplemented
        difference = _difference(operator.sub, self, other)
        if not np.isfinite(difference):
            return COMPARISONS[name](self.plain(), as_plain(other))
        return COMPARISONS[name](difference, 0)

    return method


for _name, _dunder in (("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("divide", "truediv")):
    setattr(_Scalar, f"__{_dunder}__", _arithmetic(_name, swapped=False))
    setattr(_Scalar, f"__r{_dunder}__", _arithmetic(_name, swapped=True))
for _name, _dunder in (("less", "lt"), ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge")):
    setattr(_Scalar, f"__{_dunder}__", _comparison(_name))

SCALARS: dict[type[Any], type[Any]] = {
    kind: type(
        f"Noisy{kind.__name__.title()}",
        (kind, _Scalar),  # numpy determines the type of a number by its first base
        {"_kind": kind}
        | {name: part for name, part in vars(_Scalar).items() if name not in ("__dict__", "__weakref__")},
    )
    for kind in (float, int, np.float64, np.float32, np.int64)
}
"""Number types, each with the subclass that has a view."""
