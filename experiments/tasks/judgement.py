"""Test of a claim with scores in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...audit.bounds.catalogue import AUTO, BoundChoice, build
from ...audit.evidence.scores import BitScores, PairScores, Successes
from ...audit.evidence.verdict import Verdict
from ...audit.games.coins import Coins
from ...audit.games.external_scores import audit_scores
from ...audit.power.remedies import with_pilot
from ...audit.results.audit_result import AuditResult
from ...audit.results.text import what_to_change
from ...audit.trials.options import RunOptions
from ...mechanisms.accounting import ApproximateDP, PureDP
from ...mechanisms.core import Guarantee, ParameterError, confidence_text, number
from ..data.score_files import Evidence, read_by_id, read_evidence, unit_of
from .base import HERE, CommandTask, FileTask, stated

CONFIDENCE: dict[type[Evidence], float] = {PairScores: 1 - 1e-6, BitScores: 0.95, Successes: 1 - 1e-6}
"""Default confidence. With m bits, half of them guessed, a p-value at delta is about 2 delta or more for every m: at a
confidence of 1 - 1e-6 and delta 1e-5 no number of canaries can refute a claim."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgement(FileTask):
    """Test of a claim with scores in a file: `dpassay judge`.

    Args:
        file: file in a format of `read_evidence`; with coins, of `read_by_id`.
        epsilon, delta: the claim.
        coins: file of coins, for a file with the ids of canaries; None for other files.
        looks: number of audits that are planned with these coins.
        prior_success: success probability of a guess without the output; only for successes.
        relation, seed: as for `dpassay.audit.audit_scores`.
        confidence: of the bound; None for the default of the kind of evidence, `CONFIDENCE`.
        tossed: the statement that an independent fair coin decided each bit of the file.
        bound: names of bounds; empty for "auto".
        negatives: share of the guesses of canaries that are "out"; None for the default of the bounds.

    Raises:
        ParameterError: an invalid claim, or options that do not fit.
    """

    command: ClassVar[str] = "judge"

    file: Path
    epsilon: float
    delta: float = stated(0.0)
    coins: Path | None = None
    looks: int = 1
    prior_success: float | None = None
    relation: str | None = None
    confidence: float | None = stated(None)
    seed: int = stated(0)
    tossed: bool = False
    bound: tuple[str, ...] = ()
    negatives: float | None = None

    def __post_init__(self) -> None:
        claimed(self.epsilon, self.delta)
        if self.coins is None and self.looks != 1:
            raise ParameterError("--looks is for --coins: it counts the audits with the same coins.", argument="looks")
        if self.coins is not None and self.prior_success is not None:
            raise ParameterError("--prior-success is not allowed with --coins: a coin is guessed with probability 1/2.")

    def run(self, options: RunOptions = HERE) -> Any:
        """Read the evidence; with coins, the coins and the scores by id."""
        if self.coins is not None:
            coins = Coins.load(self.coins)
            return coins, read_by_id(self.file, digest=coins.digest)
        return read_evidence(self.file, prior_success=self.prior_success)

    def answer(self, evidence: Any) -> AuditResult:
        """Compute the bound, and compare it with the claim."""
        options: dict[str, Any] = {
            "claim": claimed(self.epsilon, self.delta),
            "delta": self.delta,
            "bound": bounds_of_bits(self.bound, self.negatives),
            "confidence": self._confidence(evidence),
        }
        if self.coins is not None:
            coins, by_id = evidence
            options |= {"relation": self.relation or "add_remove", "looks": self.looks, "source": self.file.name}
            result: AuditResult = coins.audit(**by_id, **options)
            return result
        if self.tossed and not isinstance(evidence, BitScores):
            raise ParameterError("--tossed is for the column bit: it states that coins decided.", argument="tossed")
        if self.negatives is not None and not isinstance(evidence, BitScores):
            raise ParameterError("--negatives is for canaries, whose coins are guessed.", argument="negatives")
        name = f"scores in {self.file.name}"
        return audit_scores(
            evidence, relation=self.relation, attack=name, seed=self.seed, tossed=self.tossed, **options
        )

    def _confidence(self, evidence: Any) -> float:
        kind = BitScores if self.coins is not None else type(evidence)
        return CONFIDENCE[kind] if self.confidence is None else self.confidence

    @property
    def stated(self) -> dict[str, Any]:
        """Values of the options, with the confidence that was used."""
        if self.confidence is not None:
            return super().stated
        return super().stated | {"confidence": self._confidence(self.evidence)}

    @property
    def privacy_unit(self) -> str:
        """Privacy unit that the file states."""
        return unit_of(self.file)

    @property
    def digests(self) -> Mapping[str, str]:
        """Digest of the scores and the claim."""
        return {"scores": self.result.fingerprint}


