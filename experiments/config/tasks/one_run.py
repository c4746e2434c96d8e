"""[game] name = "one-run": one run, or a few, with a coin for each of many canaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....attacks.canaries.base import Canary
from ....attacks.canaries.catalogue import catalogue as canary_kinds
from ....attacks.membership.base import MembershipAttack
from ....attacks.membership.catalogue import catalogue as membership_attacks
from ....audit.bounds.base import Evidence
from ....audit.evidence.scores import BitScores
from ....audit.games.canaries import check_relation, gradient_canary_game, membership_game
from ....audit.trials.options import RunOptions
from ....mechanisms.core import Dataset, Mechanism, ParameterError
from ....mechanisms.learning.base import Learner, TrainingData
from ....mechanisms.learning.dp_sgd.capabilities import SupportsCanaries, has_capability
from ...tasks.base import HERE
from ..sections import Named, NeighboursSection, OneRunSection
from . import build
from .base import PlayedTask
from .point import Point


@dataclass(frozen=True, eq=False, kw_only=True)
class OneRunTask(PlayedTask):
    """Audit by one run, or a few, with a coin for each of many canaries, and reference runs.

    Args:
        canaries: examples, or gradient records, each included by a fair coin.
        records: records of every run.
        attack: on examples; gradients are attacked by the likelihood ratio of every step.
        n_runs, n_references: as for `dpassay.audit.games.membership_game`.
    """

    makes: ClassVar[type[Evidence]] = BitScores

    canaries: TrainingData
    records: TrainingData
    attack: MembershipAttack | None
    n_runs: int
    n_references: int

    @classmethod
    def parts(cls, point: Point) -> dict[str, Any]:
        """Build the canaries, and an attack with enough references."""
        with point.section("game") as game:
            canaries, records = _canaries(game, point.config.neighbours, point.data, point.mechanism)
        with point.section("attack") as section:
            attack = _attack(section, canaries, game.n_references)
        fields = {"canaries": canaries, "records": records, "attack": attack}
        return {**fields, "n_runs": game.n_runs, "n_references": game.n_references}

    @property
    def attack_name(self) -> str:
        return "likelihood-ratio" if self.attack is None else self.attack.name

    def estimate(self) -> int:
        """Return the number of runs, with references."""
        return self.n_runs + self.n_references

    def run(self, options: RunOptions = HERE) -> BitScores:
        """Toss the coins, train the models, and return the scores."""
        runs: dict[str, Any] = {"n_runs": self.n_runs, "seed": self.seed, **vars(options)}
        gradients, learner = self.canaries.gradients, self.mechanism
        if gradients is not None:
            return gradient_canary_game(learner, gradients, records=self.records, **runs)
        assert isinstance(learner, Learner)
        records, attack = self.records if len(self.records) else None, self.attack or "loss"
        runs |= {"records": records, "attack": attack, "n_references": self.n_references}
        return membership_game(learner, self.canaries, **runs)


def _canaries(
    game: OneRunSection, section: NeighboursSection, data: Dataset | None, mechanism: Mechanism
) -> tuple[TrainingData, TrainingData]:
    """Return the canaries, each included by a fair coin, and the records of every run."""
    if not has_capability(mechanism, SupportsCanaries) or not isinstance(mechanism, Learner):
        raise ParameterError(
            f"name is 'one-run', which needs a trainer, such as dp-sgd, not {type(mechanism).__name__}.",
            argument="name",
        )
    if data is None or section.canary is None:
        raise ParameterError(
            "name is 'one-run', which needs [data], and canary in [neighbours] for the kind of canary.", argument="name"
        )
    check_relation(mechanism)
    canary: Canary = build.build_entry(canary_kinds, section.canary.name, section.canary.options)
    canaries, records = canary.several(data, mechanism, game.n_canaries)
    view = "noisy_gradients" if canaries.n_gradients else "final"
    trainer: Any = mechanism
    if trainer.view != view:
        kind = (
            "a gradient, which is visible in every step"
            if canaries.n_gradients
            else "an example, on which the model is queried"
        )
        raise ParameterError(
            f'canary is {kind}: set view = "{view}" in [mechanism], which is {trainer.view!r} now.',
            argument=("canary", "view"),
        )
    if canaries.n_gradients and game.n_references:
        raise ParameterError(
            f"n_references is {game.n_references}, but gradients need no references: leave it out.",
            argument="n_references",
        )
    return canaries, records


def _attack(section: Named, canaries: TrainingData, n_references: int) -> MembershipAttack | None:
    """Build the attack on canaries that are examples; None for gradients, whose likelihood ratio is known.

    "auto" stands for the loss of the record.
    """
    if canaries.n_gradients:
        if section.name not in ("auto", "likelihood-ratio") or section.options:
            raise ParameterError(
                f"name must be 'likelihood-ratio' for canaries that are gradients in one run, but is {section.name!r}.",
                argument="name",
            )
        return None
    name = "loss" if section.name == "auto" else section.name
    attack: MembershipAttack = build.build_entry(membership_attacks, name, section.options)
    if n_references < attack.minimum_references:
        raise ParameterError(
            f"name is {section.name!r}, an attack that needs {attack.minimum_references} other models or more: set "
            f"n_references = {attack.minimum_references} or more in [game], which is {n_references}.",
            argument="name",
        )
    return attack


__all__ = ["OneRunTask"]
