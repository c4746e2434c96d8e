"""Exact curve of a pair of finite output distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core import Bools, Floats, ParameterError, Relation
from ..numerics.losses import LossProfile
from .profile import LossGuarantee

_SUM_TOLERANCE = 1e-9
SMALL = 1e-290
"""Probabilities below this value are computed from their logarithms, if available."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ExactDP(LossGuarantee):
    """The exact guarantee of two known output laws, p0 on side 0 and p1 on side 1.

    A guarantee holds in both directions; for an asymmetric pair the three views are

        delta(epsilon)  the larger of the two hockey-stick divergences, sum (p1 - e^epsilon p0)+ and with sides swapped
        epsilon(delta)  the larger of the two inverses
        tradeoff        the largest convex curve below both one-sided curves, which is the curve of that delta

    Args:
        p0, p1: `(n_outputs,)` probabilities of the same outputs on side 0 and side 1; zeros allowed. Each sums to 1
            within 1e-9 and is then scaled to sum to 1.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: False if the two laws only dominate those of the mechanism.

    Probabilities below about 1e-308 are 0 as floats, so that a privacy loss beyond 700 would count as infinite: build
    such laws from their logarithms with `of_logs`.

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
    logs: tuple[Floats, Floats] | None = None

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

    @classmethod
    def of_logs(
        cls, log_p0: ArrayLike, log_p1: ArrayLike, relation: str | Relation | None = None, *, exact: bool = True
    ) -> Self:
        """Return the guarantee for log probabilities, -inf for impossible outputs; privacy losses of any size are kept.

        Example:
            >>> ExactDP.of_logs([0.0, -1000.0], [-1000.0, 0.0]).epsilon(0.0)
            1000.0
        """
        logs = np.asarray(log_p0, dtype=np.float64), np.asarray(log_p1, dtype=np.float64)
        with np.errstate(under="ignore", over="ignore"):
            pair = cls(np.exp(logs[0]), np.exp(logs[1]), relation, exact=exact)
        if any(np.any((log > -np.inf) & (p < SMALL)) for log, p in zip(logs, (pair.p0, pair.p1), strict=True)):
            pair._set(logs=logs)
        return pair

    def __eq__(self, other: object) -> bool:
        """Compare the laws, so that results cached for a claim are found again."""
        return self._laws == other._laws if isinstance(other, ExactDP) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._laws)

    @property
    def _laws(self) -> tuple[object, ...]:
        logs = () if self.logs is None else tuple(log.tobytes() for log in self.logs)
        return self.p0.tobytes(), self.p1.tobytes(), *logs, self.relation, self.exact

    @property
    def _possible(self) -> tuple[Bools, Bools]:
        """Outputs that side 0 and side 1 can produce, as masks of shape `(n_outputs,)`."""
        if self.logs is None:
            return self.p0 > 0.0, self.p1 > 0.0
        return self.logs[0] > -np.inf, self.logs[1] > -np.inf

    @property
    def default_delta(self) -> float | None:
        """Zero if both sides can produce the same outputs, so that the pair is purely private, else None."""
        return 0.0 if np.array_equal(*self._possible) else None

    @cached_property
    def polygon(self) -> tuple[Floats, Floats]:
        """Corners (fpr, fnr) of the symmetric trade-off curve, fpr increasing from 0 to 1."""
        fpr, fnr = _tradeoff_points(self.p0, self.p1)
        return lower_hull(np.concatenate([fpr, fnr]), np.concatenate([fnr, fpr]))

    @cached_property
    def profiles(self) -> tuple[LossProfile, LossProfile]:
        """Profiles of the losses log(p1/p0) under p1 and log(p0/p1) under p0."""
        if self.logs is None:
            return _loss_profile(self.p1, self.p0), _loss_profile(self.p0, self.p1)
        log0, log1 = self.logs
        return _profile_of_logs(self.p1, self.p0, log1, log0), _profile_of_logs(self.p0, self.p1, log0, log1)

    def product(self, other: ExactDP) -> ExactDP:
        """Return the guarantee of independent outputs of both pairs, with this relation."""
        pairs = zip(self.log_laws, other.log_laws, strict=True)
        log0, log1 = (np.add.outer(law, other_law).ravel() for law, other_law in pairs)
        return ExactDP.of_logs(log0, log1, self.relation, exact=self.exact and other.exact)

    @property
    def log_laws(self) -> tuple[Floats, Floats]:
        """Logarithms of p0 and p1."""
        with np.errstate(divide="ignore"):
            return (np.log(self.p0), np.log(self.p1)) if self.logs is None else self.logs

    def symmetric(self) -> ExactDP:
        """Return a pair with this curve in either direction: the dominating pair if the sides are not known."""
        fpr, fnr = self.polygon
        p0 = np.concatenate([[0.0], np.diff(fpr)])
        p1 = np.concatenate([[1.0 - fnr[0]], -np.diff(fnr)])
        return ExactDP(p0, p1, self.relation, exact=False)

    def _parameters(self) -> Mapping[str, Any]:
        return {"n_outputs": len(self.p0)} if len(self.p0) > 4 else {"p0": self.p0.tolist(), "p1": self.p1.tolist()}

    def _tradeoff(self, fpr: Floats) -> Floats:
        fnr = np.interp(fpr, *self.polygon)
        if self.logs is None:
            return fnr
        possible0, possible1 = self._possible  # the corner at 0 includes outputs too unlikely for a float
        at_zero = 1.0 - max(self.p1[~possible0].sum(), self.p0[~possible1].sum())
        return np.where(fpr == 0.0, at_zero, fnr)


def _loss_profile(upper: Floats, lower: Floats) -> LossProfile:
    """Return the profile of the loss log(upper / lower) under `upper`."""
    both = (upper > 0.0) & (lower > 0.0)
    losses = log_ratio(upper[both], lower[both])
    return LossProfile.of(losses, upper[both], float(upper[(upper > 0.0) & (lower == 0.0)].sum()))


def _profile_of_logs(upper: Floats, lower: Floats, log_upper: Floats, log_lower: Floats) -> LossProfile:
    """Return the profile of the loss under `upper`, from logarithms if a probability is too small for a float."""
    both = (log_upper > -np.inf) & (log_lower > -np.inf)
    losses = log_upper[both] - log_lower[both]
    normal = np.minimum(upper[both], lower[both]) >= SMALL
    losses[normal] = log_ratio(upper[both][normal], lower[both][normal])
    return LossProfile.of(losses, upper[both], float(upper[(log_upper > -np.inf) & ~both].sum()))


def log_ratio(upper: Floats, lower: Floats) -> Floats:
    """Return log(upper / lower) of positive numbers, accurate for ratios near 1 as well."""
    near = np.clip((upper - lower) / lower, -0.5, 1.0)
    return np.asarray(np.where(np.abs(near) < 0.5, np.log1p(near), np.log(upper) - np.log(lower)))


def _law(name: str, values: ArrayLike) -> Floats:
    """Return `values` as a read-only probability vector."""
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


def _tradeoff_points(p0: Floats, p1: Floats) -> tuple[Floats, Floats]:
    """Return (fpr, fnr) of the likelihood-ratio tests of p1 against p0 (Neyman, Pearson 1933), fpr from 0 to 1.

    Outputs are rejected in order of falling p1 / p0. The false negative rate is summed from its smallest values, which
    keep their relative accuracy.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p1 > 0.0, p1 / p0, np.where(p0 > 0.0, 0.0, 1.0))
    order = np.argsort(-ratio, kind="stable")
    fpr = np.concatenate([[0.0], np.cumsum(p0[order])])
    fnr = np.concatenate([np.cumsum(p1[order][::-1])[::-1], [0.0]])
    return fpr / fpr[-1], fnr / fnr[0]


def lower_hull(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the lower convex hull of points in the unit square, x increasing.

    The points include (0, 1) and (1, 0). Andrew's monotone chain (1979). At x = 0 the lowest point is the corner.
    """
    corners: list[tuple[float, float]] = []
    order = np.lexsort((y, x))
    lowest = order[np.append(True, np.diff(x[order]) > 0.0)]
    for point in zip(x[lowest].tolist(), y[lowest].tolist(), strict=True):
        while len(corners) > 1 and _turns_up(corners[-2], point, corners[-1]):
            corners.pop()
        corners.append(point)
    hull = np.array(corners)
    return hull[:, 0], hull[:, 1]


def _turns_up(start: tuple[float, float], end: tuple[float, float], middle: tuple[float, float]) -> bool:
    """Return True if `middle` lies on or above the line from `start` to `end`."""
    rise = (end[0] - start[0]) * (middle[1] - start[1]) - (end[1] - start[1]) * (middle[0] - start[0])
    return rise >= 0.0
