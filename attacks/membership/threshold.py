"""Attacks without reference models: a threshold on a signal of the target model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...mechanisms.core.arrays import Floats
from .base import MembershipAttack
from .shadows import Shadows


@dataclass(frozen=True)
class LossThreshold(MembershipAttack):
    """Score of a record: minus the loss of the target model on it.

    Args:
        signal: any signal of `dpassay.attacks.membership.signals` instead of the loss.

    Guarantees:
        * member losses N(0, 1) and non-member losses N(1, 1) give AUC Phi(1 / sqrt 2) = 0.7602.

    References:
        Yeom, Giacomelli, Fredrikson and Jha (2018), "Privacy risk in machine learning", adversary 1 with its threshold
        unspecified.

    Example:
        >>> import numpy as np
        >>> one_model = Shadows(np.array([[True, False]]), np.zeros(2), {"loss": np.array([[-0.1, -2.0]])})
        >>> LossThreshold().score(one_model)
        array([[-0.1, -2. ]])
    """

    name: ClassVar[str] = "loss"

    signal: str = "loss"

    def on(self, signal: str) -> str:
        return f"threshold on {signal}"

    def scores_of(self, shadows: Shadows) -> Floats:
        return shadows.signal(self.signal).copy()


@dataclass(frozen=True)
class CorrectnessGap(MembershipAttack):
    """Calls a record a member if the target model predicts it right: the floor that other attacks must beat.

    Guarantees:
        * balanced accuracy 1/2 + (training accuracy - test accuracy) / 2; a single point of the ROC curve.

    References:
        Yeom et al. (2018), section 3.2: the advantage is the generalisation gap of the 0/1 loss.
    """

    name: ClassVar[str] = "correctness-gap"

    def scores_of(self, shadows: Shadows) -> Floats:
        return shadows.signal("correct").copy()
