"""The exponential mechanism: choose one of finitely many candidates, good ones more often."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ..errors import NeighboursError, ParameterError
from ..guarantees import ConcentratedDP, ExactDP, PureDP
from ..guarantees.base import Guarantee
from ..queries.answers import check_pair, check_query, evaluate, refuse_worst_case
from ..queries.base import AnyQuery, Floats, Query
from ..relation import Relation
from ..validation import positive, whole

TIGHTNESS = 0.98
"""epsilon of the worst case / the claim."""

_LARGEST = 700.0  # e^-700 is about the smallest probability that a float holds with full accuracy


@dataclass(frozen=True)
class Exponential(Mechanism):
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
        * `concentrated()`: epsilon^2 / 8 concentrated DP, four times better than what epsilon-DP alone would give,
          because the privacy loss lies in an interval of length epsilon (Dong, Durfee and Rogers 2020; Cesar and Rogers
          2021).

    Example:
        >>> mechanism = Exponential(epsilon=1.0, n_candidates=2)
        >>> mechanism.probabilities([0.0, 1.0]).round(6)
        array([0.377541, 0.622459])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 6)
        0.98
    """

    epsilon: float
    n_candidates: int
    _: KW_ONLY
    sensitivity: float = 1.0
    monotone: bool = False
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        positive(epsilon=self.epsilon, sensitivity=self.sensitivity)
        whole(2, n_candidates=self.n_candidates)
        if not isinstance(self.monotone, bool):
            raise ParameterError(f"monotone must be True or False, but is {self.monotone!r}.", argument="monotone")
        check_query(
            self.query,
            sensitivity=self.sensitivity,
            relation=self.relation,
            norm=math.inf,
            n_answers=self.n_candidates,
            n_name="n_candidates",
        )
        if self.monotone and isinstance(self.query, Query) and not self.query.monotone(self.relation):
            raise ParameterError(
                f"monotone is True, but {self.query!r} is not monotone under {self.relation.value!r}: utilities can "
                "move both ways. Set monotone=False.",
                argument="monotone",
            )

    @property
    def rate(self) -> float:
        """What a utility is multiplied by: epsilon / (2 sensitivity), or epsilon / sensitivity when monotone."""
        return self.epsilon / (self.sensitivity if self.monotone else 2.0 * self.sensitivity)

    def utilities(self, dataset: Dataset) -> Floats:
        """Utility of each candidate, shape `(n_candidates,)`."""
        return evaluate(self.query, dataset, n_answers=self.n_candidates, n_name="n_candidates")

    def log_probabilities(self, dataset: Dataset) -> Floats:
        """Log probability of each candidate, shape `(n_candidates,)`."""
        return np.asarray(log_softmax(self.rate * self.utilities(dataset)))

    def probabilities(self, dataset: Dataset) -> Floats:
        """Probability of each candidate, shape `(n_candidates,)`."""
        return np.exp(self.log_probabilities(dataset))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Indices of `size` candidates chosen independently, shape `(size,)`, by inversion of the distribution
        function."""
        steps = np.cumsum(self.probabilities(dataset))
        return Outputs(np.searchsorted(steps[:-1] / steps[-1], rng.random(size), side="right"))

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log probability of each output under `dataset`, shape `(size,)`; -inf for what is no candidate."""
        chosen = outputs.values
        table = np.append(self.log_probabilities(dataset), -np.inf)
        possible = (chosen >= 0) & (chosen < self.n_candidates) & (chosen == np.floor(chosen))
        return np.asarray(table[np.where(possible, chosen, self.n_candidates).astype(np.int64)])

    def guarantee(self) -> Guarantee:
        """`PureDP(epsilon)`: an upper bound that is approached and not attained."""
        return PureDP(self.epsilon, relation=self.relation)

    def concentrated(self) -> Guarantee:
        """epsilon^2 / 8 concentrated DP, by bounded range (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021)."""
        return ConcentratedDP(self.epsilon**2 / 8.0, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Candidate 0 gains as much as it may while the others lose as much as they may.

        The odds of candidate 0 grow by e^epsilon, from o to o e^epsilon; its probability by only
        e^epsilon (1 + o) / (1 + o e^epsilon). So the rarer the event, the nearer its log ratio is to epsilon, and the
        more trials it takes to see. Candidate 0 is placed where the ratio is e^(0.98 epsilon): at epsilon 1 it is then
        chosen 12 times in 1,000 on `d0`.
        """
        refuse_worst_case(type(self).__name__, self.query)
        start = np.zeros(self.n_candidates)
        start[0] = (self._log_odds() - self.epsilon + math.log(self.n_candidates - 1)) / self.rate
        step = np.full(self.n_candidates, 0.0 if self.monotone else -self.sensitivity)
        step[0] = self.sensitivity
        return Neighbours(start, start + step, self.relation)

    def exact_guarantee(self) -> Guarantee:
        """The exact curve of `worst_case()`: candidate 0 against all the others.

        Beyond epsilon 700 the probabilities are too small for floats, and the curve is that of randomized response at
        0.98 epsilon, from which it differs by at most e^(-0.02 epsilon) in delta: an upper bound. Below 1e-10 the laws
        are so close that rounding shows: epsilon is right within 1e-15.
        """
        if self.epsilon > _LARGEST:
            return PureDP(TIGHTNESS * self.epsilon, relation=self.relation)
        log_odds = np.array([self._log_odds() - self.epsilon, self._log_odds()])
        chosen, not_chosen = expit(log_odds), expit(-log_odds)
        law0, law1 = np.column_stack([chosen, not_chosen])
        return ExactDP(law0, law1, relation=self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        check_pair(neighbours, self.query, self.utilities, sensitivity=self.sensitivity, norm=math.inf)
        if self.query is None and self.monotone:
            moves = np.subtract(neighbours.d1, neighbours.d0)
            if moves.min() < 0 < moves.max():
                raise NeighboursError(
                    f"monotone is True, but the utilities move both ways, from {moves.min():g} to {moves.max():g}. Set "
                    "monotone=False, or give a pair whose utilities move in one direction.",
                    argument="monotone",
                )
        return self

    def _log_odds(self) -> float:
        """ln of the odds o e^epsilon of candidate 0 on `d1`, where ln((1 + o e^epsilon) / (1 + o)) = 0.02 epsilon."""
        slack = (1.0 - TIGHTNESS) * self.epsilon
        return slack + math.log(-math.expm1(-slack)) - math.log(-math.expm1(-TIGHTNESS * self.epsilon))
