"""Attack-R: how the target model compares with other models on the same record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..base import Floats, MembershipAttack
from ..shadows import Shadows


@dataclass(frozen=True)
class AttackR(MembershipAttack):
    """Share of the models without the record that predict it no better than the target does.

    With few references it takes few values and says nothing at low false positive rates; smoothed by a normal law of
    the rescaled logit it becomes LiRA's offline-tail.

    Args:
        signal: any signal.

    Guarantees:
        * with one reference it is 1 exactly where the calibrated score is >= 0.

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
        reached = np.zeros(values.shape)
        for j in models:
            counts = ~shadows.inclusion[j] & ((models != j) & (shadows.partners != j))[:, None]
            reached += counts & (values >= values[j])
        return np.where(count > 0, reached / np.maximum(count, 1), np.nan)
