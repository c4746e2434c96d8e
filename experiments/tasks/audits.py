"""The games that a configuration can play, each ready to run: one class a game.

PairTask              distinguishing: many runs on each of two datasets
OneRunTask            membership: one run, or a few, with many canaries, each in or out by its own coin
ReconstructionTask    reconstruction: rounds in which the category of one record is drawn, and guessed
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...attacks.base import Attack
from ...attacks.membership.base import MembershipAttack
from ...audit.api import audit
from ...audit.bounds.base import Bound
from ...audit.estimates.attach import with_estimates
from ...audit.evidence.scores import BitScores
from ...audit.games.canaries import gradient_canary_game, membership_game
from ...audit.games.outside import audit_scores
from ...audit.games.reconstruction import GUESS, reconstruction_game
from ...audit.results.audit_result import AuditResult
from ...audit.trials.progress import Reporter
from ...mechanisms.base import Dataset, Mechanism, Neighbours
from ...mechanisms.errors import DpassayError
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.learning.base import TrainingData
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

    parameters: dict[str, Any]
    seed: int
    mechanism: Mechanism
    bounds: tuple[str | Bound[Any], ...]
    claim: Guarantee | None
    delta: float | None
    confidence: float
    estimates: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Name of the folder of its trials."""
        return folder_name(self.parameters)

    def answer(self, *, n_hypotheses: int, n_jobs: int | None, store: Path | None, progress: Any) -> AuditResult:
        """Runs the audit; what goes wrong is said with the point at which it did."""
        try:
            return with_estimates(self._answer(n_hypotheses, n_jobs, store, progress), self.estimates)
        except DpassayError as error:
            if self.parameters:
                error.add_note(f"at {point_text(self.parameters)}")
            raise

    @abstractmethod
    def _answer(self, n_hypotheses: int, n_jobs: int | None, store: Path | None, progress: Any) -> AuditResult:
        """The audit itself."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairTask(Task):
    """Runs on both datasets of a pair.

    Args:
        neighbours, attack, trials, stop: as for `dpassay.audit.audit`.
    """

    neighbours: Neighbours | None
    attack: str | Attack
    trials: int
    stop: str | None = None

    def _answer(self, n_hypotheses: int, n_jobs: int | None, store: Path | None, progress: Any) -> AuditResult:
        return audit(
            self.mechanism,
            self.neighbours,
            attack=self.attack,
            bound=self.bounds,
            trials=self.trials,
            delta=self.delta,
            confidence=self.confidence,
            claim=self.claim,
            stop=self.stop,
            n_hypotheses=n_hypotheses,
            seed=self.seed,
            n_jobs=n_jobs,
            store=store,
            progress=progress,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class OneRunTask(Task):
    """Runs with many canaries, and reference runs.

    Args:
        canaries: examples, or gradient records, for each of which a coin is tossed.
        records: those that are in every run.
        attack: on examples; gradients are told apart by the likelihood ratio of every step.
        n_runs, n_references: as for `dpassay.audit.games.membership_game`.
    """

    canaries: TrainingData
    records: TrainingData
    attack: MembershipAttack | None
    n_runs: int
    n_references: int

    def _answer(self, n_hypotheses: int, n_jobs: int | None, store: Path | None, progress: Any) -> AuditResult:
        return audit_scores(
            self.play(n_jobs=n_jobs, store=store, progress=progress),
            mechanism=self.mechanism,
            attack="likelihood-ratio" if self.attack is None else self.attack.name,
            bound=self.bounds,
            delta=self.delta,
            confidence=self.confidence,
            claim=self.claim,
            n_hypotheses=n_hypotheses,
            seed=self.seed,
        )

    def play(
        self, *, n_jobs: int | None = 1, store: Path | None = None, progress: bool | Reporter = False
    ) -> BitScores:
        """Coins, runs, scores; the options are those of `dpassay.audit.games.membership_game`."""
        gradients = self.canaries.gradients
        if gradients is not None:
            return gradient_canary_game(
                self.mechanism,
                gradients,
                records=self.records,
                n_runs=self.n_runs,
                seed=self.seed,
                n_jobs=n_jobs,
                store=store,
                progress=progress,
            )
        learner: Any = self.mechanism
        return membership_game(
            learner,
            self.canaries,
            records=self.records if len(self.records) else None,
            n_runs=self.n_runs,
            attack=self.attack or "loss",
            n_references=self.n_references,
            seed=self.seed,
            n_jobs=n_jobs,
            store=store,
            progress=progress,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ReconstructionTask(Task):
    """Rounds in which the category of one record is drawn, and guessed.

    Args:
        dataset, values, record, n_rounds: as for `dpassay.audit.games.reconstruction_game`.
    """

    dataset: Dataset
    values: Sequence[Any]
    record: int
    n_rounds: int

    def _answer(self, n_hypotheses: int, n_jobs: int | None, store: Path | None, progress: Any) -> AuditResult:
        played = reconstruction_game(
            self.mechanism,
            self.dataset,
            self.values,
            record=self.record,
            n_rounds=self.n_rounds,
            seed=self.seed,
            n_jobs=n_jobs,
            store=store,
            progress=progress,
        )
        return audit_scores(
            played,
            mechanism=self.mechanism,
            attack=GUESS,
            bound=self.bounds,
            delta=self.delta,
            confidence=self.confidence,
            claim=self.claim,
            n_hypotheses=n_hypotheses,
            seed=self.seed,
        )
