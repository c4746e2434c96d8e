"""The task without [game]: many runs on each of two datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....attacks.base import Target
from ....attacks.catalogue import AttackChoice, catalogue as attacks, choose
from ....audit.api import audit
from ....audit.bounds.base import Evidence
from ....audit.evidence.scores import PairScores
from ....audit.results.audit_result import AuditResult
from ....audit.trials.options import RunOptions
from ....audit.trials.plan import MIN_TRIALS
from ....mechanisms.core import Neighbours, whole
from ...tasks.base import HERE
from . import build, own
from .base import AuditTask
from .neighbours import build_stage
from .point import Point


@dataclass(frozen=True, eq=False, kw_only=True)
class PairTask(AuditTask):
    """Audit by runs on both datasets of a pair.

    Args:
        neighbours, attack, trials, stop: as for `dpassay.audit.audit`.
    """

    makes: ClassVar[type[Evidence]] = PairScores

    neighbours: Neighbours | None
    attack: AttackChoice
    trials: int
    stop: str | None = None

    @classmethod
    def parts(cls, point: Point) -> dict[str, Any]:
        """Build the pair, and an attack that is applicable to it."""
        with point.section("neighbours") as section:
            mechanism, neighbours = build_stage(section, point.data, point.mechanism)
            pair = mechanism.worst_case() if neighbours is None else neighbours
            target = Target(mechanism.bind(pair), pair)
        return {"mechanism": mechanism, "neighbours": neighbours, **attack_and_trials(point, target)}

    def estimate(self) -> int:
        """Return the trials of both sides."""
        return 2 * self.trials

    def run(self, options: RunOptions = HERE) -> AuditResult:
        """Audit the mechanism on the pair."""
        return audit(
            neighbours=self.neighbours,
            attack=self.attack,
            trials=self.trials,
            stop=self.stop,
            **self.arguments,
            **vars(options),
        )


def attack_and_trials(point: Point, target: Target) -> dict[str, Any]:
    """Return the attack, which is applicable to the target, the number of trials, and the rule to stop."""
    with point.section("attack") as section:
        if own.is_own(section):
            attack = own.build_own_attack(section, point.own(section))
        else:
            attack = build.build_attack(section, attacks)
        choose(attack, target)
    with point.section("audit.trials") as trials:
        whole(MIN_TRIALS, trials=trials)
    return {"attack": attack, "trials": trials, "stop": point.config.audit.stop}


__all__ = ["PairTask", "attack_and_trials"]
