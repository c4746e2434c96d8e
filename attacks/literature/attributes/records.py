"""Inference within the reconstruction game: one attribute of one record is random, and models are released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....mechanisms.core import AttackError, Floats, Ints, Outputs, whole
from ....mechanisms.learning.base import TrainingData
from ....mechanisms.learning.dp_sgd.capabilities import SupportsModels
from ...distinguishing.canary_attacks import final_models, trainer_of
from ...reconstruction.base import Guesser, Reconstructor, SecretTarget, record_secret


@dataclass(frozen=True)
class ModelConfidence(Reconstructor):
    """Guess of the candidate record that best explains the losses of the released model on all candidates.

    The candidates may differ in the label (label inference), in one feature (attribute inference), or in all. The
    attack sees the losses of the final model on them and nothing else: black box, `FromMembership` in the
    reconstruction game, where success bounds epsilon.

    The other records move these losses more than the unknown one. So the mechanism is first run on each candidate:
    the losses are modelled as normal, with a mean for each candidate and one covariance, and the most probable
    candidate is guessed (Fisher's linear discriminant). Without such runs the guess is argmax log prior - loss.

    Args:
        n_reference: runs on each candidate to learn from, never counted; 0: none, else >= 2.

    Raises:
        AttackError: a mechanism that releases no models, a view without a final model, or a secret that is not one of
            several candidates for a known record.

    References:
        Yeom, Giacomelli, Fredrikson, Jha (2018), section 4.3, without runs; with them as Shokri et al. (2017).
    """

    n_reference: int = 200

    def __post_init__(self) -> None:
        if self.n_reference != 0:
            whole(2, n_reference=self.n_reference)

    def check(self, target: SecretTarget) -> None:
        record_secret(target, "the model-confidence attack")
        learner = trainer_of(target.mechanism, SupportsModels, "the model-confidence attack")
        if learner.view not in ("final", "trajectory"):
            raise AttackError(f"the model-confidence attack reads final models, but the view is {learner.view!r}.")

    def fit(self, target: SecretTarget, rng: np.random.Generator) -> Guesser:
        """Return the guesser, after `n_reference` runs on each candidate."""
        self.check(target)
        secret = record_secret(target, "the model-confidence attack")
        learner = trainer_of(target.mechanism, SupportsModels, "the model-confidence attack")
        records = [TrainingData.of(candidate) for candidate in secret.candidates]
        X = np.stack([data.X[secret.record] for data in records])
        y = np.stack([data.y[secret.record] for data in records])
        losses_of = _Losses(learner, TrainingData(X, y))
        with np.errstate(divide="ignore"):
            log_prior = np.log(secret.probabilities)
        k = secret.k
        if self.n_reference == 0:
            return _Linear(losses_of, -np.eye(k), log_prior)
        runs = [losses_of.of(target.run(candidate, self.n_reference, rng)) for candidate in secret.candidates]
        means = np.stack([losses.mean(axis=0) for losses in runs])
        spread = np.concatenate([losses - mean for losses, mean in zip(runs, means, strict=True)])
        covariance = spread.T @ spread / max(1, len(spread) - k)
        scale = max(float(np.trace(covariance)) / k, float(np.var(means)), 1e-300)
        weights = np.linalg.solve(covariance + 1e-9 * scale * np.eye(k), means.T)
        return _Linear(losses_of, weights, log_prior - 0.5 * (means * weights.T).sum(axis=1))


@dataclass(frozen=True, eq=False)
class _Losses:
    """Losses of final models on the candidates."""

    learner: SupportsModels
    records: TrainingData

    def of(self, outputs: Outputs) -> Floats:
        """Return losses, `(size, k)`; 0 where they are not finite."""
        return np.nan_to_num(self.learner.losses(self.records, final_models(outputs)), posinf=0.0, neginf=0.0)


@dataclass(frozen=True, eq=False)
class _Linear:
    """Guesser of the candidate with the largest losses @ weights + offsets."""

    losses: _Losses
    weights: Floats
    offsets: Floats

    def guess(self, outputs: Outputs) -> Ints:
        return np.asarray((self.losses.of(outputs) @ self.weights + self.offsets).argmax(axis=1))
