"""Difficulty calibration: a signal of the target minus its typical value for models without the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.constraints import one_of_names
from .base import MembershipAttack
from .shadows import Shadows

OFFSETS = ("out-mean", "out-median", "in-mean", "midpoint")


@dataclass(frozen=True)
class DifficultyCalibration(MembershipAttack):
    """A signal of the target model minus an offset of the record, which corrects for the difficulty of the record.

        score = s(target; x) - offset(x)

    Args:
        signal: any signal.
        offset: "out-mean" over models without the record (Watson et al.), "out-median", "in-mean" over models with it,
            or "midpoint" of both means, a threshold for each record (MALT, Sablayrolles et al.).

    Guarantees:
        * signals N(1, 1) of members and N(0, 1) of non-members, m references: TPR at 1 % FPR is
          Phi(1 / sqrt(1 + 1/m) - 2.3263); 0.0527 for one reference, 0.0924 for many.

    References:
        Watson, Guo, Cormode and Sablayrolles (2022), "On the importance of difficulty calibration in membership
        inference attacks", ICLR, equation (2).
        Sablayrolles et al. (2019), "White-box vs black-box: Bayes optimal strategies for membership inference", ICML,
        section 4.
    """

    name: ClassVar[str] = "calibration"

    signal: str = "loss"
    offset: Annotated[str, one_of_names(*OFFSETS)] = "out-mean"

    @property
    def minimum_references(self) -> int:
        return 2 if self.offset == "midpoint" else 1

    def scores_of(self, shadows: Shadows) -> Floats:
        return shadows.signal(self.signal) - self._offset(shadows)

    def _offset(self, shadows: Shadows) -> Floats:
        values = shadows.signal(self.signal)
        if self.offset == "out-median":
            return shadows.others(values).median
        if self.offset == "out-mean":
            return shadows.others(values).mean
        in_mean = shadows.others(values, which="in").mean
        return in_mean if self.offset == "in-mean" else 0.5 * (in_mean + shadows.others(values).mean)
