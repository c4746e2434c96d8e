"""The result of audits on hostile data: one row for each pair, and the audit of the reported pair."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

from ..bounds.base import LedgerEntry, LowerBound
from ..evidence.verdict import Verdict
from ..results.audit_result import AuditResult
from ..results.saved import Saved, require, within
from ..results.withheld import without_values
from .hostile.values import FAMILIES


class PairOutcome(StrEnum):
    """What became of a pair: the verdict of its audit, or why it has none."""

    VIOLATION = "violation"
    CONSISTENT = "consistent"
    UNDERPOWERED = "underpowered"
    DEPENDENT = "dependent"
    REFUSED = "refused"
    """The mechanism refuses the datasets, or the function raises the same on both."""
    NO_ANSWER = "no answer"
    """A call took longer than the time limit."""
    FAILED = "not run"
    """The runs could not be made or read."""
    SKIPPED = "not needed"
    """Not audited, because enough pairs are refuted."""

    @property
    def audited(self) -> bool:
        """Whether there is an audit of the pair."""
        return self.value in set(Verdict)


@dataclass(frozen=True)
class StressedPair:
    """A pair of hostile data, and what became of it.

    Args:
        family: kind of data, a name in `dpassay.audit.search.hostile.FAMILIES`.
        words: the pair in words, without values of the data.
        relation: of the pair.
        outcome: verdict of its audit, or why there is none.
        bound: lower bound on epsilon, valid for all pairs together; 0 without an audit.
        detectable: smallest true epsilon that a perfect attack detects 9 times in 10 on this pair; inf for none.
        trials: planned runs per side, pilot included.
        reason: why there is no verdict, in words; may hold values of the data.
        d0, d1: the datasets as JSON, as `dpassay check --d0 --d1` accepts them; "" where they have no such form, are
            long, or where the function was called with other bounds.
        code0, code1: the datasets as Python expressions; "" where they are long or have no such form.
        bounds: argument `bounds` of the function on this pair, in Python; "" if it has none.
    """

    family: str
    words: str
    relation: str
    outcome: PairOutcome
    bound: float = 0.0
    detectable: float = math.inf
    trials: int = 0
    reason: str = ""
    d0: str = ""
    d1: str = ""
    code0: str = ""
    code1: str = ""
    bounds: str = ""

    @property
    def length(self) -> float:
        """Number of characters of the datasets as Python expressions; inf where there are none."""
        return len(self.code0) + len(self.code1) if self.code0 and self.code1 else math.inf


@dataclass(frozen=True)
class StressResult(Saved):
    """All pairs of hostile data, and the audit of the reported one.

    The reported pair is the refuted one whose datasets are the shortest; without a refuted pair, the first audited one
    whose trials are not independent, else the first audited one.

    Args:
        pairs: in the order in which they were audited.
        reported: the audit of the reported pair, at the confidence of one pair.
        index: place of the reported pair among the pairs.
        confidence: of all verdicts together.
        n_tests: number of pairs among which the significance is divided.
        relations: relations of the pairs; several where none was stated.
        seed: root of all seeds.
        left_out: number of pairs that were not made, by the reason.
        target: the words of the command line that name the audited object; "" outside of it.
        claim_options: the claim as options of the command line; "" where it has no such form.
        claim_code: the claim as a Python expression.
    """

    FORMAT: ClassVar[str] = "dpassay.stress-result"
    VERSION: ClassVar[int] = 1
    DESCRIBED_BY: ClassVar[str] = "audit.search.stress_text"

    pairs: tuple[StressedPair, ...]
    reported: AuditResult
    index: int
    confidence: float
    n_tests: int
    relations: tuple[str, ...]
    seed: int
    left_out: dict[str, int] = field(default_factory=dict)
    target: str = ""
    claim_options: str = ""
    claim_code: str = ""

    @property
    def verdict(self) -> Verdict:
        """Violation if a pair is refuted; else dependent if the trials of one are; else that of the reported pair."""
        return self.reported.verdict

    @property
    def bound(self) -> LowerBound:
        """Bound on the reported pair; valid at the confidence of the whole."""
        return self.reported.bound

    @property
    def pair(self) -> StressedPair:
        """The reported pair."""
        return self.pairs[self.index]

    def with_outcome(self, outcome: PairOutcome) -> list[StressedPair]:
        """Return the pairs with this outcome."""
        return [pair for pair in self.pairs if pair.outcome is outcome]

    def refuted_for(self, relation: str) -> bool:
        """Return whether a pair of this relation is refuted."""
        return any(pair.relation == relation for pair in self.with_outcome(PairOutcome.VIOLATION))

    def without_values(self) -> StressResult:
        """Return the result without datasets and outputs, for build servers."""
        pairs = tuple(replace(pair, reason="", d0="", d1="", code0="", code1="", bounds="") for pair in self.pairs)
        return replace(self, pairs=pairs, reported=without_values(self.reported))

    def check(self, at: str = "") -> None:
        """Raise `ResultError` if the reported pair is not the one that the rule selects, or numbers contradict."""
        self.reported.check(f"{at}reported")
        within(0.0, 1.0, at, confidence=self.confidence)
        within(1, math.inf, at, n_tests=self.n_tests)
        require(0 <= self.index < len(self.pairs), at, "there is no pair at index")
        for place, pair in enumerate(self.pairs):
            inside = f"{at}pairs[{place}]"
            require(pair.family in FAMILIES, inside, f"the kind of data {pair.family!r} is not known")
            within(0.0, math.inf, inside, bound=pair.bound, detectable=pair.detectable, trials=pair.trials)
        verdict = self.reported.verdict.value
        require(self.pair.outcome.value == verdict, at, f"the reported audit is {verdict}, and its row is not")
        found = {pair.outcome.value for pair in self.pairs}
        worse = {"violation", "dependent"} & found if verdict not in ("violation", "dependent") else set()
        worse |= {"violation"} & found if verdict == "dependent" else set()
        require(not worse, at, f"a pair is {', '.join(sorted(worse))}, and the reported one is {verdict}")


def reported_index(pairs: Iterable[StressedPair]) -> int | None:
    """Return the index of the pair to report; None if no pair was audited."""
    order = (PairOutcome.VIOLATION, PairOutcome.DEPENDENT, PairOutcome.CONSISTENT, PairOutcome.UNDERPOWERED)
    ranked = [(order.index(p.outcome), _shortest(p), place) for place, p in enumerate(pairs) if p.outcome.audited]
    return min(ranked)[-1] if ranked else None


def _shortest(pair: StressedPair) -> tuple[bool, float]:
    """Return the rank of a refuted pair: those of the command line first, then the shortest; other pairs are equal."""
    return (not pair.d0, pair.length) if pair.outcome is PairOutcome.VIOLATION else (False, 0.0)


def with_pairs(result: AuditResult, index: int, n_tests: int, significance: float, total: str) -> AuditResult:
    """Return the audit of a pair with the division of the level in its ledger."""
    entry = LedgerEntry("pair", f"{index + 1} of {n_tests} pairs with hostile data, fixed before their runs", total)
    others = tuple(entry for entry in result.ledger if entry.what != "pair")
    return replace(result, ledger=(entry, *others))
