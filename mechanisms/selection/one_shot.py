"""The k best candidates at a total (epsilon, delta): Laplace noise once, or Gumbel noise and the counts as well."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_expit

from ..base import Dataset, LogDensity, Neighbours, Outputs
from ..errors import ParameterError
from ..guarantees import ApproximateDP, ConcentratedDP, ExactDP
from ..guarantees.base import Guarantee
from ..noise.laplace import draw_laplace, laplace_log_density, log_laplace_mass
from ..queries.answers import refuse_worst_case
from ..queries.base import Floats
from ..validation import open_unit
from .base import Selection
from .laws import log_top_set_laplace
from .noisy_max import NOISES, RARE
from .peeling import check_k, log_ranking

_LARGEST_EPSILON, _LARGEST_DELTA = 0.2, 0.05
_CELLS = 2_000


@dataclass(frozen=True)
class LaplaceTopK(Selection):
    """Top k in one shot with Laplace noise: noise on every utility once, and which k sums are the largest.

    The scale is 8 sensitivity sqrt(k log(n_candidates / delta)) / epsilon. (Qiao, Su and Zhang 2021, theorem 2.2.)

    Args:
        epsilon: the claim, 0 < epsilon < 0.2.
        n_candidates, sensitivity, query, relation: as for `Exponential`.
        k: number of candidates to choose, 1 <= k < n_candidates; the output is `(k,)` indices in increasing order.
        delta: the claim, 0 < delta < 0.05.
        monotone: as for `Exponential`; it restricts the pairs, and the noise is the same.

    Guarantees:
        * (epsilon, delta)-DP. The constants are loose: what `exact_guarantee` shows is far below.
        * Only the set is released. Its probabilities are exact to rounding, by quadrature between the utilities.

    Example:
        >>> mechanism = LaplaceTopK(epsilon=0.1, n_candidates=1000, k=10, delta=1e-6)
        >>> round(mechanism.deviation, 3)
        1628.674
    """

    k: int
    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        open_unit(delta=self.delta)
        check_k(self.k, self.n_candidates - 1)
        for name, value, limit in (
            ("epsilon", self.epsilon, _LARGEST_EPSILON),
            ("delta", self.delta, _LARGEST_DELTA),
        ):
            if value >= limit:
                raise ParameterError(
                    f"{name} must be below {limit} for one-shot Laplace noise, but is {value!r}: no theorem covers "
                    "more. Use GumbelTopKCounts.",
                    argument=name,
                )

    @property
    def rate(self) -> float:
        """1 / scale of the noise."""
        spread = 8.0 * self.sensitivity * math.sqrt(self.k * math.log(self.n_candidates / self.delta))
        return self.epsilon / spread

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, sqrt(2) scale, in the units of the utilities."""
        return math.sqrt(2.0) / self.rate

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Indices of the chosen candidates in increasing order, shape `(size, k)`."""
        noisy = NOISES["laplace"].draw(rng, (size, self.n_candidates))
        noisy += self.scores(dataset)
        return Outputs(np.sort(np.argpartition(-noisy, self.k - 1, axis=1)[:, : self.k], axis=1))

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log probability of each set under `dataset`, shape `(size,)`; -inf for what is no set in increasing order."""
        chosen = outputs.values
        possible = ((chosen >= 0) & (chosen < self.n_candidates) & (chosen == np.floor(chosen))).all(axis=1)
        possible &= (np.diff(chosen, axis=1) > 0).all(axis=1)
        found = np.full(len(chosen), -np.inf)
        sets, where = _distinct(chosen[possible].astype(np.int64), self.n_candidates)
        found[possible] = log_top_set_laplace(self.scores(dataset), sets)[where]
        return found

    def guarantee(self) -> Guarantee:
        """`ApproximateDP(epsilon, delta)`."""
        return ApproximateDP(self.epsilon, self.delta, self.relation)

    def worst_case(self) -> Neighbours:
        """k candidates gain as much as they may, while the others lose as much as they may, placed where these k are
        chosen once in 100 runs on `d0`."""
        refuse_worst_case(type(self).__name__, self.query)
        low, high = -60.0, 60.0
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._log_counts(middle)[-1] < math.log(RARE) else (low, middle)
        return self.leading(self.k, high)

    def exact_guarantee(self) -> Guarantee:
        """The exact curve of `worst_case()`, from the number of the k among those chosen."""
        pair = self.worst_case()
        log0, log1 = (self._log_counts(self.rate * float(x[0] - x[-1])) for x in (pair.d0, pair.d1))
        return ExactDP.of_logs(log0, log1, self.relation)

    def _log_counts(self, lead: float) -> Floats:
        """Log probability that m = 0, ..., k of k candidates that lead by `lead` scales are chosen."""
        n, k = self.n_candidates, self.k
        scores = np.where(np.arange(n) < k, lead, 0.0)
        m = np.arange(max(0, 2 * k - n), k + 1)
        sets = np.array([[*range(k - i, k), *range(k, 2 * k - i)] for i in m])
        ways = _log_choose(k, m) + _log_choose(n - k, k - m)
        return np.concatenate([np.full(k + 1 - len(m), -np.inf), log_top_set_laplace(scores, sets) + ways])


