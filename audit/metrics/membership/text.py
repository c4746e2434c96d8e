"""Membership results as plain text."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from ....mechanisms.core import confidence_text, fixed, number, percent, percent_between, plural
from ...results.result_text import ResultText, TextSection, TextTable, Tone
from .records import MIN_MODELS_FOR_RECORDS, GroupRow, RecordTable, models_needed
from .result import MAX_REVERSED_AUC
from .roc import MIN_MODELS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .result import MembershipResult
    from .roc import RateAt


NO_BOUND = (
    "No bound on epsilon follows from these numbers. Coins that were tossed before training give one: `dpassay coins`, "
    "or of models with fair coins dpassay.audit.games.one_run."
)
"""Note on metrics, which has no place beside the audit of coins."""
UNTESTED = (
    "Not tested: whether members and others differ without the model, which alone can give any AUC. Add the records, "
    "X (n_records, n_features), to the file, or call dpassay.audit.metrics.membership.audit_model."
)
"""Note on a single model whose records are unknown."""
AT = 0.01
"""False positive rate of the headline."""
BY_COINS = "by an independent fair coin"
"""Words of a design in which coins that were tossed before training decide on the membership."""


def describe(result: MembershipResult) -> ResultText:
    """Return the text of the attacks: the best one at few false positives, and the table of all."""
    head, rows = cells(result)
    caption = (
        "True positive rates at small false positive rates, with the area under the ROC curve (AUC) and its interval "
        f"at {confidence_text(result.confidence)} confidence."
    )
    groups = [
        TextSection(f"{metrics.attack}, by {unit}", table=_groups(group_rows, unit))
        for metrics in result.attacks
        for unit, group_rows in (("group", metrics.groups), ("model", metrics.models))
        if group_rows
    ]
    return ResultText(
        tone=Tone.UNDERPOWERED if result.confounded or result.reversed_by else Tone.PLAIN,
        headline=headline(result),
        answer=answer(result),
        facts=tuple(_setting_rows(result)),
        warnings=result.warnings,
        next_steps=next_steps(result),
        table=TextTable(head, tuple(("", row) for row in rows), 2, caption),
        notes=tuple(notes(result)),
        details=(*groups, *_most_exposed(result), skipped_section(result.skipped)),
    )


def headline(result: MembershipResult) -> str:
    """Return the result in a few words."""
    if result.confounded:
        return "Membership cannot be told: the two sets differ without the model"
    if result.reversed_by:
        return "Membership cannot be told: the scores are higher for non-members"
    best = result.headline
    if result.judged:
        found = result.found_by
        return f"Members are found, by {_cut(found[0])}" if found else "No evidence of membership in this model"
    return f"{_cut(best.attack)} finds {percent(best.rate_at(AT).tpr)} of the members at {percent(AT)} false positives"


def answer(result: MembershipResult) -> str:
    """Return the main result in two or three sentences."""
    if result.confounded and result.feature_baseline is not None:
        auc = fixed(result.feature_baseline.auc)
        return (
            f"The features alone distinguish members from non-members, without any model: their area under the ROC "
            f"curve (AUC) is {auc}. Members and non-members come from different distributions, and the attacks give no "
            "evidence about the models."
        )
    if result.judged:
        return _of_one_model(result)
    best = result.headline
    rate = best.rate_at(AT)
    of = "" if result.target is None else f" of model {_cut(result.target)}"
    rates = (
        f"{_cut(best.attack)} identifies {percent(rate.tpr)} of the members{of} at {percent(AT)} false positives "
        f"({percent_between(rate.lower, rate.upper)}, {confidence_text(result.confidence)} confidence); its area under "
        f"the ROC curve (AUC) is {fixed(best.auc)}. Guessing would identify {percent(AT)}."
    )
    exposed = len(best.records.exposed()) if best.records and best.records.resolvable else None
    total = plural(result.n_records, "record")
    records = "" if exposed is None else f" It individually exposes {exposed:,} of {total}."
    return f"{rates}{records} These are metrics, not bounds on epsilon."


def _of_one_model(result: MembershipResult) -> str:
    """Return the answer about a single model, whose members and others do not differ without it."""
    named = result.found_by or result.reversed_by
    best = result[named[0]] if named else result.best
    confidence = confidence_text(result.confidence)
    rate = result.headline.rate_at(AT)
    compared = f"the records alone may explain up to {fixed(result.explained)}"
    if result.random_split:
        compared = "0.5 is expected of a random split, as stated, without a leak"
    return (
        f"{_cut(best.attack)} has an area under the ROC curve (AUC) of {fixed(best.auc)} ({fixed(best.auc_lower)} to "
        f"{fixed(best.auc_upper)}, {confidence} confidence); {compared}. At {percent(AT)} false positives "
        f"{_cut(result.headline.attack)} identifies {percent(rate.tpr)} of the members "
        f"({percent_between(rate.lower, rate.upper)}). These are metrics, not bounds on epsilon."
    )


def next_steps(result: MembershipResult) -> tuple[str, ...]:
    """Return what to do now, at most two sentences."""
    if result.confounded:
        return ("Compare members with non-members that were drawn at random from the same records.",)
    if result.reversed_by:
        return (
            "Check which set the model was trained on: members and others may be exchanged. Then check what the model "
            "returns: higher scores must mean member, losses are lower for members, and columns stand for classes.",
        )
    if result.judged and not result.found_by:
        stated = "" if result.random_split else " If chance alone chose the members, state it: random_split."
        return (f"More records, or references, find smaller leaks.{stated} Coins test a claim: `dpassay coins`.",)
    if result.found_by or result.headline.rate_at(AT).lower > AT:
        return (
            "Members are found more often than by guessing: treat the model as private as its records, or train with a "
            "privacy guarantee or for fewer epochs, and repeat.",
        )
    return ()


def _cut(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 3].rstrip() + "..."


def _groups(groups: Iterable[GroupRow], unit: str = "group") -> TextTable:
    """Return one row per group or model, the most exposed first."""
    rows = [
        ("", (row.group, f"{row.n_in:,}", f"{row.n_out:,}", _auc_with_interval(row), _rate(row.rate).strip()))
        for row in sorted(groups, key=lambda row: -row.auc)
    ]
    return TextTable((unit, "scores in", "scores out", "AUC", f"TPR@{percent(AT)} FPR"), tuple(rows), 1)


def _most_exposed(result: MembershipResult) -> tuple[TextSection, ...]:
    """Return the members of a single model with the highest scores; none with several models."""
    rows = tuple(
        ("", (f"{one.record:,}", number(one.score), f"{one.as_high:,} of {one.n_others:,}"))
        for one in result.most_exposed
    )
    if not rows or result.confounded:
        return ()
    title = f"Most exposed members, by {_cut(result.most_exposed[0].attack)} (records from 0 on)"
    return (TextSection(title, table=TextTable(("record", "score", "others as high"), rows, 1)),)


def _setting_rows(result: MembershipResult) -> list[tuple[str, str]]:
    """Return rows on the setting, name and text."""
    rows = [
        ("models", f"{result.n_models:,}, {result.design}"),
        ("records", f"{result.n_records:,}"),
    ]
    if result.feature_baseline is not None:
        baseline = result.feature_baseline
        interval = f"{fixed(baseline.lower)} to {fixed(baseline.upper)}"
        auc = f"area under the ROC curve (AUC) {fixed(baseline.auc)} ({interval})"
        ways = {"trees": "by boosted trees", "difficulty": "by how hard labels are to predict"}
        ways["references"] = "by references that saw none of them"
        way = f", {ways[baseline.way]}" if baseline.way in ways else ""
        rows.append(("features only", f"{auc} from the features only, without a model{way}"))
    if result.region is not None:
        rows.append(("claim", result.region.claim))
    return rows


def cells(result: MembershipResult) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return head and rows of the table of all attacks, the largest AUC first."""
    columns = [f"TPR@{percent(rate.fpr)} FPR" for rate in (result.attacks[0].rates if result.attacks else ())]
    head = ("attack", "AUC", *columns, "advantage", "held out", "exposed")
    rows = []
    for metrics in sorted(result.attacks, key=lambda metrics: -metrics.auc):
        auc = f"{fixed(metrics.auc)} ({fixed(metrics.auc_lower)}-{fixed(metrics.auc_upper)})"
        held_out = fixed(metrics.held_out_advantage)
        exposed = f"{len(metrics.records.exposed()):,}" if metrics.records and metrics.records.resolvable else "-"
        rates = map(_rate, metrics.rates)
        rows.append((metrics.attack, auc, *rates, fixed(metrics.advantage), held_out, exposed))
    return head, tuple(rows)


