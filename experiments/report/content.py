"""Content of the report pages as formatted text, which the templates arrange."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...audit.bounds.base import LedgerEntry
from ...audit.evidence.game import Game
from ...audit.evidence.verdict import Verdict
from ...audit.results.audit_result import AuditResult
from ...audit.results.recovery import Recovery
from ...audit.results.refuting_event import RefutingEvent
from ...audit.results.text import ESTIMATE_LABEL, percent, without_low_bits
from ...mechanisms.core import line
from ..config.sweep import EXPECTED_NUMBERS, VERDICT, folder_name, published
from .results.formatting import (
    DAGGER,
    IN_FAMILY,
    NOTHING_ASSUMED,
    number,
    p_text,
    parameters_text,
    short_keys,
    value_text,
)
from .results.sentences import (
    HEADLINE,
    RELATION,
    SIGN,
    answer,
    elsewhere_notes,
    headline,
    parts_text,
    reading,
    refuted_elsewhere,
    share_text,
    tone,
    warning_notes,
)
from .results.sweep import SweepPoint, SweepResult

Row = tuple[str, str]
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")


@dataclass(frozen=True)
class ReportTable:
    """Table of text.

    Args:
        head: names of the columns.
        rows: verdict of each row, which sets its colour, and its cells.
        n_text: number of first columns that are text; the others are numbers and are aligned to the right.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    n_text: int


@dataclass(frozen=True)
class Audit:
    """One audit in detail.

    Args:
        number: index in the sweep, from 1.
        title: the swept parameters of the audit.
        verdict: one word, which sets the colour; `sign` and `headline` are for display.
        reading: interpretation of the distance between bound and claim.
        facts: name and value of each fact about the audit.
        bounds: all bounds, if there are several.
        evidence: a dozen lines to check a violation by hand; empty otherwise.
    """

    number: int
    title: str
    verdict: str
    sign: str
    headline: str
    reading: str
    facts: tuple[Row, ...]
    bounds: ReportTable | None
    evidence: str


@dataclass(frozen=True)
class Content:
    """Content of a report page, without figures, configuration and versions."""

    name: str
    title: str
    paragraphs: tuple[str, ...]
    verdict: str
    sign: str
    headline: str
    answer: str
    conditions: tuple[str, ...]
    common: tuple[Row, ...]
    table: ReportTable
    table_caption: str
    notes: tuple[str, ...]
    audits: tuple[Audit, ...]
    checks: tuple[str, ...]
    ledger: ReportTable
    game_assumptions: str
    assumptions: tuple[str, ...]
    events: bool
    seed: int
    fingerprint: str
    confidence: str
    n_audits: int


def content(sweep: SweepResult, seconds: Mapping[str, float] | None = None) -> Content:
    """Return the text of a report on `sweep`; `seconds` maps the folder of the trials of each audit to its duration."""
    return Content(
        name=sweep.name,
        title=sweep.title or sweep.name,
        paragraphs=tuple(" ".join(part.split()) for part in sweep.description.split("\n\n") if part.strip()),
        verdict=tone(sweep).value,
        sign=SIGN[tone(sweep)],
        headline=headline(sweep),
        answer=answer(sweep),
        conditions=tuple(dict.fromkeys(filter(None, (point.result.valid_if for point in sweep.points)))),
        common=_common([point.result for point in sweep.points]),
        table=_table(sweep, seconds or {}),
        table_caption=_table_caption(sweep),
        notes=(*warning_notes(sweep.points), *elsewhere_notes(sweep.points)),
        audits=tuple(_audit(place, point) for place, point in enumerate(sweep.points, start=1)),
        checks=_checks(sweep),
        ledger=_ledger(sweep),
        game_assumptions=" ".join(game.words.assumes for game in _games(sweep)),
        assumptions=_assumptions(sweep),
        events=any(point.result.events for point in sweep.points),
        seed=sweep.seed,
        fingerprint=sweep.fingerprint,
        confidence=percent(sweep.confidence),
        n_audits=len(sweep.points),
    )


def _verdict_text(point: SweepPoint, stated: str | None = None) -> str:
    """Return sign and verdict, followed by the uncorrected and the expected verdict of the audit if they differ."""
    uncorrected = f" (uncorrected: {point.result.verdict.value})" if point.result.verdict is not point.verdict else ""
    mark = f" {DAGGER}" if refuted_elsewhere(point) else ""
    expected = f" (expected: {stated})" if stated not in (None, point.verdict.value) else ""
    return f"{SIGN[point.verdict]} {point.verdict.value}{mark}{uncorrected}{expected}"


