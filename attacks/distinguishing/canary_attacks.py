"""Attacks on trained models that know the records in which the sides differ.

    TargetedAttack    their base class: the scorer follows from the target and uses no pilot
    CanaryLoss        a model that has seen a record has a smaller loss on it
    CanaryDirection   displacement of the last iterate along the gradient of the canary

A score that is fixed by mechanism and pair is as valid as any other, and no trial is needed to learn it. Digits,
softmax regression, 100 full batches, claim 10; mean bound ("accountant-family") of 5 seeds with 500 runs per side (300
for trajectories), with standard errors of 0.1 to 0.5, and up to 1.7 for the classifier on gradients:

    pair                     start          canary-loss   canary-direction   classifier   gradient-product (trajectory)
    natural                  zeros              0.4             0.2              0.1            2.8
    mislabelled              zeros              4.2             3.7              0.4            8.8
    empty                    zeros              7.2             7.6              2.0            8.2
    ClipBKD                  zeros              9.0             8.3              2.4
    mislabelled              worst case         8.4             8.4              2.5
    Dirac gradient           zeros               -              9.3              5.9            8.9
    random gradient          zeros               -              8.8              3.5            9.1

Poisson sampling, momentum, averages, zero_out and perceptrons have the same order; the loss is stronger, by 1.7
to 1.9, on mislabelled and ClipBKD records of a perceptron. "auto" is based on this: see `supports`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import AttackError, Floats, Mechanism, Outputs, ParameterError, Relation
from ...mechanisms.learning.base import TrainingData, differing
from ...mechanisms.learning.dp_sgd.capabilities import SupportsLosses, SupportsModels, require_capability
from ..base import Attack, Scorer, Target


@dataclass(frozen=True, kw_only=True)
class TargetedAttack(Attack):
    """An attack on trained models whose scorer follows from the mechanism and the pair alone."""

    minimum_pilot: ClassVar[int] = 0
    views: ClassVar[tuple[str, ...]] = ("final", "trajectory")
    """Views of the mechanism that the attack can use."""
    capability: ClassVar[Any] = SupportsModels
    """What the attack needs of the trainer."""

    def check(self, target: Target) -> None:
        """Raise `AttackError` if the attack cannot be used: another mechanism, view or pair."""
        self._learner(target)

    def supports(self, target: Target) -> bool:
        """Return True if the attack can be used on a trainer that leaks only along the canary.

        On other trainers, an attack that learns may see more.
        """
        return super().supports(target) and self._learner(target).trains_as_stated

    def _learner(self, target: Target) -> Any:
        """Return the trainer under attack; raise `AttackError` if the mechanism is none, or releases another view."""
        advice = " Or use attack='classifier', which learns from pilot runs."
        learner = trainer_of(target.mechanism, self.capability, f"attack {type(self).__name__}", advice)
        if learner.view not in self.views:
            raise AttackError(
                f"{type(self).__name__} needs view {' or '.join(map(repr, self.views))}, but the mechanism releases "
                f"{learner.view!r}. Set view={self.views[0]!r}, or use attack='likelihood-ratio' on noisy gradients.",
                argument="view",
            )
        return learner


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

    capability: ClassVar[Any] = SupportsLosses

    def check(self, target: Target) -> None:
        """Raise `AttackError` unless the pair differs in an example, which has a loss."""
        super().check(target)
        self._differing(target)

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        learner = self._learner(target)
        only0, only1 = self._differing(target)
        if target.neighbours.relation is Relation.ZERO_OUT:
            only0 = TrainingData(only0.X[:0], only0.y[:0])
        return CanaryLossScorer(learner, only0, only1)

    def _differing(self, target: Target) -> tuple[TrainingData, TrainingData]:
        """Return the examples in which the sides differ; raise `AttackError` if they differ in gradient records."""
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

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, in nats."""
        values = final_models(outputs)
        total = np.zeros(len(values))
        for sign, data in ((1.0, self.only0), (-1.0, self.only1)):
            if data.n_examples:
                total += sign * self.learner.losses(data, values).sum(axis=1)
        return np.where(np.isnan(total), 0.0, total)


