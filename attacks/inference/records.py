"""Inference within the reconstruction game: one attribute of one record is drawn afresh, and models are released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.base import Outputs
from ...mechanisms.errors import AttackError, ParameterError
from ...mechanisms.learning.base import TrainingData
from ...mechanisms.learning.capabilities import ReleasesModels, needed
from ..reconstruction.base import Guesser, OneOf, Reconstructor, SecretTarget


@dataclass(frozen=True)
class ModelConfidence(Reconstructor):
    """The candidate for the record that the released model fits best: argmax log prior - loss.

    The candidates may differ in the label (label inference), in one feature (attribute inference), or in all. It sees
    what the final model says of them and nothing else: black box, `FromMembership` in the reconstruction game, where
    success bounds epsilon.

    Raises:
        AttackError: a mechanism that releases no models, a view without a final one, or a secret that is not one of
            several candidates for a known record.

    References:
        Yeom, Giacomelli, Fredrikson, Jha (2018), section 4.3.
    """

    def check(self, target: SecretTarget) -> None:
        """Raises `AttackError` where there are no models, or no record."""
        if not isinstance(target.secret, OneOf) or target.secret.record is None:
            raise AttackError(
                "the model-confidence attack compares candidates for one record. Give OneOf.in_record(dataset, record, "
                "values)."
            )
        try:
            learner = needed(target.mechanism, ReleasesModels, "the model-confidence attack")
        except ParameterError as error:
            raise AttackError(str(error)) from error
        if learner.view not in ("final", "trajectory"):
            raise AttackError(f"the model-confidence attack reads final models, but the view is {learner.view!r}.")

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        """The guesser; nothing is run."""
        self.check(target)
        secret: Any = target.secret
        learner = needed(target.mechanism, ReleasesModels, "the model-confidence attack")
        records = [TrainingData.of(candidate) for candidate in secret.candidates]
        X = np.stack([data.X[secret.record] for data in records])
        y = np.stack([data.y[secret.record] for data in records])
        with np.errstate(divide="ignore"):
            return _BestFit(learner, TrainingData(X, y), np.log(secret.probabilities))


@dataclass(frozen=True, eq=False)
class _BestFit:
    """The candidate with the largest log prior less its loss."""

    learner: ReleasesModels
    records: TrainingData
    log_prior: NDArray[np.float64]

    def guess(self, outputs: Outputs) -> NDArray[np.int64]:
        """`(size,)` numbers of candidates."""
        values = outputs.values if outputs.values.ndim == 2 else outputs.values[:, -1]
        losses = self.learner.losses(self.records, values)
        scores = self.log_prior - np.where(np.isnan(losses), 0.0, losses)
        return np.asarray(scores.argmax(axis=1))