def _facts(result: AuditResult) -> dict[str, str]:
    """Return name -> text of the settings of an audit, for the list of settings that all audits share."""
    return {
        "Mechanism": result.mechanism,
        **({} if result.tier is None else {"Trust tier": result.tier}),
        "Claim": result.claim_name,
        **_neighbours(result),
        "Attack": result.attack,
        "Bound": ", ".join(bound.method for bound in result.bounds),
        "Delta": number(result.delta),
        "Confidence": percent(result.confidence),
        "Trials": result.game.describe_trials(result.trials),
    }


def _neighbours(result: AuditResult) -> dict[str, str]:
    """Return the relation between the two sides of an audit."""
    words, relation = result.game.words, result.relation
    meaning = words.relation or f"{{relation}}: {RELATION.get(relation, 'neighbouring datasets')}"
    return {words.setting: meaning.format(relation=relation)}


def _common(results: list[AuditResult]) -> tuple[Row, ...]:
    """Return the settings that all audits share."""
    facts = [_facts(result) for result in results]
    return tuple((name, text) for name, text in facts[0].items() if all(f.get(name) == text for f in facts))


def _table(sweep: SweepResult, seconds: Mapping[str, float]) -> ReportTable:
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
    columns |= {
        "claim": [number(r.claim, 4) for r in results],
        **_bound_columns(results),
        "bound / claim": [share_text(r) for r in results],
    }
    if any(r.exact_epsilon is not None for r in results):
        columns["exact"] = [number(r.exact_epsilon, 4) for r in results]
    columns |= _expected_columns(sweep)
    columns |= _published_columns(sweep, seconds)
    for method in dict.fromkeys(estimate.method for r in results for estimate in r.estimates):
        guesses = [{estimate.method: estimate.value for estimate in r.estimates}.get(method) for r in results]
        columns[f"{ESTIMATE_LABEL} ({method})"] = [number(guess, 4) for guess in guesses]
    columns |= {
        "ceiling": [number(r.ceiling) for r in results],
        "detectable": [number(r.detectable, 4) for r in results],
        "p-value": [p_text(r.p_value, 1.0 - r.confidence) for r in results],
    }
    if len(results) > 1:
        columns["corrected p"] = [p_text(point.p_adjusted, 1.0 - sweep.confidence) for point in sweep.points]
    columns["verdict"] = [_verdict_text(point, sweep.expected_of(point).get(VERDICT)) for point in sweep.points]
    cells = zip(*columns.values(), strict=True)
    rows = tuple((point.verdict.value, row) for point, row in zip(sweep.points, cells, strict=True))
    return ReportTable(tuple(columns), rows, n_text)


