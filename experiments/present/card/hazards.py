"""The 24 hazards of NIST SP 800-226, in the order of its draft: how to see each here, and what a run covers of them.

    HAZARDS              number, name, command, cure; `docs/explanation/hazards.md` is written from it
    coverage(audits)     what audits cover of each hazard
    of_metrics(result)   what membership metrics cover

A run covers a hazard in one of five ways. "tested": the run is a statistical test of it. "in part": of a part of it,
which the text names. "stated": the run tests nothing, but its card states the fact that the guideline asks for. "not
covered" and "out of scope" are what they say. No status is a judgement that a deployment is safe.

Source: Near, Darais, Lefkovitz, Howarth: Guidelines for Evaluating Differential Privacy Guarantees, NIST SP 800-226
(draft 2023, final 2025). Names of hazards are paraphrased.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....audit.evidence.game import Game
from ....audit.metrics.membership.result import MembershipResult
from ....audit.results.audit_result import AuditResult
from ....mechanisms.core import number, percent, plural

TESTED, IN_PART, STATED, NOT_COVERED, OUT_OF_SCOPE = "tested", "in part", "stated", "not covered", "out of scope"
SEEN_PROBABILITY = 0.9
"""Probability with which an event of `_rarest` is seen in the runs."""


@dataclass(frozen=True)
class Hazard:
    """One hazard.

    Args:
        number: place in the draft, from 1.
        name: the hazard, in a few words.
        command: command of dpassay that shows it; empty where it is out of scope.
        see: what to look at in the output.
        cure: what prevents it; for a hazard that is out of scope, the reason.
        partly: True if the command shows a part of the hazard only.
    """

    number: int
    name: str
    command: str
    see: str
    cure: str
    partly: bool = False

    @property
    def in_scope(self) -> bool:
        """Whether dpassay has a command for it."""
        return bool(self.command)


@dataclass(frozen=True)
class Covered:
    """What a run covers of one hazard.

    Args:
        number, name: the hazard.
        status: "tested", "in part", "stated", "not covered" or "out of scope".
        how: one sentence; for a hazard that is not covered, the command that shows it.
    """

    number: int
    name: str
    status: str
    how: str


HAZARDS = (
    Hazard(1, "a large epsilon protects little", "dpassay run reconstruction-k-ary",
           "the share of secrets that are guessed, next to its ceiling, along epsilon",
           "choose epsilon by what an attacker may gain: [limits](limits.md) converts it to rates"),
    Hazard(2, "delta allows a catastrophic failure", "dpassay run statistics",
           "the row `histogram, unique record`: a record appears with probability delta",
           "delta far below 1/n; or a pure claim; the audit tests the whole curve, not one delta"),
    Hazard(3, "differences outside the privacy unit are not protected", "dpassay demo top-down",
           "the leak through invariants, which no claim covers",
           "release no exact quantity beside the noisy ones, and state those that are exact", True),
    Hazard(4, "events are protected, not individuals", "dpassay run composed",
           "the row `three records a user`: group privacy, for users who own several records",
           "bound the records of a user and claim for users: `user-level`, [federated](../mechanisms/federated.md)"),
    Hazard(5, "guarantees of different delta are not comparable", "dpassay run gaussian-calibrations",
           "the noise of one epsilon differs between the deltas 0.001, 0.01 and 0.1",
           "compare whole curves: `guarantee().epsilon(delta)` at the same delta, or `tradeoff(fpr)`"),
    Hazard(6, "guarantees of different units are not comparable", "dpassay demo add-or-replace",
           "the epsilon of one relation is twice that of the other",
           "state the relation; dpassay refuses a claim and a pair of different relations"),
    Hazard(7, "a large delta in a conversion misleads", "dpassay run gaussian-calibrations",
           "claims at delta 0.1 next to those at 0.001",
           "convert at the delta that will be published, with the accountant's own curve"),
    Hazard(8, "other releases of the same data add up", "dpassay demo medical-visits",
           "two anonymous tables that identify people together",
           "one budget for all releases: [composition](bounds.md), `dpassay run laplace-composition`", True),
    Hazard(9, "custom implementations have bugs", "dpassay run bugs",
           "bugs of real software, each refuted, next to its correct twin",
           "use a vetted library, and audit your own code: `dpassay check FILE.py:release`"),
    Hazard(10, "systemic bias: noise hurts small groups most", "dpassay demo top-down",
           "errors by level: a county of few people has the largest relative error",
           "publish errors by group; spend budget where groups are small", True),
    Hazard(11, "human bias in the choice of parameters", "", "",
           "out of scope: it is a property of a decision, not of a program; the card states what was chosen"),
    Hazard(12, "statistical bias from post-processing", "dpassay demo top-down",
           "the bias of small counties after counts are made non-negative",
           "publish the noisy counts too, or estimate from them", True),
    Hazard(13, "bounded contributions need more noise", "dpassay run bugs",
           "the rows `bounds-from-data`: bounds that follow the data break the claim",
           "public bounds on values and on contributions, with noise for these bounds"),
    Hazard(14, "histogram bins taken from the data", "dpassay run bugs",
           "the rows `domain-from-data`: a bin exists only if a record is in it",
           "public bins, or a threshold with delta: `stability-histogram`"),
    Hazard(15, "machine learning memorises its training data", "dpassay run membership-purchase",
           "the members found at 1 % false alarms",
           "DP-SGD, audited: `dpassay run dp-sgd-ladder`"),
    Hazard(16, "synthetic data without differential privacy", "dpassay demo synthetic-is-not-private",
           "rows that copy people, and a similarity metric that misses the leak",
           "a generator from noisy marginals: `dpassay run synthetic-ladder`"),
    Hazard(17, "deep generators with differential privacy are poor", "dpassay demo five-generators",
           "errors of five generators from the same noisy marginals; no deep network is among them",
           "measure marginals and generate from them: MST, AIM", True),
    Hazard(18, "unstructured data have no natural unit", "dpassay run federated",
           "the unit is a client, whatever data a client has; texts: [extraction](../attacks/extraction.md)",
           "define the unit first: a person, an account, a device", True),
    Hazard(19, "interactive queries: a budget, and a malicious analyst", "dpassay demo column-from-counts",
           "a secret column from many noisy counts, and the budget that prevents it",
           "one budget for each dataset, enforced by the system and shared by all analysts"),
    Hazard(20, "the trust model must hold", "dpassay run trust-models",
           "one count with a curator, without one, and with a shuffler",
           "the local model where no one is trusted; it costs accuracy", True),
    Hazard(21, "side channels: floats, timing, errors", "dpassay run bugs",
           "the rows `float-laplace`, `float-gaussian` and `loop-count`",
           "discrete or snapped noise; running time is not audited ([trust](trust.md))", True),
    Hazard(22, "data security", "", "",
           "out of scope: encryption and backups protect the data before a mechanism reads them"),
    Hazard(23, "access control", "", "",
           "out of scope: who may read the raw data is not visible in any output"),
    Hazard(24, "data collection", "", "",
           "out of scope: differential privacy does not say whether data should be collected"),
)  # fmt: skip
"""All hazards, by number."""

Finding = tuple[str, str]
"""Status and sentence."""


def coverage(audits: Sequence[AuditResult], *, unit: str = "") -> tuple[Covered, ...]:
    """Return what audits cover of each hazard.

    Args:
        audits: results of one run.
        unit: the privacy unit in words, such as "a person"; empty if the run does not state it.
    """
    found = {number_: test(audits) for number_, test in OF_AUDITS.items()} | {
        3: (STATED, f"{_unit(audits, unit)} Differences beyond this are not tested."),
        4: (STATED if unit else NOT_COVERED, f"The unit is {unit}." if unit else "The run does not state its unit."),
    }
    return tuple(_covered(hazard, found.get(hazard.number)) for hazard in HAZARDS)


def of_metrics(result: MembershipResult) -> tuple[Covered, ...]:
    """Return what the metrics of membership attacks cover of each hazard."""
    how = f"{plural(result.n_models, 'model')} and {plural(result.n_records, 'record')} were attacked; see the rates."
    return tuple(_covered(hazard, (TESTED, how) if hazard.number == 15 else None) for hazard in HAZARDS)


def _covered(hazard: Hazard, found: Finding | None) -> Covered:
    if not hazard.in_scope:
        return Covered(hazard.number, hazard.name, OUT_OF_SCOPE, _sentence(hazard.cure.partition(": ")[2]))
    status, how = found or (NOT_COVERED, f"`{hazard.command}` shows it.")
    return Covered(hazard.number, hazard.name, status, how)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _claims(audits: Sequence[AuditResult]) -> Finding:
    return (
        STATED,
        f"Claimed epsilon: {_range([a.claim for a in audits])}; the run tests it and does not judge its size.",
    )


def _failure(audits: Sequence[AuditResult]) -> Finding:
    """Return how rare an event the runs could have shown; `delta` = 0 allows no such event."""
    if all(audit.delta == 0.0 for audit in audits):
        return STATED, "Delta is 0: the claim allows no such failure."
    pairs = [audit for audit in audits if audit.game is Game.DISTINGUISHING and audit.delta > 0.0]
    if not pairs:
        return STATED, f"Delta: {_range([audit.delta for audit in audits])}."
    rarest = _rarest(min(audit.trials.evaluation for audit in pairs))
    deltas = _range([audit.delta for audit in pairs])
    return IN_PART, (
        f"Delta: {deltas}. A failure of probability {number(rarest, 2)} or more occurred in the runs with probability "
        f"{percent(SEEN_PROBABILITY)} at least; a rarer one may never have occurred."
    )


def _rarest(n_runs: int) -> float:
    """Return the least probability p with 1 - (1 - p)^n_runs >= SEEN_PROBABILITY.

    >>> round(_rarest(1_000), 5)
    0.0023
    """
    return -math.expm1(math.log1p(-SEEN_PROBABILITY) / n_runs)


def _deltas(audits: Sequence[AuditResult]) -> Finding:
    n = len({audit.delta for audit in audits})
    one = f"All epsilons are at delta = {number(audits[0].delta)}."
    return STATED, one if n == 1 else f"The audits have {n} deltas: compare rows of one delta only."


def _relations(audits: Sequence[AuditResult]) -> Finding:
    relations = sorted({audit.relation for audit in audits})
    compare = "" if len(relations) == 1 else " Compare rows of one relation only."
    return STATED, f"Relation: {', '.join(relations)}.{compare}"


def _conversion(audits: Sequence[AuditResult]) -> Finding:
    return (
        STATED,
        f"Each claimed epsilon is read from the claimed curve at delta = {_range([a.delta for a in audits])}.",
    )


def _implementation(audits: Sequence[AuditResult]) -> Finding:
    return TESTED, "The code that ran is what was tested; another implementation of the same algorithm is not covered."


def _memorised(audits: Sequence[AuditResult]) -> Finding | None:
    if any(audit.game is Game.MEMBERSHIP for audit in audits):
        return TESTED, "Canaries in training runs were attacked."
    return None


def _floats(audits: Sequence[AuditResult]) -> Finding | None:
    if any(audit.without_low_bits is not None for audit in audits):
        return IN_PART, "Low bits of floats were attacked; timing and errors of a backend were not."
    return None


OF_AUDITS: dict[int, Callable[[Sequence[AuditResult]], Finding | None]] = {
    1: _claims,
    2: _failure,
    5: _deltas,
    6: _relations,
    7: _conversion,
    9: _implementation,
    15: _memorised,
    21: _floats,
}
"""Number of a hazard -> what audits cover of it; None where they cover nothing."""


def _unit(audits: Sequence[AuditResult], unit: str) -> str:
    relations = ", ".join(sorted({audit.relation for audit in audits}))
    return f"Datasets of a pair differ in {unit or 'one record'} ({relations})."


def _range(values: Sequence[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


__all__ = ["HAZARDS", "Covered", "Hazard", "coverage", "of_metrics"]
