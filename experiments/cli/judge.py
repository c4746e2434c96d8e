"""`dpassay judge`: test of a claim with scores in a file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...audit.evidence.scores import BitScores, PairScores, Successes
from ...audit.evidence.verdict import Verdict
from ...audit.games.coins import Coins
from ...audit.games.external_scores import audit_scores
from ...audit.results.audit_result import AuditResult
from ...audit.results.text import what_to_change
from ...mechanisms.core import ParameterError, confidence_text
from ..data.score_files import Evidence, read_by_id, read_evidence
from .check import Claimed

if TYPE_CHECKING:
    import pandas as pd

    from ..runs.writing import ConfigRun

CONFIDENCE: dict[type[Evidence], float] = {PairScores: 1 - 1e-6, BitScores: 0.95, Successes: 1 - 1e-6}
"""Default confidence. With m bits, half of them guessed, a p-value at delta is about 2 delta or more for every m: at a
confidence of 1 - 1e-6 and delta 1e-5 no number of canaries can refute a claim."""


@dataclass(frozen=True)
class Judgement:
    """Scores in a file and the claim to test, as given on the command line.

    Args:
        file: file in a format of `read_evidence`.
        epsilon, delta: the claim.
        prior_success: success probability of a guess without the output; only for successes.
        relation, seed: as for `dpassay.audit.audit_scores`.
        bounds: names of bounds; empty for "auto".
        stated_confidence: confidence of the bound; None for the default of the kind of evidence, `CONFIDENCE`.
        coins: file of coins, for a file with the ids of canaries; None for other files.
        looks: number of audits that are planned with these coins.
        tossed: the statement that an independent fair coin decided each bit of the file.
    """

    file: Path
    epsilon: float
    delta: float
    prior_success: float | None
    relation: str | None
    bounds: tuple[str, ...]
    stated_confidence: float | None
    seed: int
    coins: Path | None = None
    looks: int = 1
    tossed: bool = False

    @cached_property
    def evidence(self) -> Evidence:
        """Evidence in the file."""
        if self.coins is None:
            return read_evidence(self.file, prior_success=self.prior_success)
        return self._tossed.evidence(
            self._by_id.get("scores"), losses=self._by_id.get("losses"), relation=self._relation_of_coins
        )

    @cached_property
    def _tossed(self) -> Coins:
        if self.prior_success is not None:
            raise ParameterError("--prior-success is not allowed with --coins: a coin is guessed with probability 1/2.")
        assert self.coins is not None
        return Coins.load(self.coins)

    @cached_property
    def _by_id(self) -> dict[str, pd.Series]:
        """Scores by id, as the argument `scores` or `losses` of `Coins`."""
        return read_by_id(self.file)

    @property
    def _relation_of_coins(self) -> str:
        return self.relation or "add_remove"

    @property
    def confidence(self) -> float:
        """Confidence of the bound."""
        return CONFIDENCE[type(self.evidence)] if self.stated_confidence is None else self.stated_confidence

    @cached_property
    def result(self) -> AuditResult:
        """Result of the audit."""
        claim, bound = Claimed(self.epsilon, self.delta).guarantee(), self.bounds or "auto"
        if self.coins is not None:
            assert claim is not None
            return self._tossed.audit(
                self._by_id.get("scores"),
                losses=self._by_id.get("losses"),
                claim=claim,
                delta=self.delta,
                bound=bound,
                relation=self._relation_of_coins,
                confidence=self.confidence,
                looks=self.looks,
                source=self.file.name,
            )
        if self.looks != 1:
            raise ParameterError("--looks is for --coins: it counts the audits with the same coins.", argument="looks")
        if self.tossed and not isinstance(self.evidence, BitScores):
            raise ParameterError("--tossed is for the column bit: it states that coins decided.", argument="tossed")
        return audit_scores(
            self.evidence,
            claim=claim,
            delta=self.delta,
            bound=bound,
            relation=self.relation,
            confidence=self.confidence,
            attack=f"scores in {self.file.name}",
            seed=self.seed,
            tossed=self.tossed,
        )

    @property
    def command(self) -> str:
        """Command line that reproduces the numbers."""
        options = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "coins": self.coins,
            "looks": None if self.looks == 1 else self.looks,
            "prior-success": self.prior_success,
            "relation": self.relation,
            "confidence": self.confidence,
            "seed": self.seed,
        }
        words = [word for key, value in options.items() if value is not None for word in (f"--{key}", str(value))]
        words += [*(["--tossed"] * self.tossed), *(word for name in self.bounds for word in ("--bound", name))]
        return shlex.join(["dpassay", "judge", self.file.name, *words])

    def keep(self, out: Path) -> ConfigRun:
        """Write numbers, figures and report into a directory."""
        from ..runs.kept import keep

        request = {"command": self.command, "scores": self.result.fingerprint}
        return keep(self.result, out, name=self.file.name, request=request, command=self.command)


def plan(n_canaries: int, epsilon: float, delta: float) -> str:
    """Return sentences on what canaries can show about a claim, with the default bounds and confidence of bits.

    Args:
        n_canaries: number of coins, >= 1.
        epsilon, delta: the claim.
    """
    bits = np.arange(n_canaries) % 2 == 0
    perfect = audit_scores(
        BitScores(bits, bits.astype(np.float64)),
        claim=Claimed(epsilon, delta).guarantee(),
        delta=delta,
        confidence=CONFIDENCE[BitScores],
        tossed=True,
    )
    claim, level = f"epsilon {epsilon:g} at delta {delta:g}", confidence_text(CONFIDENCE[BitScores])
    if perfect.verdict is Verdict.UNDERPOWERED:
        return (
            f"{n_canaries:,} canaries cannot contradict {claim}, whatever their scores are: the largest bound, with "
            f"every coin guessed, is {perfect.ceiling:.3g} ({level} confidence). {what_to_change(perfect)}"
        )
    return (
        f"{n_canaries:,} canaries can contradict {claim}: a perfect attack detects a true epsilon of "
        f"{perfect.detectable:.3g} 9 times in 10, and the largest bound is {perfect.ceiling:.3g} ({level} confidence)."
    )
