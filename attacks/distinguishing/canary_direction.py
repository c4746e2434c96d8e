"""The canary-direction attack: displacement of the last iterate along the gradient of the canary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.base import Outputs
from ...mechanisms.core.errors import AttackError
from ..base import Scorer, Target
from .targeted import TargetedAttack

if TYPE_CHECKING:
    from ...mechanisms.learning.dp_sgd.capabilities import SupportsModels


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
        """Return the scorer; the pilot outputs are not used."""
        return CanaryDirectionScorer(_initial(self._learner(target)), self._direction(target))

    def _direction(self, target: Target) -> NDArray[np.float64]:
        from ...mechanisms.learning.base import differing

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

    start: NDArray[np.float64]
    direction: NDArray[np.float64]

    def score(self, outputs: Outputs) -> NDArray[np.float64]:
        """Return the scores of `outputs`, shape `(size,)`, in units of the parameters."""
        values = outputs.values if outputs.values.ndim == 2 else outputs.values[:, -1]
        displacement = (self.start - values) @ self.direction
        return np.where(np.isnan(displacement), 0.0, displacement).astype(np.float64)


def _initial(learner: SupportsModels) -> NDArray[np.float64]:
    """Return the initial parameters; 0, their mean, if they are drawn for every run."""
    initial = learner.initial_parameters()
    return np.zeros(learner.n_parameters) if initial is None else np.asarray(initial, dtype=np.float64)
