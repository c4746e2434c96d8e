"""The task with [search]: a search for the pair in a domain, then a confirmation on fresh trials.

The result of the task is that of the confirmation, whose ledger lists the looks of the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....attacks.base import Attack, Target
from ....attacks.catalogue import catalogue as attacks, choose
from ....audit.bounds.base import Evidence
from ....audit.evidence.scores import PairScores
from ....audit.results.audit_result import AuditResult
from ....audit.search import SearchDomain, domain_from, first_pair, search
from ....audit.trials.options import RunOptions
from ....mechanisms.core import Mechanism, whole
from ...tasks.base import HERE
from ..sections import NeighboursSection, SearchSection
from . import build
from .base import AuditTask
from .pair import trials_of
from .point import Point


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchTask(AuditTask):
    """Audit by a search over many pairs, and runs on both datasets of the winner.

    Args:
        domain, explore, budget, attack, trials, stop: as for `dpassay.audit.search`.
    """

    makes: ClassVar[type[Evidence]] = PairScores
    indivisible: ClassVar[str] = (
        "[search] runs its audits one after the other, and each depends on the outcome of those before"
    )

    domain: SearchDomain[Any]
    explore: int
    budget: int | None
    attack: str | Attack
    trials: int
    stop: str | None = None

    @classmethod
    def parts(cls, point: Point) -> dict[str, Any]:
        """Build the domain, and an attack that is applicable to its first pair."""
        for key in ("data", "game", "neighbours"):
            if getattr(point.config, key) not in (None, NeighboursSection()):
                raise point.source.error(
                    (key,), f"[{key}] cannot be combined with [search], which chooses the pair. Leave it out."
                )
        attack = point.build("attack", build.build_attack, attacks)
        fields, target = point.build("search", _domain, point.mechanism)
        trials = trials_of(point)
        point.build("attack", lambda _: choose(attack, target))
        return {**fields, **trials, "attack": attack}

    def estimate(self) -> int:
        """Return the trials of all looks, if their number is limited, and of the confirmation."""
        return 2 * (self.trials + (self.budget or self.explore))

    def run(self, options: RunOptions = HERE) -> AuditResult:
        """Search for the pair, and audit it on fresh trials."""
        result = search(
            domain=self.domain,
            explore=self.explore,
            budget=self.budget,
            attacks=[self.attack],
            trials=self.trials,
            stop=self.stop,
            **self.arguments,
            **vars(options),
        )
        return result.confirmed


def _domain(section: SearchSection, mechanism: Mechanism) -> tuple[dict[str, Any], Target]:
    """Return domain and runs of the search, and the target of the attack on its first pair."""
    domain = domain_from(section.domain)
    pair = first_pair(mechanism, domain)
    whole(section.explore, budget=section.explore if section.budget is None else section.budget)
    fields = {"domain": domain, "explore": section.explore, "budget": section.budget}
    return fields, Target(mechanism.bind(pair), pair)


__all__ = ["SearchTask"]
