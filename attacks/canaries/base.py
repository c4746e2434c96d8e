"""What canaries share: read this first.

A canary takes the place of one record of a dataset. Side 1 is the dataset with it; side 0, after the relation,

    add_remove     lacks it
    zero_out       has a blank record (all zeros) in its place
    replace_one    has another record in its place, the rival: see each canary

It is chosen from what is public: the dataset, the model and its initial parameters, never from trained models.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np

from ...mechanisms.base import Dataset, Mechanism, Neighbours
from ...mechanisms.errors import ParameterError, plural
from ...mechanisms.learning.base import Floats, TrainingData
from ...mechanisms.learning.capabilities import TakesCanaries, needed
from ...mechanisms.learning.dp_sgd.group_privacy import GroupPrivacy
from ...mechanisms.validation import Options, whole

Example: TypeAlias = tuple[Floats, int | float]
"""Features `(n_features,)` and label."""


@dataclass(frozen=True)
class Canary(metaclass=Options):
    """A way to choose the record in question. Subclasses are frozen dataclasses whose fields are the options.

    Args:
        record: position of the record whose place it takes.
        alone: whether the dataset holds nothing else: a crafted dataset.
    """

    _: KW_ONLY
    record: int = 0
    alone: bool = False

    def __post_init__(self) -> None:
        whole(0, record=self.record)

    @property
    def group_size(self) -> int:
        """Records in which the two sides differ."""
        return 1

    def pair(self, dataset: Dataset, mechanism: Mechanism) -> Neighbours:
        """The pair under the relation of `mechanism`.

        Args:
            dataset: `(X, y)`, or `TrainingData` without gradient records.
            mechanism: a trainer that `TakesCanaries`, such as `DPSGD` or `OpacusTraining`, or a `GroupPrivacy` one for
                several copies. Gradients ask for more: see each canary.

        Raises:
            ParameterError: no such record, data that the model cannot take, or a canary that does not fit them.
            NeighboursError: the two sides are not neighbours, as when the canary itself is the blank record.
        """
        learner = self._trainer(mechanism)
        data = self._checked(dataset, learner)
        pair = Neighbours(*self._sides(data, learner), learner.relation)
        mechanism.fitted_to(pair)
        return pair

    def stage(self, dataset: Dataset, mechanism: Mechanism) -> tuple[Mechanism, Neighbours]:
        """The mechanism, fitted to the pair with this canary, and the pair.

        A view "noisy_gradients" without directions gets that of the canary; several copies get the claim of a group.
        """
        trainer: Any = self._trainer(mechanism)
        claimed: Mechanism = trainer if self.group_size == 1 else GroupPrivacy(trainer, size=self.group_size)
        pair = self.pair(dataset, claimed)
        return claimed.fitted_to(pair), pair

    def several(self, dataset: Dataset, learner: Any, n: int) -> tuple[TrainingData, TrainingData]:
        """`n` different canaries of this kind, for a run in which each is in or out by its own coin.

        Args:
            dataset: `(X, y)`, or `TrainingData` without gradient records.
            learner: what will be trained: it `TakesCanaries`.
            n: >= 1. Canaries that are examples take the places of n records, from `record` on.

        Returns:
            The canaries, and the records that are in every run.

        Raises:
            ParameterError: a kind of which all would be alike, too few places for n, or data that the model cannot
                take.
        """
        whole(1, n_canaries=n)
        learner = self._trainer(learner)
        data = self._checked(dataset, learner)
        canaries, always = self._several(data, learner, n)
        return canaries, TrainingData(always.X[:0], always.y[:0]) if self.alone else always

    def _several(self, data: TrainingData, learner: TakesCanaries, n: int) -> tuple[TrainingData, TrainingData]:
        """`several` on data that were checked."""
        raise ParameterError(
            f"canary {type(self).__name__} would be the same record {n} times, but a coin for each of many canaries "
            "needs different ones. Take Natural, Mislabelled, Dirac or RandomDirection.",
            argument="canary",
        )

    def _trainer(self, mechanism: Any) -> TakesCanaries:
        """The trainer that is meant; raises `ParameterError` for one that cannot take this canary."""
        trainer: TakesCanaries = needed(mechanism, TakesCanaries, f"canary {type(self).__name__}")
        return trainer

    @abstractmethod
    def _sides(self, data: TrainingData, learner: TakesCanaries) -> tuple[TrainingData, TrainingData]:
        """Side 0 and side 1."""

    def _checked(self, dataset: Dataset, learner: TakesCanaries) -> TrainingData:
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
    learner: TakesCanaries, data: TrainingData, x: Floats, *, but: int | None = None, rank: int = 0
) -> int:
    """The label that is least likely at `x` under the initial parameters, of those other than `but`.

    The label after `but` where the initial parameters are drawn for every run, or make all labels equally likely.

    Args:
        data: the records, which may tell how many labels there are.
        rank: 1 for the second least likely one.
    """
    n_classes = learner.count_classes(data)
    models = learner.initial_models(data)
    start = 0 if but is None else but + 1
    order = (start + np.arange(n_classes)) % n_classes
    order = order[order != but] if but is not None else order
    if models is not None:
        log_p = models.log_probabilities(np.asarray(x)[None, :])[0, 0]
        order = order[np.argsort(np.round(log_p[order], 9), kind="stable")]
    if rank >= len(order):
        raise ParameterError(
            f"the model has only {plural(n_classes, 'class', 'classes')}: too few for this canary.", argument="model"
        )
    return int(order[rank])
