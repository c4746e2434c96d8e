"""Intentionally broken check: exact votes decide whether a query is answered."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ...accounting import GaussianDP
from ...core.arrays import Floats
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...learning.pate.confident import CheckedGNMax
from ...learning.pate.vote_counts import Counts


@dataclass(frozen=True)
class CheckWithoutNoise(CheckedGNMax):
    """Broken: GNMax on the queries on which at least `threshold` teachers agree, counted without noise.

    Bug: the check only selects queries, so that its cost is left out. But a single vote can decide whether there is an
    answer: epsilon is infinite, and one query distinguishes the sides with certainty. The claim is that of the answers.
    `ConfidentGNMax` is correct: its check has noise, and is accounted for.

    Args:
        threshold: number of votes, more than half of n_teachers and at most all.
        check_deviation: standard deviation of the noise that the check should have; not used.
        answer_deviation: standard deviation of the noise of the answers, > 0.
        n_teachers, n_classes, n_queries: as for `ConfidentGNMax`.

    Example:
        >>> broken = CheckWithoutNoise(200.0, 150.0, 40.0, n_queries=5)
        >>> round(broken.guarantee().epsilon(1e-5), 4), broken.exact_guarantee().epsilon(1e-5)
        (0.2637, inf)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.n_teachers / 2 < self.threshold <= self.n_teachers:
            raise ParameterError(
                f"threshold must be above half of n_teachers = {self.n_teachers} and at most all, but is "
                f"{self.threshold:g}.",
                argument="threshold",
            )

    @property
    def worst_lead(self) -> int:
        """Largest lead at which the check fails: one vote is missing."""
        return 2 * (math.ceil(self.threshold) - 1) - self.n_teachers

    def passes(self, counts: Counts, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return True where at least `threshold` teachers agree, equal in every run."""
        return np.broadcast_to(self.support(counts) >= self.threshold, (size, self.n_queries))

    def log_passes(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return the log probabilities of passing and failing: 0 and -inf, or -inf and 0."""
        above = np.where(self.support(counts) >= self.threshold, np.inf, -np.inf)
        return log_ndtr(above), log_ndtr(-above)

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(sqrt(2 n_queries) / answer_deviation)`: the guarantee of the answers without the check."""
        return GaussianDP(math.sqrt(2.0 * self.n_queries) / self.answer_deviation, self.relation, exact=False)
