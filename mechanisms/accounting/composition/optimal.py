"""Optimal composition of equal guarantees: of (epsilon, delta)-DP, and of bounded range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import log_expit

from ...core import Floats, Positive, PositiveInt, Relation, delta_range, non_negative, whole
from ..kinds.profile import LossGuarantee
from ..numerics.binomial import log_choose
from ..numerics.losses import LossProfile


@dataclass(frozen=True, init=False, repr=False)
class OptimalComposition(LossGuarantee):
    """The optimal k-fold composition, adaptive or not, of (epsilon, delta)-DP mechanisms.

    k-fold randomized response dominates: with probability 1 - (1 - delta)^k the privacy loss is infinite, otherwise it
    is (2j - k) epsilon where j is binomial with k draws of probability e^epsilon / (1 + e^epsilon).

    Args:
        epsilon, delta: parameters of each mechanism. Stored as `nominal_epsilon`, `nominal_delta`.
        count: k, the number of mechanisms, >= 1.
        relation: the neighbouring relation; None adopts the relation of the pair.
        exact: True if each mechanism attains the whole curve of its guarantee, as randomized response does.

    Raises:
        ParameterError: a value out of range; an unknown relation.

    Guarantees:
        * Optimal among bounds that use only (epsilon, delta) and k; attained by randomized response.
        * Closed forms on the breakpoints, for every epsilon, not only the multiples in the theorem.

    References:
        Kairouz, Oh, Viswanath (2015), Theorem 3.3.

    Example:
        >>> claim = OptimalComposition(0.1, 0.0, count=100)
        >>> round(claim.epsilon(1e-6), 6), round(claim.epsilon(0.0), 6)
        (4.774568, 10.0)
    """

    nominal_epsilon: float
    nominal_delta: float
    count: int
    relation: Relation | None
    exact: bool = field(repr=False)

    def __init__(
        self, epsilon: float, delta: float, *, count: int, relation: str | Relation | None = None, exact: bool = False
    ) -> None:
        non_negative(epsilon=epsilon)
        delta_range(delta=delta)
        whole(1, count=count)
        self._set(nominal_epsilon=float(epsilon), nominal_delta=float(delta), count=int(count))
        self._set(relation=relation, exact=exact)

    @property
    def default_delta(self) -> float | None:
        """Zero for pure mechanisms, whose composition is pure, else None."""
        return 0.0 if self.nominal_delta == 0.0 else None

    @cached_property
    def profiles(self) -> tuple[LossProfile, ...]:
        k, e = self.count, self.nominal_epsilon
        j = np.arange(k + 1.0)
        log_finite = k * math.log1p(-self.nominal_delta)
        log_probability = log_choose(k, j) + j * log_expit(e) + (k - j) * log_expit(-e) + log_finite
        return (LossProfile.of((2.0 * j - k) * e, np.exp(log_probability), -math.expm1(log_finite)),)

    def _parameters(self) -> Mapping[str, float]:
        return {"epsilon": self.nominal_epsilon, "delta": self.nominal_delta, "count": self.count}


_FINEST, _COARSEST, _WORK = 150, 10, 3000
"""Grid cells per range: `_WORK` / count, within these limits."""
_MAX_ETA = 100.0
"""Largest eta on the grid: above it bounded range is equivalent to pure eta-DP, up to e^-50 in delta."""
_DEVIATIONS = 8.0
"""Half-width of the grid in units of eta sqrt(count): by Hoeffding's bound the mass beyond is at most e^-128."""


