"""Top k in order: k rounds of the exponential mechanism, or Gumbel noise once, with the same law."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...accounting import BoundedRange, ConcentratedDP, ExactDP, compose
from ...core import Bools, Dataset, Floats, Guarantee, Ints, Neighbours, Outputs
from ...noise.queries.answers import refuse_worst_case
from ...selection.base import TopK, rare_lead
from ...selection.noisy_max import NOISES

_MAX_ROUNDS = 14  # 2^14 orders of leaders and others


@dataclass(frozen=True)
class PeelingTopK(TopK):
    """Top k by peeling: k times, the exponential mechanism chooses a candidate, which is then removed.

        P(i_1, ..., i_k) = product over rounds of e^(rate u_i) / sum over those left of e^(rate u_j),

    with rate epsilon / (2 sensitivity), or epsilon / sensitivity if `monotone`. (Durfee and Rogers 2019.)

    Args:
        epsilon: epsilon of each round, > 0.
        n_candidates, sensitivity, monotone, query, relation: as for `Exponential`.
        k: number of candidates to choose, 1 <= k <= n_candidates; the output is `(k,)` indices, the best first.

    Guarantees:
        * The adaptive composition of k mechanisms of bounded range epsilon: k epsilon at delta 0, and k epsilon^2 / 8
          concentrated DP (`concentrated`) (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021).

    Example:
        >>> mechanism = PeelingTopK(epsilon=1.0, n_candidates=4, k=2, monotone=True)
        >>> law = mechanism.log_density(Outputs(np.array([[0, 1], [1, 0]])), [3.0, 2.0, 1.0, 0.0])
        >>> np.exp(law).round(6)
        array([0.428358, 0.19988 ])
    """

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices of the chosen candidates, shape `(size, k)`, by k rounds on all runs at once."""
        remaining = np.tile(self.scores(dataset), (size, 1))
        chosen = np.empty((size, self.k), dtype=np.int64)
        rows = np.arange(size)
        for turn in range(self.k):
            steps = np.cumsum(np.exp(remaining - remaining.max(axis=1, keepdims=True)), axis=1)
            chosen[:, turn] = (steps / steps[:, -1:] <= rng.random((size, 1))).sum(axis=1)
            remaining[rows, chosen[:, turn]] = -np.inf
        return Outputs(chosen)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each ranking under `dataset`, shape `(size,)`; -inf if impossible."""
        return log_ranking(self.scores(dataset), outputs.values)

    def guarantee(self) -> Guarantee:
        """Return the optimal composition of k mechanisms of bounded range epsilon."""
        per_round = BoundedRange(self.epsilon, relation=self.relation)
        return compose([per_round] * self.k, accounting="optimal")

    def concentrated(self) -> ConcentratedDP:
        """Return k epsilon^2 / 8 concentrated DP."""
        return ConcentratedDP(self.k * self.epsilon**2 / 8.0, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return a pair on which k candidates gain and the others lose as much as possible.

        A smaller probability that all k are chosen has a log ratio nearer to k epsilon; the candidates are placed where
        it is that of `event_log_odds` on `d0`.
        """
        refuse_worst_case(type(self).__name__, self.query)
        leaders_first = np.ones((1, self._n_leaders), dtype=np.bool_)
        lead = rare_lead(
            lambda lead: float(self._log_orders(lead, leaders_first)[0]), self.k * self.epsilon, largest=200.0, steps=60
        )
        return self.leading(self._n_leaders, lead)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`, from the 2^k orders of leaders and others; None for k > 14."""
        if self.k > _MAX_ROUNDS:
            return None
        pair = self.worst_case()
        lead = self.rate * (pair.d0[0] - pair.d0[-1])
        orders = np.array(list(product((False, True), repeat=self.k)))
        log0, log1 = (self._log_orders(x, orders) for x in (lead, lead + self.epsilon))
        return ExactDP.of_logs(log0, log1, self.relation)

    @property
    def _n_leaders(self) -> int:
        return min(self.k, self.n_candidates - 1)

    def _log_orders(self, lead: float, orders: Bools) -> Floats:
        """Return the log probability of each order of leaders (True) with score `lead` and others with score 0."""
        gone: Ints = np.cumsum(orders, axis=1) - orders
        rounds = np.arange(orders.shape[1])
        leaders = self._n_leaders - gone
        others = self.n_candidates - self._n_leaders - (rounds - gone)
        with np.errstate(divide="ignore"):
            log_leaders = np.log(np.maximum(leaders, 0)) + lead
            log_others = np.log(np.maximum(others, 0))
        log_chance = np.where(orders, log_leaders, log_others) - np.logaddexp(log_leaders, log_others)
        return np.asarray(log_chance.sum(axis=1))


@dataclass(frozen=True)
class GumbelTopK(PeelingTopK):
    """One-shot top k: Gumbel noise of scale 1 / rate on every utility once, and the k largest sums in order.

    The law is that of `PeelingTopK` for all utilities, with n_candidates draws of noise instead of k rounds. (Durfee
    and Rogers 2019.)

    Guarantees:
        * As for `PeelingTopK`.

    Example:
        >>> mechanism = GumbelTopK(epsilon=1.0, n_candidates=4, k=2)
        >>> mechanism.release([90.0, 99.0, 0.0, 0.0], 3, np.random.default_rng(0)).values
        array([[1, 0],
               [1, 0],
               [1, 0]])
    """

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices of the chosen candidates, shape `(size, k)`."""
        noisy = NOISES["gumbel"].draw(rng, (size, self.n_candidates))
        noisy += self.scores(dataset)
        return Outputs(np.argsort(-noisy, axis=1)[:, : self.k])


def log_ranking(scores: Floats, rankings: NDArray[np.generic]) -> Floats:
    """Return the log probability of each ranking by peeling, shape `(size,)`; -inf if it is impossible."""
    chosen = np.asarray(rankings)
    possible = ((chosen >= 0) & (chosen < len(scores)) & (chosen == np.floor(chosen))).all(axis=1)
    index = np.where(possible[:, np.newaxis], chosen, 0).astype(np.int64)
    rows, remaining = np.arange(len(index)), np.tile(scores, (len(index), 1))
    log_probability = np.where(possible, 0.0, -np.inf)
    for turn in range(index.shape[1]):
        own = remaining[rows, index[:, turn]]
        with np.errstate(invalid="ignore"):
            log_probability += own - logsumexp(remaining, axis=1)
        remaining[rows, index[:, turn]] = -np.inf
    return np.asarray(np.where(np.isnan(log_probability), -np.inf, log_probability))
