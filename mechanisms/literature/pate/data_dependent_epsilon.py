"""Data-dependent epsilon of the answers to a table of votes, and its publication.

data_dependent    the cost of the answers on these votes, which must not be published
PrivateEpsilon    this cost, published with noise in proportion to its smooth sensitivity
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np

from ...accounting import RenyiDP
from ...accounting.kinds.renyi import ORDERS
from ...accounting.kinds.two_laws import TwoGaussiansDP
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Mechanism, Neighbours, Outputs, example
from ...core.constraints import OpenUnit, Positive
from ...core.errors import AccountingError, ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...core.validation import open_unit
from .aggregator import Aggregator
from .confident import CheckedGNMax
from .noisy_max import GNMax
from .renyi import CHECK_DEVIATION_RATIO, log_check_miss, log_gaussian_miss
from .smooth_sensitivity import SteppedBound, smooth_sensitivity
from .vote_counts import as_neighbours, check_one_teacher


@dataclass(frozen=True, eq=False)
class DataDependent:
    """Data-dependent privacy cost of answers; it depends on the votes, so it is no guarantee and must not be published.

    Attributes:
        orders: `(n_orders,)` Renyi orders.
        divergences: `(n_orders,)` bounds on D(answers on these votes || answers on the votes of a neighbour).
    """

    orders: Floats
    divergences: Floats

    def epsilon(self, delta: float) -> float:
        """Return the minimum over the orders of divergence + log(1 / delta) / (order - 1), as in the papers."""
        return float(self._by_order(delta).min())

    def best_order(self, delta: float) -> float:
        """Return the order at which `epsilon` attains its minimum."""
        return float(self.orders[np.argmin(self._by_order(delta))])

    def _by_order(self, delta: float) -> Floats:
        open_unit(delta=delta)
        return np.asarray(self.divergences - np.log(delta) / (self.orders - 1.0))


def data_dependent(
    aggregator: Aggregator, votes: Dataset, *, answered: Sequence[bool] | None = None, orders: Sequence[float] = ORDERS
) -> DataDependent:
    """Return the data-dependent cost of the answers to all queries, the sum of the divergences at each order.

    It bounds one direction only, from the actual votes to those of a neighbour. It differs between neighbours, so that
    the number itself leaks information about the votes: `PrivateEpsilon` publishes it with noise.

    Args:
        aggregator: the mechanism that answered the queries.
        votes: the dataset of the aggregator, `(n_queries, n_classes)`.
        answered: whether the teachers answered each query, `(n_queries,)`; None for all. This mask is part of the
            output, and accounted for by the checks.
        orders: Renyi orders, each > 1.

    Raises:
        ParameterError: votes that do not fit the aggregator, answered of another length.

    References:
        Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018), theorem 6 and appendix A.

    Example:
        >>> from dpassay.mechanisms.literature.pate import GNMax
        >>> clear, torn = [[240, 10, 0]] * 100, [[130, 120, 0]] * 100
        >>> aggregator = GNMax(40.0, n_classes=3, n_queries=100)
        >>> [round(data_dependent(aggregator, votes).epsilon(1e-5), 3) for votes in (clear, torn)]
        [0.342, 1.759]
    """
    counts = aggregator.counts(votes)
    mask = np.ones(len(counts), dtype=bool) if answered is None else np.asarray(answered)
    if mask.shape != (len(counts),) or mask.dtype != bool:
        raise ParameterError(
            f"answered must hold one boolean for each of the {len(counts)} queries, but has shape "
            f"{mask.shape} and dtype {mask.dtype}.",
            argument="answered",
        )
    order_array = np.asarray(orders, dtype=np.float64)
    return DataDependent(order_array, aggregator.divergences(counts, mask, order_array).sum(axis=0))


@dataclass(frozen=True)
class PrivateEpsilon(Mechanism):
    """Noisy data-dependent epsilon of a table of votes, with noise S(votes) N(0, noise^2).

        epsilon = sum of the divergences of the queries + log(1 / delta) / (order - 1)

    with divergences at one Renyi order, and S the beta-smooth sensitivity of the sum. The answers are not part of this
    release; the published epsilon accounts for them. (Papernot, Song, Mironov, Raghunathan, Talwar and Erlingsson 2018,
    appendix B.)

    Args:
        aggregator: GNMax, Confident-GNMax or Interactive-GNMax, the mechanism that answered the queries.
        order: Renyi order, > 1, chosen independently of the votes.
        beta: largest change of log S between neighbours, > 0; the paper uses 0.4 / order.
        noise: standard deviation in units of S, > 0.
        delta: delta of the published epsilon, in (0, 1).
        answered: whether the teachers answered each query, one boolean for each; None for all.

    Raises:
        ParameterError: an aggregator without a data-dependent bound, or a value out of range.

    Guarantees:
        * Renyi DP, at every order a with a (1 - e^(-2 beta)) < 1:

              a / (2 noise^2 (a - (a - 1) e^(2 beta))) + (-log(1 - a (1 - e^(-2 beta))) / 2 - a beta) / (a - 1)

          The divergence of two Gaussians whose centres differ by at most min(S, S'), and whose standard deviations
          have a ratio between e^-beta and e^beta, increases with the distance, and is largest if the second is smaller
          by e^-beta: an exact supremum, below the bound of the paper.

    Example:
        >>> mechanism = PrivateEpsilon(GNMax(40.0, n_classes=2, n_queries=200), order=20.0, beta=0.02, noise=5.0)
        >>> clear = [[245, 5]] * 200
        >>> round(mechanism.epsilon(clear), 3), round(mechanism.deviation(clear), 3)
        (0.609, 0.159)
        >>> round(mechanism.guarantee().epsilon(1e-5), 3)
        1.176
    """

    _dataset = Data.VOTES
    _example = example(aggregator=GNMax(8.0, n_teachers=60, n_classes=3, n_queries=2), order=3.0)

    aggregator: CheckedGNMax | GNMax
    _: KW_ONLY
    order: Positive = 20.0
    beta: Positive = 0.02
    noise: Positive = 5.0
    delta: OpenUnit = 1e-5
    answered: tuple[bool, ...] | None = None
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.aggregator, CheckedGNMax | GNMax):
            raise ParameterError(
                argument="aggregator", value=self.aggregator, allowed="be a GNMax, ConfidentGNMax or InteractiveGNMax"
            )
        if self.order <= 1.0:
            raise ParameterError(f"order must be > 1, but is {self.order}.", argument="order")
        if self.answered is not None:
            answered = tuple(bool(value) for value in self.answered)
            if len(answered) != self.aggregator.n_queries:
                raise ParameterError(
                    f"answered must hold one boolean for each of {self.aggregator.n_queries} queries, but has "
                    f"{len(answered)}.",
                    argument="answered",
                )
            object.__setattr__(self, "answered", answered)

        if max(bound.drops.max() for bound in (self._answers, self._checks) if bound is not None) == 0.0:
            raise ParameterError(
                f"all tables of votes have equal cost at order {self.order}: epsilon is a public constant, and needs "
                "no noise. Choose another order.",
                argument="order",
            )

    @cached_property
    def _answers(self) -> SteppedBound:
        base = self.aggregator
        deviation = base.standard_deviation if isinstance(base, GNMax) else base.answer_deviation
        return SteppedBound(deviation, base.n_classes, self.order, 0.5 * base.n_teachers)

    @cached_property
    def _checks(self) -> SteppedBound | None:
        base = self.aggregator
        if isinstance(base, GNMax):
            return None
        farthest = max(abs(base.threshold), abs(base.n_teachers - base.threshold))
        return SteppedBound(CHECK_DEVIATION_RATIO * base.check_deviation, 2, self.order, farthest)

    def _bounds(self, dataset: Dataset) -> list[tuple[SteppedBound, Floats]]:
        """Return the step functions, each with log q of its queries."""
        base, counts = self.aggregator, self.aggregator.counts(dataset)
        answers = self._answers
        mask = np.ones(len(counts), dtype=bool) if self.answered is None else np.array(self.answered)
        bounds = [(answers, log_gaussian_miss(counts[mask], answers.standard_deviation))] if mask.any() else []
        if self._checks is not None and isinstance(base, CheckedGNMax):
            bounds.append((self._checks, log_check_miss(base.support(counts) - base.threshold, base.check_deviation)))
        return bounds

    def epsilon(self, dataset: Dataset) -> float:
        """Return epsilon without noise, which must not be published."""
        total = sum(float(bound.divergences(log_miss).sum()) for bound, log_miss in self._bounds(dataset))
        return total - math.log(self.delta) / (self.order - 1.0)

    def deviation(self, dataset: Dataset) -> float:
        """Return noise * S, the standard deviation of the published epsilon; it must not be published either."""
        return self.noise * smooth_sensitivity(self._bounds(dataset), self.beta, self.aggregator.n_teachers)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy epsilons, `(size,)`; they may be negative."""
        return Outputs(self.epsilon(dataset) + self.deviation(dataset) * rng.standard_normal(size))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, `(size,)`."""
        scale = self.deviation(dataset)
        standardised = (outputs.values.astype(np.float64) - self.epsilon(dataset)) / scale
        return np.asarray(-0.5 * standardised * standardised - math.log(scale * math.sqrt(2.0 * math.pi)))

    def guarantee(self) -> Guarantee:
        """Return `RenyiDP` at the orders that have a bound.

        Raises:
            AccountingError: beta so large that no order has a bound.
        """
        orders = np.array(ORDERS)
        orders = orders[orders * -math.expm1(-2.0 * self.beta) < 1.0]
        if not len(orders):
            raise AccountingError(
                f"beta = {self.beta} is too large for a Renyi bound at any order above 1. Try beta = 0.4 / order.",
                argument="beta",
            )
        return RenyiDP(tuple(orders), tuple(_noise_divergences(orders, self.beta, self.noise)), self.relation)

    def worst_case(self) -> Neighbours:
        """Return votes that are equal for all queries, for two labels, where a moved vote changes epsilon most."""
        base = self.aggregator
        ones = np.arange((base.n_teachers + 1) // 2, base.n_teachers + 1)
        votes = np.zeros((len(ones), base.n_classes), dtype=np.int64)
        votes[:, 0], votes[:, 1] = base.n_teachers - ones, ones
        answers = self._answers
        divergences = answers.divergences(log_gaussian_miss(votes, answers.standard_deviation))
        steepest = int(np.argmax(-np.diff(divergences)))
        pair = [np.tile(votes[i], (base.n_queries, 1)) for i in (steepest + 1, steepest)]
        return as_neighbours((pair[0], pair[1]), self.relation)

    def exact_guarantee(self) -> Guarantee:
        pair = self.worst_case()
        (centre0, scale0), (centre1, scale1) = ((self.epsilon(d), self.deviation(d)) for d in (pair.d0, pair.d1))
        return TwoGaussiansDP(centre0, scale0, centre1, scale1, self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        check_one_teacher(self.aggregator.counts(neighbours.d0), self.aggregator.counts(neighbours.d1))


def _noise_divergences(orders: Floats, beta: float, noise: float) -> Floats:
    """Return the largest Renyi divergence of f + S N(0, noise^2) over neighbours at each order; see `PrivateEpsilon`.

    The arguments `orders`, `beta` and `noise` are those of `PrivateEpsilon`.
    """
    shift = orders / (2.0 * noise**2 * (orders - (orders - 1.0) * math.exp(2.0 * beta)))
    scale = -0.5 * np.log1p(orders * math.expm1(-2.0 * beta)) - orders * beta
    return np.asarray(shift + scale / (orders - 1.0))
