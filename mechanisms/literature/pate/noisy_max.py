"""Label with the most noisy votes: Laplace noise (LNMax) and Gaussian noise (GNMax)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

import numpy as np

from ...accounting import ExactDP, GaussianDP, OptimalComposition, PureDP
from ...accounting.numerics.binomial import response_logs
from ...core import Bools, Floats, Guarantee, Ints, ParameterError, Positive, example, one_of_names
from ...noise.laplace import draw_laplace
from .aggregator import Aggregator, never_abstains
from .renyi import gaussian_divergences, laplace_divergences, log_gaussian_miss, log_laplace_miss
from .vote_counts import Counts
from .winners import laplace_majority_log_odds, log_gaussian_winner, log_laplace_majority, log_laplace_winner

EACH_LABEL, ONE_DRAW = "each-label", "one"

WORST_CASE_LEAD = 5.0
"""Product rate * lead in the worst case of LNMax, for which label 0 wins about once in a hundred runs."""


@dataclass(frozen=True)
class LNMax(Aggregator):
    """LNMax: argmax over labels j of n_j + Laplace noise of scale 1 / rate; or a noisy majority of two labels.

    (Papernot, Abadi, Erlingsson, Goodfellow and Talwar 2017, section 3.)

    Args:
        rate: gamma, > 0, the inverse scale of the noise.
        draws: "each-label", noise on each number of votes: an answer is (2 rate)-DP, because one teacher changes two
            counts by 1; or "one", for two labels: label 1 if n_1 + noise > n_teachers / 2, so that an answer is
            rate-DP.
        n_teachers, n_classes, n_queries: see `Aggregator`.

    Raises:
        ParameterError: one draw for more than two labels, or a value out of range.

    Guarantees:
        * Noise on each label: (2 rate)-DP for each query, composed optimally. It is approached, but not attained: with
          two labels and a lead of l votes, x = rate l, a moved vote increases the probability of the trailing label by
          the factor e^(2 rate) (2 + x - 2 rate) / (2 + x).
        * One draw: rate-DP for each query, by basic composition; attained by the worst case of an even n_teachers.

    Example:
        >>> mechanism = LNMax(rate=0.05, n_teachers=250, n_classes=2)
        >>> round(mechanism.guarantee().epsilon(0.0), 12), round(mechanism.exact_guarantee().epsilon(0.0), 4)
        (0.1, 0.0856)
        >>> mechanism = LNMax(rate=0.05, draws="one", n_teachers=250, n_classes=2)
        >>> mechanism.guarantee().epsilon(0.0), round(mechanism.exact_guarantee().epsilon(0.0), 12)
        (0.05, 0.05)
    """

    _example = example(n_teachers=6, n_classes=3)

    _loss_powers: ClassVar[Mapping[str, float]] = {"rate": 1.0}

    rate: Positive
    _: KW_ONLY
    draws: Annotated[str, one_of_names(EACH_LABEL, ONE_DRAW)] = EACH_LABEL

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.draws == ONE_DRAW and self.n_classes != 2:
            raise ParameterError(
                f'draws = "one" decides between two labels, but n_classes is {self.n_classes}. Set n_classes = 2, or '
                'draws = "each-label".',
                argument="draws",
            )

    @property
    def worst_lead(self) -> int:
        """Lead at which label 0 wins about once in a hundred runs, because a larger one approaches the claim; or 0."""
        return 0 if self.draws == ONE_DRAW else min(self.n_teachers, math.ceil(WORST_CASE_LEAD / self.rate)) - 2

    def answers(self, counts: Counts, size: int, rng: np.random.Generator) -> Ints:
        if self.draws == ONE_DRAW:
            noisy_ones = counts[..., 1] + rng.laplace(scale=1.0 / self.rate, size=(size, self.n_queries))
            return np.asarray(noisy_ones > self.n_teachers / 2, dtype=np.int64)
        noisy = draw_laplace(1.0 / self.rate, (size, *counts.shape), rng)
        noisy += counts
        return np.asarray(noisy.argmax(axis=2))

    def log_labels(self, counts: Counts) -> Floats:
        log_law = log_laplace_majority if self.draws == ONE_DRAW else log_laplace_winner
        return never_abstains(log_law(counts, self.rate))

    def divergences(self, counts: Counts, answered: Bools, orders: Floats) -> Floats:
        if self.draws == ONE_DRAW:
            return laplace_divergences(log_laplace_majority(counts, self.rate).min(axis=1), 0.5 * self.rate, orders)
        return laplace_divergences(log_laplace_miss(counts, self.rate), self.rate, orders)

    def guarantee(self) -> Guarantee:
        """Return `PureDP(2 rate)`, or its optimal composition over the queries; one draw: `PureDP(rate n_queries)`."""
        if self.draws == ONE_DRAW:
            return PureDP(self.rate * self.n_queries, relation=self.relation)
        if self.n_queries == 1:
            return PureDP(2.0 * self.rate, relation=self.relation)
        return OptimalComposition(2.0 * self.rate, 0.0, count=self.n_queries, relation=self.relation)

    def guarantee_between(self, counts0: Counts, counts1: Counts) -> ExactDP | None:
        """Return the exact curve of two tables of votes; for one draw, of the binomial numbers of labels 1."""
        if self.draws != ONE_DRAW:
            return super().guarantee_between(counts0, counts1)
        log_odds = [laplace_majority_log_odds(counts, self.rate) for counts in (counts0, counts1)]
        if any((values != values[0]).any() for values in log_odds):
            return None
        logs = [response_logs(self.n_queries, float(values[0])) for values in log_odds]
        return ExactDP.of_logs(logs[0], logs[1], relation=self.relation)


@dataclass(frozen=True)
class GNMax(Aggregator):
    """GNMax: argmax over labels j of n_j + N(0, standard_deviation^2).

    (Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson 2018, section 4.)

    Args:
        standard_deviation: sigma of the noise on each number of votes, > 0.
        n_teachers, n_classes, n_queries: see `Aggregator`.

    Guarantees:
        * mu-Gaussian DP with mu = sqrt(2 n_queries) / sigma, the guarantee of the noisy votes: a moved vote changes
          them by sqrt(2) in L2 norm. It implies (1 / sigma^2)-zCDP for each query, the analysis of the papers. The
          label leaks less, so that the curve is not exact.
        * Two labels: label 1 with a lead of l votes wins with probability Phi(l / (sigma sqrt(2))), exactly.

    Example:
        >>> mechanism = GNMax(standard_deviation=40.0, n_queries=1000)
        >>> round(mechanism.guarantee().epsilon(1e-5), 4), mechanism.rho
        (4.9833, 0.625)
    """

    _example = example(standard_deviation=3.0, n_teachers=6, n_classes=3, n_queries=2)

    standard_deviation: Positive

    def answers(self, counts: Counts, size: int, rng: np.random.Generator) -> Ints:
        noisy = rng.standard_normal((size, *counts.shape))
        noisy *= self.standard_deviation
        noisy += counts
        return np.asarray(noisy.argmax(axis=2))

    def log_labels(self, counts: Counts) -> Floats:
        return never_abstains(log_gaussian_winner(counts, self.standard_deviation))

    def divergences(self, counts: Counts, answered: Bools, orders: Floats) -> Floats:
        sd = self.standard_deviation
        return gaussian_divergences(log_gaussian_miss(counts, sd), sd, orders)

    @property
    def rho(self) -> float:
        """Parameter of the zCDP guarantee of all queries, n_queries / sigma^2."""
        return self.n_queries / self.standard_deviation**2

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(sqrt(2 n_queries) / sigma)`, an upper bound."""
        return GaussianDP(math.sqrt(2.0 * self.rho), self.relation, exact=False)
