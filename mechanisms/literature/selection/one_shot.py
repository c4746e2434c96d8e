"""One-shot top k: the k best candidates and their counts, by Laplace noise, or by Gumbel and Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from ...accounting import ApproximateDP, ConcentratedDP, ExactDP, LaplaceVectorDP
from ...accounting.kinds.profile import ProfileGuarantee
from ...accounting.numerics.binomial import log_choose
from ...accounting.numerics.laplace import laplace_log_density, log_laplace_mass
from ...core import Dataset, Floats, Guarantee, Ints, Neighbours, OpenUnit, Outputs, ParameterError, Relation, example
from ...noise.laplace import draw_laplace
from ...noise.queries.answers import refuse_worst_case
from ...selection.base import TopK, rare_lead
from ...selection.laws import log_top_set_laplace
from ...selection.noisy_max import NOISES
from .peeling import log_ranking

_LARGEST_EPSILON, _LARGEST_DELTA = 0.2, 0.05
_N_CELLS = 2_000


@dataclass(frozen=True)
class LaplaceTopK(TopK):
    """One-shot top k with Laplace noise: the k candidates with the largest noisy utilities, and their counts.

    Laplace noise on every utility selects the k candidates, and new noise of the same scale is added to their counts.
    The scale is 8 sensitivity sqrt(k log(n_candidates / delta)) / epsilon. (Qiao, Su and Zhang 2021, theorem 2.2.)

    Args:
        epsilon: the claim, 0 < epsilon < 0.2.
        n_candidates, sensitivity, query, relation: as for `Exponential`; the utilities are the counts.
        k: number of candidates to choose, 1 <= k <= n_candidates; the output is `(2 k,)` numbers: the indices in
            increasing order, and their noisy counts.
        delta: the claim, 0 < delta < 0.05.
        monotone: as for `Exponential`; it restricts the pairs, but does not change the noise.

    Guarantees:
        * (epsilon, delta)-DP, by the theorem as cited for the set and the counts together (Durfee and Rogers 2021),
          without a proof here. The constants are loose: `exact_guarantee` is far smaller.
        * The probabilities of the sets are exact up to rounding, by quadrature between the utilities.

    Example:
        >>> mechanism = LaplaceTopK(epsilon=0.1, n_candidates=1000, k=10, delta=1e-6)
        >>> round(mechanism.deviation, 3)
        1628.674
    """

    _example = example(k=2, epsilon=0.15)

    delta: OpenUnit

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value, limit in (
            ("epsilon", self.epsilon, _LARGEST_EPSILON),
            ("delta", self.delta, _LARGEST_DELTA),
        ):
            if value >= limit:
                raise ParameterError(
                    f"{name} must be below {limit} for one-shot Laplace noise, but is {value!r}: no theorem covers "
                    "larger values. Use GumbelTopKCounts.",
                    argument=name,
                )

    @property
    def rate(self) -> float:
        spread = 8.0 * self.sensitivity * math.sqrt(self.k * math.log(self.n_candidates / self.delta))
        return self.epsilon / spread

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, sqrt(2) scale, in the units of the utilities."""
        return math.sqrt(2.0) / self.rate

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the chosen indices in increasing order, and their noisy counts, shape `(size, 2 k)`."""
        counts = self.utilities(dataset)
        noisy = NOISES["laplace"].draw(rng, (size, self.n_candidates))
        noisy += self.scores(dataset)
        chosen = np.sort(np.argpartition(-noisy, self.k - 1, axis=1)[:, : self.k], axis=1)
        return Outputs(np.hstack([chosen, counts[chosen] + draw_laplace(1.0 / self.rate, chosen.shape, rng)]))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of the set, and of the counts given the set, under `dataset`, shape `(size,)`.

        -inf if the indices are not distinct candidates in increasing order.
        """
        chosen, noisy = outputs.values[:, : self.k], outputs.values[:, self.k :]
        possible = ((chosen >= 0) & (chosen < self.n_candidates) & (chosen == np.floor(chosen))).all(axis=1)
        possible &= (np.diff(chosen, axis=1) > 0).all(axis=1)
        log_density = np.full(len(chosen), -np.inf)
        counts, index = self.utilities(dataset), chosen[possible].astype(np.int64)
        of_counts = laplace_log_density(noisy[possible] - counts[index], 1.0 / self.rate).sum(axis=1)
        log_density[possible] = self._log_sets(self.scores(dataset), index) + of_counts
        return log_density

    def guarantee(self) -> Guarantee:
        """Return `ApproximateDP(epsilon, delta)`."""
        return ApproximateDP(self.epsilon, self.delta, self.relation)

    def worst_case(self) -> Neighbours:
        """Return a pair on which k candidates gain and the others lose as much as possible.

        On `d0` these k are chosen with the probability of `event_log_odds`.
        """
        refuse_worst_case(type(self).__name__, self.query)
        if self.k == self.n_candidates:
            return self.leading(self.k, 0.0)
        lead = rare_lead(
            lambda lead: float(self._log_leaders(lead)[-1]),
            self.k * self.rate * self.sensitivity,
            largest=60.0,
            steps=30,
        )
        return self.leading(self.k, lead)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`.

        It depends on the number of leaders among the chosen candidates, and on the counts that change: all k, or only
        those of the leaders if `monotone`.
        """
        pair = self.worst_case()
        law0, law1 = (self._log_leaders(self.rate * float(x[0] - x[-1])) for x in (pair.d0, pair.d1))
        moved = np.arange(self.k + 1) if self.monotone else np.full(self.k + 1, self.k)
        return _LaplaceTopKDP(law0, law1, moved, self.rate * self.sensitivity, self.relation)

    def _log_sets(self, scores: Floats, sets: Ints) -> Floats:
        """Return the log probability of each row of indices; `scores` are utilities in units of the noise scale."""
        if self.k == self.n_candidates:
            return np.zeros(len(sets))
        distinct, where = _distinct(sets, self.n_candidates)
        return log_top_set_laplace(scores, distinct)[where]

    def _log_leaders(self, lead: float) -> Floats:
        """Return the log probability that m = 0, ..., k of k candidates that lead by `lead` scales are chosen."""
        n, k = self.n_candidates, self.k
        scores = np.where(np.arange(n) < k, lead, 0.0)
        m = np.arange(max(0, 2 * k - n), k + 1)
        sets = np.array([[*range(k - i, k), *range(k, 2 * k - i)] for i in m])
        ways = log_choose(k, m) + log_choose(n - k, k - m)
        return np.concatenate([np.full(k + 1 - len(m), -np.inf), self._log_sets(scores, sets) + ways])


@dataclass(frozen=True, eq=False, init=False, repr=False)
class _LaplaceTopKDP(ProfileGuarantee):
    """The curve of a number m with known laws, and of Laplace counts of which n_moved(m) differ by `step` scales.

    With p, q the laws of m on the two sides and delta_n the curve of n counts that differ,

        delta(epsilon) = sum over m of p_m delta_n(m)(epsilon - log(p_m / q_m)),

    in the worse of two directions. Each delta_n is symmetric in the sides, which extends it below 0:
    delta_n(-t) = 1 - e^-t (1 - delta_n(t)).
    """

    log_laws: tuple[Floats, Floats]
    moved: Ints
    step: float
    relation: Relation | None
    exact = True

    def __init__(self, law0: Floats, law1: Floats, moved: Ints, step: float, relation: Relation) -> None:
        possible = np.isfinite(law0)
        self._set(log_laws=(law0[possible], law1[possible]), moved=moved[possible], step=step, relation=relation)

    @property
    def default_delta(self) -> float:
        return 0.0

    def _parameters(self) -> Mapping[str, object]:
        return {"epsilon": self._largest(), "n_moved": int(self.moved.max())}

    def _largest(self) -> float:
        return float(np.max(np.abs(self.log_laws[0] - self.log_laws[1]) + self.step * self.moved))

    def _delta(self, epsilon: Floats) -> Floats:
        p, q = self.log_laws
        return np.where(
            epsilon >= self._largest(), 0.0, np.maximum(self._excess(p, q, epsilon), self._excess(q, p, epsilon))
        )

    def _epsilon(self, delta: Floats) -> Floats:
        return np.where(delta == 0.0, self._largest(), super()._epsilon(delta))

    def _excess(self, upper: Floats, lower: Floats, epsilon: Floats) -> Floats:
        total = np.zeros(epsilon.shape)
        for p, q, n in zip(upper, lower, self.moved.tolist(), strict=True):
            remaining = epsilon - (p - q)
            counts = LaplaceVectorDP([self.step] * n).delta(np.abs(remaining)) if n else np.zeros(epsilon.shape)
            total += np.exp(p) * np.where(
                remaining >= 0.0, counts, 1.0 - np.exp(np.minimum(remaining, 0.0)) * (1.0 - counts)
            )
        return total


@dataclass(frozen=True)
class GumbelTopKCounts(TopK):
    """One-shot top k with Gumbel noise, and the counts with Laplace noise, each with half of the budget.

    With rho the largest value that the textbook conversion allows for (epsilon, delta) and epsilon' = 2 sqrt(rho):
    Gumbel noise of scale sqrt(k) / epsilon' (twice that unless `monotone`) selects the candidates, Laplace noise of
    scale 2 sqrt(k) / epsilon' is added to each count, both times the sensitivity. Each half is epsilon'^2 / 8
    concentrated DP. (Durfee and Rogers 2021.)

    Args:
        epsilon: the claim, > 0.
        n_candidates, sensitivity, monotone, query, relation: as for `Exponential`; the utilities are the counts.
        k: number of candidates to choose, 1 <= k <= n_candidates; the output is `(2 k,)` numbers: the indices, the best
            first, and their noisy counts.
        delta: the claim, strictly between 0 and 1.

    Guarantees:
        * `ConcentratedDP(rho)`, which is (epsilon, delta)-DP.

    Example:
        >>> mechanism = GumbelTopKCounts(epsilon=0.1, n_candidates=1000, k=10, delta=1e-6, monotone=True)
        >>> round(mechanism.selection_deviation, 3), round(mechanism.count_deviation, 3)
        (151.022, 333.052)
    """

    delta: OpenUnit

    @property
    def share(self) -> float:
        """Range of each of the k choices, epsilon' / sqrt(k)."""
        rho = ConcentratedDP.for_budget(epsilon=self.epsilon, delta=self.delta, textbook=True).rho
        return 2.0 * math.sqrt(rho / self.k)

    @property
    def rate(self) -> float:
        """Inverse of the scale of the Gumbel noise."""
        return self.share / (self.sensitivity if self.monotone else 2.0 * self.sensitivity)

    @property
    def count_scale(self) -> float:
        """Scale of the Laplace noise on a count."""
        return 2.0 * self.sensitivity / self.share

    @property
    def selection_deviation(self) -> float:
        """Standard deviation of the Gumbel noise, pi / sqrt(6) scale."""
        return math.pi / math.sqrt(6.0) / self.rate

    @property
    def count_deviation(self) -> float:
        """Standard deviation of the noise on a count."""
        return math.sqrt(2.0) * self.count_scale

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices and noisy counts, shape `(size, 2 k)`."""
        counts = self.utilities(dataset)
        noisy = NOISES["gumbel"].draw(rng, (size, self.n_candidates))
        noisy += self.scores(dataset)
        chosen = np.argsort(-noisy, axis=1)[:, : self.k]
        return Outputs(np.hstack([chosen, counts[chosen] + draw_laplace(self.count_scale, chosen.shape, rng)]))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of the ranking, and of the counts given it, under `dataset`, shape `(size,)`."""
        chosen, noisy = outputs.values[:, : self.k], outputs.values[:, self.k :]
        counts = self.utilities(dataset)
        log_chosen = log_ranking(self.scores(dataset), chosen)
        possible = np.isfinite(log_chosen)
        index = np.where(possible[:, np.newaxis], chosen, 0).astype(np.int64)
        return np.asarray(log_chosen + laplace_log_density(noisy - counts[index], self.count_scale).sum(axis=1))

    def guarantee(self) -> Guarantee:
        """Return `ConcentratedDP(rho)`, stated at delta."""
        rho = ConcentratedDP.for_budget(epsilon=self.epsilon, delta=self.delta, textbook=True).rho
        return ConcentratedDP(rho, self.relation).calibrated_at(self.delta)

    def worst_case(self) -> Neighbours:
        """Return a pair with all counts 0 on `d0`, and one count `sensitivity` on `d1`, in its rank and noisy count."""
        refuse_worst_case(type(self).__name__, self.query)
        d1 = np.zeros(self.n_candidates)
        d1[0] = self.sensitivity
        return Neighbours(np.zeros(self.n_candidates), d1, self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of `worst_case()`, from the rank of the changed candidate and 2,000 cells of its count.

        Exact at delta 0, where the outermost cells decide; elsewhere delta is too small by less than 1e-6.
        """
        laws: list[Floats] = []
        for moved in (0.0, 1.0):
            ranks, missed = self._log_ranks(moved * self.sensitivity * self.rate)
            shift = self.sensitivity / self.count_scale
            ends = np.pad(np.linspace(0.0, shift, _N_CELLS) - moved * shift, 1, constant_values=(-np.inf, np.inf))
            count = log_laplace_mass(ends[:-1], ends[1:], 1.0)
            laws.append(np.append(np.add.outer(ranks, count).ravel(), missed))
        return ExactDP.of_logs(laws[0], laws[1], self.relation)

    def _log_ranks(self, lead: float) -> tuple[Floats, float]:
        """Return the log probability of each of the k ranks, and of none, for a candidate that leads by `lead`."""
        with np.errstate(divide="ignore"):
            log_odds = lead - np.log(self.n_candidates - 1.0 - np.arange(self.k))
        reached = np.concatenate([[0.0], np.cumsum(log_expit(-log_odds))])
        return reached[:-1] + log_expit(log_odds), float(reached[-1])


def _distinct(rows: Ints, n: int) -> tuple[Ints, Ints]:
    """Return the distinct rows of numbers below n, and the index of each row among them."""
    if n ** rows.shape[1] >= 2**63:
        distinct, where = np.unique(rows, axis=0, return_inverse=True)
        return distinct, where.ravel()
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        keys = keys * n + column
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], where