@dataclass(frozen=True, repr=False)
class BoundedRangeComposition(LossGuarantee):
    """The adaptive composition of k mechanisms of bounded range eta.

    Each mechanism may depend on the outputs of the earlier ones. The worst next mechanism has two outputs, of loss t
    and t - eta, for the worst t (see `BoundedRange`), so that

        delta_0(x) = (1 - e^x)+
        delta_k(x) = max over t of p_t delta_{k-1}(x - t) + (1 - p_t) delta_{k-1}(x - t + eta).

    Unlike for pure mechanisms, the worst t depends on x: adaptive composition is worse than non-adaptive composition,
    and ranges do not add.

    Args:
        eta: range of each mechanism, finite, > 0.
        count: k, the number of mechanisms, >= 1.
        relation: the neighbouring relation; None adopts the relation of the pair.

    Raises:
        ParameterError: a value out of range; an unknown relation.

    Guarantees:
        * An upper bound: between grid points delta, which is convex in e^x, is replaced by its chord. epsilon is too
          large by less than 1 %, much less for few mechanisms.
        * Never above `OptimalComposition` of pure mechanisms with epsilon = eta.

    References:
        Dong, Durfee, Rogers (2020) (adaptive composition).

    Example:
        >>> claim = BoundedRangeComposition(0.1, count=100)
        >>> round(claim.epsilon(1e-6), 2), round(claim.epsilon(0.0), 6)
        (2.25, 10.0)
    """

    eta: Positive
    _: KW_ONLY
    count: PositiveInt
    relation: Relation | None = None
    exact = False
    default_delta = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(eta=float(self.eta), count=int(self.count))

    def _parameters(self) -> Mapping[str, float]:
        return {"eta": self.eta, "count": self.count}

    @property
    def profiles(self) -> tuple[LossProfile, ...]:
        """Profile with delta at multiples of eta / m, and chords between them."""
        return (_profile(self.eta, self.count),)


@lru_cache(maxsize=64)
def _profile(eta: float, count: int) -> LossProfile:
    """Return the profile of the composition; cached, since the claim of a mechanism is read many times."""
    if eta > _MAX_ETA:
        return OptimalComposition(eta, 0.0, count=count).profiles[0]
    m = min(_FINEST, max(_COARSEST, _WORK // count))
    step = eta / m
    reach = count * eta**2 / 8.0 + _DEVIATIONS * math.sqrt(count) * eta
    table = np.zeros(1)
    for k in range(1, count + 1):
        table = _next(table, min(k * m, math.ceil(reach / step)), m, step)
    bends = np.append(count * eta, step * np.arange(len(table))[::-1])
    deltas = np.append(0.0, table[::-1])
    if bends[1] >= bends[0] * (1.0 - 1e-12):
        bends, deltas = bends[1:], np.append(0.0, deltas[2:])
    return LossProfile(bends, deltas, np.diff(deltas) / -np.expm1(np.diff(bends)))


def _next(table: Floats, last: int, m: int, step: float) -> Floats:
    """Return delta after one more mechanism at 0, step, ..., last * step, from delta before at multiples of step.

    For t between s and s + 1 steps, the mass of each loss is split between its two neighbours on the grid, which keeps
    both probabilities and gives the chord. In u = e^-t the sum is then a + b u + c / u, with a known maximum.
    """
    known = _extended(table, m, last, step)
    point, s = np.arange(last + 1)[:, np.newaxis] + m + 1, np.arange(m)
    up, up_next = known[point - s], known[point - s - 1]
    down, down_next = known[point - s + m], known[point - s - 1 + m]
    start = np.exp(-step * s)
    width = -start * math.expm1(-step)
    small = math.exp(-m * step)  # common factor of b and c
    b = small * (down_next - down) - (up_next - up)
    c = small * ((down - up) * width + start * ((down_next - down) - (up_next - up)))
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.sqrt(np.where(b * c > 0.0, c / b, 0.0))
    u = np.clip(best, start - width, start)
    share, first = (start - u) / width, np.expm1(-np.log(u) - m * step) / math.expm1(-m * step)
    value = first * ((1.0 - share) * up + share * up_next) + (1.0 - first) * ((1.0 - share) * down + share * down_next)
    return np.asarray(value.max(axis=1))


def _extended(table: Floats, m: int, last: int, step: float) -> Floats:
    """Return delta at -(m + 1), ..., last + m + 1 steps, extended below 0 and beyond the table.

    Below 0 by symmetry of the sides, delta(-x) = 1 - e^-x + e^-x delta(x); beyond the table by its last entry.
    """
    x = step * np.arange(m + 1, 0, -1)
    beyond = table[np.minimum(np.arange(last + 2 * m + 3), len(table) - 1)]
    return np.concatenate([-np.expm1(-x) + np.exp(-x) * beyond[m + 1 : 0 : -1], beyond])
