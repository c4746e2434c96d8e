"""The interface of a task of an experiment: one audit, built and checked, ready to run. Read this first.

Task          one audit
  makes         the evidence that its game makes
  counted       the configuration key for the number of runs
  plan          the task of a configuration, with its parts checked against each other
  answer        runs the audit
PlayedTask    a task whose game makes evidence, from which the bound is then computed
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ....audit.bounds.base import Bound, Evidence
from ....audit.games.external_scores import audit_scores
from ....audit.results.audit_result import AuditResult
from ....audit.results.with_estimates import with_estimates
from ....audit.trials.options import Store
from ....mechanisms.core.base import Dataset, Mechanism
from ....mechanisms.core.errors import DpassayError
from ....mechanisms.core.guarantee import Guarantee
from ..schema import Config
from ..source import Source
from ..sweep import folder_name, point_text


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """One audit, ready to run.

    Args:
        parameters: sweep key -> value at this point of a sweep.
        seed: root of its random streams.
        mechanism, bounds, claim, delta, confidence: as for `dpassay.audit.audit`.
        estimates: names for `dpassay.audit.results.with_estimates.with_estimates`.
    """

    makes: ClassVar[type[Evidence]]
    counted: ClassVar[str]

    parameters: dict[str, Any]
    seed: int
    mechanism: Mechanism
    bounds: tuple[str | Bound[Any], ...]
    claim: Guarantee | None
    delta: float | None
    confidence: float
    estimates: tuple[str, ...] = ()

    @classmethod
    def evidence_type(cls, config: Config) -> type[Evidence]:
        """Return the type of evidence that the game makes with this configuration."""
        return cls.makes

    @classmethod
    @abstractmethod
    def plan(
        cls, config: Config, source: Source, mechanism: Mechanism, data: Dataset | None, shared: dict[str, Any]
    ) -> Self:
        """Build the task at one point of an experiment.

        Args:
            config: the configuration of the point.
            source: locates keys in error messages.
            mechanism, data: built from the configuration.
            shared: the common fields of all tasks, except the mechanism.

        Raises:
            ConfigError: the task cannot be run.
        """

    @property
    def folder(self) -> str:
        """Name of the folder of its trials."""
        return folder_name(self.parameters)

    def indivisible(self, n_audits: int) -> str:
        """Return the reason why an experiment of so many audits has no slices; empty if there is none."""
        return ""

    def answer(self, *, n_hypotheses: int, n_jobs: int | None, store: Store, progress: Any) -> AuditResult:
        """Run the audit; errors get a note with the point of the sweep."""
        stated = {
            "bound": self.bounds,
            "delta": self.delta,
            "confidence": self.confidence,
            "claim": self.claim,
            "n_hypotheses": n_hypotheses,
            "seed": self.seed,
        }
        try:
            result = self._audited(stated, {"n_jobs": n_jobs, "store": store, "progress": progress})
            return with_estimates(result, self.estimates)
        except DpassayError as error:
            if self.parameters:
                error.add_note(f"at {point_text(self.parameters)}")
            raise

    @abstractmethod
    def _audited(self, stated: dict[str, Any], options: dict[str, Any]) -> AuditResult:
        """Run the audit; `stated` and `options` are arguments of `dpassay.audit.audit`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayedTask(Task):
    """A task whose game makes evidence, from which the bound is then computed."""

    @property
    @abstractmethod
    def attack_name(self) -> str:
        """Name of the attack that scores or guesses."""

    @abstractmethod
    def play(self, **options: Any) -> Any:
        """Make the evidence; the options are `n_jobs`, `store` and `progress` of `dpassay.audit.audit`."""

    def _audited(self, stated: dict[str, Any], options: dict[str, Any]) -> AuditResult:
        return audit_scores(
            self.play(**options), mechanism=self.mechanism, attack=self.attack_name, tossed=True, **stated
        )


__all__ = ["PlayedTask", "Task"]
