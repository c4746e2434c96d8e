"""The text of an experiment: verdict over all audits, table of the audits, and the text of each audit."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ....audit.bounds.base import LedgerEntry
from ....audit.evidence.game import Game
from ....audit.evidence.verdict import Verdict, is_weak, mostly_unseen
from ....audit.results import text as audit_text
from ....audit.results.audit_result import AuditResult
from ....audit.results.breakdown import EpsilonBreakdown, EpsilonPart
from ....audit.results.recovery import Recovery
from ....audit.results.result_text import ResultText, Row, TextSection, TextTable, Tone, tone_of
from ....mechanisms.core import (
    beside,
    confidence_text,
    duration,
    line,
    number,
    p_value_text,
    percent_below,
    percent_range,
    plural,
)
from ...config.sweep import EXPECTED_NUMBERS, VERDICT, folder_name, published
from .parameters import parameters_text, short_keys, value_text
from .sweep import SweepPoint, SweepResult

DAGGER = "†"
"""Mark of a claim that is refuted at another delta than that of the audit, where the bound is below the claim."""
ANY_CURVE, IN_FAMILY = "epsilon >=", "epsilon >=, if in the family"
"""Columns of two bounds on the same epsilon: one holds for all trade-off curves, one assumes a family of them."""
RELATION = {
    "add_remove": "one of the two datasets has one record more than the other",
    "replace_one": "the two datasets have the same number of records, and one record differs",
    "zero_out": "one record is blank in one dataset and present in the other",
}
_METHODS = ("attack", "bound")
"""Settings of all audits that are details."""
MAX_NAMED = 6
"""Largest number of audits that an entry of the ledger names."""
MAX_SURPRISES = 3
"""Largest number of audits without their expected verdict that are named."""
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")


def describe(
    sweep: SweepResult, seconds: Mapping[str, float] | None = None, *, assumptions: str | None = None
) -> ResultText:
    """Return the text of a sweep.

    Args:
        sweep: the audits.
        seconds: folder of the trials of an audit -> its duration; None for unknown ones.
        assumptions: of the evidence, in sentences; None for those of the games.
    """
    points, common = sweep.points, _common([point.result for point in sweep.points])
    expected = unexpected(sweep) == []
    return ResultText(
        tone=tone(sweep),
        headline=headline(sweep),
        answer=answer(sweep),
        conditions=tuple(dict.fromkeys(filter(None, (point.result.valid_if for point in points)))),
        facts=tuple(row for row in common if row[0] not in _METHODS),
        warnings=warning_notes(points),
        next_steps=() if expected else _next_steps(sweep),
        table=_table(sweep, seconds or {}),
        notes=tuple(_notes(sweep)),
        details=(
            TextSection("Assumptions", paragraphs=_assumptions(sweep, assumptions)),
            TextSection("Choices and corrections", table=_ledger(sweep)),
            TextSection("Methods of all audits", tuple(row for row in common if row[0] in _METHODS)),
        ),
        parts=tuple(map(_part, points)),
    )


def tone_of_point(point: SweepPoint) -> Tone:
    """Return the tone of the corrected verdict of an audit."""
    return tone_of(point.verdict, weak=is_weak(point.verdict, point.result.detectable, point.result.claim))


def tone(sweep: SweepResult) -> Tone:
    """Return the tone of the verdict on the experiment; weak if the verdict on any claim is."""
    return tone_of(sweep.verdict, weak=any(tone_of_point(point) is Tone.WEAK for point in sweep.points))


def unexpected(sweep: SweepResult) -> list[SweepPoint] | None:
    """Return the audits without their expected verdict; None if there are none, and some audits expect no verdict."""
    stated = [sweep.expected_of(point).get(VERDICT) for point in sweep.points]
    pairs = zip(sweep.points, stated, strict=True)
    surprises = [point for point, verdict in pairs if verdict not in (None, point.verdict.value)]
    return surprises if surprises or None not in stated else None


def headline(sweep: SweepResult) -> str:
    """Return the verdict on the experiment in a few words, then whether it is the expected one."""
    surprises, n = unexpected(sweep), len(sweep.points)
    if surprises is None:
        return verdict_headline(sweep)
    if surprises:
        which = "not the expected verdict" if n == 1 else f"{len(surprises)} of {n} verdicts not as expected"
        return f"{verdict_headline(sweep)}; {which}"
    return f"{verdict_headline(sweep)}; this experiment expects it"


def verdict_headline(sweep: SweepResult) -> str:
    """Return the verdict on the experiment in a few words, with the number of claims that it is about."""
    n = len(sweep.points)
    if n == 1:
        return audit_text.headline(sweep.points[0].result)
    those = [point for point in sweep.points if tone_of_point(point) is tone(sweep)]
    counted = f"{tone(sweep).label} ({len(those)} of {plural(n, 'claim')})"
    if tone(sweep) is Tone.WEAK:
        largest = max(those, key=lambda point: point.result.detectable / point.result.claim).result
        factor = number(largest.detectable / largest.claim, 3)
        return f"{counted}: detects only epsilon above {factor} times the claim"
    return counted


def _next_steps(sweep: SweepResult) -> tuple[str, ...]:
    """Return the next steps of the worst audit with the tone of the experiment."""
    those = [point for point in sweep.points if tone_of_point(point) is tone(sweep)]
    worst = max(those, key=lambda point: point.result.refuting_bound.epsilon - point.result.claim)
    return audit_text.next_steps(worst.result, min(point.p_adjusted for point in those))


def answer(sweep: SweepResult) -> str:
    """Return the verdict on the whole experiment, in one to three sentences."""
    surprises = unexpected(sweep)
    said = _verdict_in_sentences(sweep)
    if not surprises:
        return said
    named = [
        f"{parameters_text(p.parameters) or 'the verdict'} is {p.verdict.value}, expected "
        f"{sweep.expected_of(p)[VERDICT]}"
        for p in surprises
    ]
    more = f"; and {len(named) - MAX_SURPRISES} more" if len(named) > MAX_SURPRISES else ""
    return f"Not as expected: {'; '.join(named[:MAX_SURPRISES])}{more}. {said}"


def _verdict_in_sentences(sweep: SweepResult) -> str:
    if len(sweep.points) == 1:
        return audit_text.answer(sweep.points[0].result)
    return {
        Verdict.VIOLATION: _violation,
        Verdict.CONSISTENT: _consistent,
        Verdict.UNDERPOWERED: _underpowered,
        Verdict.DEPENDENT: _dependent,
    }[sweep.verdict](sweep)


def _violation(sweep: SweepResult) -> str:
    refuted = [point for point in sweep.points if point.verdict is Verdict.VIOLATION]
    worst = max(refuted, key=lambda point: point.result.refuting_bound.epsilon - point.result.claim)
    witnessed = next((point for point in refuted if point.result.witness is not None), None)
    claims = f"{len(refuted)} of {len(sweep.points)} claims {'is' if len(refuted) == 1 else 'are'} refuted"
    if witnessed is not None:
        where = parameters_text(witnessed.parameters)
        return (
            f"{claims}; at {where} by a witness: {witnessed.result.witness} {audit_text.error_rate(witnessed.result)}"
        )
    p_value = min(point.p_adjusted for point in refuted)
    end = audit_text.meaning_of_violation(p_value, sweep.confidence, "experiments with right mechanisms only")
    bound, claimed = beside(worst.result.refuting_bound.epsilon, worst.result.claim)
    elsewhere = worst.result.refuted_elsewhere
    finding = f"{elsewhere}" if elsewhere else f"epsilon is at least {bound}, but at most {claimed} is claimed"
    return (
        f"{claims}, with {confidence_text(sweep.confidence)} confidence in all of these verdicts together. The largest "
        f"excess is at {parameters_text(worst.parameters)}: {finding}. {end}"
    )


def _consistent(sweep: SweepResult) -> str:
    unless = [point for point in sweep.points if point.result.condition]
    but = ""
    if unless:
        but = f" {parameters_text(unless[0].parameters)}: {audit_text.verdict_reason(unless[0].result)}."
    none = f"These trials contradict none of the {len(sweep.points)} claims."
    return f"{none}{but}{_shares_of_claims(sweep.points)}{_power(sweep)}"


def _shares_of_claims(points: Sequence[SweepPoint]) -> str:
    """Return a sentence on the ratio of bounds to claims, for bounds that assume a family and for others."""
    known = [point.result for point in points if point.result.claim > 0]
    if not known:
        return ""
    reach = f" The lower bounds reach {percent_range([r.bound.epsilon / r.claim for r in known])} of the claims"
    if not any(r.bound.assumptions for r in known):
        return f"{reach}."
    free = [bound.epsilon / r.claim for r in known if (bound := r.assumption_free_bound) is not None]
    without = f", and {percent_range(free)} for every curve" if free else ""
    return f"{reach} if the true trade-off curves are in the family that they assume{without}."


def _power(sweep: SweepResult) -> str:
    """Return a sentence on the power at the claim with the least power; empty if it is unknown."""
    claims = [(point.result.detectable, point.result.claim) for point in sweep.points]
    if any(claim <= 0 or not math.isfinite(detectable) for detectable, claim in claims):
        return ""
    worst = math.ceil(100.0 * max(detectable / claim for detectable, claim in claims)) / 100.0
    return f" With a perfect attack, 9 of 10 such audits detect a true epsilon of {number(worst)} times the claim."


def _underpowered(sweep: SweepResult) -> str:
    underpowered, n = [p for p in sweep.points if p.verdict is Verdict.UNDERPOWERED], len(sweep.points)
    worst = max(underpowered, key=lambda point: point.result.claim - point.result.ceiling)
    result = worst.result
    limit = f"their bound is at most {number(result.ceiling)}, but {number(result.claim)} is claimed"
    if mostly_unseen(result.unseen):
        limit = audit_text.new_outputs(result)
    elif result.ceiling > result.claim:
        limit = f"no p-value of these trials is significant after the correction over {n} audits"
    if len(underpowered) == n:
        return f"No outcome of these trials could have contradicted any of the {n} claims: {limit}."
    tested = [point for point in sweep.points if point not in underpowered]
    name = f"“{parameters_text(worst.parameters)}”"
    which = f"{name} could not" if len(underpowered) == 1 else f"{len(underpowered)} could not, such as {name}"
    return (
        f"{len(tested)} of {n} claims were tested, and these trials contradict none of them."
        f"{_shares_of_claims(tested)} {which} be tested: {limit}."
    )


def _dependent(sweep: SweepResult) -> str:
    points = [point for point in sweep.points if point.verdict is Verdict.DEPENDENT]
    which = f"The trials of {len(points)} of {len(sweep.points)} audits"
    return f"{which} are not independent, so no bound is valid and there is no verdict: {points[0].result.dependence}."


def refuted_elsewhere(point: SweepPoint) -> bool:
    """Return whether the claim is refuted although the bound in its row does not exceed it."""
    return point.verdict is Verdict.VIOLATION and point.result.refuted_elsewhere is not None


def only_uncorrected(point: SweepPoint) -> bool:
    """Return whether the claim is refuted individually, but not after the correction for several audits."""
    return point.result.verdict is Verdict.VIOLATION is not point.verdict


def warning_notes(points: Iterable[SweepPoint]) -> tuple[str, ...]:
    """Return the warnings of all audits, each once, with the number of audits that it applies to."""
    points = list(points)
    counts = Counter(text for point in points for text in dict.fromkeys(point.result.warnings))
    return tuple(
        f"{'' if count == len(points) else f'({count} of {len(points)} audits) '}{text}"
        for text, count in counts.items()
    )


def _notes(sweep: SweepResult) -> list[str]:
    """Return how to read the table."""
    notes = [
        f"{DAGGER} {parameters_text(point.parameters) or 'The claim'}: refuted at another delta than "
        f"{number(point.result.delta)}; {point.result.refuted_elsewhere}."
        for point in sweep.points
        if refuted_elsewhere(point)
    ]
    if any(only_uncorrected(point) for point in sweep.points):
        notes.append(f"* refuted individually, but not after the correction over {len(sweep.points)} audits.")
    if any(point.result.family_bound for point in sweep.points):
        notes.append(
            f"“{ANY_CURVE}” holds for every trade-off curve; “{IN_FAMILY}” holds if the true curve is in the family "
            "that the bound assumes."
        )
    return notes


def _part(point: SweepPoint) -> ResultText:
    """Return the text of one audit, with its corrected verdict."""
    result, own = point.result, audit_text.describe(point.result)
    title = parameters_text(point.parameters) or result.mechanism
    facts = own.facts
    if result.breakdown is not None:
        facts = (*facts, ("claim less bound", parts_text(result.breakdown)))
    said = replace(own, facts=facts, title=title)
    if not only_uncorrected(point):
        return said
    return replace(
        said,
        tone=tone_of_point(point),
        headline=f"{tone_of_point(point).label} after the correction for several audits",
        answer="As a single audit this would be a violation. It is not significant after the correction for the number "
        "of audits in the sweep.",
        next_steps=(),
    )


def _verdict_text(point: SweepPoint, stated: str | None = None) -> str:
    """Return sign and verdict, followed by the expected verdict of the audit if it differs."""
    mark = "*" if only_uncorrected(point) else f" {DAGGER}" if refuted_elsewhere(point) else ""
    expected = f" (expected: {stated})" if stated not in (None, point.verdict.value) else ""
    weak = ", weak" if tone_of_point(point) is Tone.WEAK else ""
    return f"{tone_of_point(point).sign} {point.verdict.value}{weak}{mark}{expected}"


def _common(results: list[AuditResult]) -> tuple[Row, ...]:
    """Return the settings that all audits share."""
    facts = [_settings(result) for result in results]
    return tuple((name, text) for name, text in facts[0].items() if all(f.get(name) == text for f in facts))


def _settings(result: AuditResult) -> dict[str, str]:
    words, relation = result.game.words, result.relation
    meaning = words.relation or f"{{relation}}: {RELATION.get(relation, 'neighbouring datasets')}"
    return {
        "mechanism": audit_text.mechanism(result),
        "claim": result.claim_name,
        words.setting.lower(): meaning.format(relation=relation),
        "attack": result.attack,
        "bound": ", ".join(bound.method for bound in result.bounds),
        "delta": number(result.delta),
        "confidence": confidence_text(result.confidence),
        "trials": result.game.describe_trials(result.trials),
    }


def _table(sweep: SweepResult, seconds: Mapping[str, float]) -> TextTable:
    """Return one row per audit, without columns that are empty or constant."""
    names = sweep.parameter_names
    results = [point.result for point in sweep.points]
    columns: dict[str, list[str]] = {
        heading: [value_text(point.parameters.get(name)) for point in sweep.points]
        for name, heading in zip(names, short_keys(names), strict=True)
    }
    n_text = max(1, len(columns))
    if not columns:
        columns["mechanism"] = [result.mechanism for result in results]
    for name, values in (
        ("delta", [number(r.delta) for r in results]),
        ("trials", [r.game.short_trials(r.trials) for r in results]),
    ):
        if len(set(values)) > 1 and name not in columns:
            columns[name] = values
    columns |= _recovered_columns(results)
    columns |= {"claim": [number(r.claim) for r in results], **_bound_columns(results)}
    columns["bound / claim"] = [share_text(r) for r in results]
    if any(r.exact_epsilon is not None for r in results):
        columns["exact"] = [number(r.exact_epsilon) for r in results]
    columns |= _expected_columns(sweep)
    columns |= _published_columns(sweep, seconds)
    for method in dict.fromkeys(estimate.method for r in results for estimate in r.estimates):
        guesses = [{estimate.method: estimate.value for estimate in r.estimates}.get(method) for r in results]
        columns[f"{audit_text.ESTIMATE_LABEL} ({method})"] = [number(guess) for guess in guesses]
    columns |= {
        "ceiling": [number(r.ceiling) for r in results],
        "detectable": [number(r.detectable) for r in results],
        "p-value": [p_value_text(r.p_value, 1.0 - r.confidence) for r in results],
    }
    if len(results) > 1:
        columns["corrected p"] = [p_value_text(point.p_adjusted, 1.0 - sweep.confidence) for point in sweep.points]
    columns["verdict"] = [_verdict_text(point, sweep.expected_of(point).get(VERDICT)) for point in sweep.points]
    cells = zip(*columns.values(), strict=True)
    rows = tuple((tone_of_point(point).value, row) for point, row in zip(sweep.points, cells, strict=True))
    return TextTable(tuple(columns), rows, n_text, _table_caption(sweep))


def _recovered_columns(results: Sequence[AuditResult]) -> dict[str, list[str]]:
    """Return the columns of reconstructions: success rate with its exact interval, and its ceiling by the claim."""
    recoveries = [result.recovery for result in results]
    if not any(recoveries):
        return {}
    return {
        "recovered": ["-" if recovery is None else _success_text(recovery) for recovery in recoveries],
        "at most": [number(None if recovery is None else recovery.allowed) for recovery in recoveries],
    }


def _success_text(recovery: Recovery) -> str:
    """Return `success (lower to upper)`; bits of one run are dependent and have no interval."""
    interval = "" if math.isnan(recovery.lower) else f" ({number(recovery.lower)} to {number(recovery.upper)})"
    return number(recovery.success) + interval


def _expected_columns(sweep: SweepResult) -> dict[str, list[str]]:
    """Return the numbers that the cases of a config expect; empty if it states none."""
    results = [sweep.expected_of(point) for point in sweep.points]
    names = [name for name in EXPECTED_NUMBERS if any(name in by_name for by_name in results)]
    return {f"expected {name.replace('_', ' ')}": [number(by_name.get(name)) for by_name in results] for name in names}


def _published_columns(sweep: SweepResult, seconds: Mapping[str, float]) -> dict[str, list[str]]:
    """Return published results of other tools and the durations of these audits; empty if nothing is published."""
    results = [published(point.parameters) for point in sweep.points]
    tools = dict.fromkeys(tool for by_tool in results for tool in by_tool)
    columns = {line(tool): [number(by_tool.get(tool)) for by_tool in results] for tool in tools}
    took = [seconds.get(folder_name(point.parameters)) for point in sweep.points]
    if columns and any(took):
        columns["time"] = [duration(elapsed) if elapsed else "-" for elapsed in took]
    return columns


def _bound_columns(results: list[AuditResult]) -> dict[str, list[str]]:
    """Return the lower bounds: one column, or one for each kind that occurs if any bound assumes a family."""
    if not any(result.family_bound for result in results):
        return {ANY_CURVE: [number(result.bound.epsilon) for result in results]}
    return {
        name: [number(None if bound is None else bound.epsilon) for bound in bounds]
        for name, bounds in (
            (IN_FAMILY, [result.family_bound for result in results]),
            (ANY_CURVE, [result.assumption_free_bound for result in results]),
        )
        if any(bounds)
    }


def _table_caption(sweep: SweepResult) -> str:
    """Return the caption of the table, with the meaning of the confidence."""
    confidence = confidence_text(sweep.confidence)
    if len(sweep.points) == 1:
        return f"Claimed epsilon, and lower bound on epsilon with {confidence} confidence."
    return (
        f"Claimed epsilon, and lower bound on epsilon. Each lower bound holds individually with {confidence} "
        f"confidence; the verdicts hold jointly with {confidence} confidence."
    )


def share_text(result: AuditResult) -> str:
    """Return the share of the claim that the bound reaches: "96 %"."""
    return "-" if result.claim <= 0 else percent_below(result.bound.epsilon / result.claim)


def parts_text(breakdown: EpsilonBreakdown) -> str:
    """Return the parts in words: "accounting 0, attack 1.2 (0.9 to 1.5), estimator 2"."""
    return ", ".join(f"{part.name} {_part_text(part)}" for part in breakdown.parts)


def _part_text(part: EpsilonPart) -> str:
    if part.interval is None:
        return number(part.epsilon)
    return f"{number(part.epsilon)} ({number(part.interval[0])} to {number(part.interval[1])})"


def games_of(sweep: SweepResult) -> dict[Game, int]:
    """Return the games of a sweep, with the number of audits of each."""
    return Counter(point.result.game for point in sweep.points)


def checks(sweep: SweepResult) -> tuple[str, ...]:
    """Return a description of the test of the guarantee, one text per game."""
    games, n = games_of(sweep), len(sweep.points)
    if len(games) == 1:
        return tuple(f"To test it, {game.words.check}" for game in games)
    return tuple(f"In {_where(count, n)}, {game.words.check}" for game, count in games.items())


def _ledger(sweep: SweepResult) -> TextTable:
    """Return the ledger; entries of several audits that differ only in numbers are one row, with ranges."""
    groups: dict[str, dict[LedgerEntry, dict[LedgerEntry, list[str]]]] = {}
    for point in sweep.points:
        name = parameters_text(point.parameters) or point.result.mechanism
        for entry in dict.fromkeys(point.result.ledger):
            alike = groups.setdefault(entry.what, {}).setdefault(_without_numbers(entry), {})
            alike.setdefault(entry, []).append(name)
    rows = [(e.what, e.looked_at, e.correction, "the experiment") for e in sweep.ledger]
    for by_text in groups.values():
        for entries in by_text.values():
            looked_at, correction = (
                _ranges([getattr(e, name) for e in entries]) for name in ("looked_at", "correction")
            )
            names = list(dict.fromkeys(name for named in entries.values() for name in named))
            first = next(iter(entries))
            rows.append((first.what, looked_at, correction, _named(names, len(sweep.points))))
    caption = "Choices that depend on data, each with the correction that keeps the confidence valid."
    return TextTable(("choice", "data used", "correction", "in"), tuple(("", row) for row in rows), 4, caption)


def _where(count: int, n_audits: int) -> str:
    return "every audit" if count == n_audits else f"{count} of {n_audits} audits"


def _named(names: Sequence[str], n_audits: int) -> str:
    """Return the names of audits, the first ones of many."""
    if len(names) == n_audits or len(names) <= MAX_NAMED:
        return "every audit" if len(names) == n_audits else "; ".join(names)
    return f"{'; '.join(names[:MAX_NAMED])} and {len(names) - MAX_NAMED} more of {n_audits} audits"


def _without_numbers(entry: LedgerEntry) -> LedgerEntry:
    return LedgerEntry(entry.what, _NUMBER.sub("#", entry.looked_at), _NUMBER.sub("#", entry.correction))


def _ranges(texts: list[str]) -> str:
    """Return texts that differ only in numbers as one text: "best of 45 to 196 on 500 + 500 pilot scores"."""
    columns = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    ranges = []
    for column in columns:
        low, high = (pick(column, key=lambda text: float(text.replace(",", ""))) for pick in (min, max))
        ranges.append(low if low == high else f"{low} to {high}")
    between = _NUMBER.split(texts[0])
    return "".join(part for pair in zip(between, [*ranges, ""], strict=True) for part in pair)


def _assumptions(sweep: SweepResult, of_evidence: str | None) -> tuple[str, ...]:
    """Return the assumptions of the evidence and of the bounds, without duplicates."""
    of_games = [game.words.assumes for game in games_of(sweep)] if of_evidence is None else [of_evidence]
    of_bounds = (f"{b.method}: {text}" for point in sweep.points for b in point.result.bounds for text in b.assumptions)
    return tuple(dict.fromkeys((*of_games, *of_bounds)))


__all__ = ["describe", "headline", "tone", "unexpected", "verdict_headline"]
