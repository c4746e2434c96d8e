"""The result of an experiment: its audits, and one verdict that is corrected over all of them.

    SweepPoint    one audit, the parameters that make it differ from the others, its corrected p-value and verdict
    SweepResult   all of them, with a versioned JSON form and a table

Nothing in here knows when or on which machine it was computed: the same experiment gives the same bytes, whether it ran
serially, in parallel, or was interrupted and resumed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from audit.bounds.base import LedgerEntry, LowerBound
from audit.multiplicity import holm
from audit.results import AuditResult
from audit.verdict import Verdict
from experiments.sweep import value_name
from mechanisms.errors import StoreError

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "dpassay.sweep-result"
VERSION = 1


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
class SweepResult:
    """All audits of an experiment.

    Args:
        name: of the config, such as "laplace-count".
        title, description: the question, in words.
        fingerprint: digest of everything in the config that determines the numbers.
        seed: from which the seed of each audit is derived.
        confidence: of the verdict as a whole: a sweep of claims that all hold is called a violation with probability at
            most 1 - confidence, however many audits there are.
        points: the audits, in the order of the sweep.
        verdict: violation if any corrected verdict is; else underpowered if any is; else consistent.
        ledger: how many audits there were, and how they are paid for.
    """

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

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "fingerprint": self.fingerprint,
            "seed": self.seed,
            "confidence": self.confidence,
            "verdict": self.verdict.value,
            "ledger": [asdict(entry) for entry in self.ledger],
            "points": [
                {
                    "parameters": point.parameters,
                    "p_adjusted": point.p_adjusted,
                    "verdict": point.verdict.value,
                    "result": point.result.to_dict(),
                }
                for point in self.points
            ],
        }

    def to_json(self) -> str:
        """Versioned JSON, the same bytes for the same experiment."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SweepResult:
        """The result that `to_dict` wrote; raises `StoreError` if it is something else or from a newer version."""
        found = data.get("format") if isinstance(data, Mapping) else None
        if found != FORMAT:
            raise StoreError(f"these are not results of an experiment: format is {found!r}, not {FORMAT!r}.")
        if data["version"] > VERSION:
            raise StoreError(
                f"these results have version {data['version']}; this dpassay reads up to {VERSION}. Update it."
            )
        return cls(
            name=data["name"],
            title=data["title"],
            description=data["description"],
            fingerprint=data["fingerprint"],
            seed=data["seed"],
            confidence=data["confidence"],
            points=tuple(
                SweepPoint(
                    point["parameters"],
                    AuditResult.from_dict(point["result"]),
                    point["p_adjusted"],
                    Verdict(point["verdict"]),
                )
                for point in data["points"]
            ),
            verdict=Verdict(data["verdict"]),
            ledger=tuple(LedgerEntry(**entry) for entry in data["ledger"]),
        )

    @classmethod
    def from_json(cls, text: str) -> SweepResult:
        """The result that `to_json` wrote."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise StoreError(f"these results are not readable as JSON ({error}). Run the experiment again.") from error
        return cls.from_dict(data)

    def to_frame(self) -> pd.DataFrame:
        """One row an audit: what was varied, bound, claim, truth, power, p-values, verdicts."""
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
        correction="none needed"
        if len(points) == 1
        else f"Holm over {len(points)} at significance {1 - confidence:.3g}",
    )
    return points, _overall([point.verdict for point in points]), entry


def _corrected_verdict(result: AuditResult, p_adjusted: float, confidence: float, n_audits: int) -> Verdict:
    """The verdict of one audit as part of the sweep; alone, it keeps its own.

    `detectable` is infinite where no outcome of its trials would have survived the correction.
    """
    if n_audits == 1:
        return result.verdict
    if p_adjusted <= 1.0 - confidence:
        return Verdict.VIOLATION
    blind = math.isinf(result.detectable) or result.verdict is Verdict.UNDERPOWERED
    return Verdict.UNDERPOWERED if blind else Verdict.CONSISTENT


def _overall(verdicts: Sequence[Verdict]) -> Verdict:
    """The gravest of the verdicts."""
    return next((v for v in (Verdict.VIOLATION, Verdict.UNDERPOWERED) if v in verdicts), Verdict.CONSISTENT)


def _row(point: SweepPoint) -> dict[str, Any]:
    """The columns of one audit in the table."""
    result, where = point.result, point.result.refutation
    return {
        "epsilon_lower": result.bound.epsilon,
        "epsilon_lower_assumption_free": _epsilon(result.assumption_free_bound),
        "epsilon_lower_in_family": _epsilon(result.family_bound),
        "claim": result.claim,
        "truth": result.truth,
        "delta": result.delta,
        "confidence": result.confidence,
        "ceiling": result.ceiling,
        "detectable": result.detectable,
        "p_value": result.p_value,
        "p_adjusted": point.p_adjusted,
        "verdict": point.verdict.value,
        "verdict_alone": result.verdict.value,
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


def _epsilon(bound: LowerBound | None) -> float | None:
    return None if bound is None else bound.epsilon


def _flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Tables and lists as text, so that every parameter is one cell."""
    return {
        key: value_name(value) if isinstance(value, dict | list | tuple) else value for key, value in parameters.items()
    }
