"""Guarantees defined by their privacy profile delta(epsilon).

The base class of this folder checks arguments, accepts scalars and arrays, and derives the two other views from the
profile if a class has no closed form for them.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from ...core import Floats, Guarantee, ParameterError, Relation, least_satisfying, maximise, parameter_text
from ..numerics.losses import LossProfile, SupportingLines

MAX_EPSILON = 700.0
"""Largest epsilon of any search: e^700 is about the largest float."""


class ProfileGuarantee(Guarantee):
    """A guarantee known through `_delta`; `_epsilon` and `_tradeoff` may be overridden by closed forms.

    The hooks take and return one-dimensional arrays; they may divide by zero or overflow if the limit is correct, and
    leave clipping to the public methods.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(relation=self.relation)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: ArrayLike) -> float | Floats: ...
    def epsilon(self, delta: ArrayLike) -> float | Floats:
        checked = _checked("delta", delta, "in [0, 1)", 0.0, math.nextafter(1.0, 0.0))
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            result = np.maximum(0.0, self._epsilon(checked.ravel())).reshape(checked.shape) + 0.0
        return result if checked.ndim else float(result)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> float | Floats: ...
    def delta(self, epsilon: ArrayLike) -> float | Floats:
        """Return the least delta at each epsilon >= 0, inf allowed; same shape as `epsilon`."""
        checked = _checked("epsilon", epsilon, ">= 0", 0.0, math.inf)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            result = np.clip(self._delta(checked.ravel()), 0.0, 1.0).reshape(checked.shape) + 0.0
        return result if checked.ndim else float(result)

    def tradeoff(self, fpr: ArrayLike) -> Floats:
        checked = _checked("fpr", fpr, "in [0, 1]", 0.0, 1.0)
        x = checked.ravel()
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            result = np.minimum(np.maximum(self._tradeoff(x), 0.0), 1.0 - x)  # np.clip takes several times as long
        return result.reshape(checked.shape)

    def under(self, relation: str | Relation) -> Self:
        """Return this guarantee, stated for another neighbouring relation; the caller claims that it holds there."""
        twin = copy.copy(self)
        twin._set(relation=Relation.of(relation))
        return twin

    def calibrated_at(self, delta: float | None) -> Self:
        """Return this guarantee with `calibrated_delta` set, the delta at which it is then stated; None for none."""
        twin = copy.copy(self)
        twin._set(calibrated_delta=delta)
        return twin

    @abstractmethod
    def _delta(self, epsilon: Floats) -> Floats:
        """Return delta at each epsilon in [0, inf]."""

    @abstractmethod
    def _parameters(self) -> Mapping[str, Any]:
        """Return the parameters that `str` and `repr` show."""

    def _epsilon(self, delta: Floats) -> Floats:
        """Invert the profile by bisection; the safe end of the last bracket."""
        return least_satisfying(lambda epsilon: self._delta(epsilon) <= delta, delta.shape)

    def _tradeoff(self, fpr: Floats) -> Floats:
        at_zero = 1.0 - self._delta(np.full(fpr.shape, np.inf))
        return np.where(fpr == 0.0, at_zero, supremum_over_lines(self._delta, self._epsilon, fpr))

    def _set(self, **values: Any) -> None:
        """Set fields of the frozen dataclass during construction; a relation given by name becomes a `Relation`."""
        for name, value in values.items():
            is_relation = name == "relation" and value is not None
            object.__setattr__(self, name, Relation.of(value) if is_relation else value)

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self._parameters().items())
        return f"{type(self).__name__}({shown})"

    def __repr__(self) -> str:
        parameters = dict(self._parameters())
        if self.relation is not None:
            parameters["relation"] = self.relation.value
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in parameters.items())})"


class LossGuarantee(ProfileGuarantee):
    """A guarantee known through the profiles of its privacy losses, the worse of one or two directions."""

    @property
    @abstractmethod
    def profiles(self) -> tuple[LossProfile, ...]:
        """Profiles of the losses: one if both directions have the same losses, else two."""

    @cached_property
    def lines(self) -> SupportingLines:
        """Lines whose supremum is the trade-off curve."""
        return SupportingLines.of(self.profiles)

    def _delta(self, epsilon: Floats) -> Floats:
        return reduce(np.maximum, [profile.delta(epsilon) for profile in self.profiles])

    def _epsilon(self, delta: Floats) -> Floats:
        return reduce(np.maximum, [profile.epsilon(delta) for profile in self.profiles])

    def _tradeoff(self, fpr: Floats) -> Floats:
        at_zero = 1.0 - self._delta(np.full(1, np.inf))
        return np.where(fpr == 0.0, at_zero, self.lines.tradeoff(fpr))


def supremum_over_lines(delta: Callable[[Floats], Floats], epsilon: Callable[[Floats], Floats], fpr: Floats) -> Floats:
    """Return the sup over epsilon of max{1 - delta - e^epsilon fpr, e^-epsilon (1 - delta - fpr)}.

    Dong, Roth, Su (2019), Proposition 2.12. Every epsilon gives a valid lower bound on the false negative rate, so a
    search that stops early errs on the safe side. The maximum of the second line is at most log 2 above the epsilon at
    which delta is (1 - fpr) / 2. The objective of a profile with jumps, or of the minimum of several profiles, has
    several peaks, and the search may miss the highest: search each part separately, with the `epsilon` of the part or
    of the whole.
    """
    rest, start = 1.0 - fpr, np.zeros(fpr.shape)
    steep_high = np.minimum(MAX_EPSILON, -np.log(fpr))
    flat_high = np.minimum(MAX_EPSILON, np.maximum(0.0, epsilon(0.5 * rest)) + math.log(2.0))
    steep = maximise(lambda e: 1.0 - delta(e) - np.exp(e) * fpr, start, steep_high)
    flat = maximise(lambda e: np.exp(-e) * (rest - delta(e)), start, flat_high)
    return np.maximum(steep, flat)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    return f"{parameter_text(value)}" if isinstance(value, float) else str(value)


def _checked(name: str, values: ArrayLike, allowed: str, low: float, high: float) -> Floats:
    """Return `values` as floats; raises `ParameterError` with the first value outside [low, high]."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be numbers {allowed}, but is {values!r}.", argument=name) from None
    in_range = (array >= low) & (array <= high)
    if not in_range.all():
        first = float(array[~in_range].flat[0])
        raise ParameterError(f"{name} must be {allowed}, but {first!r} was given.", argument=name)
    return array
