"""Base class of attacks on trained models whose scorer follows from the target and uses no pilot.

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
from typing import TYPE_CHECKING, Any, ClassVar

from ...mechanisms.core.errors import AttackError, ParameterError
from ..base import Attack, Target

if TYPE_CHECKING:
    from ...mechanisms.learning.dp_sgd.capabilities import SupportsLosses


@dataclass(frozen=True, kw_only=True)
class TargetedAttack(Attack):
    """An attack on trained models whose scorer follows from the mechanism and the pair alone."""

    minimum_pilot: ClassVar[int] = 0
    views: ClassVar[tuple[str, ...]] = ("final", "trajectory")
    """Views of the mechanism that the attack can use."""

    def check(self, target: Target) -> None:
        """Raise `AttackError` if the attack cannot be used: another mechanism, view or pair."""
        self._learner(target)

    def supports(self, target: Target) -> bool:
        """Return True if the attack can be used on a trainer that leaks only along the canary.

        On other trainers, an attack that learns may see more.
        """
        return super().supports(target) and self._learner(target).trains_as_stated

    @classmethod
    def _capability(cls) -> type[SupportsLosses]:
        """Return the capability that the attack needs of the trainer."""
        from ...mechanisms.learning.dp_sgd.capabilities import SupportsModels

        return SupportsModels

    def _learner(self, target: Target) -> Any:
        """Return the trainer under attack; raise `AttackError` if the mechanism is none, or releases another view."""
        from ...mechanisms.learning.dp_sgd.capabilities import require_capability

        try:
            learner = require_capability(target.mechanism, self._capability(), f"attack {type(self).__name__}")
        except ParameterError as error:
            raise AttackError(f"{error} Or use attack='classifier', which learns from pilot runs.") from error
        if learner.view not in self.views:
            raise AttackError(
                f"{type(self).__name__} needs view {' or '.join(map(repr, self.views))}, but the mechanism releases "
                f"{learner.view!r}. Set view={self.views[0]!r}, or use attack='likelihood-ratio' on noisy gradients.",
                argument="view",
            )
        return learner
