"""Tested claims of a result, in the one form that comparisons and build servers read.

    audit, sweep or session of pytest -> CheckedClaims, one `CheckedClaim` for each audit

`CheckedClaims` of a session of pytest are saved as its baseline; single audits and sweeps have their own files.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ...audit.evidence.verdict import Verdict, is_weak
from ...audit.results.audit_result import AuditResult
from ...audit.results.result_text import Tone, tone_of
from ...audit.results.saved import Saved, require, within
from ...audit.search.stress_result import StressResult
from ..present.results.parameters import distinct_texts
from ..present.results.sweep import SweepResult

AUDIT, SWEEP, SESSION = "audit", "sweep", "session"
"""Sources of tested claims: one audit, a sweep of a configuration, a session of pytest."""
WEAK = ", weak"
"""Addition to a verdict that would have found only an epsilon far above the claim."""


@dataclass(frozen=True)
class CheckedClaim:
    """One tested claim: the statement, the design of its trials, and the outcome.

    Args:
        name: name of the audit, unique in its result.
        mechanism, attack: as in `AuditResult`.
        claim, claim_name: claimed epsilon at `delta`, and the guarantee that gives it.
        delta, relation, confidence: of the statement.
        bound, method: the largest lower bound on epsilon, and the name of its method.
        trials: runs per side, pilot included.
        ceiling, detectable: largest possible bound, and the minimum detectable epsilon at power 90 %; inf for none.
        p_value: against the claim, corrected for the number of audits in a sweep.
        verdict: corrected for the number of audits in a sweep.
        expected: whether a test expects the violation, by `pytest.raises`.
    """

    name: str
    mechanism: str
    attack: str
    claim: float
    claim_name: str
    delta: float
    relation: str
    confidence: float
    bound: float
    method: str
    trials: int
    ceiling: float
    detectable: float
    p_value: float
    verdict: Verdict
    expected: bool = False

    @property
    def tone(self) -> Tone:
        """The verdict, or weak for a consistent one with little power."""
        return tone_of(self.verdict, weak=is_weak(self.verdict, self.detectable, self.claim))

    @property
    def outcome(self) -> str:
        """The verdict in lower case: "violation", "consistent", "consistent, weak", ..."""
        return f"{self.verdict.value}{WEAK if self.tone is Tone.WEAK else ''}"


@dataclass(frozen=True)
class CheckedClaims(Saved):
    """All tested claims of a result.

    Args:
        title: name of the audit, the experiment or the session.
        source: `AUDIT`, `SWEEP` or `SESSION`.
        claims: in the order of the result.
    """

    FORMAT: ClassVar[str] = "dpassay.checked-claims"
    VERSION: ClassVar[int] = 1
    DESCRIBED_BY: ClassVar[str] = "experiments.ci.text"

    title: str
    source: str
    claims: tuple[CheckedClaim, ...]

    def check(self, at: str = "") -> None:
        """Raise `ResultError` for a name that occurs twice, or a number out of range."""
        require(self.source in (AUDIT, SWEEP, SESSION), at, f"the source {self.source!r} is not known")
        names = Counter(claim.name for claim in self.claims)
        for place, claim in enumerate(self.claims):
            inside = f"{at}claims[{place}]"
            require(names[claim.name] == 1, inside, f"the name {claim.name!r} occurs twice")
            rates = {"delta": claim.delta, "confidence": claim.confidence, "p_value": claim.p_value}
            within(0.0, 1.0, inside, **rates)
            sizes = {"claim": claim.claim, "bound": claim.bound, "ceiling": claim.ceiling}
            within(0.0, math.inf, inside, **sizes, detectable=claim.detectable, trials=claim.trials)

    @property
    def verdict(self) -> Verdict:
        """Most severe verdict; violations that a test expects do not count. Consistent without a claim."""
        found = {claim.verdict for claim in self.claims if not claim.expected}
        by_severity = (Verdict.VIOLATION, Verdict.DEPENDENT, Verdict.UNDERPOWERED)
        return next((verdict for verdict in by_severity if verdict in found), Verdict.CONSISTENT)

    @property
    def tone(self) -> Tone:
        """The verdict, or weak for a consistent one with a weak claim."""
        return tone_of(self.verdict, weak=any(claim.tone is Tone.WEAK for claim in self.claims if not claim.expected))

    @property
    def outcome(self) -> str:
        """The verdict in lower case, as that of a claim."""
        return f"{self.verdict.value}{WEAK if self.tone is Tone.WEAK else ''}"


def claims_of(result: AuditResult | StressResult | SweepResult) -> CheckedClaims:
    """Return the tested claims of an audit, or of all audits of a sweep with their corrected verdicts.

    Audits on hostile data test one claim: it is that of the reported pair.
    """
    if isinstance(result, StressResult):
        result = result.reported
    if isinstance(result, AuditResult):
        only = _checked_claim(result.mechanism, result)
        return CheckedClaims(result.mechanism, AUDIT, (only,))
    names = _distinct(distinct_texts([point.parameters for point in result.points]), result.name)
    claims = [
        _checked_claim(name, point.result, p_value=point.p_adjusted, verdict=point.verdict)
        for name, point in zip(names, result.points, strict=True)
    ]
    return CheckedClaims(result.name, SWEEP, tuple(claims))


def _checked_claim(
    name: str, result: AuditResult, *, p_value: float | None = None, verdict: Verdict | None = None
) -> CheckedClaim:
    """Return the tested claim of one audit; `p_value` and `verdict` are corrected ones, None for its own."""
    return CheckedClaim(
        name=name,
        mechanism=result.mechanism,
        attack=result.attack,
        claim=result.claim,
        claim_name=result.claim_name,
        delta=result.delta,
        relation=str(result.relation),
        confidence=result.confidence,
        bound=result.refuting_bound.epsilon,
        method=result.refuting_bound.method,
        trials=result.trials.per_side,
        ceiling=result.ceiling,
        detectable=result.detectable,
        p_value=result.p_value if p_value is None else p_value,
        verdict=result.verdict if verdict is None else verdict,
    )


def session_name(test: str, call: int) -> str:
    """Return the name of a check of pytest: the id of its test, and its number from the second call on."""
    return test if call == 1 else f"{test} (check {call})"


def claims_of_session(checks: Iterable[Mapping[str, Any]]) -> CheckedClaims:
    """Return the tested claims of a session of pytest, from the records of its checks."""
    stored = [field.name for field in fields(CheckedClaim) if field.name not in ("name", "verdict", "expected")]
    claims = [
        CheckedClaim(
            name=session_name(check["test"], check["call"]),
            verdict=Verdict(check["verdict"]),
            expected=check.get("expected", False),
            **{key: check[key] for key in stored},
        )
        for check in checks
    ]
    return CheckedClaims("pytest", SESSION, tuple(sorted(claims, key=lambda claim: claim.name)))


def _distinct(names: Sequence[str], otherwise: str) -> list[str]:
    """Return the names, `otherwise` for an empty one, with a number where one occurs again."""
    seen: Counter[str] = Counter()
    distinct = []
    for name in (name or otherwise for name in names):
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} (audit {seen[name]})")
    return distinct
