"""Audit of an assistant from its answers about canary documents, in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ...audit.games.coins import Coins
from ...audit.metrics.assistants import PILOT, audit_answers, check_plan
from ...audit.results.audit_result import AuditResult
from ...audit.trials.answers import Answers
from ...audit.trials.options import RunOptions
from ..data.canary_files import load_canaries
from .base import HERE, FileTask, stated
from .judgement import claimed


@dataclass(frozen=True, eq=False, kw_only=True)
class AssistantAudit(FileTask):
    """Canary documents, coins and answers in files, and the claim that they test: `dpassay ask`.

    Args:
        file: canary documents, see `load_canaries`.
        coins: file of the coins of their units.
        answers: file of the answers.
        epsilon, delta: the claim.
        accounts, signal, pilot, confidence, looks: see `audit_assistant`.

    Raises:
        ParameterError: an invalid claim.
    """

    command: ClassVar[str] = "ask"

    file: Path
    coins: Path
    answers: Path
    epsilon: float
    delta: float = stated(0.0)
    accounts: int = 1
    signal: str | None = None
    pilot: float = stated(PILOT)
    confidence: float = stated(0.95)
    looks: int = 1

    def __post_init__(self) -> None:
        claimed(self.epsilon, self.delta)

    def run(self, options: RunOptions = HERE) -> dict[str, Any]:
        """Read the files; return them as arguments of `audit_answers`."""
        canaries, coins = load_canaries(self.file), Coins.load(self.coins)
        check_plan(canaries, coins, self.signal, self.pilot)
        answers = Answers(canaries.digest, coins.digest, self.answers)
        return {"answers": answers, "canaries": canaries, "coins": coins}

    def answer(self, evidence: Mapping[str, Any]) -> AuditResult:
        """Compute the bound, and compare it with the claim."""
        return audit_answers(
            **evidence,
            claim=claimed(self.epsilon, self.delta),
            delta=self.delta,
            accounts=self.accounts,
            signal=self.signal,
            pilot=self.pilot,
            confidence=self.confidence,
            looks=self.looks,
        )

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of the scores and the claim, of the canaries, and of the coins."""
        answers = self.evidence["answers"]
        return {"scores": self.result.fingerprint, "canaries": answers.canaries, "coins": answers.coins}


__all__ = ["AssistantAudit"]
