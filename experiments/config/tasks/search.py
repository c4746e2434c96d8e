"""The task with [search]: a search for the pair in a domain, then a confirmation on fresh trials.

The result of the task is that of the confirmation, whose ledger lists the looks of the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....attacks.base import Target
from ....attacks.catalogue import AttackChoice
from ....audit.bounds.base import Evidence
from ....audit.evidence.scores import PairScores
from ....audit.results.audit_result import AuditResult
from ....audit.search import SearchDomain, domain_from, first_pair, search
from ....audit.trials.options import RunOptions
from ....mechanisms.core import whole
from ...tasks.base import HERE
from .base import AuditTask
from .pair import attack_and_trials
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
    attack: AttackChoice
    trials: int
    stop: str | None = None

    @classmethod
    def parts(cls, point: Point) -> dict[str, Any]:
        """Build the domain, and an attack that is applicable to its first pair."""
        with point.section("search") as section:
            domain, mechanism = domain_from(section.domain), point.mechanism
            pair = first_pair(mechanism, domain)
            whole(section.explore, budget=section.explore if section.budget is None else section.budget)
            target = Target(mechanism.bind(pair), pair)
        fields = {"domain": domain, "explore": section.explore, "budget": section.budget}
        return {**fields, **attack_and_trials(point, target)}

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


__all__ = ["SearchTask"]