def _rate(rate: RateAt) -> str:
    """Return a rate in percent, with a mark where it depends on too few non-members."""
    return f"{percent(rate.tpr)}{'' if rate.resolvable else '?'}"


def notes(result: MembershipResult) -> list[str]:
    """Return notes on how to read the table."""
    no_bound = "No bound on epsilon follows from these numbers"
    texts = [
        f"{no_bound}; the audit of the coins gives one." if BY_COINS in result.design else NO_BOUND,
        f"Intervals: {confidence_text(result.confidence)} confidence, one attack at a time"
        + (", about the target and records like these, given the references." if result.target is not None else "."),
        "advantage: at the best threshold of the same scores, so optimistic; held out: threshold of other scores.",
    ]
    if result.most_exposed and result.feature_baseline is None and BY_COINS not in result.design:
        texts.append(UNTESTED)
    if 1 < result.n_models < 2 * MIN_MODELS and any(m.auc_upper - m.auc_lower == 1.0 for m in result.attacks):
        texts.append(
            f"Intervals from 0 to 1: {result.n_models} models are too few to estimate their variance. At least "
            f"{2 * MIN_MODELS} in pairs of complements are needed, or {MIN_MODELS} without."
        )
    if any(not rate.resolvable for metrics in result.attacks for rate in metrics.rates):
        texts.append("?: unresolvable, fewer than 10 / FPR non-members; the rate depends on a few of them.")
    tables = [metrics.records for metrics in result.attacks if metrics.records is not None]
    if tables:
        texts.append(
            "exposed: records whose scores reveal their membership; p, corrected for all records, is at most 0.05."
        )
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
            f"no member is detected at {percent(fpr)} false positives, as more non-members than that share the "
            "highest score.",
            attacks,
        )
    texts += [
        f"{metrics.attack}: AUC below one half. The scores may have the wrong sign: higher must mean member; "
        "the signal 'loss' is minus the loss."
        for metrics in result.attacks
        if metrics.auc < MAX_REVERSED_AUC and metrics.auc_upper < 0.5 and not result.reversed_by
    ]
    return [*texts, *skipped_notes(result.skipped, "attack")]


