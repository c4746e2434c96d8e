"""The exact curve of a pair of finite output distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ParameterError
from ..relation import Relation
from .base import Floats, Guarantee
from .numerics.losses import LossProfile
from .numerics.polygon import lower_hull, tradeoff_points
from .profile import ProfileGuarantee
from .pure import PureDP

_SUM_TOLERANCE = 1e-9
_LEAST_LOG, _NEGLIGIBLE_LOG = -690.0, -100.0


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ExactDP(ProfileGuarantee):
    """What two known output laws, p0 on side 0 and p1 on side 1, allow: nothing is bounded, everything is computed.

    A guarantee holds in both directions, and so do the three views of an asymmetric pair:

        delta(epsilon)  the larger of the two hockey-stick divergences, sum (p1 - e^epsilon p0)+ and with sides swapped
        epsilon(delta)  the larger of the two inverses
        tradeoff        the largest convex curve below both one-sided curves, which is the curve of that delta

    Args:
        p0, p1: `(n_outputs,)` probabilities of the same outputs on side 0 and side 1; zeros allowed. Each sums to 1
            within 1e-9 and is then scaled to sum to 1.
        relation: the neighbouring relation; None takes that of the pair it is compared on.
        exact: False when the two laws are only known to be no better than the mechanism.

    Raises:
        ParameterError: not two vectors of one length >= 1, a probability negative or NaN, a sum other than 1; an
            unknown relation.

    Guarantees:
        * Closed forms on the breakpoints (the distinct likelihood ratios), by sums of positive terms: delta keeps its
          relative accuracy in the tails, epsilon needs no search, the trade-off is the exact polygon.
        * An output that one side cannot produce gives epsilon = inf below its probability.

    References:
        Neyman, Pearson (1933); Balle, Barthe, Gaboardi (2018), Section 2 (hockey-stick divergence).

    Example:
        >>> survey = ExactDP([0.25, 0.75], [0.75, 0.25])  # randomized response: yes with 1/4 or 3/4
        >>> round(survey.epsilon(0.0), 6), round(survey.delta(0.0), 6)
        (1.098612, 0.5)
        >>> survey.tradeoff([0.0, 0.25, 0.5])
        array([1.        , 0.25      , 0.16666667])
    """

    p0: Floats
    p1: Floats
    relation: Relation | None
    exact: bool

    def __init__(
        self, p0: ArrayLike, p1: ArrayLike, relation: str | Relation | None = None, *, exact: bool = True
    ) -> None:
        first, second = _law("p0", p0), _law("p1", p1)
        if first.shape != second.shape:
            raise ParameterError(
                f"p0 and p1 must list the same outputs, but have lengths {len(first)} and {len(second)}. "
                "Give an output that one side cannot produce the probability 0 there.",
                argument="p0",
            )
        self._set(p0=first, p1=second, relation=relation, exact=exact)

    def __eq__(self, other: object) -> bool:
        """Two guarantees of equal laws are one, so that what was computed for a claim is found again."""
        return self._laws == other._laws if isinstance(other, ExactDP) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._laws)

    @property
    def _laws(self) -> tuple[bytes, bytes, Relation | None, bool]:
        return self.p0.tobytes(), self.p1.tobytes(), self.relation, self.exact

    @property
    def default_delta(self) -> float | None:
        """0 where the pair is purely private, which it is if both sides can produce the same outputs."""
        return 0.0 if np.array_equal(self.p0 > 0.0, self.p1 > 0.0) else None

    @cached_property
    def polygon(self) -> tuple[Floats, Floats]:
        """Corners (fpr, fnr) of the symmetric trade-off curve, fpr increasing from 0 to 1."""
        fpr, fnr = tradeoff_points(self.p0, self.p1)
        return lower_hull(np.concatenate([fpr, fnr]), np.concatenate([fnr, fpr]))

    @cached_property
    def profiles(self) -> tuple[LossProfile, LossProfile]:
        """Profiles of the losses log(p1/p0) under p1 and log(p0/p1) under p0."""
        return loss_profile(self.p1, self.p0), loss_profile(self.p0, self.p1)

    def symmetric(self) -> ExactDP:
        """A pair with this curve in either direction: what dominates when nobody knows which side is which."""
        fpr, fnr = self.polygon
        p0 = np.concatenate([[0.0], np.diff(fpr)])
        p1 = np.concatenate([[1.0 - fnr[0]], -np.diff(fnr)])
        return ExactDP(p0, p1, self.relation, exact=False)

    def _parameters(self) -> Mapping[str, Any]:
        return {"n_outputs": len(self.p0)} if len(self.p0) > 4 else {"p0": self.p0.tolist(), "p1": self.p1.tolist()}

    def _delta(self, epsilon: Floats) -> Floats:
        return np.maximum(*(profile.delta(epsilon) for profile in self.profiles))

    def _epsilon(self, delta: Floats) -> Floats:
        return np.maximum(*(profile.epsilon(delta) for profile in self.profiles))

    def _tradeoff(self, fpr: Floats) -> Floats:
        return np.interp(fpr, *self.polygon)


def exact_from_logs(log_p0: ArrayLike, log_p1: ArrayLike, relation: Relation | None = None) -> Guarantee:
    """The exact curve of two laws given by their log probabilities, which may be too small for floats.

    Outputs that are too rare are lifted on both sides together, to less than e^-100: their log ratios, which decide
    epsilon at delta 0, stay as they are, and their probabilities are next to nothing. Where a log ratio is beyond 590,
    and none is infinite, the curve is `PureDP` of the largest one: an upper bound.

    Example:
        >>> exact_from_logs(np.log([0.5, 0.5]), np.log([0.5, 0.5])).epsilon(0.0)
        0.0
        >>> exact_from_logs([0.0, -800.0], [0.0, -803.0]).epsilon(0.0)
        3.0
    """
    first, second = np.asarray(log_p0, dtype=np.float64), np.asarray(log_p1, dtype=np.float64)
    both = np.isfinite(first) & np.isfinite(second)
    largest = float(np.abs(first[both] - second[both]).max(initial=0.0))
    if largest > _NEGLIGIBLE_LOG - _LEAST_LOG and both.all():
        return PureDP(largest, relation=relation)
    room = np.maximum(0.0, _NEGLIGIBLE_LOG - np.maximum(first, second))
    lift = np.where(both, np.clip(_LEAST_LOG - np.minimum(first, second), 0.0, room), 0.0)
    return ExactDP(np.exp(first + lift), np.exp(second + lift), relation)


def loss_profile(upper: Floats, lower: Floats) -> LossProfile:
    """Profile of the loss log(upper / lower) under `upper`."""
    both = (upper > 0.0) & (lower > 0.0)
    losses = log_ratio(upper[both], lower[both])
    return LossProfile.of(losses, upper[both], float(upper[(upper > 0.0) & (lower == 0.0)].sum()))


def log_ratio(upper: Floats, lower: Floats) -> Floats:
    """log(upper / lower) of positive numbers, accurate for ratios near 1 as well."""
    near = np.clip((upper - lower) / lower, -0.5, 1.0)
    return np.asarray(np.where(np.abs(near) < 0.5, np.log1p(near), np.log(upper) - np.log(lower)))


def _law(name: str, values: ArrayLike) -> Floats:
    """`values` as a read-only probability vector."""
    try:
        law = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a vector of probabilities, but is {values!r}.", argument=name) from None
    if law.ndim != 1 or len(law) == 0:
        raise ParameterError(f"{name} must be a vector of probabilities, but has shape {law.shape}.", argument=name)
    if not (law >= 0.0).all():
        raise ParameterError(
            f"{name} must hold probabilities >= 0, but holds {float(law[~(law >= 0.0)][0])!r}.", argument=name
        )
    total = float(law.sum())
    if not abs(total - 1.0) <= _SUM_TOLERANCE:
        raise ParameterError(f"{name} must sum to 1 (within {_SUM_TOLERANCE:g}), but sums to {total!r}.", argument=name)
    law /= total
    law.flags.writeable = False
    return law
