"""The text of a history of builds: what the evidence of all builds says, and a table of the builds."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...audit.evidence.verdict import Verdict
from ...audit.results.result_text import ResultText, Row, TextTable, tone_of
from ...mechanisms.core import confidence_text, fixed, number, plural
from .history import Build, History
from .pools import PoolEvidence

_HEAD = ("build", "added", "code", "trials", "epsilon >=", "own verdict", "for this code", "for all builds", "verdict")
_CODE_LENGTH = 10


def describe(history: History) -> ResultText:
    """Return the text of a history."""
    last = history.last
    refuted = history.verdict is Verdict.VIOLATION
    tone = tone_of(Verdict.VIOLATION) if refuted else history.checked.tone
    return ResultText(
        tone=tone,
        headline=f"{tone.label}: {plural(len(history.builds), 'build')} of {history.name}",
        answer=_answer(history),
        facts=(("claim", f"{last.own.claim_name} at delta {number(last.own.delta)}"), *rows(history)),
        table=TextTable(_HEAD, tuple((_tone(build), _cells(build)) for build in history.builds), 2),
        warnings=tuple(_warnings(history)),
        notes=(
            "Evidence is a power of ten: 2.0 is what happens once in 100 histories of true claims, at most.",
            f"The digest of the last line is {last.digest}. Lines that are removed at the end of the file do not show: "
            "compare it with a copy.",
        ),
    )


def _warnings(history: History) -> Iterator[str]:
    last, names = history.last, list(dict.fromkeys(build.own.mechanism.partition("(")[0] for build in history.builds))
    if last.left_out:
        yield f"build {last.number} adds no evidence: {last.left_out}."
    if len(names) > 1:
        yield (
            f"the builds are of {', '.join(names)}: an alarm about one program ends with a build of another. Keep a "
            "file for each program."
        )
    if history.is_cut:
        yield f"the last line of {history.name} has no end: it is what an interrupted build left, and no build."


def rows(history: History) -> list[Row]:
    """Return what the last build added, as rows of a first screen."""
    last = history.last
    shown = [
        ("history", f"build {last.number} of {history.name}, line {last.digest[:_CODE_LENGTH]}"),
        ("this code", _evidence(last.of_code)),
        ("all builds", _evidence(last.of_all)),
    ]
    reasons = [*_refutations(history), *([f"it adds no evidence: {last.left_out}"] if last.left_out else [])]
    return [*shown, *(("", reason) for reason in reasons)]


def _answer(history: History) -> str:
    found = list(_refutations(history))
    level = confidence_text(1.0 - history.last.level)
    held = f"If the claim is true in every build, the evidence of this history never alarms, at {level} confidence."
    if found:
        return " ".join(f"{text[:1].upper()}{text[1:]}." for text in found) + f" {held}"
    earlier = [build.number for build in history.builds if build.verdict is Verdict.VIOLATION]
    if earlier and history.verdict is not Verdict.VIOLATION:
        verb = "was a violation" if len(earlier) == 1 else "were violations"
        named = (
            f"build {earlier[0]}" if len(earlier) == 1 else f"{len(earlier)} builds, the last of them {earlier[-1]},"
        )
        return f"The code of the last build is not refuted; {named} with other code {verb}. {held}"
    return f"The builds together do not refute the claim. {held}"


def _refutations(history: History) -> Iterator[str]:
    """Yield why the last build is a violation, beyond its own audit."""
    last, since = history.last, history.refuted_since
    for pool, builds in ((last.of_code, "builds with this code"), (last.of_all, "last builds")):
        if pool.alarm and pool.n_builds == 1:
            yield "this build refutes the claim"
        elif pool.alarm:
            yield f"the {pool.n_builds:,} {builds} refute the claim for at least one of them"
    if since is not None and since < last.number:
        yield f"build {since} refuted the claim, and the code has not changed since"


def _evidence(pool: PoolEvidence) -> str:
    alarm = f"alarm at 10^{fixed(pool.log_limit / math.log(10.0), 1)}"
    return f"evidence 10^{_power(pool)} against the claim from {plural(pool.n_builds, 'build')}, {alarm}"


def _power(pool: PoolEvidence) -> str:
    return fixed(pool.log_evidence / math.log(10.0), 1)


def _tone(build: Build) -> str:
    return tone_of(build.verdict).value if build.verdict is Verdict.VIOLATION else ""


def _cells(build: Build) -> tuple[str, ...]:
    own = build.own
    left_out = " (left out)" if build.left_out else ""
    evidence = (f"{_power(build.of_code)}{left_out}", _power(build.of_all))
    trials = f"{own.trials:,}"
    code = build.code[:_CODE_LENGTH]
    return (str(build.number), build.time, code, trials, number(own.bound), own.outcome, *evidence, build.verdict.value)