@dataclass(frozen=True)
class GumbelTopKCounts(Selection):
    """Top k by one-shot Gumbel noise, and their counts with fresh Laplace noise, each for half of the budget.

    With rho the most that the textbook conversion allows for (epsilon, delta) and epsilon' = 2 sqrt(rho): Gumbel noise
    of scale sqrt(k) / epsilon' (twice that unless `monotone`) finds the candidates, Laplace noise of scale 2 sqrt(k) /
    epsilon' goes on each count, both times the sensitivity. Each half is epsilon'^2 / 8 concentrated DP. (Durfee and
    Rogers 2021.)

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

    k: int
    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        open_unit(delta=self.delta)
        check_k(self.k, self.n_candidates)

    @property
    def share(self) -> float:
        """epsilon' / sqrt(k): the range of each of the k choices."""
        rho = ConcentratedDP.for_budget(epsilon=self.epsilon, delta=self.delta).rho
        return 2.0 * math.sqrt(rho / self.k)

    @property
    def rate(self) -> float:
        """1 / scale of the Gumbel noise."""
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
        """Indices and noisy counts, shape `(size, 2 k)`."""
        counts = self.utilities(dataset)
        noisy = NOISES["gumbel"].draw(rng, (size, self.n_candidates))
        noisy += self.scores(dataset)
        chosen = np.argsort(-noisy, axis=1)[:, : self.k]
        return Outputs(np.hstack([chosen, counts[chosen] + draw_laplace(self.count_scale, chosen.shape, rng)]))

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density under `dataset`, shape `(size,)`: of the ranked list, and of the counts given the list."""
        chosen, noisy = outputs.values[:, : self.k], outputs.values[:, self.k :]
        counts = self.utilities(dataset)
        log_chosen = log_ranking(self.scores(dataset), chosen)
        possible = np.isfinite(log_chosen)
        index = np.where(possible[:, np.newaxis], chosen, 0).astype(np.int64)
        return np.asarray(log_chosen + laplace_log_density(noisy - counts[index], self.count_scale).sum(axis=1))

    def guarantee(self) -> Guarantee:
        """`ConcentratedDP(rho)`, quoted at delta."""
        rho = ConcentratedDP.for_budget(epsilon=self.epsilon, delta=self.delta).rho
        return ConcentratedDP(rho, self.relation).calibrated_at(self.delta)

    def worst_case(self) -> Neighbours:
        """All counts are 0 on `d0`, and one is `sensitivity` on `d1`: its rank and its noisy count both tell."""
        refuse_worst_case(type(self).__name__, self.query)
        d1 = np.zeros(self.n_candidates)
        d1[0] = self.sensitivity
        return Neighbours(np.zeros(self.n_candidates), d1, self.relation)

    def exact_guarantee(self) -> Guarantee:
        """The curve of `worst_case()`, from the rank of the one candidate, if it has one, and 2,000 cells of its count:
        exact at delta 0, where the outermost cells decide, and elsewhere too small by less than 1e-6 in delta."""
        laws: list[Floats] = []
        for moved in (0.0, 1.0):
            ranks, missed = self._log_ranks(moved * self.sensitivity * self.rate)
            shift = self.sensitivity / self.count_scale
            ends = np.pad(np.linspace(0.0, shift, _CELLS) - moved * shift, 1, constant_values=(-np.inf, np.inf))
            count = log_laplace_mass(ends[:-1], ends[1:], 1.0)
            laws.append(np.append(np.add.outer(ranks, count).ravel(), missed))
        return ExactDP.of_logs(laws[0], laws[1], self.relation)

    def _log_ranks(self, lead: float) -> tuple[Floats, float]:
        """Log probability of each of the k ranks for a candidate that leads by `lead` scales, and of none of them."""
        with np.errstate(divide="ignore"):
            log_odds = lead - np.log(self.n_candidates - 1.0 - np.arange(self.k))
        reached = np.concatenate([[0.0], np.cumsum(log_expit(-log_odds))])
        return reached[:-1] + log_expit(log_odds), float(reached[-1])


def _distinct(rows: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows of numbers below n, and where each row is among them; by one number a row where that fits."""
    if n ** rows.shape[1] >= 2**63:
        distinct, where = np.unique(rows, axis=0, return_inverse=True)
        return distinct, where.ravel()
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        keys = keys * n + column
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], where


def _log_choose(n: int, m: NDArray[np.int64]) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m + 1.0))
