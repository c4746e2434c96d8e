"""Permute-and-flip: visit the candidates in random order, and choose the first that passes a coin toss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Floats
from ..core.base import Dataset, Neighbours, Outputs
from .base import ChoosesOne
from .laws import log_largest_exponential


@dataclass(frozen=True)
class PermuteAndFlip(ChoosesOne):
    """Permute-and-flip: visit the candidates in random order, and choose the first that passes its coin toss.

    Candidate y passes with probability exp(epsilon (u_y - u*) / (2 sensitivity)), where u* is the largest utility, so
    that a best candidate is chosen when it is visited. With `monotone=True` the factor 2 is dropped. (McKenna and
    Sheldon 2020, algorithm 1.) Its law is that of report noisy max with exponential noise (Ding, Kifer, Steinke, Wang,
    Xiao and Zhang 2021), and its expected utility is never below that of `Exponential`.

    Args:
        epsilon, n_candidates, sensitivity, monotone, query, relation: as for `Exponential`.

    Guarantees:
        * epsilon-DP, attained by the pair of `worst_case`.
        * Not of bounded range epsilon: the log ratios of two candidates that are equal on one side, with the largest
          possible lead of one on the other side, differ by epsilon + log(2 - e^-epsilon).

    Example:
        >>> mechanism = PermuteAndFlip(epsilon=1.0, n_candidates=2, monotone=True)
        >>> mechanism.probabilities([0.0, 1.0]).round(6)  # e^-1 / 2
        array([0.18394, 0.81606])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 9)
        1.0
    """

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Return the log probability of each candidate, shape `(n_candidates,)`.

        The average over all orders of the product of (1 - w_j) over the candidates before y, times w_y, with w the
        probability to pass: an integral of a polynomial, see `laws`.
        """
        return log_largest_exponential(self.scores(dataset))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices of `size` runs, shape `(size,)`: the first in random order that passes its coin toss."""
        passes = rng.random((size, self.n_candidates)) < np.exp(self.scores(dataset))
        turn = rng.random((size, self.n_candidates))
        return Outputs(np.where(passes, turn, np.inf).argmin(axis=1))

    def worst_case(self) -> Neighbours:
        """Return a pair on which the probability of candidate 0 grows from e^-epsilon / n to 1 / n."""
        return self.leading(1, -self.epsilon)
