"""Results of membership attacks: frozen, complete, with a versioned JSON form, and without a bound on epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import special

from ....mechanisms.core import ParameterError, fixed, one_of, parameter_text
from ...evidence.scores import Tally
from ...results.saved import DrawnResult, check_tally, require, same_length, within
from .feature_baseline import FeatureBaseline
from .records import MIN_MODELS_FOR_RECORDS, GroupRow, RecordTable
from .roc import RateAt

if TYPE_CHECKING:
    import pandas as pd

HEADLINE_FPR = 0.01
"""False positive rate at which the attacks are compared in a headline."""
MAX_REVERSED_AUC = 0.49
"""An AUC below this value, and significantly so, suggests exchanged sets, or scores of the wrong sign."""


@dataclass(frozen=True, eq=False)
class AttackMetrics:
    """Metrics of one attack.

    Args:
        attack: its name, with the options that are not the default.
        auc, auc_lower, auc_upper: AUC and its confidence interval.
        rates: true positive rates at fixed false positive rates.
        advantage: largest TPR - FPR over the thresholds of these scores: optimistic.
        held_out_advantage: TPR - FPR at thresholds chosen on other models (or other records): unbiased.
        n_in, n_out: scores of members and of non-members.
        n_missing: number of scores that the attack could not compute.
        design_effect: variance of the true positive rate at 10 % FPR over that of independent scores.
        tally: hits of both sides at about 300 thresholds, for the ROC curve.
        records: vulnerability of each record; None with a single model.
        groups: metrics of groups of records.
        models: metrics of each model, with intervals about that model; empty unless asked for.
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
    models: tuple[GroupRow, ...] = ()

    def rate_at(self, fpr: float) -> RateAt:
        """Return the true positive rate at one of the false positive rates; raise `ParameterError` at another."""
        for rate in self.rates:
            if math.isclose(rate.fpr, fpr):
                return rate
        raise ParameterError(f"fpr must be one of {[rate.fpr for rate in self.rates]}, but is {fpr!r}.", argument="fpr")


@dataclass(frozen=True)
class Region:
    """Largest true positive rate that the claim allows at each false positive rate.

    Args:
        claim: the guarantee, such as "GaussianDP(mu=1)".
        fpr, tpr: `(m,)` points of the curve.
    """

    claim: str
    fpr: tuple[float, ...]
    tpr: tuple[float, ...]


@dataclass(frozen=True)
class ExposedMember:
    """A member with one of the highest scores of the attack in the headline.

    Args:
        attack: the attack.
        record: number of the record, from 0 on.
        score: of the record.
        as_high: number of others that score at least as high.
        n_others: number of others.
    """

    attack: str
    record: int
    score: float
    as_high: int
    n_others: int


