"""Gaussian noise where a record takes part in k of t steps, chosen at random: random allocation, and balls in bins.

Each record draws its steps independently of the other records: uniformly k of the t steps of an epoch. With k = 1 this
is balls-in-bins sampling. Along the gradient of the record, in units of the sensitivity, the noisy sums of an epoch are

    Q = N(0, s^2 I_t) without the record,    P = average of N(sum of e_i over the k steps, s^2 I_t) with it,

and (P, Q) dominates training whose steps depend on earlier ones (Chua et al. 2024; Feldman, Shenfeld 2025).

k = 1. The likelihood ratio is P/Q = S / t with S = U_1 + ... + U_t, U_i = exp(y_i / s^2 - 1 / (2 s^2)): under Q a sum
of independent log-normal variables of mean 1. Both directions of the hockey-stick divergence are means of convex
functions of this sum,

    P from Q:  E (S / t - e^epsilon)+        Q from P:  E (1 - e^epsilon S / t)+,

so that neither decreases if a part of the sum is replaced by a spread of the same mean. Each U_i, and each partial sum,
is split between its two neighbours on a geometric grid, which keeps the mean: the result is a finite pair of laws with
Q-probabilities q_j and P-probabilities q_j s_j / t, an upper bound in both directions, whose error is quadratic in the
grid. Probability beyond the grid gets an infinite loss.

k > 1. Cut the t steps at random into k groups, and draw one step in each: the k steps are uniform. The cut is
independent of the data, so that by joint convexity of the divergence an epoch is bounded by the composition of k
allocations of 1 step among t / k, rounded down or up (Feldman, Shenfeld 2025, Lemma 3.1). This bound is not tight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from ...core import AccountingError, Floats, ParameterError, Relation, parameter_text, positive, whole
from ..composition.compose import compose
from ..conversion.convert import to_privacy_loss
from ..kinds.exact import ExactDP
from ..kinds.privacy_loss import PrivacyLossDP
from ..numerics.cells import normal_cells, spread_to_edges

MAX_DEVIATIONS = 9.0
"""Range of the normal numbers on the grid: 1e-19 of probability lies beyond."""
NEGLIGIBLE = 1e-18
"""Probability at either end of the grid that is moved to an infinite loss in each step."""
MAX_RATIO = 29.0
"""Largest sensitivity / standard deviation of the noise whose likelihood ratios are floats."""
POINTS_PER_DEVIATION = 64
"""Grid points per standard deviation of log S, which falls with the root of the number of terms."""
MAX_GRID_POINTS = 20_000
"""Largest number of points of a grid; a longer one would take seconds for each of its log2(t) sums."""


def random_allocation(
    noise_multiplier: float,
    *,
    batches_per_epoch: int,
    participations: int = 1,
    epochs: int = 1,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> PrivacyLossDP:
    """Return the guarantee of noisy sums in which each record takes part in k random steps of every t.

    Args:
        noise_multiplier: standard deviation / sensitivity under `relation`, > 0.
        batches_per_epoch: t, the steps of an epoch, >= 1.
        participations: k, the steps of an epoch in which a record takes part, from 1 to t.
        epochs: number of epochs, each with new steps, >= 1; an incomplete last epoch counts as one.
        relation: add_remove or zero_out.

    Returns:
        The composition over epochs of the pair above: for k = 1 tight up to the grid, for k > 1 an upper bound. That of
        known steps, an upper bound as well, for a noise multiplier below 1 / 29.

    Raises:
        ParameterError: a value out of range.
        AccountingError: replace_one.

    References:
        Chua, Ghazi, Harrison, Leeman, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024), "Balls-and-bins sampling for
        DP-SGD", Theorem 3.1; Feldman, Shenfeld (2025), "Privacy amplification by random allocation".

    Example:
        >>> claim = random_allocation(1.0, batches_per_epoch=100)
        >>> round(claim.epsilon(1e-5), 2), round(random_allocation(1.0, batches_per_epoch=1).epsilon(1e-5), 2)
        (0.62, 4.38)
    """
    positive(noise_multiplier=noise_multiplier)
    check_allocation(batches_per_epoch, participations)
    whole(1, epochs=epochs)
    relation = Relation.of(relation)
    if relation is Relation.REPLACE_ONE:
        raise AccountingError(
            "relation 'replace_one' is not known for random allocation: which pair is worst depends on the replacement "
            "record. Use 'add_remove' or 'zero_out'.",
            argument="relation",
        )
    if 1.0 / noise_multiplier > MAX_RATIO:
        return PrivacyLossDP.gaussian(noise_multiplier, steps=participations * epochs, relation=relation)
    shorter, n_longer = divmod(batches_per_epoch, participations)
    groups = {shorter: (participations - n_longer) * epochs, shorter + 1: n_longer * epochs}
    pairs = [_one_of(noise_multiplier, t).under(relation) for t, count in groups.items() for _ in range(count)]
    whole_run = compose(pairs, accounting="privacy-loss", fixed_sides=True)
    if isinstance(whole_run, ExactDP):
        whole_run = to_privacy_loss(whole_run, fixed_sides=True)
    assert isinstance(whole_run, PrivacyLossDP)
    title = (
        f"random allocation, noise_multiplier={parameter_text(noise_multiplier)}, "
        f"{participations} of {batches_per_epoch} steps"
    )
    return PrivacyLossDP.from_pld(whole_run.pld, relation=relation, description=f"{title}, epochs={epochs}")


def check_allocation(batches_per_epoch: int, participations: int) -> None:
    """Raise `ParameterError` unless 1 <= `participations` <= `batches_per_epoch`."""
    whole(1, batches_per_epoch=batches_per_epoch, participations=participations)
    if participations > batches_per_epoch:
        raise ParameterError(
            f"participations must be at most batches_per_epoch = {batches_per_epoch}, but is {participations}: a "
            "record takes part in a step once.",
            argument="participations",
        )


@lru_cache(maxsize=32)
def _one_of(noise_multiplier: float, steps: int) -> ExactDP:
    """Return a finite pair that dominates the allocation of 1 step of `steps`; side 1 has the record."""
    ratio = 1.0 / noise_multiplier
    total = _power(_log_normal(ratio), steps, ratio)
    losses = total.step * (total.first + np.arange(len(total.masses))) - math.log(steps)
    q = np.concatenate([total.masses, [total.zero, 0.0]])
    p = np.concatenate([total.masses * np.exp(losses), [0.0, total.infinite / steps]])
    used = (q > 0.0) | (p > 0.0)
    return ExactDP(q[used] / q.sum(), p[used] / p.sum(), exact=False)


@dataclass(frozen=True, eq=False)
class _Sum:
    """Law of a non-negative variable on a geometric grid, not below the true one in convex order.

    Args:
        step: logarithm of the ratio of neighbouring values.
        first: the lowest value is e^(step first).
        masses: `(n,)` probability of each value.
        zero: probability of 0.
        infinite: part of the mean that is beyond the grid.
    """

    step: float
    first: int
    masses: Floats
    zero: float
    infinite: float

    def refined(self) -> _Sum:
        """Return the same law on a grid of half the step."""
        masses = np.zeros(2 * len(self.masses) - 1)
        masses[::2] = self.masses
        return _Sum(0.5 * self.step, 2 * self.first, masses, self.zero, self.infinite)

    def trimmed(self) -> _Sum:
        """Return the law with the negligible ends of the grid at 0, and their share of the mean beyond the grid."""
        means = self.masses * np.exp(self.step * (self.first + np.arange(len(self.masses))))
        low = int(np.searchsorted(np.cumsum(self.masses), NEGLIGIBLE))
        high = len(means) - int(np.searchsorted(np.cumsum(means[::-1]), NEGLIGIBLE * means.sum()))
        outside = np.concatenate([np.arange(low), np.arange(high, len(means))])
        return _Sum(
            self.step,
            self.first + low,
            self.masses[low:high],
            self.zero + float(self.masses[outside].sum()),
            self.infinite + float(means[outside].sum()),
        )


def _log_normal(ratio: float) -> _Sum:
    """Return exp(ratio Z - ratio^2 / 2), Z standard normal, each cell of the grid split between its ends."""
    step = ratio / POINTS_PER_DEVIATION
    first = math.floor((-MAX_DEVIATIONS * ratio - 0.5 * ratio**2) / step)
    last = math.ceil((MAX_DEVIATIONS * ratio + 0.5 * ratio**2) / step)
    logs = step * np.arange(first, last + 1, dtype=np.float64)
    z = logs / ratio + 0.5 * ratio
    values = np.exp(logs)
    masses = spread_to_edges(values, normal_cells(z), normal_cells(z - ratio))  # the mean is the mass after a shift
    below = float(ndtr(z[0] - ratio) / values[0])
    masses[0] += below
    zero = float(ndtr(z[0]) - below + ndtr(-z[-1]))
    return _Sum(step, first, masses, zero, float(ndtr(ratio - z[-1])))


def _power(one: _Sum, count: int, ratio: float) -> _Sum:
    """Return the sum of `count` independent copies, by repeated doubling."""
    total: _Sum | None = None
    terms = 1
    while True:
        if count & 1:
            total = one if total is None else _added(total, one)
        count >>= 1
        if not count:
            assert total is not None
            return total
        one, terms = _added(one, one), 2 * terms
        while one.step > ratio / (POINTS_PER_DEVIATION * math.sqrt(terms)) and 2 * len(one.masses) < MAX_GRID_POINTS:
            one = one.refined()


def _added(a: _Sum, b: _Sum) -> _Sum:
    """Return the sum of two independent variables, each value split between its neighbours on the finer grid."""
    while a.step > 1.000001 * b.step:
        a = a.refined()
    while b.step > 1.000001 * a.step:
        b = b.refined()
    first = min(a.first, b.first)
    last = max(a.first + len(a.masses), b.first + len(b.masses))
    length, step = last - first, a.step
    pa, pb = (np.zeros(length) for _ in range(2))
    pa[a.first - first : a.first - first + len(a.masses)] = a.masses
    pb[b.first - first : b.first - first + len(b.masses)] = b.masses
    out = np.zeros(length + math.ceil(math.log(2.0) / step) + 2)
    out[:length] += a.zero * pb + b.zero * pa
    same = a is b
    for distance in range(length):
        product = pa[distance:] * pb[: length - distance]
        if distance:
            product = 2.0 * product if same else product + pb[distance:] * pa[: length - distance]
        sum_ratio = 1.0 + math.exp(-step * distance)
        shift = math.floor(math.log(sum_ratio) / step)
        upper = (sum_ratio - math.exp(step * shift)) / (math.exp(step * shift) * math.expm1(step))
        start = distance + shift
        out[start : start + len(product)] += (1.0 - upper) * product
        out[start + 1 : start + 1 + len(product)] += upper * product
    return _Sum(step, first, out, a.zero * b.zero, a.infinite + b.infinite).trimmed()
