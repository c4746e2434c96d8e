"""Base class of mechanisms that choose among finitely many candidates by their utilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from scipy.special import log_expit

from ..accounting import PureMechanism
from ..core.arrays import Floats
from ..core.base import Data, Dataset, Neighbours, example
from ..core.constraints import Flag, Positive, PositiveInt, at_least
from ..core.errors import NeighboursError, ParameterError
from ..core.relation import Relation
from ..core.root_finding import bisect
from ..noise.queries.answers import check_pair, check_query, evaluate, refuse_worst_case
from ..noise.queries.base import AnyQuery, Query

_MAX_GAP = 1e7

TIGHTNESS = 0.8
"""Ratio of the log ratio of the event of a worst case to the claim: see `event_log_odds`."""
_MIN_EVENT_PROBABILITY = 0.01
"""Least probability on `d0` of the event of a worst case with Laplace noise, however large epsilon is."""


@dataclass(frozen=True)
class Selection(PureMechanism):
    """A mechanism on one utility per candidate, higher = better, each of which changes by at most `sensitivity`.

    Args:
        epsilon: the parameter of the claim, > 0.
        n_candidates: number of candidates, >= 2.
        sensitivity: largest change of any single utility between neighbours, > 0.
        monotone: True if all utilities that change between neighbours change in the same direction, as counts do when
            a record is added. Differences of utilities then change by `sensitivity`, not twice that, so that half the
            noise is enough.
        query: computes the utilities from the dataset; None if the dataset is the vector `(n_candidates,)` of
            utilities.
        relation: the neighbouring relation of `sensitivity` and the claim.
    """

    _dataset = Data.SCORES

    epsilon: Positive
    n_candidates: Annotated[int, at_least(2)]
    _: KW_ONLY
    sensitivity: Positive = 1.0
    monotone: Flag = False
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_query(self, norm=math.inf, n_name="n_candidates")
        if self.monotone and isinstance(self.query, Query) and not self.query.monotone(self.relation):
            raise ParameterError(
                f"monotone is True, but {self.query!r} is not monotone under {self.relation.value!r}: utilities can "
                "change in both directions. Set monotone=False.",
                argument="monotone",
            )

    @property
    def rate(self) -> float:
        """Inverse of the noise scale: epsilon / (2 sensitivity), or epsilon / sensitivity if monotone."""
        return self.epsilon / (self.sensitivity if self.monotone else 2.0 * self.sensitivity)

    def utilities(self, dataset: Dataset) -> Floats:
        """Return the utility of each candidate, shape `(n_candidates,)`."""
        return evaluate(self.query, dataset, n_answers=self.n_candidates, n_name="n_candidates")

    def scores(self, dataset: Dataset) -> Floats:
        """Return the utilities in units of the noise scale, shifted to a maximum of 0, shape `(n_candidates,)`.

        Gaps between consecutive scores are capped at ten million: the noise never exceeds such a gap, and larger
        numbers would lose the smaller gaps to rounding.
        """
        utilities = self.utilities(dataset)
        order = np.argsort(-utilities, kind="stable")
        with np.errstate(over="ignore"):
            gaps = self.rate * -np.diff(0.5 * utilities[order])
        scores = np.zeros(self.n_candidates)
        scores[order[1:]] = -np.cumsum(2.0 * np.minimum(gaps, 0.5 * _MAX_GAP))
        return scores

    def _check_pair(self, neighbours: Neighbours) -> None:
        check_pair(neighbours, self.query, self.utilities, sensitivity=self.sensitivity, norm=math.inf)
        if self.query is None and self.monotone:
            moves = np.subtract(neighbours.d1, neighbours.d0)
            if moves.min() < 0 < moves.max():
                raise NeighboursError(
                    f"monotone is True, but the utilities change in both directions, by {moves.min():g} to "
                    f"{moves.max():g}. Set monotone=False, or give a pair whose utilities change in one direction.",
                    argument="monotone",
                )

    def leading(self, n_leaders: int, lead: float) -> Neighbours:
        """Return a pair on which the first `n_leaders` candidates gain and the others lose as much as possible.

        On `d0` the utility of the leaders is `lead` / `rate` above that of the others.
        """
        refuse_worst_case(type(self).__name__, self.query)
        start = np.zeros(self.n_candidates)
        step = np.full(self.n_candidates, 0.0 if self.monotone else -self.sensitivity)
        start[:n_leaders] = lead / self.rate
        step[:n_leaders] = self.sensitivity
        return Neighbours(start, start + step, self.relation)


@dataclass(frozen=True)
class TopK(Selection):
    """A mechanism that chooses up to k of the candidates."""

    _example = example(k=2)

    k: PositiveInt

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > self.largest_k:
            raise ParameterError(
                f"k must be at most {self.largest_k} with so many candidates, but is {self.k}.", argument="k"
            )

    @property
    def largest_k(self) -> int:
        """Largest allowed value of k."""
        return self.n_candidates


def event_log_odds(epsilon: float) -> float:
    """Return the log odds on `d0` of an event whose odds grow by e^epsilon, and whose probability by e^(0.8 epsilon).

    With odds o the probability grows by e^epsilon (1 + o) / (1 + o e^epsilon) only. A rarer event has a log ratio
    nearer to epsilon, and takes more trials to observe. It is also rarer at larger rates: an event of 12 in 1,000 runs,
    whose log ratio is 0.98 at epsilon 1, has almost no probability if the mechanism runs at three times its rate, which
    would look private. At a log ratio of 0.8 the event has a probability of 13 % at epsilon 1.
    """
    slack = (1.0 - TIGHTNESS) * epsilon
    return slack - epsilon + math.log(-math.expm1(-slack)) - math.log(-math.expm1(-TIGHTNESS * epsilon))


def rare_lead(log_probability: Callable[[float], float], epsilon: float, *, largest: float, steps: int) -> float:
    """Return the least lead, up to `largest`, at which the log probability of an event is that of `event_log_odds`.

    By bisection between -`largest` and `largest`; the log probability must grow with the lead. `epsilon` is the claim
    for the event.
    """
    wanted = max(float(log_expit(event_log_odds(epsilon))), math.log(_MIN_EVENT_PROBABILITY))
    return bisect(lambda lead: log_probability(lead) >= wanted, -largest, largest, steps=steps)[1]
