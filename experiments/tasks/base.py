"""What every task of an experiment is: one audit, built and checked, ready to run. Read this first.

Task          one audit
  section       the keys of its [game]; None where it is played without one
  makes         the evidence that its game makes
  counted       the key of a configuration that says how many runs there are
  plan          the task that a configuration asks for, its parts checked against each other
  answer        runs it
PlayedTask    a task whose game makes evidence first, which is judged afterwards
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from ...audit.bounds.base import Bound, Evidence
from ...audit.estimates.attach import with_estimates
from ...audit.games.outside import audit_scores
from ...audit.results.audit_result import AuditResult
from ...mechanisms.base import Dataset, Mechanism
from ...mechanisms.errors import DpassayError
from ...mechanisms.guarantees.base import Guarantee
from ..config.schema import Config
from ..config.sections import GameSection
from ..config.source import Source
from ..config.sweep import folder_name, point_text


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """One audit, ready to run.

    Args:
        parameters: sweep key -> value that make this one of the points of a sweep.
        seed: root of its random streams.
        mechanism, bounds, claim, delta, confidence: as for `dpassay.audit.audit`.
        estimates: names for `dpassay.audit.estimates.attach.with_estimates`.
    """

    section: ClassVar[type[GameSection] | None] = None
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
    def makes_here(cls, here: Config) -> type[Evidence]:
        """The evidence that its game makes with this configuration."""
        return cls.makes

    @classmethod
    @abstractmethod
    def plan(
        cls, here: Config, source: Source, mechanism: Mechanism, data: Dataset | None, shared: dict[str, Any]
    ) -> Self:
        """The task at one point of an experiment.

        Args:
            here: the configuration of the point.
            source: points at the keys that are to blame.
            mechanism, data: built from it.
            shared: the fields that every task has, but for the mechanism.

        Raises:
            ConfigError: it cannot be run.
        """

    @property
    def folder(self) -> str:
        """Name of the folder of its trials."""
        return folder_name(self.parameters)

    def answer(self, *, n_hypotheses: int, n_jobs: int | None, store: Path | None, progress: Any) -> AuditResult:
        """Runs the audit; what goes wrong is said with the point at which it did."""
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
        """The audit itself: what is stated, and how it is run, as `dpassay.audit.audit` takes both."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayedTask(Task):
    """A game that makes evidence, which is judged afterwards."""

    @property
    @abstractmethod
    def attack_name(self) -> str:
        """Of what scores or guesses."""

    @abstractmethod
    def play(self, **options: Any) -> Any:
        """The evidence; the options are `n_jobs`, `store` and `progress` of `dpassay.audit.audit`."""

    def _audited(self, stated: dict[str, Any], options: dict[str, Any]) -> AuditResult:
        return audit_scores(self.play(**options), mechanism=self.mechanism, attack=self.attack_name, **stated)


__all__ = ["PlayedTask", "Task"]
