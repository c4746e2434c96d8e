"""Selection with a margin: the exponential mechanism on the few candidates that lead the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...accounting import ApproximateDP, ExactDP, FiniteMechanism
from ...core import Dataset, Floats, Guarantee, Ints, Neighbours, OpenUnit, Outputs, ParameterError
from ...selection.base import TopK

NO_CANDIDATE = -1
"""Output of a run that chooses no candidate."""

LEADER_PROBABILITY = 0.01
"""Probability on `d0` that one of the leaders is chosen."""


@dataclass(frozen=True)
class LargeMargin(TopK, FiniteMechanism):
    """Exponential mechanism on the candidates that lead the (k + 1)-th best, or no candidate.

    With a = `rate`, q the (k + 1)-th largest utility and W = k (e^epsilon - 1) / delta,

        P(candidate j)  proportional to  max(0, e^(a (u_j - q)) - 1),        P(none)  proportional to  W.

    At most k candidates can be chosen, so that the error depends on k and delta, and not on the number of candidates:
    a candidate is likely chosen if it leads q by more than log(W) / a. Without such a margin the answer is "none". The
    idea is from Chaudhuri, Hsu and Song (2014), Bun, Dwork, Rothblum and Steinke (2018, GAP-MAX) and Bun, Kamath,
    Steinke and Wu (2019); this variant has probabilities in closed form, and a separate proof.

    Proof. Write u_j for e^(a utility), v for e^(a q), N_j = max(0, u_j - v), and D = sum of N_j + W v, so that P(j) =
    N_j / D and P(none) = W v / D. At most k of the N_j are positive and W >= k, so that D grows with every u_j and with
    v. Between neighbours each of them changes by a factor within e^(+-epsilon / 2); hence D by no more than
    e^(epsilon / 2), P(none) by no more than e^epsilon, and

        N_j' <= e^(epsilon / 2) N_j + (e^(epsilon / 2) - e^(-epsilon / 2)) v,    v <= e^(epsilon / 2) v',    D' >= W v',

    which gives P'(j) <= e^epsilon P(j) + (e^epsilon - 1) / W for each of the at most k candidates with P'(j) > 0. With
    `monotone` all factors lie within [1, e^epsilon] or all within [e^-epsilon, 1], and the same bound follows.

    Args:
        epsilon: the claim, > 0.
        n_candidates, sensitivity, monotone, query, relation: as for `Exponential`. The output is the index of a
            candidate, or -1 for none.
        k: the largest number of candidates that can be chosen, 1 <= k < n_candidates.
        delta: the claim, strictly between 0 and 1, and at most e^epsilon - 1.

    Guarantees:
        * (epsilon, delta)-DP, by the proof above; nearly tight on `worst_case()`.

    Example:
        >>> mechanism = LargeMargin(epsilon=1.0, n_candidates=1_000_000, k=1, delta=1e-6)
        >>> utilities = np.zeros(1_000_000)
        >>> utilities[7] = 50.0
        >>> round(float(mechanism.probabilities(utilities)[7]), 4)
        1.0
    """

    delta: OpenUnit

    def __post_init__(self) -> None:
        super().__post_init__()
        if math.log(self.delta) > _log_expm1(self.epsilon):
            raise ParameterError(
                f"delta must be at most e^epsilon - 1 = {math.expm1(self.epsilon):g}, but is {self.delta!r}. Lower "
                "delta, or raise epsilon.",
                argument="delta",
            )

    @property
    def largest_k(self) -> int:
        return self.n_candidates - 1

    @property
    def log_weight(self) -> float:
        """Weight log W of no choice: the lead over the (k + 1)-th best, times `rate`, that makes a choice likely."""
        return math.log(self.k) + _log_expm1(self.epsilon) - math.log(self.delta)

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Return the log probability of each candidate and of none, shape `(n_candidates + 1,)`; none is last."""
        scores = self.scores(dataset)
        rest = np.partition(scores, self.n_candidates - 1 - self.k)[self.n_candidates - 1 - self.k]
        lead = np.maximum(0.0, scores - rest)
        log_weights = np.append(np.full(self.n_candidates, -np.inf), self.log_weight)
        leads = np.flatnonzero(lead > 0.0)
        log_weights[leads] = lead[leads] + np.log(-np.expm1(-lead[leads]))
        return np.asarray(log_weights - logsumexp(log_weights))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the index of the chosen candidate, or -1 for none, of `size` runs, shape `(size,)`."""
        probabilities = self.probabilities(dataset)
        possible = np.flatnonzero(probabilities)
        steps = np.cumsum(probabilities[possible])
        chosen = possible[np.searchsorted(steps[:-1], rng.random(size) * steps[-1], side="right")]
        return Outputs(np.where(chosen == self.n_candidates, NO_CANDIDATE, chosen))

    def _positions(self, values: NDArray[Any], n_outputs: int) -> Ints:
        candidates = super()._positions(values, self.n_candidates)
        return np.where(values == NO_CANDIDATE, self.n_candidates, candidates)

    def guarantee(self) -> Guarantee:
        """Return `ApproximateDP(epsilon, delta)`."""
        return ApproximateDP(self.epsilon, self.delta, self.relation)

    def worst_case(self) -> Neighbours:
        """Return a pair on which k leaders gain and the others lose as much as possible.

        On `d0` the leaders are so close to the others that one of them is chosen in one of 100 runs.
        """
        odds = math.log(LEADER_PROBABILITY / (1.0 - LEADER_PROBABILITY)) + self.log_weight - math.log(self.k)
        return self.leading(self.k, float(np.logaddexp(0.0, odds)))

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`, from the probabilities of any leader and of none."""
        pair = self.worst_case()
        ways = np.log([self.k, 1.0])
        log0, log1 = (self.log_probabilities(dataset)[[0, -1]] + ways for dataset in (pair.d0, pair.d1))
        return ExactDP.of_logs(log0, log1, self.relation)


def _log_expm1(x: float) -> float:
    """Return log(e^x - 1) for x > 0, without overflow."""
    return x + math.log(-math.expm1(-x))
