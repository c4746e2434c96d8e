"""Attack-R: comparison of the target model with other models on the same record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...mechanisms.core.arrays import Floats
from .base import MembershipAttack
from .shadows import Shadows


@dataclass(frozen=True)
class AttackR(MembershipAttack):
    """Share of the models without the record that predict it no better than the target does.

    With few references the score takes few values and has no power at low false positive rates; smoothed by a normal
    law of the rescaled logit it becomes LiRA's offline-tail.

    Args:
        signal: any signal.

    Guarantees:
        * with one reference the score is 1 exactly where the calibrated score is >= 0.

    References:
        Ye et al. (2022), attack R.
    """

    name: ClassVar[str] = "attack-r"

    signal: str = "loss"

    @property
    def minimum_references(self) -> int:
        return 1

    def scores_of(self, shadows: Shadows) -> Floats:
        values = shadows.signal(self.signal)
        count = shadows.others(values).count
        models = np.arange(len(shadows))
        n_no_better = np.zeros(values.shape)
        for j in models:
            is_reference = ~shadows.inclusion[j] & ((models != j) & (shadows.partners != j))[:, None]
            n_no_better += is_reference & (values >= values[j])
        return np.where(count > 0, n_no_better / np.maximum(count, 1), np.nan)
