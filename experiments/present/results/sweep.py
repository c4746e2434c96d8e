"""The result of an experiment: its audits, and a verdict that is corrected for their number.

    SweepPoint    one audit, its swept parameters, its corrected p-value and verdict
    SweepResult   all audits, with a versioned JSON form and a table

A result contains neither time nor machine: the same experiment gives the same bytes, whether it ran serially, in
parallel, or was interrupted and resumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ....audit.bounds.base import LedgerEntry, LowerBound
from ....audit.evidence.verdict import Verdict, is_weak
from ....audit.results.audit_result import AuditResult
from ....audit.results.saved import Saved, require, within
from ....mechanisms.core import holm, number
from ...config.sweep import expected, published, value_name

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SweepPoint:
    """One audit of a sweep.

    Args:
        parameters: swept parameters, dotted key -> value, as in {"mechanism.epsilon": 0.5}; may be empty.
        result: the audit, with its uncorrected verdict.
        p_adjusted: its p-value, corrected over all audits of the sweep (Holm).
        verdict: the corrected verdict.
    """

    parameters: dict[str, Any]
    result: AuditResult
    p_adjusted: float
    verdict: Verdict


@dataclass(frozen=True)
class SweepResult(Saved):
    """All audits of an experiment.

    Args:
        name: of the config, such as "laplace-count".
        title, description: the question, in words.
        fingerprint: digest of everything in the config that determines the numbers.
        seed: from which the seed of each audit is derived.
        confidence: of the verdict as a whole: a sweep of true claims is reported as a violation with probability at
            most 1 - confidence, for any number of audits.
        points: the audits, in the order of the sweep.
        verdict: violation if any corrected verdict is; else dependent if any is; else underpowered if any is; else
            consistent.
        ledger: the number of audits, and the correction for it.
        expected: results that the configuration expects of all audits whose case expects no others.
    """

    FORMAT: ClassVar[str] = "dpassay.sweep-result"
    VERSION: ClassVar[int] = 3
    DESCRIBED_BY: ClassVar[str] = "experiments.present.results.sweep_text"

    name: str
    title: str
    description: str
    fingerprint: str
    seed: int
    confidence: float
    points: tuple[SweepPoint, ...]
    verdict: Verdict
    ledger: tuple[LedgerEntry, ...]
    expected: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, parameters: Sequence[Mapping[str, Any]], results: Sequence[AuditResult], confidence: float, **texts: Any
    ) -> SweepResult:
        """Return the audits of a sweep, with verdicts corrected for their number; `texts` are the other fields."""
        points, verdict, entry = corrected(parameters, results, confidence=confidence)
        return cls(points=points, verdict=verdict, ledger=(entry,), confidence=confidence, **texts)

    def expected_of(self, point: SweepPoint) -> dict[str, Any]:
        """Return the results that the configuration expects of an audit: names of numbers, and "verdict"."""
        return expected(point.parameters, self.expected)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Dotted keys that the sweep varies."""
        return tuple(self.points[0].parameters) if self.points else ()

    def check(self, at: str = "") -> None:
        """Raise `ResultError` unless each audit is consistent, and the verdicts follow from all p-values."""
        _check(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per audit: swept parameters, bound, claim, exact epsilon, power, p-values, verdicts."""
        import pandas as pd

        return pd.DataFrame(
            [{**_flat(point.parameters), **_row(point, self.expected_of(point))} for point in self.points]
        )


def corrected(
    parameters: Sequence[Mapping[str, Any]], results: Sequence[AuditResult], *, confidence: float
) -> tuple[tuple[SweepPoint, ...], Verdict, LedgerEntry]:
    """Return the points of a sweep with corrected verdicts, the verdict over all, and its entry in the ledger.

    A claim counts as refuted if its Holm-adjusted p-value is at most 1 - confidence (Holm 1979): if all claims are
    true, the probability that any is reported as a violation is at most 1 - confidence, under any dependence.
    """
    adjusted = holm([result.p_value for result in results])
    points = tuple(
        SweepPoint(dict(varied), result, p, _corrected_verdict(result, p, confidence, len(results)))
        for varied, result, p in zip(parameters, results, adjusted, strict=True)
    )
    entry = LedgerEntry(
        what="sweep",
        looked_at="1 audit" if len(points) == 1 else f"{len(points)} audits, each with a p-value for its claim",
        correction="no correction needed"
        if len(points) == 1
        else f"Holm over {len(points)} at significance {number(1 - confidence)}",
    )
    return points, _overall([point.verdict for point in points]), entry


def _check(sweep: SweepResult) -> None:
    """Raise `ResultError` unless each audit is consistent, and the verdicts follow from all p-values."""
    require(len(sweep.points) > 0, "points", "the list is empty")
    within(0.0, 1.0, "", confidence=sweep.confidence)
    for place, point in enumerate(sweep.points):
        point.result.check(f"points[{place}].result")
        same = point.parameters.keys() == sweep.points[0].parameters.keys()
        require(same, f"points[{place}].parameters", "they differ from those of the other points")
    results = [point.result for point in sweep.points]
    points, verdict, _ = corrected([p.parameters for p in sweep.points], results, confidence=sweep.confidence)
    for place, (point, derived) in enumerate(zip(sweep.points, points, strict=True)):
        agree = point.verdict is derived.verdict and math.isclose(point.p_adjusted, derived.p_adjusted, rel_tol=1e-9)
        stated = f"{point.verdict.value} (corrected p {number(point.p_adjusted)})"
        expected = f"but {derived.verdict.value} (corrected p {number(derived.p_adjusted)}) follows from the p-values"
        require(agree, f"points[{place}]", f"the verdict is {stated}, {expected}")
    require(
        sweep.verdict is verdict, "verdict", f"it is {sweep.verdict.value}, but {verdict.value} follows from the audits"
    )


def _corrected_verdict(result: AuditResult, p_adjusted: float, confidence: float, n_audits: int) -> Verdict:
    """Return the verdict of one audit as part of the sweep; a single audit keeps its verdict.

    `detectable` is infinite if no outcome of its trials is significant after the correction.
    """
    if n_audits == 1 or result.verdict is Verdict.DEPENDENT:
        return result.verdict
    if result.witness is not None:  # no statistics, and nothing to correct
        return Verdict.VIOLATION
    if p_adjusted <= 1.0 - confidence:
        return Verdict.VIOLATION
    underpowered = math.isinf(result.detectable) or result.verdict is Verdict.UNDERPOWERED
    return Verdict.UNDERPOWERED if underpowered else Verdict.CONSISTENT


def _overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the most severe of the verdicts."""
    by_severity = (Verdict.VIOLATION, Verdict.DEPENDENT, Verdict.UNDERPOWERED)
    return next((verdict for verdict in by_severity if verdict in verdicts), Verdict.CONSISTENT)


def _row(point: SweepPoint, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of one audit in the table; `stated` are its expected results."""
    result, where = point.result, point.result.curve_violation
    return {
        "epsilon_lower": result.bound.epsilon,
        "epsilon_lower_assumption_free": _epsilon(result.assumption_free_bound),
        "epsilon_lower_in_family": _epsilon(result.family_bound),
        **_without_low_bits(result),
        **_recovered(result),
        "claim": result.claim,
        "exact_epsilon": result.exact_epsilon,
        **{f"published_{tool}": epsilon for tool, epsilon in published(point.parameters).items()},
        **{f"expected_{name}": result for name, result in stated.items()},
        **{f"estimate_{estimate.method.replace('-', '_')}": estimate.value for estimate in result.estimates},
        "delta": result.delta,
        "confidence": result.confidence,
        "ceiling": result.ceiling,
        "detectable": result.detectable,
        "p_value": result.p_value,
        "p_adjusted": point.p_adjusted,
        "verdict": point.verdict.value,
        "weak": is_weak(point.verdict, result.detectable, result.claim),
        "verdict_uncorrected": result.verdict.value,
        "witness": None if result.witness is None else str(result.witness),
        "refuted_epsilon": None if where is None else where.epsilon,
        "refuted_delta": None if where is None else where.delta,
        "refuted_delta_lower": None if where is None else where.delta_lower,
        "bound": result.bound.method,
        "attack": result.attack,
        "trials_per_side": result.trials.per_side,
        "n_canaries": result.trials.n_canaries,
        "seed": result.seed,
        "relation": result.relation,
        "mechanism": result.mechanism,
        "tier": result.tier,
        "claim_name": result.claim_name,
    }


def _without_low_bits(result: AuditResult) -> dict[str, float]:
    """Return the bound without the low bits of floats, if the attack uses them."""
    without = result.without_low_bits
    return {} if without is None else {"epsilon_lower_without_low_bits": without.bound.epsilon}


def _recovered(result: AuditResult) -> dict[str, float]:
    """Return the success rate of a reconstruction, its limits, the prior success, and the largest allowed one."""
    recovery = result.recovery
    if recovery is None:
        return {}
    limits = {"success_lower": recovery.lower, "success_upper": recovery.upper}
    return {"success": recovery.success, **limits, "success_prior": recovery.prior, "success_allowed": recovery.allowed}


def _epsilon(bound: LowerBound | None) -> float | None:
    return None if bound is None else bound.epsilon


def _flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with tables and lists as text, so that every parameter is one cell."""
    return {
        key: value_name(value) if isinstance(value, dict | list | tuple) else value for key, value in parameters.items()
    }