def claimed(epsilon: float, delta: float) -> Guarantee:
    """Return (epsilon, delta)-DP, pure if delta is 0."""
    return ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)


def bounds_of_bits(names: tuple[str, ...], negatives: float | None) -> BoundChoice:
    """Return bounds by name, "auto" for none; with the share of the guesses that are "out", if it is given."""
    if negatives is None:
        return names or "auto"
    return [build(name, negatives=negatives) for name in names or AUTO[BitScores]]


def require_coins(task: CommandTask, audited: Iterable[str], before: str) -> None:
    """Raise `ParameterError` for options that need --coins, or for coins without a claim.

    Args:
        task: with the fields `coins` and `epsilon`.
        audited: names of the options that need coins.
        before: what the coins must be tossed before.
    """
    options = task.stated
    if "coins" in options and "epsilon" not in options:
        raise ParameterError("--epsilon is required with --coins: the claim under test.", argument="--epsilon")
    given = [f"--{name}" for name in audited if name in options]
    if given and "coins" not in options:
        raise ParameterError(
            f"{', '.join(given)} need --coins: without coins no epsilon follows from these scores. Toss them before "
            f"{before} with `dpassay coins`.",
            argument=given[0],
        )


def planned_for(n_units: int, epsilon: float | None, delta: float, *, out: Path, force: bool, **of: Any) -> str:
    """Return what so many coins can show of a claim, before they are tossed; empty without a claim.

    Raises:
        ParameterError: nothing, unless with `force`.
    """
    if epsilon is None:
        return ""
    able, shown = shown_by_canaries(n_units, epsilon, delta, **of)
    if not able and not force:
        who = of.get("who", "canaries")
        advice = f"No coin is tossed, and {out} is not written. Change the number of {who}, or add --force."
        raise ParameterError(f"{shown} {advice}", argument="epsilon", advice=advice)
    return f"{shown}\n\n"


def shown_by_canaries(
    n_canaries: int,
    epsilon: float,
    delta: float,
    *,
    who: str = "canaries",
    negatives: float | None = None,
    pilot: float = 0.0,
) -> tuple[bool, str]:
    """Return whether canaries can contradict a claim, with the default confidence of bits, and sentences.

    Args:
        n_canaries: number of coins, >= 1.
        epsilon, delta: the claim.
        who: the canaries in a word.
        negatives: see `Judgement`.
        pilot: share of the canaries that are the pilot of the attack, and not counted.
    """
    n_counted = n_canaries - round(pilot * n_canaries)
    bits = np.arange(n_counted) % 2 == 0
    perfect = audit_scores(
        BitScores(bits, bits.astype(np.float64)),
        claim=claimed(epsilon, delta),
        delta=delta,
        confidence=CONFIDENCE[BitScores],
        bound=bounds_of_bits((), negatives),
        tossed=True,
    )
    perfect = replace(perfect, remedies=with_pilot(perfect.remedies, pilot))
    claim, level = f"epsilon {number(epsilon)} at delta {number(delta)}", confidence_text(CONFIDENCE[BitScores])
    subject = f"{n_canaries:,} {who}{f', {n_counted:,} of them without the pilot,' if n_counted < n_canaries else ''}"
    if perfect.verdict is Verdict.UNDERPOWERED:
        return False, (
            f"{subject} cannot contradict {claim}, whatever their scores are: the largest bound, with "
            f"every coin guessed, is {number(perfect.ceiling)} ({level} confidence). {what_to_change(perfect)}"
        )
    return True, (
        f"{subject} can contradict {claim}: a perfect attack detects a true epsilon of "
        f"{number(perfect.detectable)} 9 times in 10, and the largest bound is {number(perfect.ceiling)} ({level} "
        "confidence)."
    )
