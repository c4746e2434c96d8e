"""The interface of a task of an experiment (`Task` is in `dpassay.experiments.tasks.base`). Read this first.

PointTask     a task at one point of an experiment
  plan          the task of a configuration, with its parts checked against each other
AuditTask     one audit of a claim
  makes         the evidence that its game makes
PlayedTask    an audit whose game makes evidence, from which the bound is then computed
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ....audit.bounds.base import Bound, Evidence
from ....audit.bounds.catalogue import catalogue as methods, choose_bounds
from ....audit.evidence.scores import BitScores, PairScores, Successes
from ....audit.evidence.statement import Statement
from ....audit.games.external_scores import audit_scores
from ....audit.metrics.membership.result import MembershipResult
from ....audit.results.audit_result import AuditResult
from ....audit.results.with_estimates import check_estimates, with_estimates
from ....mechanisms.core import Guarantee, Mechanism
from ...tasks.base import Task
from ..schema import Config
from ..sweep import folder_name
from . import build
from .point import Point


@dataclass(frozen=True, eq=False, kw_only=True)
class PointTask(Task):
    """One question of an experiment, ready to run.

    Args:
        parameters: sweep key -> value at this point of a sweep.
        seed: root of its random streams.
        confidence: of its bounds or intervals.
    """

    indivisible: ClassVar[str] = ""
    """Reason why its runs cannot be divided into slices."""

    parameters: dict[str, Any]
    seed: int
    confidence: float

    @classmethod
    @abstractmethod
    def plan(cls, point: Point) -> Self:
        """Build the task at one point of an experiment; raise `ConfigError` if it cannot be run."""

    @property
    def folder(self) -> str:
        """Name of the folder of its trials."""
        return folder_name(self.parameters)

    @property
    def activity(self) -> str:
        """What a task that is no audit does; empty for an audit."""
        return ""

    @property
    def record_ids(self) -> Sequence[str]:
        """Names of the records of the result; empty if it has none."""
        return ()

    @abstractmethod
    def answer(self, evidence: Any) -> AuditResult | MembershipResult:
        """Compute the result from what `run` returned."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditTask(PointTask):
    """One audit of a claim.

    Args:
        mechanism, bounds, claim, delta, n_hypotheses: as for `dpassay.audit.audit`.
        estimates: names for `dpassay.audit.results.with_estimates.with_estimates`.
    """

    makes: ClassVar[type[Evidence]]

    mechanism: Mechanism
    bounds: tuple[str | Bound[Any], ...]
    claim: Guarantee | None
    delta: float | None
    estimates: tuple[str, ...] = ()
    n_hypotheses: int = 1

    @classmethod
    def evidence_type(cls, config: Config) -> type[Evidence]:
        """Return the type of evidence that the game makes with this configuration."""
        return cls.makes

    @classmethod
    def plan(cls, point: Point) -> Self:
        """Build mechanism, bounds, claim and data, then the parts of this kind of audit, and check the claim."""
        audit, mechanism = point.config.audit, point.mechanism
        with point.section("audit.bounds") as entries:
            bounds = tuple(
                "auto" if entry == "auto" else build.build_listed("bounds", entry, methods) for entry in entries
            )
            choose_bounds(bounds, reads=cls.evidence_type(point.config), stop=audit.stop)
        with point.section("audit.estimates") as names:
            estimates = check_estimates(names)
        fields: dict[str, Any] = {
            "parameters": point.parameters,
            "seed": point.seed,
            "confidence": audit.confidence,
            "mechanism": mechanism,
            "bounds": bounds,
            "estimates": estimates,
            "claim": point.claim,
            "delta": audit.delta,
            "n_hypotheses": point.n_hypotheses,
        }
        task = cls(**fields | cls.parts(point))
        with point.section("mechanism"):
            task.mechanism.guarantee()
        with point.section("audit"):
            Statement.about(relation=task.mechanism.relation, **task.statement)
        return task

    @classmethod
    @abstractmethod
    def parts(cls, point: Point) -> dict[str, Any]:
        """Return the fields of this kind of audit, built and checked against each other."""

    @property
    def statement(self) -> dict[str, Any]:
        """Mechanism and claim under test: arguments of `Statement.about`."""
        names = ("mechanism", "claim", "delta", "confidence", "n_hypotheses")
        return {name: getattr(self, name) for name in names}

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments that all audits have."""
        return {**self.statement, "bound": self.bounds, "seed": self.seed}

    def answer(self, evidence: Any) -> AuditResult:
        """Add the estimates to a finished audit."""
        return with_estimates(evidence, self.estimates)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayedTask(AuditTask):
    """An audit whose game makes evidence, from which the bound is then computed."""

    @property
    @abstractmethod
    def attack_name(self) -> str:
        """Name of the attack that scores or guesses."""

    def answer(self, evidence: PairScores | BitScores | Successes) -> AuditResult:
        """Compute the bound from the evidence."""
        return audit_scores(evidence, attack=self.attack_name, tossed=True, **self.arguments)


__all__ = ["AuditTask", "PlayedTask", "PointTask"]
