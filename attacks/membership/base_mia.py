"""BASE: the loss of the target compared with the mean likelihood under the references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.constraints import UnitInterval, one_of_names
from .base import MembershipAttack
from .shadows import Shadows


@dataclass(frozen=True)
class BASE(MembershipAttack):
    """Log likelihood of the record under the target, minus the log of its mean likelihood under the references.

        online     -loss(x) - log mean_j exp(-loss_j(x))                 over all references
        offline    -loss(x) - alpha log mean_j exp(-loss_j(x))           over the references without x

    Args:
        mode: "online" or "offline".
        alpha: in [0, 1], weight of the references; offline only.

    Guarantees:
        * with one reference, online is the calibrated score of Watson et al.;
        * online is RMIA's ratio on the log scale, without a population.

    References:
        Lassila, Ostman, Ngo and Graell i Amat (2025), "Practical Bayes-optimal membership inference attacks".
    """

    name: ClassVar[str] = "base"

    mode: Annotated[str, one_of_names("online", "offline")] = "online"
    alpha: UnitInterval = 0.33

    @property
    def minimum_references(self) -> int:
        return 1

    def scores_of(self, shadows: Shadows) -> Floats:
        log_p = shadows.signal("loss")
        online = self.mode == "online"
        # Shifted by the largest, so that the mean of tiny likelihoods is accurate.
        top = log_p.max(axis=0)
        mean = shadows.others(np.exp(log_p - top), which="all" if online else "out").mean
        with np.errstate(divide="ignore"):
            expected = top + np.log(np.maximum(mean, 1e-300))
        return np.asarray(log_p - (1.0 if online else self.alpha) * expected)
