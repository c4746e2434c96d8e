"""Results in words: the table that a person reads, and the evidence for a violation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...mechanisms.printable import line
from ..evidence.verdict import Verdict, nothing_to_go_on
from .deciding import words
from .explained import Explained

if TYPE_CHECKING:
    from ..bounds.base import LowerBound
    from ..bounds.curve import CurveViolation
    from ..remedies import Remedy
    from .audit_result import AuditResult
    from .recovery import Recovery

_MEANING = {
    Verdict.VIOLATION: "these trials contradict the claim: implementation, proof or accounting is wrong",
    Verdict.CONSISTENT: "these trials do not contradict the claim",
    Verdict.UNDERPOWERED: "no outcome of these trials could have contradicted the claim",
    Verdict.DEPENDENT: "no verdict: the trials are not independent, so that no bound on them holds",
}


INDEPENDENT = (
    "Let each run draw all of its randomness anew from the rng (or the seed) that it is given, and keep nothing from "
    "one run to the next"
)
"""What makes trials independent."""
SHOWN = 10
"""Kinds of exceptional outputs that a table lists."""


def meaning(verdict: Verdict) -> str:
    """What a verdict says, in one clause."""
    return _MEANING[verdict]


def reason(result: AuditResult) -> str:
    """What the verdict of this result says, in one clause."""
    if result.refuted_by == "witness":
        return "a witness contradicts the claim, without statistics: implementation, proof or accounting is wrong"
    if result.verdict is Verdict.UNDERPOWERED and nothing_to_go_on(result.unseen):
        return f"nothing to go on: {new_outputs(result)}, so that the attack could learn nothing of them"
    return meaning(result.verdict)


def what_to_change(result: AuditResult) -> str:
    """What would make such an audit able to contradict the claim, a sentence; empty where it was."""
    if not result.remedies:
        if result.verdict is not Verdict.UNDERPOWERED or nothing_to_go_on(result.unseen):
            return ""
        return (
            f"No number of {result.game.words.unit}, no confidence and no delta within reach would make such an audit "
            "able to contradict this claim: test a smaller one."
        )
    ways = [", and ".join(_changes(result, remedy)) for remedy in result.remedies]
    return f"Such an audit could contradict the claim with {'; or with '.join(ways)}."


def _changes(result: AuditResult, remedy: Remedy) -> list[str]:
    """What one remedy changes, in words."""
    found = []
    if remedy.trials is not None:
        found.append(result.game.enough(remedy.trials, result.trials))
    if remedy.confidence is not None:
        found.append(f"a confidence of {percent(remedy.confidence)} or less")
    if remedy.delta is not None:
        found.append(f"a claim of the same epsilon at a delta of {remedy.delta:g} or less")
    if remedy.prior_success is not None:
        found.append(f"a secret that is guessed without the output with probability {remedy.prior_success:g} or less")
    return found


def new_outputs(result: AuditResult) -> str:
    """How many of the outputs were new, a clause."""
    return f"{result.unseen:.3%} of the evaluation runs gave a text or an event that no pilot run gave"


def percent(confidence: float) -> str:
    """A confidence for people: "95 %", "99.9999 %"; beyond that, what is missing to certainty."""
    missing = 1.0 - confidence
    return f"{100 * confidence:.8g} %" if missing >= 1e-6 else f"1 - {missing:.2g}"


def against(result: AuditResult) -> str:
    """Return the p-value for people, on its side of the significance; it is computed down to 1e-12."""
    value = result.p_value
    shown = "<= 1e-12" if value <= 1e-12 else f"{value:.{digits_beside(value, 1.0 - result.confidence, 3)}g}"
    return f"{shown} against the claim"


def digits_beside(value: float, limit: float, digits: int) -> int:
    """Return the least number of digits, from `digits` on, at which `value` does not read as `limit`, or beyond it.

    >>> digits_beside(0.0495, 0.05, 1), digits_beside(0.04, 0.05, 1), digits_beside(1.0004, 1.0, 3)
    (3, 1, 5)
    """
    for more in range(digits, 16):
        shown = float(f"{value:.{more}g}")
        if not math.isclose(shown, limit, rel_tol=1e-9) and (shown < limit) == (value < limit):
            return more
    return digits


def detectable(result: AuditResult) -> str:
    """The power of an audit, in one line."""
    if math.isinf(result.detectable):
        return "inf: no outcome of these trials could have contradicted the claim"
    return (
        f"{result.detectable:.6g}: a perfect attack detects an epsilon this large 9 times in 10, if the truth is "
        f"{result.detectable_family}"
    )


BEST_GUESS = "best guess, no guarantee"
"""What an estimate is called wherever it is shown."""


def witnessed(result: AuditResult) -> list[tuple[str, str]]:
    """The witnesses, as rows of a table."""
    rows: list[tuple[str, str]] = []
    for witness in result.witnesses:
        rows += [("witness", str(witness)), ("refutes", witness.contradicts)]
        sides = enumerate(witness.outputs)
        rows += [(f"on side {side}", "; ".join(shown)) for side, shown in sides if shown]
        rows += [("to see it", witness.again)] if witness.again else []
        rows += [("assumes", text) for text in witness.assumptions]
    return rows


def summary(result: AuditResult) -> str:
    """The table of one audit."""
    bound = result.bound
    rows = [
        ("verdict", f"{result.verdict.value.upper()}: {reason(result)}"),
        ("mechanism", result.mechanism),
        (result.game.words.setting.lower(), result.game.relation(result.relation)),
        ("claim", f"epsilon <= {result.claim:.6g} at delta = {result.delta:g}   [{result.claim_name}]"),
        ("bound", f"{_shown(result)}   [{bound.method}]"),
    ]
    explained = Explained()
    if result.without_low_bits is not None and result.dependence is None:
        rows += explained.step("the bound without low bits", lambda: [("no low bits", without_low_bits(result))], [])
    if (seen := result.recovery) is not None:
        rows += explained.step("what was recovered", lambda: [("recovered", recovered(seen))], [])
    rows += explained.step("the witness", lambda: witnessed(result), [])
    if result.dependence is not None:
        rows += [("seen", result.dependence), ("what to do", INDEPENDENT)]
    if result.curve_violation is not None:
        rows.append(("curve", f"{result.curve_violation}   [{result.curve_violation.method}]"))
    rows += explained.step("the deciding event", lambda: _deciding(result), [])
    if result.exact_epsilon is not None:
        rows.append(("exact", f"epsilon  = {result.exact_epsilon:.6g} on this pair"))
    rows += [(BEST_GUESS, f"epsilon  ~ {one.value:.6g}   [{one.method}; {one.label}]") for one in result.estimates]
    if result.dependence is None:
        rows += [
            ("p-value", against(result)),
            ("ceiling", f"{result.ceiling:.6g}: the largest bound that these trials could have given"),
            ("detectable", detectable(result)),
        ]
    rows += [("to change", text)] if (text := what_to_change(result)) else []
    rows += [
        ("attack", result.attack),
        ("trials", result.game.counted(result.trials)),
        ("seed", str(result.seed)),
    ]
    rows += [("warning", text) for text in (*result.warnings, *explained.warnings)]
    rows += [("note", text) for text in result.notes]
    most = sorted(result.events.items(), key=lambda event: -sum(event[1]))
    rows += [("event", f"{name}: {out:,} on side 0, {in_:,} on side 1") for name, (out, in_) in most[:SHOWN]]
    if len(most) > SHOWN:
        rows.append(("event", f"... and {len(most) - SHOWN:,} more kinds"))
    rows += [("assumes", text) for text in bound.assumptions]
    rows += [("ledger", f"{entry.what}: {entry.looked_at}; {entry.correction}") for entry in result.ledger]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {line(text)}" for name, text in rows)


def without_low_bits(result: AuditResult) -> str:
    """Return what is shown without the low bits of floats, and what follows; "" where they were not read."""
    found = result.without_low_bits
    if found is None:
        return ""
    shown = f"epsilon >= {found.bound.epsilon:.6g} without rules on the low bits of floats"
    if not found.refutes(result.claim):
        only = result.verdict is Verdict.VIOLATION and result.witness is None
        end = "the claim is refuted by low bits alone" if only else "the claim is not contradicted"
        return f"{shown}: {end}"
    where = f": {found.curve_violation}" if found.bound.epsilon <= result.claim else ""
    rule = f" ({found.rule})" if found.rule else ""
    return f"{shown}{rule}: the claim is refuted without them too{where}"


def _deciding(result: AuditResult) -> list[tuple[str, str]]:
    """The event that refutes the claim, and what each side gave in it."""
    event, decided = result.deciding, result.refuted_elsewhere or result.bound
    if event is None:
        return []
    sizes = (result.tally.n_out, result.tally.n_in)
    return [("seen", f"{event.name} under the {result.attack} attack"), *words(event, decided.hits, sizes)]


def _shown(result: AuditResult) -> str:
    if result.dependence is not None:
        return f"no valid bound; {result.bound.epsilon:.6g} if the trials were independent"
    return f"epsilon >= {result.bound.epsilon:.6g} with {percent(result.confidence)} confidence"


def evidence(result: AuditResult) -> str:
    """A dozen lines on the event that decided, enough to check the verdict by hand."""
    bound, explained = result.bound, Explained()
    decided = result.refuted_elsewhere or bound
    event = (lambda: _event(result, decided)) if result.game.has_scores else (lambda: _guesses(result))
    shared = f" shared by {len(result.bounds)} bounds" if len(result.bounds) > 1 else ""
    rows = [
        _headline(result),
        ("mechanism", result.mechanism),
        ("claim", f"{result.claim_name} at delta = {result.delta:g}, relation {result.relation}"),
        *((f"d{side}", shortened(dataset)) for side, dataset in enumerate(result.datasets or ())),
        *explained.step("the witness", lambda: witnessed(result), []),
        *explained.step("the deciding event", event, []),
        ("bound", f"{decided.method}, {percent(result.confidence)} confidence{shared}"),
        *([("no low bits", without_low_bits(result))] if result.without_low_bits is not None else []),
        ("p-value", f"{against(result)}; ceiling {result.ceiling:.6g}"),
        ("trials", f"{result.game.counted(result.trials)}{_exceptional(result)}"),
        ("again", f"seed {result.seed}, fingerprint {result.fingerprint[:16]}"),
    ]
    rows += [("warning", text) for text in (*result.warnings, *explained.warnings)]
    rows += [("assumes", text) for text in bound.assumptions]
    return "\n".join(f"{name:<11} {line(text)}" for name, text in rows)


def shortened(text: str, longest: int = 80) -> str:
    """The beginning and the end of a long text.

    >>> shortened("[1, 2, 3, 4, 5, 6, 7, 8]", 20)
    '[1, 2, 3, ... 7, 8]'
    """
    end = longest // 4
    return text if len(text) <= longest else f"{text[: longest - end - 5].rstrip()} ... {text[-end:].lstrip()}"


def _event(result: AuditResult, decided: LowerBound | CurveViolation) -> list[tuple[str, str]]:
    """The event that decided, and how often it happened on each side, with outputs where some were kept."""
    if result.deciding is not None:
        return [("event", text) if name == "seen" else (name, text) for name, text in _deciding(result)]
    sizes, rates = (result.tally.n_out, result.tally.n_in), ["more than one event was read"] * 2
    if decided.hits is not None:
        rates = [f"{k:,} of {n:,} = {k / n:.6g}" for k, n in zip(decided.hits, sizes, strict=True)]
    at = "" if decided.threshold is None else f" >= {decided.threshold:.6g}"
    event = ("event", f"score{at} under the {result.attack} attack")
    return [event, ("on side 1", rates[1]), ("on side 0", rates[0])]


def recovered(seen: Recovery) -> str:
    """How much of a secret was recovered, in a line."""
    limits = "" if math.isnan(seen.lower) else f" ({seen.lower:.4g} to {seen.upper:.4g})"
    return f"{seen.success:.4g}{limits}; {seen.prior:.4g} without the output, at most {seen.allowed:.4g} by the claim"


def _guesses(result: AuditResult) -> list[tuple[str, str]]:
    """How often the secret was guessed, with the output and without; and how it was drawn."""
    drawn = [entry.looked_at for entry in result.bound.ledger if entry.what == "secret"]
    seen = [entry.looked_at for entry in result.bound.ledger if entry.what == "success"]
    event = ("event", f"the {result.attack} guess comes close enough")
    rows = [event, *(("successes", text) for text in seen), *(("secret", text) for text in drawn)]
    return rows if result.recovery is None else [*rows, ("allowed", f"{result.recovery.allowed:.6g} of the rounds")]


def _headline(result: AuditResult) -> tuple[str, str]:
    """The verdict, and what it rests on: epsilon at the delta that was asked, or the claimed curve elsewhere."""
    bound, claim = f"epsilon >= {result.bound.epsilon:.6g}", f"{result.claim:.6g} is claimed"
    if result.witness is not None:
        return "VIOLATION:", f"{result.witness}"
    if result.verdict is not Verdict.VIOLATION:
        return f"{result.verdict.value}:", f"{bound}, and {claim}"
    return "VIOLATION:", f"{result.refuted_elsewhere or f'{bound}, but {claim}'}"


def _exceptional(result: AuditResult) -> str:
    """The three most frequent exceptional outputs, with their counts on side 0 and side 1."""
    most = sorted(result.events.items(), key=lambda event: -sum(event[1]))[:3]
    return "".join(f"; {name}: {out:,} on side 0, {in_:,} on side 1" for name, (out, in_) in most)
