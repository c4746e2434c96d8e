"""The result of an experiment: its audits, and one verdict that is corrected over all of them.

    SweepPoint    one audit, the parameters that make it differ from the others, its corrected p-value and verdict
    SweepResult   all of them, with a versioned JSON form and a table

Nothing in here knows when or on which machine it was computed: the same experiment gives the same bytes, whether it ran
serially, in parallel, or was interrupted and resumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...audit.bounds.base import LedgerEntry, LowerBound
from ...audit.evidence.multiplicity import holm
from ...audit.evidence.verdict import Verdict
from ...audit.results import consistency
from ...audit.results.audit_result import AuditResult, check_audit
from ...audit.results.saved import Saved
from ..config.sweep import published, value_name

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SweepPoint:
    """One audit of a sweep.

    Args:
        parameters: dotted key -> value of what the sweep varies, as in {"mechanism.epsilon": 0.5}; may be empty.
        result: the audit, with the verdict that it would have on its own.
        p_adjusted: its p-value, corrected over all audits of the sweep (Holm).
        verdict: the verdict that holds for the sweep as a whole.
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
        confidence: of the verdict as a whole: a sweep of claims that all hold is called a violation with probability at
            most 1 - confidence, however many audits there are.
        points: the audits, in the order of the sweep.
        verdict: violation if any corrected verdict is; else dependent if any is; else underpowered if any is; else
            consistent.
        ledger: how many audits there were, and how they are paid for.
    """

    FORMAT: ClassVar[str] = "dpassay.sweep-result"
    VERSION: ClassVar[int] = 3

    name: str
    title: str
    description: str
    fingerprint: str
    seed: int
    confidence: float
    points: tuple[SweepPoint, ...]
    verdict: Verdict
    ledger: tuple[LedgerEntry, ...]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The dotted keys that the sweep varies."""
        return tuple(self.points[0].parameters) if self.points else ()

    def check(self) -> None:
        """Raises `ResultError` unless each audit agrees with itself, and the verdicts follow from all p-values."""
        _check(self)

    def to_frame(self) -> pd.DataFrame:
        """One row an audit: what was varied, bound, claim, exact epsilon, power, p-values, verdicts."""
        import pandas as pd

        return pd.DataFrame([{**_flat(point.parameters), **_row(point)} for point in self.points])


def corrected(
    parameters: Sequence[Mapping[str, Any]], results: Sequence[AuditResult], *, confidence: float
) -> tuple[tuple[SweepPoint, ...], Verdict, LedgerEntry]:
    """The points of a sweep with their corrected verdicts, the verdict over all, and its entry in the ledger.

    A claim counts as refuted when its Holm-adjusted p-value is at most 1 - confidence (Holm 1979): if all claims
    hold, the probability that any is called a violation is at most 1 - confidence, whatever the dependence.
    """
    adjusted = holm([result.p_value for result in results])
    points = tuple(
        SweepPoint(dict(varied), result, p, _corrected_verdict(result, p, confidence, len(results)))
        for varied, result, p in zip(parameters, results, adjusted, strict=True)
    )
    entry = LedgerEntry(
        what="sweep",
        looked_at="1 audit" if len(points) == 1 else f"{len(points)} audits, each with a p-value for its own claim",
        correction="no correction needed"
        if len(points) == 1
        else f"Holm over {len(points)} at significance {1 - confidence:.3g}",
    )
    return points, _overall([point.verdict for point in points]), entry


def _check(sweep: SweepResult) -> None:
    """Raises `ResultError` unless each audit agrees with itself, and the verdicts follow from the p-values of all."""
    consistency.require(len(sweep.points) > 0, "points", "there is none")
    consistency.within(0.0, 1.0, "", confidence=sweep.confidence)
    for place, point in enumerate(sweep.points):
        check_audit(point.result, f"points[{place}].result")
        same = point.parameters.keys() == sweep.points[0].parameters.keys()
        consistency.require(same, f"points[{place}].parameters", "they are not those of the other points")
    results = [point.result for point in sweep.points]
    points, verdict, _ = corrected([p.parameters for p in sweep.points], results, confidence=sweep.confidence)
    for place, (found, follows) in enumerate(zip(sweep.points, points, strict=True)):
        agree = found.verdict is follows.verdict and math.isclose(found.p_adjusted, follows.p_adjusted, rel_tol=1e-9)
        shown = f"{found.verdict.value} (corrected p {found.p_adjusted:.6g})"
        because = f"but {follows.verdict.value} (corrected p {follows.p_adjusted:.6g}) follows from the p-values"
        consistency.require(agree, f"points[{place}]", f"the verdict is {shown}, {because}")
    consistency.require(
        sweep.verdict is verdict, "verdict", f"it is {sweep.verdict.value}, but {verdict.value} follows from the audits"
    )


def _corrected_verdict(result: AuditResult, p_adjusted: float, confidence: float, n_audits: int) -> Verdict:
    """The verdict of one audit as part of the sweep; alone, it keeps its own.

    `detectable` is infinite where no outcome of its trials would have survived the correction.
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
    """The gravest of the verdicts."""
    gravest = (Verdict.VIOLATION, Verdict.DEPENDENT, Verdict.UNDERPOWERED)
    return next((verdict for verdict in gravest if verdict in verdicts), Verdict.CONSISTENT)


def _row(point: SweepPoint) -> dict[str, Any]:
    """The columns of one audit in the table."""
    result, where = point.result, point.result.curve_violation
    return {
        "epsilon_lower": result.bound.epsilon,
        "epsilon_lower_assumption_free": _epsilon(result.assumption_free_bound),
        "epsilon_lower_in_family": _epsilon(result.family_bound),
        **_without_low_bits(result),
        **_recovered(result),
        "claim": result.claim,
        "exact_epsilon": result.exact_epsilon,
        **{f"published_{tool}": found for tool, found in published(point.parameters).items()},
        **{f"best_guess_{one.method.replace('-', '_')}": one.value for one in result.estimates},
        "delta": result.delta,
        "confidence": result.confidence,
        "ceiling": result.ceiling,
        "detectable": result.detectable,
        "p_value": result.p_value,
        "p_adjusted": point.p_adjusted,
        "verdict": point.verdict.value,
        "verdict_alone": result.verdict.value,
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
        "claim_name": result.claim_name,
    }


def _without_low_bits(result: AuditResult) -> dict[str, float]:
    """What is shown without the low bits of floats, where the attack reads them."""
    found = result.without_low_bits
    return {} if found is None else {"epsilon_lower_without_low_bits": found.bound.epsilon}


def _recovered(result: AuditResult) -> dict[str, float]:
    """Of a reconstruction: its success, exact limits, that without the output, and the most that the claim allows."""
    seen = result.recovery
    if seen is None:
        return {}
    limits = {"success_lower": seen.lower, "success_upper": seen.upper}
    return {"success": seen.success, **limits, "success_prior": seen.prior, "success_allowed": seen.allowed}


def _epsilon(bound: LowerBound | None) -> float | None:
    return None if bound is None else bound.epsilon


def _flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Tables and lists as text, so that every parameter is one cell."""
    return {
        key: value_name(value) if isinstance(value, dict | list | tuple) else value for key, value in parameters.items()
    }
