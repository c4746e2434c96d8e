"""Data-dependent epsilon of the answers to a table of votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...accounting.kinds.renyi import ORDERS
from ...core.arrays import Floats
from ...core.base import Dataset
from ...core.errors import ParameterError
from ...core.validation import open_unit
from .aggregator import Aggregator


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
        open_unit(delta=delta)
        return float((self.divergences - np.log(delta) / (self.orders - 1.0)).min())

    def best_order(self, delta: float) -> float:
        """Return the order at which `epsilon` attains its minimum."""
        open_unit(delta=delta)
        return float(self.orders[np.argmin(self.divergences - np.log(delta) / (self.orders - 1.0))])


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
        >>> from dpassay.mechanisms.learning.pate import GNMax
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
