"""The text of audits on hostile data: which kinds of data refute the claim, and how to repeat the shortest pair."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from ...mechanisms.core import confidence_text, listed, number, plural
from ..evidence.verdict import Verdict
from ..results import text as audit_text
from ..results.result_text import ResultText, Row, TextSection, TextTable, Tone, tone_of
from .hostile.values import FAMILIES
from .relations import which_relations
from .stress_result import PairOutcome, StressedPair, StressResult

CHANGES = {"add_remove": "added or removed", "replace_one": "replaced", "zero_out": "blanked"}
"""What happens to a record under each relation."""
MAX_REASON = 160
"""Largest number of characters of a reason in a table."""
UNKNOWN_TARGET, PROGRAM = "FILE:FUNCTION", "--command "
"""What stands for the audited object where the command line does not name it; the begin of a program."""


def describe(result: StressResult) -> ResultText:
    """Return the text of a stress result: that of the reported pair, with the table of all pairs."""
    audited = result.reported.text()
    refuted = result.with_outcome(PairOutcome.VIOLATION)
    return replace(
        audited,
        headline=_headline(result),
        answer=_answer(result),
        facts=(*(row for row in audited.facts if row[0] not in _OF_THE_PAIR), *_pair_rows(result)),
        evidence=_evidence(audited) if refuted else (),
        examples=(*_exceptional(audited), *_repetition(result), *audited.examples) if refuted else (),
        warnings=(*_warnings(result), *audited.warnings),
        next_steps=_next_steps(result, audited.next_steps),
        table=_families(result),
        notes=(*_notes(result), *(audited.notes if refuted else ())),
        details=(TextSection("All pairs", table=_all_pairs(result), folded=True), *audited.details),
    )


MAX_OUTPUTS = 3
"""Largest number of kinds of exceptional outputs in the evidence."""
_OF_EVENTS = ("event", "on side 0", "on side 1")
_OF_THE_PAIR = ("bound", "pair")
"""Facts of the audit of the reported pair that its own row states."""


def _exceptional(audited: ResultText) -> list[Row]:
    """Return the counts of exceptional outputs, which may be texts of people."""
    rows = [row for section in audited.details for row in section.facts if row[0] == "exceptional"]
    return rows[:MAX_OUTPUTS]


def _evidence(audited: ResultText) -> tuple[Row, ...]:
    """Return the evidence of the reported pair, without a learned event where exceptional outputs show it."""
    if not _exceptional(audited):
        return audited.evidence
    return tuple(row for row in audited.evidence if row[0] not in _OF_EVENTS)


def _audited(result: StressResult) -> list[StressedPair]:
    return [pair for pair in result.pairs if pair.outcome.audited]


def _headline(result: StressResult) -> str:
    """Return the verdict in a few words."""
    label, n = tone_of(result.verdict, weak=result.reported.weak).label, len(_audited(result))
    refuted = result.with_outcome(PairOutcome.VIOLATION)
    if refuted:
        kinds = len({pair.family for pair in refuted})
        return f"{label}: {plural(kinds, 'kind')} of data of {len(_kinds(result))} refute{'s' * (kinds == 1)} the claim"
    if result.verdict is Verdict.CONSISTENT:
        return f"{label}: none of {plural(n, 'pair')} with hostile data refutes the claim"
    return audit_text.headline(result.reported)


def _answer(result: StressResult) -> str:
    """Return the verdict in one to three sentences, with its error rate."""
    confidence, n = confidence_text(result.confidence), len(_audited(result))
    refuted = result.with_outcome(PairOutcome.VIOLATION)
    if not refuted:
        if result.verdict is Verdict.DEPENDENT:
            return audit_text.answer(result.reported)
        return (
            f"The claim was tested on {plural(n, 'pair')} of datasets, at {confidence} confidence in all verdicts "
            f"together. {_power(result)}"
        )
    kinds = list(dict.fromkeys(f"{FAMILIES[pair.family]}" for pair in refuted))
    which = f"{len(refuted)} of {plural(n, 'audited pair')} refute{'s' * (len(refuted) == 1)} the claim"
    return (
        f"With {confidence} confidence in all verdicts together, {which}: {'; '.join(kinds)}."
        f"{_which_relations(result)} {_error_rate(result)}"
    )


def _error_rate(result: StressResult) -> str:
    """Return what the violation means at the level of all pairs together."""
    if result.reported.refuted_by == "witness":
        return audit_text.error_rate(result.reported)
    p_value = min(1.0, result.n_tests * result.reported.p_value)
    return audit_text.meaning_of_violation(p_value, result.confidence)


def _which_relations(result: StressResult) -> str:
    """Return for which relations the claim is refuted, where several were audited; "" where one was stated."""
    said = which_relations({name: result.refuted_for(name) for name in result.relations})
    return f" {said}" if said else ""


def _power(result: StressResult) -> str:
    """Return a sentence on what these audits could have seen."""
    ordinary = [pair.detectable for pair in _audited(result) if pair.family == "ordinary"]
    others = [pair.detectable for pair in _audited(result) if pair.family != "ordinary"]
    seen = [
        f"{number(max(part))} on {name}"
        for name, part in (("ordinary data", ordinary), ("hostile data", others))
        if part
    ]
    return f"A perfect attack would have found, 9 times in 10, a true epsilon of {' and of '.join(seen)}."


def _pair_rows(result: StressResult) -> list[Row]:
    """Return what the reported pair is, and its bound."""
    pair, refuted = result.pair, result.pair.outcome is PairOutcome.VIOLATION
    relations = " and ".join(result.relations)
    rows: list[Row] = [("relation", f"{relations}{', since none is stated' if len(result.relations) > 1 else ''}")]
    if refuted:
        rows.append(("pair", f"{_kind(pair)}: {pair.words} (a record is {CHANGES[pair.relation]})"))
        confidence = confidence_text(result.confidence)
        rows.append(("bound", f"epsilon >= {number(pair.bound)}, with {confidence} confidence for all pairs together"))
    return rows


def _kind(pair: StressedPair) -> str:
    return {"nan": "NaN"}.get(pair.family, pair.family)


def _repetition(result: StressResult) -> list[Row]:
    """Return the reported pair as a command line, and as Python."""
    pair, rows = result.pair, []
    relation, seed = pair.relation, result.reported.seed
    if pair.d0 and pair.d1 and result.claim_options:
        d0, d1 = (f"--d{side} {shlex.quote(text)}" for side, text in enumerate((pair.d0, pair.d1)))
        target = result.target or UNKNOWN_TARGET
        rows.append(
            (
                "repeat",
                f"dpassay check {target} {result.claim_options} {d0} {d1} --relation {relation} "
                f"--trials {pair.trials} --stop anytime",
            )
        )
    if pair.code0 and pair.code1 and not result.target.startswith(PROGRAM):
        name = result.target.strip("'").rpartition(":")[2] or result.reported.mechanism.removesuffix("()")
        if pair.bounds and name.startswith("partial("):  # as the mechanism is called with its bounds
            name = name.removeprefix("partial(").partition(", bounds=")[0]
        function = f"partial({name}, bounds={pair.bounds})" if pair.bounds else name
        nan = ", ".join(word for word in ("nan", "inf") if word in pair.code0 + pair.code1)
        imports = f"from math import {nan}; " * bool(nan) + "from functools import partial; " * bool(pair.bounds)
        rows.append(
            (
                "in Python",
                f"{imports}audit({function}, Neighbours({pair.code0}, {pair.code1}, "
                f"{relation!r}), claim={result.claim_code}, trials={pair.trials}, stop='anytime', "
                f"confidence={result.reported.confidence!r}, seed={seed})",
            )
        )
    return rows


def _warnings(result: StressResult) -> list[str]:
    """Return what a reader must know of pairs without a verdict."""
    silent, weak = result.with_outcome(PairOutcome.NO_ANSWER), result.with_outcome(PairOutcome.UNDERPOWERED)
    warnings = []
    if silent:
        kinds = listed(list(dict.fromkeys(FAMILIES[pair.family] for pair in silent)))
        warnings.append(
            f"no answer within the time limit on {plural(len(silent), 'pair')} ({kinds}): if only one of the two "
            "datasets hangs, this leaks, which was not tested."
        )
    if weak and result.verdict is not Verdict.UNDERPOWERED:
        warnings.append(f"no outcome could have refuted the claim on {plural(len(weak), 'pair')}: use more trials.")
    return warnings


def _next_steps(result: StressResult, steps: Sequence[str]) -> tuple[str, ...]:
    """Return what to do now."""
    if result.verdict is Verdict.VIOLATION:
        family = result.pair.family
        if family == "ordinary":
            return tuple(steps)
        return (
            "Repair the code for such data: clamp, or replace by a fixed value, before anything is computed; and let "
            "no record decide whether it raises.",
            f"If the documentation excludes such data, leave them out: `without=[{family!r}]`, or `--without "
            f"{family}`.",
        )
    if result.verdict is Verdict.CONSISTENT:
        return ("For a tight bound on ordinary data, audit one pair with more trials, or search for the worst one.",)
    return tuple(steps)


def _kinds(result: StressResult) -> list[str]:
    """Return the kinds of data that were audited."""
    return list(dict.fromkeys(pair.family for pair in _audited(result)))


_WORST = (
    PairOutcome.VIOLATION,
    PairOutcome.DEPENDENT,
    PairOutcome.NO_ANSWER,
    PairOutcome.UNDERPOWERED,
    PairOutcome.CONSISTENT,
    PairOutcome.FAILED,
    PairOutcome.REFUSED,
    PairOutcome.SKIPPED,
)


def _families(result: StressResult) -> TextTable:
    """Return one row for each kind of data and relation, with its most severe outcome; refuted ones first."""
    several, rows = len(result.relations) > 1, []
    for family in dict.fromkeys(pair.family for pair in result.pairs):
        for relation in result.relations:
            those = [pair for pair in result.pairs if (pair.family, pair.relation) == (family, relation)]
            if not those:
                continue
            worst = min(those, key=lambda pair: _WORST.index(pair.outcome))
            what = worst.words if worst.outcome is PairOutcome.VIOLATION else FAMILIES[family]
            change = (CHANGES[relation],) if several else ()
            cells = (f"{_kind(worst)}: {what}", *change, str(len(those)), _bound(those), _verdict(worst))
            rows.append((_WORST.index(worst.outcome), _tone(worst), cells))
    head = ("data", *(("a record is",) if several else ()), "pairs", "epsilon >=", "verdict")
    ordered = sorted(rows, key=lambda row: row[0] > 0)
    return TextTable(head, tuple((tone, cells) for _, tone, cells in ordered), 1 + several)


def _bound(pairs: Sequence[StressedPair]) -> str:
    audited = [pair.bound for pair in pairs if pair.outcome.audited and pair.outcome is not PairOutcome.DEPENDENT]
    return number(max(audited), 3) if audited else "-"


def _verdict(pair: StressedPair) -> str:
    """Return the outcome, after the sign of its verdict."""
    return f"{Tone(pair.outcome.value).sign} {pair.outcome.value}" if pair.outcome.audited else pair.outcome.value


def _tone(pair: StressedPair) -> str:
    return pair.outcome.value if pair.outcome.audited else ""


def _all_pairs(result: StressResult) -> TextTable:
    """Return one row for each pair."""
    rows = []
    for pair in result.pairs:
        name = f"{_kind(pair)}: {pair.words}"
        rows.append(
            (_tone(pair), (name, pair.relation, _reason(pair), _bound([pair]), f"{pair.trials:,}", _verdict(pair)))
        )
    return TextTable(("pair", "relation", "reason", "epsilon >=", "trials", "verdict"), tuple(rows), 3)


def _reason(pair: StressedPair) -> str:
    return pair.reason if len(pair.reason) <= MAX_REASON else f"{pair.reason[: MAX_REASON - 3]}..."


def _notes(result: StressResult) -> list[str]:
    """Return how many pairs have no verdict, and why."""
    notes = []
    for outcome, meaning in (
        (PairOutcome.REFUSED, "refused: the code raises the same on both datasets, or on a value of another type"),
        (PairOutcome.FAILED, "not run: their runs could not be made or read"),
        (PairOutcome.SKIPPED, "not needed: a pair of the same kind and relation, or enough others, are refuted"),
    ):
        n = len(result.with_outcome(outcome))
        if n:
            notes.append(f"{plural(n, 'pair')} {meaning}.")
    if result.left_out:
        said = ", ".join(f"{n:,} {reason}" for reason, n in result.left_out.items())
        notes.append(f"not made: {said}.")
    return notes
