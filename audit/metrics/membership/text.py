"""Membership results as plain text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...results.text import percent
from .records import MIN_MODELS_FOR_RECORDS, GroupRow, RecordTable, models_needed
from .roc import MIN_MODELS

if TYPE_CHECKING:
    from .result import MembershipResult
    from .roc import RateAt


MAX_REVERSED_AUC = 0.49
"""An AUC below this value, and significantly below one half, suggests scores of the wrong sign."""


def summary(result: MembershipResult) -> str:
    """Return the table of all attacks, followed by notes on how to read it."""
    lines = [*(f"{name:<8}  {text}" for name, text in setting_rows(result)), "", *_table(result), "", *notes(result)]
    for metrics in result.attacks:
        lines += _rows(metrics.attack, "group", metrics.groups)
        lines += _rows(metrics.attack, "model", metrics.models)
    return "\n".join(lines)


def setting_rows(result: MembershipResult) -> list[tuple[str, str]]:
    """Return rows on the setting, name and text."""
    rows = [
        ("models", f"{result.n_models:,}, {result.design}"),
        ("records", f"{result.n_records:,}"),
    ]
    if result.feature_baseline is not None:
        baseline = result.feature_baseline
        auc = f"AUC {baseline.auc:.3f} ({baseline.lower:.3f} to {baseline.upper:.3f})"
        rows.append(("features only", f"{auc} from the features only, without a model"))
    if result.confounded:
        rows.append(
            (
                "WARNING",
                "members and non-members come from different distributions: these metrics are no evidence of a leak",
            )
        )
    rows += [("WARNING", warning) for warning in result.warnings]
    if result.region is not None:
        rows.append(("claim", result.region.claim))
    return rows


def cells(result: MembershipResult) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return head and rows of the table of all attacks, the largest AUC first."""
    columns = [f"TPR@{100 * rate.fpr:g}%FPR" for rate in (result.attacks[0].rates if result.attacks else ())]
    head = ("attack", "AUC", *columns, "advantage", "held out", "exposed")
    rows = []
    for metrics in sorted(result.attacks, key=lambda metrics: -metrics.auc):
        auc = f"{metrics.auc:.3f} ({metrics.auc_lower:.3f}-{metrics.auc_upper:.3f})"
        held_out = "-" if math.isnan(metrics.held_out_advantage) else f"{metrics.held_out_advantage:.3f}"
        exposed = f"{len(metrics.records.exposed()):,}" if metrics.records and metrics.records.resolvable else "-"
        rates = map(_rate, metrics.rates)
        rows.append((metrics.attack, auc, *rates, f"{metrics.advantage:.3f}", held_out, exposed))
    return head, tuple(rows)


def _table(result: MembershipResult) -> list[str]:
    titles, rows = cells(result)
    widths = [max(len(row[place]) for row in (titles, *rows)) for place in range(len(titles))]
    lines = []
    for name, auc, *numbers in (titles, *rows):
        right = (text.rjust(width) for text, width in zip(numbers, widths[2:], strict=True))
        lines.append("  ".join([name.ljust(widths[0]), auc.ljust(widths[1]), *right]))
    return lines


def _rate(rate: RateAt) -> str:
    """Return a rate in percent, with a mark where it depends on too few non-members."""
    return f"{100 * rate.tpr:.3g} %{' ' if rate.resolvable else '?'}"


