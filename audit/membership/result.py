"""What membership attacks found out: frozen, complete, with a versioned JSON form. No bound on epsilon is in here."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from audit.games import Tally
from audit.json_form import plain
from audit.membership.blind import Blind
from audit.membership.records import GroupRow, RecordTable
from audit.membership.roc import RateAt
from mechanisms.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "dpassay.membership-result"
VERSION = 1
HEADLINE_FPR = 0.01
"""False positive rate at which the attacks are compared in a headline."""


@dataclass(frozen=True, eq=False)
class AttackMetrics:
    """What one attack found out.

    Args:
        attack: its name, with the options that are not the default.
        auc, auc_lower, auc_upper: and its interval.
        rates: true positive rates at fixed false positive rates.
        advantage: largest TPR - FPR over the thresholds of these scores: optimistic.
        held_out_advantage: at thresholds chosen on other models (or other records): neither optimistic nor pessimistic.
        n_in, n_out: scores of members and of non-members.
        n_missing: scores that the attack could not give.
        design_effect: variance of the true positive rate at 10 % FPR over that of independent scores.
        tally: hits of both sides at about 300 thresholds, for the ROC curve.
        records: vulnerability of each record; None with a single model.
        groups: the same for groups of records.
    """

    attack: str
    auc: float
    auc_lower: float
    auc_upper: float
    rates: tuple[RateAt, ...]
    advantage: float
    held_out_advantage: float
    n_in: int
    n_out: int
    n_missing: int
    design_effect: float
    tally: Tally
    records: RecordTable | None = None
    groups: tuple[GroupRow, ...] = ()

    def rate_at(self, fpr: float) -> RateAt:
        """The true positive rate at one of the false positive rates; raises `ParameterError` at another."""
        for rate in self.rates:
            if math.isclose(rate.fpr, fpr):
                return rate
        raise ParameterError(f"fpr must be one of {[rate.fpr for rate in self.rates]}, but is {fpr!r}.")


@dataclass(frozen=True)
class Region:
    """What the accountant allows: no attack has more true positives at a false positive rate.

    Args:
        claim: the guarantee, such as "GaussianDP(mu=1)".
        fpr, tpr: `(m,)` points of the curve.
    """

    claim: str
    fpr: tuple[float, ...]
    tpr: tuple[float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class MembershipResult:
    """Membership attacks on the same models.

    Args:
        attacks: what each found out.
        n_models, n_records: scored.
        design: how records came into models, in words.
        confidence: of each interval.
        blind: the baseline without any model; None if there were no features to read.
        skipped: attacks that could not be used, and why.
        region: what the accountant allows; None without a claim.
    """

    attacks: tuple[AttackMetrics, ...]
    n_models: int
    n_records: int
    design: str
    confidence: float
    blind: Blind | None = None
    skipped: tuple[tuple[str, str], ...] = ()
    region: Region | None = None

    def __getitem__(self, attack: str) -> AttackMetrics:
        """The metrics of one attack, by name; raises `ParameterError` on another name."""
        for metrics in self.attacks:
            if metrics.attack == attack:
                return metrics
        raise ParameterError(f"attack must be one of {', '.join(m.attack for m in self.attacks)}, but is {attack!r}.")

    @property
    def confounded(self) -> bool:
        """Whether the records alone tell members from non-members, so that no attack's success is the model's fault."""
        return self.blind is not None and self.blind.shifted

    @property
    def best(self) -> AttackMetrics:
        """The attack with the largest AUC; chosen on these scores, hence optimistic."""
        return max(self.attacks, key=lambda metrics: metrics.auc)

    @property
    def headline(self) -> AttackMetrics:
        """The attack that finds most members at `HEADLINE_FPR`; chosen on these scores, hence optimistic.

        A headline quotes the numbers of this one attack: its rate, its AUC and the records that it exposes.
        """
        return max(self.attacks, key=lambda metrics: metrics.rate_at(HEADLINE_FPR).tpr)

    def summary(self) -> str:
        """The table that a person reads."""
        from audit.membership.text import summary

        return summary(self)

    def plot(self) -> Any:
        """A matplotlib Figure: ROC curves on logarithmic axes, and the vulnerability of the records."""
        # Drawing lives in `experiments`, to the right of this room; it is looked up by name, when asked for.
        return import_module("experiments.plots.membership").draw_membership(self)

    def to_frame(self) -> pd.DataFrame:
        """One row an attack: AUC, rates with their intervals, advantages, counts, exposed records."""
        import pandas as pd

        return pd.DataFrame([_row(metrics) for metrics in self.attacks])

    def to_dict(self) -> dict[str, Any]:
        """The JSON form as a dictionary of plain values; see `audit.json_form`."""
        shallow = {field.name: getattr(self, field.name) for field in fields(self)}
        nested = {name: None if shallow[name] is None else asdict(shallow[name]) for name in ("blind", "region")}
        attacks = [_attack_to_dict(metrics) for metrics in self.attacks]
        return {"format": FORMAT, "version": VERSION, **plain(shallow | nested | {"attacks": attacks})}

    def to_json(self) -> str:
        """The JSON form: deterministic, versioned, without times or paths."""
        return json.dumps(self.to_dict(), indent=1, sort_keys=True, allow_nan=False)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MembershipResult:
        """The result behind a JSON form; raises `ParameterError` if it is none, or of another version."""
        if data.get("format") != FORMAT or data.get("version") != VERSION:
            raise ParameterError(
                f"this is no membership result of version {VERSION}: format is {data.get('format')!r}, version "
                f"{data.get('version')!r}. Read it with the release that wrote it."
            )
        kept = {key: value for key, value in data.items() if key not in ("format", "version")}
        return cls(
            **kept
            | {
                "attacks": tuple(_attack_from_dict(metrics) for metrics in kept["attacks"]),
                "blind": None if kept["blind"] is None else Blind(**kept["blind"]),
                "skipped": tuple((name, reason) for name, reason in kept["skipped"]),
                "region": None
                if kept["region"] is None
                else Region(kept["region"]["claim"], tuple(kept["region"]["fpr"]), tuple(kept["region"]["tpr"])),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> MembershipResult:
        """The result behind `to_json`."""
        try:
            return cls.from_dict(json.loads(text))
        except (ValueError, AttributeError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(f"this is no membership result: it is not a JSON object ({error}).") from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MembershipResult) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.n_models, self.n_records, tuple(m.attack for m in self.attacks)))

    def __repr__(self) -> str:
        found = ", ".join(f"{m.attack} {m.auc:.3f}" for m in self.attacks)
        return f"<MembershipResult {self.n_models} models, {self.n_records:,} records; AUC: {found}>"


def _row(metrics: AttackMetrics) -> dict[str, Any]:
    """The columns of one attack in the table."""
    rates = {
        f"tpr_at_{rate.fpr:g}{end}": value
        for rate in metrics.rates
        for end, value in (
            ("", rate.tpr),
            ("_lower", rate.lower),
            ("_upper", rate.upper),
            ("_resolvable", rate.resolvable),
        )
    }
    names = ("attack", "auc", "auc_lower", "auc_upper")
    others = ("advantage", "held_out_advantage", "n_in", "n_out", "n_missing")
    first, last = ({name: getattr(metrics, name) for name in part} for part in (names, others))
    return first | rates | last | {"n_exposed": None if metrics.records is None else len(metrics.records.exposed())}


def _attack_to_dict(metrics: AttackMetrics) -> dict[str, Any]:
    shallow = {field.name: getattr(metrics, field.name) for field in fields(metrics)}
    records = metrics.records
    return shallow | {
        "rates": [asdict(rate) for rate in metrics.rates],
        "groups": [asdict(row) for row in metrics.groups],
        "tally": {field.name: getattr(metrics.tally, field.name) for field in fields(Tally)},
        "records": None if records is None else {f.name: getattr(records, f.name) for f in fields(RecordTable)},
    }


def _attack_from_dict(data: dict[str, Any]) -> AttackMetrics:
    tally, records = data["tally"], data["records"]
    counts = {name: np.array(tally[name], dtype=np.int64) for name in ("hits_out", "hits_in")}
    return AttackMetrics(
        **data
        | {
            "held_out_advantage": float(data["held_out_advantage"]),
            "rates": tuple(RateAt(**rate) for rate in data["rates"]),
            "groups": tuple(GroupRow(**row | {"rate": RateAt(**row["rate"])}) for row in data["groups"]),
            "tally": Tally(
                **tally | counts | {"thresholds": np.array([float(t) for t in tally["thresholds"]], dtype=np.float64)}
            ),
            "records": None if records is None else _table_from_dict(records),
        }
    )


def _table_from_dict(data: dict[str, Any]) -> RecordTable:
    columns = {key: np.array(value, dtype=np.float64) for key, value in data.items() if isinstance(value, list)}
    return RecordTable(**data | columns)
