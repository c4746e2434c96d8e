"""Permute-and-flip: visit the candidates in random order, and take the first whose coin says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base import Dataset, Neighbours, Outputs
from ..queries.base import Floats
from .base import ChoosesOne
from .laws import log_largest_exponential


@dataclass(frozen=True)
class PermuteAndFlip(ChoosesOne):
    """Permute-and-flip: visit the candidates in random order, and take the first that passes its coin toss.

    Candidate y passes with probability exp(epsilon (u_y - u*) / (2 sensitivity)), where u* is the largest utility, so
    that a best candidate is taken when its turn comes. With `monotone=True` the factor 2 is dropped. (McKenna and
    Sheldon 2020, algorithm 1.) Its law is that of report noisy max with exponential noise (Ding, Kifer, Steinke, Wang,
    Xiao and Zhang 2021), and its expected utility is nowhere below that of `Exponential`.

    Args:
        epsilon, n_candidates, sensitivity, monotone, query, relation: as for `Exponential`.

    Guarantees:
        * epsilon-DP, attained by the pair of `worst_case`.
        * Not of bounded range epsilon: two candidates that are equal on one side, while one leads by as much as it can
          on the other, have log ratios epsilon + log(2 - e^-epsilon) apart.

    Example:
        >>> mechanism = PermuteAndFlip(epsilon=1.0, n_candidates=2, monotone=True)
        >>> mechanism.probabilities([0.0, 1.0]).round(6)  # e^-1 / 2
        array([0.18394, 0.81606])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 9)
        1.0
    """

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Log probability of each candidate, shape `(n_candidates,)`.

        The average over all orders of the product of (1 - w_j) over those that come first, times w_y, with w the
        probability to be taken: an integral of a polynomial, see `laws`.
        """
        return log_largest_exponential(self.scores(dataset))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Indices of the candidates of `size` runs, shape `(size,)`: the first in a random order among those whose
        coins, tossed beforehand, say yes."""
        taken = rng.random((size, self.n_candidates)) < np.exp(self.scores(dataset))
        turn = rng.random((size, self.n_candidates))
        return Outputs(np.where(taken, turn, np.inf).argmin(axis=1))

    def worst_case(self) -> Neighbours:
        """Candidate 0 catches up with the others, and its probability grows from e^-epsilon / n to 1 / n."""
        return self.leading(1, -self.epsilon)
