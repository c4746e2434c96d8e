"""DP-SGD audited with pairs that differ in a group of records, such as k copies of a canary."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...accounting import group, sampled_group_gaussian
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import PositiveInt
from ...core.errors import NeighboursError, ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ..base import TrainingData
from .directions import sides_of
from .mechanism import DPSGD
from .sampling.poisson import PoissonSampling


@dataclass(frozen=True)
class GroupPrivacy(Mechanism):
    """DP-SGD with the claim of group privacy for datasets that differ in up to `size` records, such as those of a user.

    A lower bound from k copies of a record holds for a group of k. Compared with the claim for one record, it would
    report a violation for every mechanism. With Poisson sampling this is user-level privacy by sampling of examples,
    and the claim is tight (Charles et al. 2024); the other way, to sample users and to clip their mean gradient, is
    `dpassay.mechanisms.literature.federated.FederatedAveraging` with one local step.

    Args:
        base: the mechanism.
        size: records in which the two sides may differ, >= 1.

    Raises:
        ParameterError: another base, or a size below 1.
        AccountingError: from `guarantee`, where no theorem gives the group privacy of the base's claim.

    Example:
        >>> from dpassay.mechanisms.learning.models import LogisticRegression
        >>> base = DPSGD(LogisticRegression(2), steps=4, noise_multiplier=4.0, sampling="full-batch", batch_size=10)
        >>> print(GroupPrivacy(base, size=3).guarantee())
        GaussianDP(mu=1.5)
    """

    base: DPSGD
    _: KW_ONLY
    size: PositiveInt

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.base, DPSGD):
            raise ParameterError(f"base must be a DPSGD, but is {type(self.base).__name__}.", argument="base")
        object.__setattr__(self, "relation", self.base.relation)

    @property
    def trainer(self) -> DPSGD:
        """Trainer that is run, the base."""
        return self.base

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of the base."""
        return self.base.release(dataset, size, rng)

    def guarantee(self) -> Guarantee:
        """Return the claim of the base for a group of `size`; an upper bound, tight for Poisson samples."""
        return self._claim

    @cached_property
    def _claim(self) -> Guarantee:
        claim, scheme = self.base.guarantee(), self.base.scheme
        if self.size == 1:
            return claim
        independent = self.base.step_noise.independent
        if type(scheme) is not PoissonSampling or scheme.sampling_probability == 1.0 or not independent:
            return group(claim, self.size)
        return sampled_group_gaussian(
            self.base.noise_multiplier,
            sampling_probability=scheme.sampling_probability,
            size=self.size,
            steps=self.base.steps,
            relation=self.relation,
        )

    def exact_guarantee(self) -> Guarantee | None:
        """Return None: the worst case of the base differs in one record, and no exact curve is known for a group."""
        return None

    def worst_case(self) -> Neighbours:
        """Return the worst case of the base, which differs in one record of the group."""
        return self.base.worst_case()

    def bind(self, neighbours: Neighbours) -> GroupPrivacy:
        """Check that the sides fit the model and differ in at most `size` records, which the view can show."""
        super().bind(neighbours)
        self._check_difference(*sides_of(self.base.recipe, neighbours))
        self.base.check_seen(neighbours)
        base = self.base.observing(neighbours)
        return self if base is self.base else replace(self, base=base)

    def output_law(self) -> LogDensity | None:
        """Return the output law of the base, which holds for every pair."""
        return self.base.output_law()

    def _check_difference(self, data0: TrainingData, data1: TrainingData) -> None:
        """Raise `NeighboursError` unless the datasets differ in 1 to `size` records as the relation defines."""
        only0, only1 = _keys(data0) - _keys(data1), _keys(data1) - _keys(data0)
        n_different = max(only0.total(), only1.total())
        if self.base.scheme.ordered and len(data0) == len(data1):
            n_different = _changed_places(data0, data1)
        if not 1 <= n_different <= self.size:
            raise NeighboursError(
                f"d0 and d1 differ in {plural(n_different, 'record')}, but the claim is for a group of 1 to "
                f"{self.size}. Increase size, or give datasets with fewer differences.",
                argument="d0",
            )
        if self.relation is Relation.ADD_REMOVE:
            if min(only0.total(), only1.total()):
                raise NeighboursError(
                    "under 'add_remove' one of d0 and d1 must have all records of the other, but each has records that "
                    "the other lacks. Give a pair in which records are only added, or a base under 'replace_one'.",
                    argument="relation",
                )
        elif len(data0) != len(data1):
            raise NeighboursError(
                f"under {self.relation.value!r} d0 and d1 must hold equally many records, but hold {len(data0)} and "
                f"{len(data1)}.",
                argument="relation",
            )
        if self.relation is Relation.ZERO_OUT and any(any(row) for _, row in only0):
            raise NeighboursError(
                "under 'zero_out' the records that d0 has more often than d1 must be blank (all zeros), but some are "
                "not. Blank them, or give a base under 'replace_one'.",
                argument="relation",
            )


def _rows(data: TrainingData) -> list[tuple[str, Floats]]:
    """Return each record with its kind, so that an example never equals a gradient record."""
    examples = np.column_stack([data.X, data.y]) + 0.0
    gradients = np.empty((0, 0)) if data.gradients is None else data.gradients + 0.0
    return [*(("example", row) for row in examples), *(("gradient", row) for row in gradients)]


def _keys(data: TrainingData) -> Counter[Any]:
    return Counter((kind, row.astype(np.float64).tobytes()) for kind, row in _rows(data))


def _changed_places(data0: TrainingData, data1: TrainingData) -> int:
    """Return the number of positions at which two datasets of equal length differ."""
    pairs = zip(_rows(data0), _rows(data1), strict=True)
    return sum(kind0 != kind1 or not np.array_equal(row0, row1) for (kind0, row0), (kind1, row1) in pairs)