def _recovered_columns(results: Sequence[AuditResult]) -> dict[str, list[str]]:
    """Return the columns of reconstructions: success rate with its exact interval, and its ceiling by the claim."""
    recoveries = [result.recovery for result in results]
    if not any(recoveries):
        return {}
    return {
        "recovered": ["–" if recovery is None else _success_text(recovery) for recovery in recoveries],
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
    return {
        f"expected {name.replace('_', ' ')}": [number(by_name.get(name), 4) for by_name in results] for name in names
    }


def _published_columns(sweep: SweepResult, seconds: Mapping[str, float]) -> dict[str, list[str]]:
    """Return published results of other tools and the durations of these audits; empty if nothing is published."""
    results = [published(point.parameters) for point in sweep.points]
    tools = dict.fromkeys(tool for by_tool in results for tool in by_tool)
    columns = {line(tool): [number(by_tool.get(tool), 4) for by_tool in results] for tool in tools}
    took = [seconds.get(folder_name(point.parameters)) for point in sweep.points]
    if columns and any(took):
        columns["time"] = [number(duration) + " s" if duration else "–" for duration in took]
    return columns


def _bound_columns(results: list[AuditResult]) -> dict[str, list[str]]:
    """Return the lower bounds: one column, or one for each kind that occurs if any bound assumes a family."""
    if not any(result.family_bound for result in results):
        return {"lower bound": [number(result.bound.epsilon, 4) for result in results]}
    return {
        f"lower bound, {name}": ["–" if bound is None else number(bound.epsilon, 4) for bound in bounds]
        for name, bounds in (
            (IN_FAMILY, [result.family_bound for result in results]),
            (NOTHING_ASSUMED, [result.assumption_free_bound for result in results]),
        )
        if any(bounds)
    }


def _table_caption(sweep: SweepResult) -> str:
    """Return the caption of the table, with the meaning of the confidence."""
    confidence = percent(sweep.confidence)
    if len(sweep.points) == 1:
        return f"Claimed epsilon, and lower bound on epsilon with {confidence} confidence."
    return (
        f"Claimed epsilon, and lower bound on epsilon. Each lower bound holds individually with {confidence} "
        f"confidence; the verdicts hold jointly with {confidence} confidence."
    )


def _audit(place: int, point: SweepPoint) -> Audit:
    result, bound = point.result, point.result.bound
    facts = [
        ("Mechanism", result.mechanism),
        *([] if result.tier is None else [("Trust tier", result.tier)]),
        ("Claim", f"epsilon ≤ {number(result.claim, 6)} at delta = {number(result.delta)}, from {result.claim_name}"),
        ("Lower bound", f"epsilon ≥ {number(bound.epsilon, 6)}, by {bound.method}"),
    ]
    if bound.hits is not None and bound.threshold is not None:
        false, true = bound.hits
        counted = result.trials.evaluation
        facts += [
            ("Event", f"score ≥ {number(bound.threshold, 6)}"),
            ("… with the record", f"{true:,} of {counted:,} runs = {number(true / counted, 4)}"),
            ("… without it", f"{false:,} of {counted:,} runs = {number(false / counted, 4)}"),
        ]
    if result.without_low_bits is not None and result.dependence is None:
        facts.append(("Without low bits", without_low_bits(result)))
    facts += [("Witness", f"{witness} It contradicts {witness.contradicts}.") for witness in result.witnesses]
    if result.deciding is not None:
        facts += _deciding(result.deciding)
    facts += [("Warning", text) for text in result.warnings]
    facts += [("Note", text) for text in result.notes]
    facts += [
        ("Exceptional output", f"{name}: {b:,} with the record, {a:,} without it")
        for name, (a, b) in result.events.items()
    ]
    if result.breakdown is not None:
        facts.append(("Claim less bound", parts_text(result.breakdown)))
    facts.append(("p-value", f"{p_text(result.p_value, 1.0 - result.confidence)} against the claim"))
    facts.append(("Seed", f"{result.seed}, fingerprint {result.fingerprint[:16]}"))
    return Audit(
        number=place,
        title=parameters_text(point.parameters) or "The audit",
        verdict=point.verdict.value,
        sign=SIGN[point.verdict],
        headline=HEADLINE[point.verdict],
        reading=reading(point),
        facts=tuple(facts),
        bounds=_bounds(result),
        evidence=result.evidence() if point.verdict is Verdict.VIOLATION else "",
    )


def _deciding(event: RefutingEvent) -> list[Row]:
    """Return the rule of the event that refutes the claim, and examples of outputs in it."""
    name = event.name.replace(">=", "≥")
    rows = [("Rule", event.rule)] if event.rule else []
    sides = (("with", event.outputs1), ("without", event.outputs0))
    return [*rows, *((f"Outputs {side} the record, {name}", "; ".join(texts) or "none") for side, texts in sides)]


def _bounds(result: AuditResult) -> ReportTable | None:
    """Return a table of all bounds of an audit; None if there is only one."""
    if len(result.bounds) < 2:
        return None
    rows = tuple(
        (
            "",
            (
                b.method,
                IN_FAMILY if b.assumptions else NOTHING_ASSUMED,
                number(b.epsilon, 4),
                number(b.ceiling),
                percent(b.confidence),
            ),
        )
        for b in result.bounds
    )
    return ReportTable(("bound", "assumption", "epsilon, at least", "ceiling", "confidence"), rows, 2)


def _games(sweep: SweepResult) -> dict[Game, int]:
    """Return the games of a sweep, with the number of audits of each."""
    return Counter(point.result.game for point in sweep.points)


def _checks(sweep: SweepResult) -> tuple[str, ...]:
    """Return a description of the test of the guarantee, one text per game."""
    games, n = _games(sweep), len(sweep.points)
    if len(games) == 1:
        return tuple(f"To test it, {game.words.check}" for game in games)
    return tuple(f"In {_where(count, n)}, {game.words.check}" for game, count in games.items())


def _ledger(sweep: SweepResult) -> ReportTable:
    """Return the ledger; entries of several audits that differ only in numbers are one row, with ranges."""
    groups: dict[str, dict[LedgerEntry, list[LedgerEntry]]] = {}
    for point in sweep.points:
        for entry in dict.fromkeys(point.result.ledger):
            groups.setdefault(entry.what, {}).setdefault(_without_numbers(entry), []).append(entry)
    rows = [(e.what, e.looked_at, e.correction, "the experiment") for e in sweep.ledger]
    for by_text in groups.values():
        for entries in by_text.values():
            looked_at, correction = (
                _ranges([getattr(e, name) for e in entries]) for name in ("looked_at", "correction")
            )
            rows.append((entries[0].what, looked_at, correction, _where(len(entries), len(sweep.points))))
    return ReportTable(("choice", "data used", "correction", "in"), tuple(("", row) for row in rows), 4)


def _where(count: int, n_audits: int) -> str:
    return "every audit" if count == n_audits else f"{count} of {n_audits} audits"


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


def _assumptions(sweep: SweepResult) -> tuple[str, ...]:
    """Return the assumptions of the bounds, without duplicates."""
    texts = (f"{b.method}: {text}" for point in sweep.points for b in point.result.bounds for text in b.assumptions)
    return tuple(dict.fromkeys(texts))
