"""Base class of canaries: read this first.

A canary takes the place of one record of a dataset. Side 1 is the dataset with the canary; on side 0, the dataset

    add_remove     lacks the canary
    zero_out       has a blank record (all zeros) in the canary's place
    replace_one    has another record in its place, the rival, defined by each canary

A canary is chosen from public information: the dataset, the model and its initial parameters, never from trained
models.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np

from ...mechanisms.core import Dataset, Mechanism, Neighbours, NonNegativeInt, Options, ParameterError, plural, whole
from ...mechanisms.learning.base import AnyFloats, TrainingData
from ...mechanisms.learning.dp_sgd.capabilities import SupportsCanaries, require_capability

Example: TypeAlias = tuple[AnyFloats, int | float]
"""Features `(n_features,)` and label."""


@dataclass(frozen=True)
class Canary(Options):
    """Base class of canaries: choices of the record in which the sides differ.

    Subclasses are frozen dataclasses whose fields are the options.

    Args:
        record: position of the record that the canary replaces.
        alone: whether the canary is the only record: a crafted dataset.
    """

    _: KW_ONLY
    record: NonNegativeInt = 0
    alone: bool = False

    @property
    def group_size(self) -> int:
        """Number of records in which the two sides differ."""
        return 1

    def pair(self, dataset: Dataset, mechanism: Mechanism) -> Neighbours:
        """Return the pair under the relation of `mechanism`.

        Args:
            dataset: `(X, y)`, or `TrainingData` without gradient records.
            mechanism: a trainer that `SupportsCanaries`, such as `DPSGD` or `OpacusTraining`, or its `GroupPrivacy` for
                several copies. Gradient canaries require more: see each.

        Raises:
            ParameterError: no such record, data that the model cannot take, or a canary that does not fit the data.
            NeighboursError: the two sides are not neighbours, for example if the canary is the blank record.
        """
        learner = self._trainer(mechanism)
        data = self._checked(dataset, learner)
        pair = Neighbours(*self._sides(data, learner), learner.relation)
        mechanism.bind(pair)
        return pair

    def stage(self, dataset: Dataset, mechanism: Mechanism) -> tuple[Mechanism, Neighbours]:
        """Return the mechanism, fitted to the pair with this canary, and the pair.

        A view "noisy_gradients" without directions gets the canary's; several copies get the claim for a group.
        """
        trainer: Any = self._trainer(mechanism)
        from ...mechanisms.learning.dp_sgd.group_privacy import GroupPrivacy  # slow to import: DP-SGD

        claimed: Mechanism = trainer if self.group_size == 1 else GroupPrivacy(trainer, size=self.group_size)
        pair = self.pair(dataset, claimed)
        return claimed.bind(pair), pair

    def several(self, dataset: Dataset, learner: Any, n: int) -> tuple[TrainingData, TrainingData]:
        """Return `n` different canaries of this kind, for a run in which each is in or out by its own coin.

        Args:
            dataset: `(X, y)`, or `TrainingData` without gradient records.
            learner: trainer that `SupportsCanaries`.
            n: >= 1. Canaries that are examples take the places of n records, from `record` on.

        Returns:
            The canaries, and the records that every run contains.

        Raises:
            ParameterError: all canaries of this kind would be equal, too few places for n, or data that the model
                cannot take.
        """
        whole(1, n_canaries=n)
        learner = self._trainer(learner)
        data = self._checked(dataset, learner)
        canaries, always = self._several(data, learner, n)
        return canaries, TrainingData(always.X[:0], always.y[:0]) if self.alone else always

    def _several(self, data: TrainingData, learner: SupportsCanaries, n: int) -> tuple[TrainingData, TrainingData]:
        """Return `several` for data that were checked."""
        raise ParameterError(
            f"canary {type(self).__name__} would be the same record {n} times, but a coin for each of many canaries "
            "needs different ones. Take ClipBKD, Natural, Mislabelled, Dirac, RandomDirection or OrthogonalDirection.",
            argument="canary",
        )

    def _trainer(self, mechanism: Any) -> SupportsCanaries:
        """Return the trainer of `mechanism`; raise `ParameterError` if it cannot take this canary."""
        trainer: SupportsCanaries = require_capability(mechanism, SupportsCanaries, f"canary {type(self).__name__}")
        return trainer

    @abstractmethod
    def _sides(self, data: TrainingData, learner: SupportsCanaries) -> tuple[TrainingData, TrainingData]:
        """Return side 0 and side 1."""

    def _checked(self, dataset: Dataset, learner: SupportsCanaries) -> TrainingData:
        data = TrainingData.of(dataset)
        if data.n_gradients:
            raise ParameterError(
                "dataset must hold examples only, but has gradient records. Leave them out.", argument="dataset"
            )
        learner.check_data(data)
        if self.record >= len(data):
            raise ParameterError(
                f"record must be below {len(data)}, the number of records, but is {self.record}: the canary takes its "
                "place.",
                argument="record",
            )
        return data


def least_likely(
    learner: SupportsCanaries, data: TrainingData, x: AnyFloats, *, exclude: int | None = None, rank: int = 0
) -> int:
    """Return the label that is least likely at `x` under the initial parameters, of those other than `exclude`.

    This is the label after `exclude` if the initial parameters are drawn for every run or make all labels equally
    likely.

    Args:
        data: the records, which may determine the number of labels.
        rank: 1 for the second least likely one.
    """
    n_classes = learner.count_classes(data)
    models = learner.initial_models(data)
    start = 0 if exclude is None else exclude + 1
    order = (start + np.arange(n_classes)) % n_classes
    order = order[order != exclude] if exclude is not None else order
    if models is not None:
        log_p = models.log_probabilities(np.asarray(x)[None, :])[0, 0]
        order = order[np.argsort(np.round(log_p[order], 9), kind="stable")]
    if rank >= len(order):
        raise ParameterError(
            f"the model has only {plural(n_classes, 'class', 'classes')}: too few for this canary.", argument="model"
        )
    return int(order[rank])
