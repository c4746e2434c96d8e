"""The canary-loss attack: a model that has seen a record has a smaller loss on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.base import Outputs
from ...mechanisms.core.errors import AttackError
from ...mechanisms.core.relation import Relation
from ...mechanisms.learning.base import TrainingData
from ..base import Scorer, Target
from .targeted import TargetedAttack

if TYPE_CHECKING:
    from ...mechanisms.learning.dp_sgd.capabilities import SupportsLosses


@dataclass(frozen=True, kw_only=True)
class CanaryLoss(TargetedAttack):
    """Score of a final model: minus its loss on the record that only side 1 has.

        score = sum of losses on the records of side 0 only - sum of losses on the records of side 1 only

    A record whose label differs between the sides is scored by the difference of two losses. The attack sees
    predictions of the final model and nothing else: it is black-box.

    Raises:
        AttackError: no models that have a loss, a view that shows no final model, or a pair that differs in a gradient
            record, which has no loss.

    Guarantees:
        * nothing is learned from the pilot;
        * of a trajectory only the last iterate is read; a blank record of zero_out, which has no effect, is not.

    References:
        Yeom, Giacomelli, Fredrikson, Jha (2018), section 3.1; as an audit Jagielski, Ullman, Oprea (2020).

    Example:
        >>> from dpassay.attacks.canaries import Blank
        >>> from dpassay.mechanisms.learning.dp_sgd import DPSGD
        >>> from dpassay.mechanisms.learning.models import LogisticRegression
        >>> learner = DPSGD(LogisticRegression(2), steps=9, noise_multiplier=1.0, sampling="full-batch", batch_size=1)
        >>> pair = Blank().pair((np.eye(3, 2), np.array([1, 1, 0])), learner)
        >>> target, empty = Target(learner, pair), Outputs(np.empty((0, 3)))
        >>> scorer = CanaryLoss().fit(target, empty, empty, np.random.default_rng(0))
        >>> scorer.score(Outputs(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -2.0]]))).round(2).tolist()  # label 0
        [-0.69, -0.13]
    """

    def check(self, target: Target) -> None:
        """Raise `AttackError` unless the pair differs in an example, which has a loss."""
        super().check(target)
        self._differing(target)

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """Return the scorer; the pilot outputs are not used."""
        learner = self._learner(target)
        only0, only1 = self._differing(target)
        if target.neighbours.relation is Relation.ZERO_OUT:
            only0 = TrainingData(only0.X[:0], only0.y[:0])
        return CanaryLossScorer(learner, only0, only1)

    @classmethod
    def _capability(cls) -> type[SupportsLosses]:
        """Return the capability to compute losses, the only one needed."""
        from ...mechanisms.learning.dp_sgd.capabilities import SupportsLosses

        return SupportsLosses

    def _differing(self, target: Target) -> tuple[TrainingData, TrainingData]:
        """Return the examples in which the sides differ; raise `AttackError` if they differ in gradient records."""
        from ...mechanisms.learning.base import differing

        differing_records = differing(target.neighbours)
        if any(data.n_gradients for data in differing_records):
            raise AttackError(
                "the canary-loss attack needs a pair that differs in examples, but it differs in gradient records, "
                "which have no loss. Use attack='canary-direction'."
            )
        return differing_records


@dataclass(frozen=True, eq=False)
class CanaryLossScorer:
    """Scorer that returns the loss on `only0` minus the loss on `only1` of models of `learner`."""

    learner: SupportsLosses
    only0: TrainingData
    only1: TrainingData

    def score(self, outputs: Outputs) -> NDArray[np.float64]:
        """Return the scores of `outputs`, shape `(size,)`, in nats."""
        values = outputs.values if outputs.values.ndim == 2 else outputs.values[:, -1]
        total = np.zeros(len(values))
        for sign, data in ((1.0, self.only0), (-1.0, self.only1)):
            if data.n_examples:
                total += sign * self.learner.losses(data, values).sum(axis=1)
        return np.where(np.isnan(total), 0.0, total)
