"""The task with [search]: a search for the pair in a domain, then a confirmation on fresh trials.

The result of the task is that of the confirmation, whose ledger lists the looks of the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ....attacks.base import Attack, Target
from ....attacks.catalogue import catalogue as attacks, choose
from ....audit.bounds.base import Evidence
from ....audit.evidence.scores import PairScores
from ....audit.results.audit_result import AuditResult
from ....audit.search import SearchDomain, domain_from, first_pair, search
from ....audit.trials.plan import MIN_TRIALS
from ....mechanisms.core.base import Dataset, Mechanism
from ....mechanisms.core.validation import whole
from ..config_errors import pointing_at
from ..schema import Config
from ..sections import NeighboursSection
from ..source import Source
from . import build
from .base import Task


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchTask(Task):
    """Audit by a search over many pairs, and runs on both datasets of the winner.

    Args:
        domain, explore, budget, attack, trials, stop: as for `dpassay.audit.search`.
    """

    makes: ClassVar[type[Evidence]] = PairScores
    counted: ClassVar[str] = "trials"

    domain: SearchDomain[Any]
    explore: int
    budget: int | None
    attack: str | Attack
    trials: int
    stop: str | None = None

    @classmethod
    def plan(
        cls, config: Config, source: Source, mechanism: Mechanism, data: Dataset | None, shared: dict[str, Any]
    ) -> Self:
        """Build the domain, and an attack that is applicable to its first pair."""
        section = config.search
        assert section is not None
        for key in ("data", "game", "neighbours"):
            if getattr(config, key) not in (None, NeighboursSection()):
                raise source.error(
                    (key,), f"[{key}] cannot be combined with [search], which chooses the pair. Leave it out."
                )
        with pointing_at(source, "attack", config.attack):
            attack = build.build_attack(config.attack, attacks)
        with pointing_at(source, "search", section):
            domain = domain_from(section.domain)
            pair = first_pair(mechanism, domain)
            whole(section.explore, budget=section.explore if section.budget is None else section.budget)
        with pointing_at(source, "audit.trials"):
            whole(MIN_TRIALS, trials=config.audit.trials)
        with pointing_at(source, "attack"):
            choose(attack, Target(mechanism.bind(pair), pair))
        return cls(
            **shared,
            mechanism=mechanism,
            domain=domain,
            explore=section.explore,
            budget=section.budget,
            attack=attack,
            trials=config.audit.trials,
            stop=config.audit.stop,
        )

    def indivisible(self, n_audits: int) -> str:
        return "[search] runs its audits one after the other, and each depends on the outcome of those before"

    def _audited(self, stated: dict[str, Any], options: dict[str, Any]) -> AuditResult:
        result = search(
            self.mechanism,
            domain=self.domain,
            explore=self.explore,
            budget=self.budget,
            attacks=[self.attack],
            trials=self.trials,
            stop=self.stop,
            **stated,
            **options,
        )
        return result.confirmed


__all__ = ["SearchTask"]