def skipped_notes(skipped: Iterable[tuple[str, str]], kind: str) -> list[str]:
    """Return a note for each cause for which attacks or signals were skipped; `skipped_section` has their names."""
    causes: dict[str, list[str]] = {}
    for name, reason in skipped:
        causes.setdefault(re.sub(r"\b(attack|signal) '[^']*'", r"the \1", reason), []).append(name)
    return [
        f"skipped {names[0] if len(names) == 1 else plural(len(names), kind)}: {cause}"
        for cause, names in causes.items()
    ]


def skipped_section(skipped: Iterable[tuple[str, str]]) -> TextSection:
    """Return what was skipped, each by its name."""
    return TextSection("What was skipped", tuple(("skipped", f"{name}: {reason}") for name, reason in skipped))


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
        f"worst record, by {attack}: number {worst} (counted from 0), AUC {fixed(table.auc[worst])}, compared to "
        f"{fixed(float(mean))} on average; p {number(table.holm[worst], 2)}, corrected for all records."
    )


def too_few_models(table: RecordTable, n_models: int) -> str:
    """Return a sentence on why no record could have been exposed, and how many models are needed."""
    needed = models_needed(len(table), pair_weight=table.pair_weight, one_sided=table.one_sided)
    models = f"{needed:,} models with a score each"
    if table.n_references:
        models = f"{2 * needed:,} models, half of them as references,"
    return (
        f"{n_models:,} models cannot expose a record: the smallest possible p-value is "
        f"{number(table.least_p_value, 2)}, times {len(table):,} records. At least {models} are needed."
    )


def _auc_with_interval(row: GroupRow) -> str:
    """Return the AUC of a group, with its interval; a single record has no interval."""
    interval = "one record" if math.isnan(row.lower) else f"{fixed(row.lower)}-{fixed(row.upper)}"
    return f"{fixed(row.auc)} ({interval})"
