"""The result of an audit: frozen, complete, and with a versioned JSON form.

Everything that a table, a plot or a report shows is in here; nothing has to be run again to draw it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import numpy as np

from audit.bounds.base import LedgerEntry, LowerBound
from audit.bounds.curve import Refutation
from audit.games import Tally
from audit.json_form import plain
from audit.verdict import Verdict
from mechanisms.errors import ParameterError

FORMAT = "dpassay.audit-result"
VERSION = 1


@dataclass(frozen=True)
class Trials:
    """How many runs, per side; or how many runs in all, where each tosses a coin for every one of many canaries.

    Args:
        per_side: all of them.
        pilot: used to train the attack and to choose thresholds; never counted in a bound.
        evaluation: counted.
        n_canaries: bits that are tossed in each run; None where a run is on one of the two datasets of a pair.
    """

    per_side: int
    pilot: int
    evaluation: int
    n_canaries: int | None = None

    def __str__(self) -> str:
        """Such as "1,000 a side (100 pilot, 900 counted)" or "1 run with 500 canaries"."""
        if self.n_canaries is None:
            return f"{self.per_side:,} a side ({self.pilot:,} pilot, {self.evaluation:,} counted)"
        runs = "1 run" if self.per_side == 1 else f"{self.per_side:,} runs"
        return f"{runs} with {self.n_canaries:,} canaries, each in or out by the toss of a coin"


@dataclass(frozen=True)
class ClaimCurve:
    """The accountant's curve, sampled for drawing and for the table.

    Args:
        fpr, fnr: `(k,)` points of the trade-off curve, close where it bends.
        epsilon, delta: `(m,)` points of the privacy profile, close below the claimed epsilon.
    """

    fpr: tuple[float, ...]
    fnr: tuple[float, ...]
    epsilon: tuple[float, ...]
    delta: tuple[float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """One audit: a mechanism, a pair, an attack, its bounds, and the verdict on the claim.

    Args:
        mechanism: how the mechanism was configured, such as "Laplace(epsilon=1.0, sensitivity=1.0)".
        relation: the neighbouring relation of the pair and of the claim.
        attack: name of the attack.
        claim: the claimed epsilon at `delta`.
        claim_name: the guarantee that it comes from, such as "PureDP(epsilon=1.0)".
        truth: the exact epsilon of the worst-case pair at `delta` where it is known and that pair was run.
        delta, confidence: of the whole statement "true epsilon >= bound".
        bounds: every bound that was computed, each at its share of the significance.
        p_value: smallest significance at which the claim would be refuted, over all the bounds.
        detectable: smallest true epsilon that a perfect attack would have exposed, with this many trials, 9 times in
            10, if the truth is one of `detectable_family`; inf where no outcome could have refuted the claim.
        detectable_family: the curves that were considered, such as "GaussianDP for some mu".
        trials: how many runs.
        seed: root of every random stream.
        verdict: bound against claim.
        ledger: what was looked at, and how it is paid for.
        tally: hits of both sides on at most about 400 thresholds, for the curves.
        claim_curve: the accountant's curve.
        events: outcomes that were not ordinary values, such as {"raised ValueError": (0, 12)}, (side 0, side 1).
        fingerprint: digest of everything that determines the trials.
        refutation: where the claimed curve contradicts the trials most, at whatever delta; None where it does not, or
            where no bound reads curves.
    """

    mechanism: str
    relation: str
    attack: str
    claim: float
    claim_name: str
    truth: float | None
    delta: float
    confidence: float
    bounds: tuple[LowerBound, ...]
    p_value: float
    detectable: float
    detectable_family: str
    trials: Trials
    seed: int
    verdict: Verdict
    ledger: tuple[LedgerEntry, ...]
    tally: Tally
    claim_curve: ClaimCurve
    events: dict[str, tuple[int, int]]
    fingerprint: str
    refutation: Refutation | None = None

    @property
    def bound(self) -> LowerBound:
        """The largest of the bounds; valid at `confidence` because they share the significance."""
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def assumption_free_bound(self) -> LowerBound | None:
        """The largest of the bounds that assume nothing about the trade-off curve; None if all of them do."""
        return max((b for b in self.bounds if not b.assumptions), key=lambda b: b.epsilon, default=None)

    @property
    def family_bound(self) -> LowerBound | None:
        """The largest of the bounds that hold only if the trade-off curve is of a family; None if none is."""
        return max((b for b in self.bounds if b.assumptions), key=lambda b: b.epsilon, default=None)

    @property
    def ceiling(self) -> float:
        """The largest bound that these trials could have given."""
        return max(bound.ceiling for bound in self.bounds)

    @property
    def refuted_elsewhere(self) -> Refutation | None:
        """Where the claim is refuted, if it is not at `delta`, where the bound stays below it; else None."""
        return self.refutation if self.verdict is Verdict.VIOLATION and self.bound.epsilon <= self.claim else None

    def summary(self) -> str:
        """The table that a person reads."""
        from audit.text import summary

        return summary(self)

    def evidence(self) -> str:
        """Ten lines on the event that decided, enough to check the verdict by hand."""
        from audit.text import evidence

        return evidence(self)

    def plot(self) -> Any:
        """A matplotlib Figure: bound and claim, trade-off curve, privacy profile, scores of the two sides."""
        # Drawing lives in `experiments`, to the right of this room; it is looked up by name, when asked for.
        return import_module("experiments.plots").draw_result(self)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form as a dictionary of plain values; see `audit.json_form`."""
        return {"format": FORMAT, "version": VERSION, **plain(_fields(self))}

    def to_json(self) -> str:
        """The JSON form: deterministic, versioned, without times or paths."""
        return json.dumps(self.to_dict(), indent=1, sort_keys=True, allow_nan=False)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AuditResult:
        """The result behind a JSON form; raises `ParameterError` if it is none, or of another version."""
        if data.get("format") != FORMAT:
            raise ParameterError(f"format must be {FORMAT!r}, but is {data.get('format')!r}: this is no audit result.")
        if data.get("version") != VERSION:
            raise ParameterError(
                f"version must be {VERSION}, but is {data.get('version')!r}: read it with the release that wrote it."
            )
        fields = {key: value for key, value in data.items() if key not in ("format", "version")}
        tally = fields["tally"]
        return cls(
            **fields
            | {
                "truth": None if fields["truth"] is None else float(fields["truth"]),
                "detectable": float(fields["detectable"]),
                "bounds": tuple(_bound(bound) for bound in fields["bounds"]),
                "trials": Trials(**fields["trials"]),
                "verdict": Verdict(fields["verdict"]),
                "ledger": tuple(LedgerEntry(**entry) for entry in fields["ledger"]),
                "tally": Tally(
                    thresholds=np.array([float(t) for t in tally["thresholds"]]),
                    hits_out=np.array(tally["hits_out"], dtype=np.int64),
                    hits_in=np.array(tally["hits_in"], dtype=np.int64),
                    n_out=tally["n_out"],
                    n_in=tally["n_in"],
                ),
                "claim_curve": ClaimCurve(**{k: tuple(map(float, v)) for k, v in fields["claim_curve"].items()}),
                "events": {label: (counts[0], counts[1]) for label, counts in fields["events"].items()},
                "refutation": _refutation(fields["refutation"]),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> AuditResult:
        """The result behind `to_json`."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise ParameterError(f"this is no audit result: it is not JSON ({error}).") from error
        if not isinstance(data, dict):
            raise ParameterError(f"this is no audit result, but a JSON {type(data).__name__}.")
        return cls.from_dict(data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AuditResult) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        shown = f"epsilon >= {self.bound.epsilon:.4g}, claimed {self.claim:.4g} at delta {self.delta:g}"
        return f"<AuditResult {self.verdict.value}: {shown}, {self.mechanism}>"


def _fields(result: AuditResult) -> dict[str, Any]:
    tally = {name: getattr(result.tally, name) for name in ("thresholds", "hits_out", "hits_in", "n_out", "n_in")}
    shallow = {name: getattr(result, name) for name in result.__dataclass_fields__}
    nested = {"bounds": [asdict(b) for b in result.bounds], "ledger": [asdict(e) for e in result.ledger]}
    return (
        shallow
        | nested
        | {
            "tally": tally,
            "trials": asdict(result.trials),
            "claim_curve": asdict(result.claim_curve),
            "refutation": None if result.refutation is None else asdict(result.refutation),
        }
    )


def _refutation(data: dict[str, Any] | None) -> Refutation | None:
    """A refutation from its JSON form."""
    if data is None:
        return None
    numbers = {name: float(value) for name, value in data.items() if name not in ("method", "hits")}
    return Refutation(**numbers, hits=(data["hits"][0], data["hits"][1]), method=data["method"])


def _bound(data: dict[str, Any]) -> LowerBound:
    """A lower bound from its JSON form."""
    numbers = {name: float(data[name]) for name in ("epsilon", "delta", "confidence", "ceiling")}
    return LowerBound(
        **data
        | numbers
        | {
            "ledger": tuple(LedgerEntry(**entry) for entry in data["ledger"]),
            "assumptions": tuple(data["assumptions"]),
            "threshold": None if data["threshold"] is None else float(data["threshold"]),
            "hits": None if data["hits"] is None else tuple(data["hits"]),
        }
    )
