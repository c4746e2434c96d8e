"""A mechanism whose pairs differ in a group of records: k copies of a canary are not one record."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mechanisms.base import Dataset, Mechanism, Neighbours, Outputs
from mechanisms.errors import NeighboursError, ParameterError
from mechanisms.guarantees import group
from mechanisms.guarantees.base import Guarantee
from mechanisms.learning.base import TrainingData
from mechanisms.learning.dp_sgd import DPSGD
from mechanisms.validation import whole


@dataclass(frozen=True)
class Grouped(Mechanism):
    """DP-SGD with the claim for datasets that differ in up to `size` records: that of group privacy.

    A bound that was shown with k copies of a record speaks of a group of k. Laid beside the claim for one record, it
    would call every mechanism broken.

    Args:
        base: the mechanism.
        size: records in which the two sides may differ, >= 1.

    Raises:
        ParameterError: another base, or a size below 1.
        AccountingError: from `guarantee`, where no theorem gives the group privacy of the base's claim.

    Example:
        >>> from mechanisms.learning.models import LogisticRegression
        >>> base = DPSGD(LogisticRegression(2), steps=4, noise_multiplier=4.0, sampling="full-batch", batch_size=10)
        >>> print(Grouped(base, size=3).guarantee())
        GaussianDP(mu=1.5)
    """

    base: DPSGD
    _: KW_ONLY
    size: int

    def __post_init__(self) -> None:
        if not isinstance(self.base, DPSGD):
            raise ParameterError(f"base must be a DPSGD, but is {type(self.base).__name__}.")
        whole(1, size=self.size)
        object.__setattr__(self, "relation", self.base.relation)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """As the base."""
        return self.base.release(dataset, size, rng)

    def guarantee(self) -> Guarantee:
        """The claim of the base for a group of `size`; an upper bound only."""
        return self._claim

    @cached_property
    def _claim(self) -> Guarantee:
        return group(self.base.guarantee(), self.size)

    def truth(self) -> Guarantee | None:
        """Not known: the worst case of the base differs in one record."""
        return None

    def worst_case(self) -> Neighbours:
        """That of the base: one record of the group."""
        return self.base.worst_case()

    def check(self, neighbours: Neighbours) -> None:
        """Also that both sides fit the model, and differ in no more than `size` records."""
        super().check(neighbours)
        sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
        for data in sides:
            self.base.network.check(data)
            self.base.scheme.check(len(data))
        keys = [_keys(data) for data in sides]
        most = max((keys[0] - keys[1]).total(), (keys[1] - keys[0]).total())
        if not 1 <= most <= self.size:
            raise NeighboursError(
                f"d0 and d1 differ in {most} records, but the claim is for a group of 1 to {self.size}. Give the group "
                "its size, or the datasets fewer differences."
            )


def _keys(data: TrainingData) -> Counter[Any]:
    rows = [*(np.column_stack([data.X, data.y]) + 0.0), *([] if data.gradients is None else data.gradients + 0.0)]
    return Counter((len(row), row.tobytes()) for row in rows)