@dataclass(frozen=True, kw_only=True)
class CanaryDirection(TargetedAttack):
    """Score of a final model: its displacement from the initial parameters, along the clipped gradient of the canary.

        score = <theta_0 - theta_T, g1 - g0> / |g1 - g0|

    g1 and g0 are the clipped gradients, at the initial parameters, of the records that only side 1, or side 0, has.
    The adversary of the hidden state inserts a gradient and sees the last iterate. In a direction that no other record
    affects, with full batches, the score has the exact law of a Gaussian mechanism with mu = sqrt(steps) /
    noise_multiplier: hiding the state hides nothing.

    Raises:
        AttackError: not DP-SGD, a view without a final model, gradients that cancel, or examples whose
            gradient is not known because initial parameters are drawn for every run.

    References:
        Cebere, Bellet, Papernot (2024), "Tighter privacy auditing of DP-SGD in the hidden state threat model",
        arXiv:2405.14457, with the canary in every step.

    Example:
        >>> from dpassay.attacks.canaries import Dirac
        >>> from dpassay.mechanisms.learning.dp_sgd import DPSGD
        >>> from dpassay.mechanisms.learning.models import LogisticRegression
        >>> learner = DPSGD(LogisticRegression(2), steps=9, noise_multiplier=1.0, sampling="full-batch", batch_size=1)
        >>> pair = Dirac().pair((np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([1, 0])), learner)
        >>> target, empty = Target(learner, pair), Outputs(np.empty((0, 3)))
        >>> scorer = CanaryDirection().fit(target, empty, empty, np.random.default_rng(0))
        >>> scorer.score(Outputs(np.array([[5.0, 0.0, 5.0], [5.0, -0.9, 5.0]]))).round(2).tolist()
        [0.0, 0.9]
    """

    def check(self, target: Target) -> None:
        """Raise `AttackError` if the gradients of the differing records are unknown or cancel, too."""
        self._direction(target)

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        return CanaryDirectionScorer(_initial(self._learner(target)), self._direction(target))

    def _direction(self, target: Target) -> Floats:
        learner = self._learner(target)
        only0, only1 = differing(target.neighbours)
        if (only0.n_examples or only1.n_examples) and learner.initial_parameters() is None:
            raise AttackError(
                "the canary-direction attack needs the gradient of the canary at the initial parameters, but these are "
                "drawn for every run. Give initial as an array or 'zeros', or use attack='canary-loss'."
            )
        start = _initial(learner)[None, :]
        total = learner.clipped_gradient(only1, start)[0] - learner.clipped_gradient(only0, start)[0]
        norm = float(np.linalg.norm(total))
        if norm == 0.0:
            raise AttackError(
                "the records that differ have the same gradient at the initial parameters, or none: there is no "
                "direction to project on. Use attack='canary-loss'."
            )
        return np.asarray(total / norm)


@dataclass(frozen=True, eq=False)
class CanaryDirectionScorer:
    """Scorer that returns <start - last iterate, direction>."""

    start: Floats
    direction: Floats

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, in units of the parameters."""
        values = final_models(outputs)
        displacement = (self.start - values) @ self.direction
        return np.where(np.isnan(displacement), 0.0, displacement).astype(np.float64)


def _initial(learner: SupportsModels) -> Floats:
    """Return the initial parameters; 0, their mean, if they are drawn for every run."""
    initial = learner.initial_parameters()
    return np.zeros(learner.n_parameters) if initial is None else np.asarray(initial, dtype=np.float64)


def trainer_of(mechanism: Mechanism, capability: type[Any], attack: str, advice: str = "") -> Any:
    """Return the trainer under attack; raise `AttackError`, with advice, if it lacks the capability."""
    try:
        return require_capability(mechanism, capability, attack)
    except ParameterError as error:
        raise AttackError(f"{error}{advice}") from error


def final_models(outputs: Outputs) -> NDArray[Any]:
    """Return the parameters of final models, `(size, n_parameters)`: of trajectories, the last iterates."""
    return outputs.values if outputs.values.ndim == 2 else outputs.values[:, -1]