@dataclass(frozen=True, eq=False, repr=False)
class MembershipResult(DrawnResult):
    """Metrics of membership attacks on the same models.

    Args:
        attacks: metrics of each attack.
        n_models, n_records: numbers of scored models and records.
        design: how records were assigned to models, in words.
        confidence: of each interval.
        feature_baseline: the baseline without any model; None without features.
        skipped: attacks that could not be used, and the reasons.
        region: true positive rates that the claim allows; None without a claim.
        target: name of the only scored model, for which the others are references; None if every model is scored.
        warnings: what the numbers do not show, or why they may be wrong, one sentence or two each.
        most_exposed: members of a single model with the highest scores; empty with several.
        random_split: whether the user states that chance alone decided which of these records the model saw.
    """

    FORMAT: ClassVar[str] = "dpassay.membership-result"
    VERSION: ClassVar[int] = 2
    DESCRIBED_BY: ClassVar[str] = "audit.metrics.membership.text"
    verdict: ClassVar[None] = None
    """Metrics test no claim."""

    attacks: tuple[AttackMetrics, ...]
    n_models: int
    n_records: int
    design: str
    confidence: float
    feature_baseline: FeatureBaseline | None = None
    skipped: tuple[tuple[str, str], ...] = ()
    region: Region | None = None
    target: str | None = None
    warnings: tuple[str, ...] = ()
    most_exposed: tuple[ExposedMember, ...] = ()
    random_split: bool = False

    def __getitem__(self, attack: str) -> AttackMetrics:
        """Return the metrics of one attack, by name; raise `ParameterError` on another name."""
        for metrics in self.attacks:
            if metrics.attack == attack:
                return metrics
        raise ParameterError(
            f"attack must be one of {', '.join(m.attack for m in self.attacks)}, but is {attack!r}.", argument="attack"
        )

    @property
    def confounded(self) -> bool:
        """True if the features alone separate members from non-members, so that success does not show a leak."""
        return self.feature_baseline is not None and self.feature_baseline.shifted

    @property
    def unanswered(self) -> str:
        """Why the attacks on a single model give no answer, and what to do; empty if they give one."""
        if self.reversed_by:
            return (
                f"it cannot be told whether the model leaks: {self.reversed_by[0]} has an area under the ROC curve far "
                "below one half. Members and others may be exchanged, or higher outputs may mean another than stated."
            )
        if not self.confounded or not self.most_exposed:
            return ""
        return (
            "it cannot be told whether the model leaks: members and others differ without it. Compare members with "
            "others that were drawn at random from the same records."
        )

    @property
    def judged(self) -> bool:
        """True for a single model whose members and others were compared without it, too."""
        return self.feature_baseline is not None and bool(self.most_exposed)

    @property
    def explained(self) -> float:
        """Largest AUC that the records alone may explain: 1/2 for a random split, otherwise by the baseline."""
        return 0.5 if self.random_split or self.feature_baseline is None else self.feature_baseline.limit

    @property
    def found_by(self) -> tuple[str, ...]:
        """Attacks on a single model whose AUC is above `explained`; in order of the AUC.

        The lower limits of all attacks hold together (Bonferroni). Empty where members and others differ without the
        model, and where that was not tested.
        """
        if not self.judged or self.confounded:
            return ()
        return self._above(self.explained, self.attacks)

    @property
    def reversed_by(self) -> tuple[str, ...]:
        """Attacks on a single model with an AUC below `MAX_REVERSED_AUC`, the smallest first, where none finds members.

        A model gives no such scores by chance, up to the level of `found_by`: members and others are exchanged, or the
        outputs mean another than stated.
        """
        if not self.judged or self.confounded or self.found_by:
            return ()
        mirrored = [replace(m, auc=1.0 - m.auc, auc_lower=1.0 - m.auc_upper) for m in self.attacks]
        return self._above(1.0 - MAX_REVERSED_AUC, mirrored)

    def _above(self, limit: float, attacks: Sequence[AttackMetrics]) -> tuple[str, ...]:
        """Return the attacks whose AUC is above a limit, all together at the confidence; in order of the AUC."""
        listed = sorted(attacks, key=lambda metrics: -metrics.auc)
        return tuple(m.attack for m in listed if _lower_of_several(m, self.confidence, len(attacks)) > limit)

    @property
    def best(self) -> AttackMetrics:
        """Attack with the largest AUC; chosen on these scores, hence optimistic."""
        return max(self.attacks, key=lambda metrics: metrics.auc)

    @property
    def headline(self) -> AttackMetrics:
        """Attack with the largest true positive rate at `HEADLINE_FPR`; chosen on these scores, hence optimistic.

        A headline quotes the numbers of this attack only: its rate, its AUC and the records that it exposes.
        """
        return max(self.attacks, key=lambda metrics: metrics.rate_at(HEADLINE_FPR).tpr)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per attack: AUC, rates with their intervals, advantages, counts, exposed records."""
        import pandas as pd

        return pd.DataFrame([_row(metrics) for metrics in self.attacks])

    def vulnerability(self, by: str = "tpr") -> pd.DataFrame:
        """Return how vulnerable each record is to each attack: one row per record, one column per attack.

        Args:
            by: "tpr", the share of the models with the record in which it scores above the threshold that 1 % of all
                non-members exceed; or "auc", of its scores in models with it against those in models without it.

        Returns:
            Values in [0, 1], NaN for records without scores. Attacks without a table of records, for which there are
            too few models, are left out.

        Raises:
            ParameterError: an unknown `by`, or no attack with a table of records.
        """
        import pandas as pd

        one_of(("tpr", "auc"), by=by)
        columns = {m.attack: getattr(m.records, by) for m in self.attacks if m.records is not None}
        if not columns:
            raise ParameterError(
                f"no attack has a table of records: that takes at least {MIN_MODELS_FOR_RECORDS} models, and for "
                f"attacks with references {2 * MIN_MODELS_FOR_RECORDS} where these are not in pairs of complements.",
                argument="by",
            )
        return pd.DataFrame(columns).rename_axis(index="record", columns="attack")

    def rank_correlations(self, by: str = "tpr") -> pd.DataFrame:
        """Return Spearman's rank correlation over the records, `(n_attacks, n_attacks)`, for each two attacks.

        Values near 1 mean that two attacks find the same records vulnerable; NaN that an attack finds all of them
        equally so. Few models make the values of single records noisy, and correlations too small.

        Args:
            by: see `vulnerability`.
        """
        return self.vulnerability(by).corr(method="spearman")

    def check(self, at: str = "") -> None:
        require(len(self.attacks) > 0, "attacks", "the list is empty")
        within(0.0, 1.0, "", confidence=self.confidence)
        if self.region is not None:
            same_length("region", fpr=self.region.fpr, tpr=self.region.tpr)
        for metrics in self.attacks:
            check_tally(metrics.tally, metrics.attack)
            within(0.0, 1.0, metrics.attack, lower=metrics.auc_lower, auc=metrics.auc, upper=metrics.auc_upper)
            rates = [metrics.rates, *([row.rate] for row in (*metrics.groups, *metrics.models))]
            for rate in (rate for several in rates for rate in several):
                within(0.0, 1.0, metrics.attack, fpr=rate.fpr, lower=rate.lower, tpr=rate.tpr, upper=rate.upper)
            if (table := metrics.records) is not None:
                columns = {field.name: getattr(table, field.name) for field in fields(table)}
                same_length(metrics.attack, **{k: v for k, v in columns.items() if isinstance(v, np.ndarray)})

    def __repr__(self) -> str:
        aucs = ", ".join(f"{m.attack} {fixed(m.auc)}" for m in self.attacks)
        return f"<MembershipResult {self.n_models} models, {self.n_records:,} records; AUC: {aucs}>"


def _lower_of_several(metrics: AttackMetrics, confidence: float, n: int) -> float:
    """Return the lower limit of the AUC that holds for n attacks together, from the interval about one model.

    The interval is symmetric on the scale of the log odds, with a normal quantile: its reach is scaled. That of an AUC
    of 0 or 1 is the exact one of `Pooled.auc_interval`.
    """
    tail = 0.5 * (1.0 - confidence)
    if not 0.0 < metrics.auc < 1.0 or not 0.0 < metrics.auc_lower < metrics.auc:
        return metrics.auc - 1.0 + float((tail / n) ** (1.0 / min(metrics.n_in, metrics.n_out)))
    reach = special.logit(metrics.auc) - special.logit(metrics.auc_lower)
    return float(special.expit(special.logit(metrics.auc) - reach * special.ndtri(tail / n) / special.ndtri(tail)))


def _row(metrics: AttackMetrics) -> dict[str, Any]:
    """Return the columns of one attack in the table."""
    rates = {
        f"tpr_at_{parameter_text(rate.fpr)}{end}": value
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