def notes(result: MembershipResult) -> list[str]:
    """Return notes on how to read the table."""
    texts = [
        "No bound on epsilon follows from these numbers. Coins that were tossed before training give one: `dpassay "
        "coins`, or of models with fair coins dpassay.audit.games.one_run.",
        f"Intervals: {percent(result.confidence)} confidence, one attack at a time"
        + (", about the target and records like these, given the references." if result.target is not None else "."),
        "advantage: at the best threshold of the same scores, so optimistic; held out: threshold of other scores.",
    ]
    if 1 < result.n_models < 2 * MIN_MODELS and any(m.auc_upper - m.auc_lower == 1.0 for m in result.attacks):
        texts.append(
            f"Intervals from 0 to 1: {result.n_models} models are too few to estimate their variance. At least "
            f"{2 * MIN_MODELS} in pairs of complements are needed, or {MIN_MODELS} without."
        )
    if any(not rate.resolvable for metrics in result.attacks for rate in metrics.rates):
        texts.append("?: unresolvable, fewer than 10 / FPR non-members; the rate depends on a few of them.")
    tables = [metrics.records for metrics in result.attacks if metrics.records is not None]
    if tables:
        texts.append("exposed: records whose scores reveal their membership, Holm-adjusted p <= 0.05 over the records.")
    if (table := result.headline.records) is not None and table.resolvable:
        texts.append(_worst_record(result.headline.attack, table))
    texts += dict.fromkeys(
        f"exposed: -, {too_few_models(table, result.n_models)}" for table in tables if not table.resolvable
    )
    if n_references := max((table.n_references for table in tables), default=0):
        texts.append(
            f"single records, by attacks with references: the first {n_references:,} models are references only, and "
            f"the others are compared. In pairs (design='pairs') all {result.n_models:,} would be compared."
        )
    texts += _of_attacks(
        "single records are not tested. The scores use reference models without complements, so half of the models "
        f"would be references only, and {result.n_models // 2:,} are too few. Train at least "
        f"{2 * MIN_MODELS_FOR_RECORDS}, or pairs of models, each on the records that the other one does not have, or "
        "read the records of 'loss', whose scores use the target only.",
        [
            m.attack
            for m in result.attacks
            if m.records is None and result.n_models >= MIN_MODELS_FOR_RECORDS and result.target is None
        ],
    )
    texts += [
        f"{metrics.attack}: {metrics.n_missing:,} scores are missing: too few references."
        for metrics in result.attacks
        if metrics.n_missing
    ]
    tied: dict[float, list[str]] = {}
    for metrics in result.attacks:
        if fpr := max((rate.fpr for rate in metrics.rates if _all_tied(rate)), default=0.0):
            tied.setdefault(fpr, []).append(metrics.attack)
    for fpr, attacks in tied.items():
        texts += _of_attacks(
            f"no member is detected at {100 * fpr:g} % false positives, as more non-members than that share the "
            "highest score.",
            attacks,
        )
    texts += [
        f"{metrics.attack}: AUC below one half. The scores may have the wrong sign: higher must mean member; "
        "the signal 'loss' is minus the loss."
        for metrics in result.attacks
        if metrics.auc < MAX_REVERSED_AUC and metrics.auc_upper < 0.5
    ]
    reasons: dict[str, list[str]] = {}
    for name, reason in result.skipped:
        reasons.setdefault(reason.replace(f"attack {name!r} learns", "the attack learns"), []).append(name)
    texts += [f"skipped {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return texts


def _of_attacks(text: str, attacks: list[str]) -> list[str]:
    """Return a note about these attacks; none without attacks."""
    return [f"{', '.join(attacks)}: {text}"] if attacks else []


def _all_tied(rate: RateAt) -> bool:
    """Return whether only a threshold above all scores is allowed; without ties ten false positives would be."""
    return rate.resolvable and rate.tpr == 0.0 and rate.false_positives == 0


def _worst_record(attack: str, table: RecordTable) -> str:
    """Return a sentence on the most exposed record, compared to the mean over all records."""
    worst, mean = table.worst, np.nanmean(table.auc)
    return (
        f"worst record, by {attack}: number {worst} (counted from 0), AUC {table.auc[worst]:.3f}, compared to "
        f"{mean:.3f} on average; Holm-adjusted p {table.holm[worst]:.2g}."
    )


def too_few_models(table: RecordTable, n_models: int) -> str:
    """Return a sentence on why no record could have been exposed, and how many models are needed."""
    needed = models_needed(len(table), pair_weight=table.pair_weight, one_sided=table.one_sided)
    models = f"{needed:,} models with a score each"
    if table.n_references:
        models = f"{2 * needed:,} models, half of them as references,"
    return (
        f"{n_models:,} models cannot expose a record: the smallest possible p-value is {table.least_p_value:.2g}, "
        f"times {len(table):,} records. At least {models} are needed."
    )


def auc_with_interval(row: GroupRow) -> str:
    """Return the AUC of a group, with its interval; a single record has no interval."""
    interval = "one record" if math.isnan(row.lower) else f"{row.lower:.3f}-{row.upper:.3f}"
    return f"{row.auc:.3f} ({interval})"


def _rows(attack: str, unit: str, rows: tuple[GroupRow, ...]) -> list[str]:
    """Return a line for each group or model, the largest AUC first."""
    if not rows:
        return []
    width = max(5, *(len(row.group) for row in rows))
    lines = [
        "",
        f"{attack} by {unit}",
        f"{unit:<{width}}{'scores in':>11}{'scores out':>12}  {'AUC':<22}{'TPR@1%FPR':>12}",
    ]
    for row in sorted(rows, key=lambda row: -row.auc):
        auc = auc_with_interval(row)
        lines.append(f"{row.group:<{width}}{row.n_in:>11,}{row.n_out:>12,}  {auc:<22}{_rate(row.rate):>12}")
    return lines
