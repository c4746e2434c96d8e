"""The task without [game]: many runs on each of two datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....attacks.base import Attack, Target
from ....attacks.catalogue import catalogue as attacks, choose
from ....audit.api import audit
from ....audit.bounds.base import Evidence
from ....audit.evidence.scores import PairScores
from ....audit.results.audit_result import AuditResult
from ....audit.trials.options import RunOptions
from ....audit.trials.plan import MIN_TRIALS
from ....mechanisms.core import Dataset, Mechanism, Neighbours, whole
from ...tasks.base import HERE
from ..sections import NeighboursSection
from . import build
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
    attack: str | Attack
    trials: int
    stop: str | None = None

    @classmethod
    def parts(cls, point: Point) -> dict[str, Any]:
        """Build the pair, and an attack that is applicable to it."""
        attack = point.build("attack", build.build_attack, attacks)
        mechanism, neighbours, target = point.build("neighbours", _stage, point.data, point.mechanism)
        trials = trials_of(point)
        point.build("attack", lambda _: choose(attack, target))
        return {"mechanism": mechanism, "neighbours": neighbours, "attack": attack, **trials}

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


def trials_of(point: Point) -> dict[str, Any]:
    """Return the number of trials, and the rule to stop, of [audit]."""
    point.build("audit.trials", lambda trials: whole(MIN_TRIALS, trials=trials))
    return {"trials": point.config.audit.trials, "stop": point.config.audit.stop}


def _stage(
    section: NeighboursSection, data: Dataset | None, mechanism: Mechanism
) -> tuple[Mechanism, Neighbours | None, Target]:
    """Return mechanism and pair, and the target of the attack, whose pair is never None."""
    mechanism, neighbours = build_stage(section, data, mechanism)
    pair = mechanism.worst_case() if neighbours is None else neighbours
    return mechanism, neighbours, Target(mechanism.bind(pair), pair)


__all__ = ["PairTask", "trials_of"]
