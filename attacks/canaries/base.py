"""What canaries share: read this first.

A canary takes the place of one record of a dataset. Side 1 is the dataset with it; side 0, after the relation,

    add_remove     lacks it
    zero_out       has a blank record (all zeros) in its place
    replace_one    has another record in its place, the rival: see each canary

It is chosen from what is public: the dataset, the model and its initial parameters, never from trained models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np

from ...mechanisms.base import Dataset, Mechanism, Neighbours
from ...mechanisms.errors import ParameterError
from ...mechanisms.learning.base import Floats, TrainingData
from ...mechanisms.learning.dp_sgd.group_privacy import GroupPrivacy
from ...mechanisms.learning.dp_sgd.mechanism import DPSGD
from ...mechanisms.learning.models.trained import TrainedModels
from ...mechanisms.validation import whole

Example: TypeAlias = tuple[Floats, int | float]
"""Features `(n_features,)` and label."""


@dataclass(frozen=True)
class Canary(ABC):
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
            mechanism: a `DPSGD`, or a `GroupPrivacy` one for several copies.

        Raises:
            ParameterError: no such record, data that the model cannot take, or a canary that does not fit them.
            NeighboursError: the two sides are not neighbours, as when the canary itself is the blank record.
        """
        learner = learner_of(mechanism)
        data = self._checked(dataset, learner)
        pair = Neighbours(*self._sides(data, learner), learner.relation)
        mechanism.fitted_to(pair)
        return pair

    def stage(self, dataset: Dataset, mechanism: DPSGD) -> tuple[Mechanism, Neighbours]:
        """The mechanism, fitted to the pair with this canary, and the pair.

        A view "observations" without directions gets that of the canary; several copies get the claim of a group.
        """
        claimed: Mechanism = mechanism if self.group_size == 1 else GroupPrivacy(mechanism, size=self.group_size)
        pair = self.pair(dataset, claimed)
        return claimed.fitted_to(pair), pair

    def several(self, dataset: Dataset, learner: DPSGD, n: int) -> tuple[TrainingData, TrainingData]:
        """`n` different canaries of this kind, for a run in which each is in or out by its own coin.

        Args:
            dataset: `(X, y)`, or `TrainingData` without gradient records.
            learner: the `DPSGD` that will be run.
            n: >= 1. Canaries that are examples take the places of n records, from `record` on.

        Returns:
            The canaries, and the records that are in every run.

        Raises:
            ParameterError: a kind of which all would be alike, too few places for n, or data that the model cannot
                take.
        """
        whole(1, n_canaries=n)
        data = self._checked(dataset, learner)
        canaries, always = self._several(data, learner, n)
        return canaries, TrainingData(always.X[:0], always.y[:0]) if self.alone else always

    def _several(self, data: TrainingData, learner: DPSGD, n: int) -> tuple[TrainingData, TrainingData]:
        """`several` on data that were checked."""
        raise ParameterError(
            f"canary {type(self).__name__} would be the same record {n} times, but a coin for each of many canaries "
            "needs different ones. Take Natural, Mislabelled, Dirac or RandomDirection.",
            argument="canary",
        )

    @abstractmethod
    def _sides(self, data: TrainingData, learner: DPSGD) -> tuple[TrainingData, TrainingData]:
        """Side 0 and side 1."""

    def _checked(self, dataset: Dataset, learner: DPSGD) -> TrainingData:
        data = TrainingData.of(dataset)
        if data.n_gradients:
            raise ParameterError("dataset must hold examples only, but has gradient records. Leave them out.")
        learner.network.check(data)
        if self.record >= len(data):
            raise ParameterError(
                f"record must be below {len(data)}, the number of records, but is {self.record}: the canary takes its "
                "place.",
                argument="record",
            )
        return data


def learner_of(mechanism: Any) -> DPSGD:
    """The `DPSGD` that is meant, out of a `GroupPrivacy` one if need be; raises `ParameterError` for anything else."""
    inside = mechanism.base if isinstance(mechanism, GroupPrivacy) else mechanism
    if not isinstance(inside, DPSGD):
        raise ParameterError(
            f"mechanism must be a DPSGD, but is {type(mechanism).__name__}: canaries are made for it.",
            argument="mechanism",
        )
    return inside


def initial_models(learner: DPSGD) -> TrainedModels | None:
    """One model with the initial parameters; None if these are drawn for every run."""
    initial = learner.recipe.initial
    return None if initial is None else TrainedModels(learner.network, np.asarray(initial)[None, :])


def least_likely(learner: DPSGD, x: Floats, *, but: int | None = None, rank: int = 0) -> int:
    """The label that is least likely at `x` under the initial parameters, of those other than `but`.

    The label after `but` where the initial parameters are drawn for every run, or make all labels equally likely.

    Args:
        rank: 1 for the second least likely one.
    """
    n_classes = learner.network.n_labels
    models = initial_models(learner)
    start = 0 if but is None else but + 1
    order = (start + np.arange(n_classes)) % n_classes
    order = order[order != but] if but is not None else order
    if models is not None:
        log_p = models.log_probabilities(np.asarray(x)[None, :])[0, 0]
        order = order[np.argsort(np.round(log_p[order], 9), kind="stable")]
    if rank >= len(order):
        raise ParameterError(f"the model has only {n_classes} classes: too few for this canary.")
    return int(order[rank])
