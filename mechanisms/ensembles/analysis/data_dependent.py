"""The epsilon of a table of votes: what the answers cost on these very votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset
from ...errors import ParameterError
from ...guarantees.renyi import ORDERS
from ...validation import open_unit
from ..aggregators.base import Aggregator

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DataDependent:
    """What answers cost on the votes that were cast. No guarantee, and no number to publish: it depends on the votes.

    Attributes:
        orders: `(n_orders,)` Renyi orders.
        divergences: `(n_orders,)` bounds on D(answers on these votes || on votes that differ in one teacher's).
    """

    orders: Floats
    divergences: Floats

    def epsilon(self, delta: float) -> float:
        """Least over the orders of divergence + log(1 / delta) / (order - 1), as the papers have it."""
        open_unit(delta=delta)
        return float((self.divergences - np.log(delta) / (self.orders - 1.0)).min())

    def best_order(self, delta: float) -> float:
        """The order that gives it."""
        open_unit(delta=delta)
        return float(self.orders[np.argmin(self.divergences - np.log(delta) / (self.orders - 1.0))])


def data_dependent(
    aggregator: Aggregator, votes: Dataset, *, answered: Sequence[bool] | None = None, orders: Sequence[float] = ORDERS
) -> DataDependent:
    """What the answers to all queries cost on these votes: divergences add up, order by order.

    It bounds one direction only, from the votes that were cast to those of a neighbour. Between two neighbours it
    differs, so that the number itself says something about the votes: `PrivateEpsilon` publishes it with noise.

    Args:
        aggregator: how the queries were answered.
        votes: its dataset, `(n_queries, n_classes)`.
        answered: whether the teachers answered each query, `(n_queries,)`; None for all. Which ones they answered is
            part of the output, and paid for by the checks.
        orders: of Renyi, each > 1.

    Raises:
        ParameterError: votes that do not fit the aggregator, answered of another length.

    References:
        Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018), theorem 6 and appendix A.

    Example:
        >>> from dpassay.mechanisms.ensembles import GNMax
        >>> clear, torn = [[240, 10, 0]] * 100, [[130, 120, 0]] * 100
        >>> aggregator = GNMax(40.0, n_classes=3, n_queries=100)
        >>> [round(data_dependent(aggregator, votes).epsilon(1e-5), 3) for votes in (clear, torn)]
        [0.342, 1.759]
    """
    counts = aggregator.counts(votes)
    given = np.ones(len(counts), dtype=bool) if answered is None else np.asarray(answered)
    if given.shape != (len(counts),) or given.dtype != bool:
        raise ParameterError(
            f"answered must say of each of the {len(counts)} queries whether it was answered, but has shape "
            f"{given.shape} and dtype {given.dtype}.",
            argument="answered",
        )
    listed = np.asarray(orders, dtype=np.float64)
    return DataDependent(listed, aggregator.divergences(counts, given, listed).sum(axis=0))
