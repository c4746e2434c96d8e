"""What attacks on trained models share: they are told the mechanism and the pair, and learn nothing from the pilot.

A score that was fixed by mechanism and pair is as valid as any other, and no trial is spent on learning it. Digits,
softmax regression, 100 full batches, claim 10; mean bound ("accountant-family") of 5 seeds with 500 runs a side (300
for trajectories), whose standard errors are 0.1 to 0.5 and those of the classifier on gradients up to 1.7:

    pair                     start          canary-loss   canary-direction   classifier   gradient-product (trajectory)
    natural                  zeros              0.4             0.2              0.1            2.8
    mislabelled              zeros              4.2             3.7              0.4            8.8
    empty                    zeros              7.2             7.6              2.0            8.2
    ClipBKD                  zeros              9.0             8.3              2.4
    mislabelled              worst case         8.4             8.4              2.5
    Dirac gradient           zeros               -              9.3              5.9            8.9
    random gradient          zeros               -              8.8              3.5            9.1

Poisson sampling, momentum, averages, zero_out and perceptrons have the same order; the loss is the stronger one, by 1.7
to 1.9, on mislabelled and ClipBKD records of a perceptron. Hence the choice of "auto": see `suits`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from attacks.base import Attack
from mechanisms.base import Mechanism, Neighbours
from mechanisms.errors import AttackError, ParameterError

if TYPE_CHECKING:
    from mechanisms.learning.capabilities import ReleasesModels


@dataclass(frozen=True, kw_only=True)
class ToldAttack(Attack):
    """An attack whose scorer follows from the mechanism and the pair alone.

    Attributes:
        learner: the trainer that is attacked; None until `against` has told it.
        neighbours: the pair; likewise.
    """

    learns: ClassVar[bool] = False
    minimum_pilot: ClassVar[int] = 0
    views: ClassVar[tuple[str, ...]] = ("final", "trajectory")
    """What has to be released for it."""

    learner: ReleasesModels | None = field(init=False, default=None, repr=False, compare=False)
    neighbours: Neighbours | None = field(init=False, default=None, repr=False, compare=False)

    def against(self, mechanism: Mechanism, neighbours: Neighbours) -> Self:
        """This attack on `mechanism` and `neighbours`; raises `AttackError` if it cannot be used there."""
        from mechanisms.learning.capabilities import needed

        try:
            learner = needed(mechanism, self._capability(), f"attack {type(self).__name__}")
        except ParameterError as error:
            raise AttackError(f"{error} Or use attack='classifier', which learns from pilot runs.") from error
        if learner.view not in self.views:
            raise AttackError(
                f"{type(self).__name__} needs view {' or '.join(map(repr, self.views))}, but the mechanism releases "
                f"{learner.view!r}. Set view={self.views[0]!r}, or use attack='likelihood-ratio' on observations."
            )
        told = copy(self)
        object.__setattr__(told, "learner", learner)
        object.__setattr__(told, "neighbours", neighbours)
        told._check_told()
        return told

    def suits(self, mechanism: Mechanism, neighbours: Neighbours) -> bool:
        """Where it can be used, on a trainer that leaks nowhere else than along the canary; an attack that learns may
        see more of others."""
        try:
            learner, _ = self.against(mechanism, neighbours)._told()
        except AttackError:
            return False
        return learner.trains_as_stated

    @classmethod
    def _capability(cls) -> type[ReleasesModels]:
        """What it needs of the trainer."""
        from mechanisms.learning.capabilities import ReleasesModels

        return ReleasesModels

    def _check_told(self) -> None:
        """Raises `AttackError` where the pair is not one that this attack can tell apart."""

    def _told(self) -> tuple[ReleasesModels, Neighbours]:
        if self.learner is None or self.neighbours is None:
            raise AttackError(
                f"{type(self).__name__} does not know what it attacks. Call .against(mechanism, neighbours) before "
                "fit, or leave it to audit()."
            )
        return self.learner, self.neighbours
