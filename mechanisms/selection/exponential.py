"""The exponential mechanism: choose one of finitely many candidates, good ones more often."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit, log_softmax

from ..base import Dataset, Neighbours, Outputs
from ..guarantees import BoundedRange, ExactDP, PureDP
from ..guarantees.base import Guarantee
from ..queries.base import Floats, Query
from .base import ChoosesOne

TIGHTNESS = 0.98
"""epsilon of the worst case / the claim."""


@dataclass(frozen=True)
class Exponential(ChoosesOne):
    """Exponential mechanism: candidate y with probability proportional to exp(epsilon u(x, y) / (2 sensitivity)).

    (McSherry and Talwar 2007, theorem 6.) With `monotone=True` the factor 2 is dropped, which is right when all
    utilities that move between neighbours move in one direction, as counts do when a record is added.

    Args:
        epsilon: the claim, > 0.
        n_candidates: number of candidates, >= 2; the output is the index of one.
        sensitivity: largest change of any single utility between neighbours, > 0.
        monotone: see above.
        query: computes the utilities from the dataset, higher = better; None when the dataset is the vector
            `(n_candidates,)` of utilities.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Guarantees:
        * epsilon-DP. No pair attains it; it is approached by a pair whose event becomes rare (see `worst_case`).
        * `bounded_range()`: the privacy loss lies in an interval of length epsilon, hence epsilon^2 / 8 concentrated
          DP, four times better than what epsilon-DP alone would give (Dong, Durfee and Rogers 2020; Cesar and Rogers
          2021).

    Example:
        >>> mechanism = Exponential(epsilon=1.0, n_candidates=2)
        >>> mechanism.probabilities([0.0, 1.0]).round(6)
        array([0.377541, 0.622459])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 6)
        0.98
    """

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Log probability of each candidate, shape `(n_candidates,)`."""
        return np.asarray(log_softmax(self.scores(dataset)))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Indices of `size` candidates chosen independently, shape `(size,)`, by inversion of the distribution
        function."""
        steps = np.cumsum(self.probabilities(dataset))
        return Outputs(np.searchsorted(steps[:-1] / steps[-1], rng.random(size), side="right"))

    def guarantee(self) -> Guarantee:
        """`PureDP(epsilon)`: an upper bound that is approached and not attained."""
        return PureDP(self.epsilon, relation=self.relation)

    def bounded_range(self) -> BoundedRange:
        """What holds besides: all log ratios lie in an interval of length epsilon (Dong, Durfee and Rogers 2020).

        With a query of known range sensitivity it is `rate` times that: epsilon / 2 for counts, say, whose noise is not
        chosen as `monotone`.
        """
        length = self.epsilon
        if isinstance(self.query, Query):
            length = min(length, self.rate * self.query.range_sensitivity(self.relation))
        return BoundedRange(length, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Candidate 0 gains as much as it may while the others lose as much as they may.

        The odds of candidate 0 grow by e^epsilon, from o to o e^epsilon; its probability by only
        e^epsilon (1 + o) / (1 + o e^epsilon). So the rarer the event, the nearer its log ratio is to epsilon, and the
        more trials it takes to see. Candidate 0 is placed where the ratio is e^(0.98 epsilon): at epsilon 1 it is then
        chosen 12 times in 1,000 on `d0`.
        """
        return self.leading(1, self._log_odds() - self.epsilon + math.log(self.n_candidates - 1))

    def exact_guarantee(self) -> Guarantee:
        """The exact curve of `worst_case()`: candidate 0 against all the others.

        Below epsilon 1e-10 the laws are so close that rounding shows: epsilon is right within 1e-15.
        """
        log_odds = np.array([self._log_odds() - self.epsilon, self._log_odds()])
        log0, log1 = np.column_stack([log_expit(log_odds), log_expit(-log_odds)])
        return ExactDP.of_logs(log0, log1, relation=self.relation)

    def _log_odds(self) -> float:
        """ln of the odds o e^epsilon of candidate 0 on `d1`, where ln((1 + o e^epsilon) / (1 + o)) = 0.02 epsilon."""
        slack = (1.0 - TIGHTNESS) * self.epsilon
        return slack + math.log(-math.expm1(-slack)) - math.log(-math.expm1(-TIGHTNESS * self.epsilon))
