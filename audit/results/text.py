"""Results as plain text: the summary table, the evidence for a violation, and the steps of an explanation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...mechanisms.adapters.functions.guard import in_words
from ...mechanisms.core import line
from ..evidence.verdict import Verdict, mostly_unseen
from .found_pair import found_rows
from .refuting_event import event_rows

if TYPE_CHECKING:
    from ..bounds.base import LowerBound
    from ..bounds.curve import CurveViolation
    from ..power.remedies import Remedy
    from .audit_result import AuditResult
    from .recovery import Recovery
_MEANING = {
    Verdict.VIOLATION: "these trials contradict the claim: implementation, proof or accounting is wrong",
    Verdict.CONSISTENT: "these trials do not contradict the claim",
    Verdict.UNDERPOWERED: "no outcome of these trials could have contradicted the claim",
    Verdict.DEPENDENT: "no verdict: the trials are not independent, so no bound is valid",
}


INDEPENDENCE_ADVICE = (
    "Let each run draw all of its randomness from the rng (or the seed) that it receives, and keep no state from one "
    "run to the next"
)
"""Advice that makes trials independent."""
MAX_KINDS_SHOWN = 10
"""Largest number of kinds of exceptional outputs in a table."""


def mechanism(result: AuditResult) -> str:
    """Return the mechanism with its trust tier."""
    return result.mechanism if result.tier is None else f"{result.mechanism}   [{result.tier}]"


def verdict_meaning(verdict: Verdict) -> str:
    """Return the meaning of a verdict, as one clause."""
    return _MEANING[verdict]


def verdict_reason(result: AuditResult) -> str:
    """Return the meaning of the verdict of this result, as one clause."""
    if result.refuted_by == "witness":
        return "a witness contradicts the claim, without statistics: implementation, proof or accounting is wrong"
    if result.verdict is Verdict.UNDERPOWERED and mostly_unseen(result.unseen):
        return f"the attack could not learn from the pilot: {new_outputs(result)}"
    if result.condition and result.verdict is Verdict.CONSISTENT:
        return f"these trials contradict the claim only if {result.condition}, which no test of them can check"
    if result.condition and result.verdict is Verdict.UNDERPOWERED:
        return f"no outcome of these trials could have contradicted the claim unless {result.condition}"
    return verdict_meaning(result.verdict)


def what_to_change(result: AuditResult) -> str:
    """Return a sentence on the changes with which the audit could contradict the claim; empty if it already could."""
    if not result.remedies:
        if result.verdict is not Verdict.UNDERPOWERED or mostly_unseen(result.unseen):
            return ""
        return (
            f"No feasible number of {result.game.words.unit}, confidence or delta would allow such an audit to "
            "contradict this claim: test a smaller claim."
        )
    ways = [", and ".join(_changes(result, remedy)) for remedy in result.remedies]
    return f"Such an audit could contradict the claim with {'; or with '.join(ways)}."


def _changes(result: AuditResult, remedy: Remedy) -> list[str]:
    """Return the changes of one remedy, in words."""
    changes = []
    if remedy.trials is not None:
        changes.append(result.game.describe_needed(remedy.trials, result.trials))
    if remedy.confidence is not None:
        changes.append(f"a confidence of {percent(remedy.confidence)} or less")
    if remedy.delta is not None:
        changes.append(f"a claim of the same epsilon at a delta of {remedy.delta:g} or less")
    if remedy.prior_success is not None:
        changes.append(f"a secret that is guessed without the output with probability {remedy.prior_success:g} or less")
    return changes


def new_outputs(result: AuditResult) -> str:
    """Return a clause on the share of evaluation runs whose outputs did not occur in the pilot."""
    return f"{result.unseen:.3%} of the evaluation runs gave a text or an event that no pilot run gave"


def percent(confidence: float) -> str:
    """Return a confidence as text: "95 %", "99.9999 %"; beyond that as 1 - significance."""
    significance = 1.0 - confidence
    return f"{100 * confidence:.8g} %" if significance >= 1e-6 else f"1 - {significance:.2g}"


def _p_value_text(result: AuditResult) -> str:
    """Return the p-value as text, with enough digits to compare it to the significance; computed down to 1e-12."""
    value = result.p_value
    text = "<= 1e-12" if value <= 1e-12 else f"{value:.{digits_beside(value, 1.0 - result.confidence, 3)}g}"
    return f"{text} against the claim"


def digits_beside(value: float, limit: float, digits: int) -> int:
    """Return the least number of digits, from `digits` on, with which `value` rounds neither to `limit` nor beyond it.

    >>> digits_beside(0.0495, 0.05, 1), digits_beside(0.04, 0.05, 1), digits_beside(1.0004, 1.0, 3)
    (3, 1, 5)
    """
    for more in range(digits, 16):
        rounded = float(f"{value:.{more}g}")
        if not math.isclose(rounded, limit, rel_tol=1e-9) and (rounded < limit) == (value < limit):
            return more
    return digits


def detectable(result: AuditResult) -> str:
    """Return the power of an audit, as one line."""
    if math.isinf(result.detectable):
        return "inf: no outcome of these trials could have contradicted the claim"
    return (
        f"{result.detectable:.6g}: a perfect attack detects an epsilon this large with power 90 %, if the true curve "
        f"is that of {result.detectable_family}"
    )


ESTIMATE_LABEL = "estimate, no guarantee"
"""Label of an estimate wherever it is shown."""


def witnessed(result: AuditResult) -> list[tuple[str, str]]:
    """Return the witnesses as rows of a table."""
    rows: list[tuple[str, str]] = []
    for witness in result.witnesses:
        rows += [("witness", str(witness)), ("refutes", witness.contradicts)]
        sides = enumerate(witness.outputs)
        rows += [(f"on side {side}", "; ".join(outputs)) for side, outputs in sides if outputs]
        rows += [("replay", witness.again)] if witness.again else []
        rows += [("assumes", text) for text in witness.assumptions]
    return rows


def summary(result: AuditResult) -> str:
    """Return the summary table of one audit."""
    bound = result.bound
    rows = [
        *_condition(result),
        ("verdict", f"{result.verdict.value.upper()}: {verdict_reason(result)}"),
        ("mechanism", mechanism(result)),
        (result.game.words.setting.lower(), result.game.relation(result.relation)),
        ("claim", f"epsilon <= {result.claim:.6g} at delta = {result.delta:g}   [{result.claim_name}]"),
        *found_rows(result.ledger),
        ("bound", f"{_bound(result)}   [{bound.method}]"),
    ]
    explained = Explanations()
    unassumed = " without its unchecked condition" if bound.condition else ""
    if result.without_low_bits is not None and result.dependence is None:
        rows += explained.step("the bound without low bits", lambda: [("no low bits", without_low_bits(result))], [])
    if (recovery := result.recovery) is not None:
        rows += explained.step("the success rate", lambda: [("recovered", recovered(recovery))], [])
    rows += explained.step("the witness", lambda: witnessed(result), [])
    if result.dependence is not None:
        rows += [("dependence", result.dependence), ("next step", INDEPENDENCE_ADVICE)]
    if result.curve_violation is not None and (result.delta > 0.0 or result.refuted_elsewhere is not None):
        rows.append(("curve", f"{result.curve_violation}   [{result.curve_violation.method}]"))
    rows += explained.step("the deciding event", lambda: _deciding(result), [])
    if result.exact_epsilon is not None:
        rows.append(("exact", f"epsilon  = {result.exact_epsilon:.6g} on this pair"))
    rows += [(ESTIMATE_LABEL, f"epsilon  ~ {e.value:.6g}   [{e.method}; {e.label}]") for e in result.estimates]
    if result.dependence is None:
        rows += [
            ("p-value", _p_value_text(result)),
            ("ceiling", f"{result.ceiling:.6g}: the largest bound{unassumed} that these trials could have given"),
            ("detectable", detectable(result)),
        ]
    rows += [("remedy", text)] if (text := what_to_change(result)) else []
    rows += [
        ("attack", result.attack),
        ("trials", result.game.describe_trials(result.trials)),
        ("seed", str(result.seed)),
    ]
    rows += [("warning", text) for text in (*result.warnings, *explained.warnings)]
    rows += [("note", text) for text in result.notes]
    events = _exceptional(result)
    rows += [("exceptional", text) for text in events[:MAX_KINDS_SHOWN]]
    if len(events) > MAX_KINDS_SHOWN:
        rows.append(("exceptional", f"... and {len(events) - MAX_KINDS_SHOWN:,} more kinds"))
    rows += [("assumes", text) for text in bound.assumptions]
    rows += [("ledger", f"{entry.what}: {entry.looked_at}; {entry.correction}") for entry in result.ledger]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {line(text)}" for name, text in rows)


def _condition(result: AuditResult) -> list[tuple[str, str]]:
    """Return the row on the condition of the bound, which comes before any number; none without a condition."""
    return [("condition", result.valid_if)] if result.valid_if else []


def without_low_bits(result: AuditResult) -> str:
    """Return the bound without the low bits of floats, and its consequence; "" if the attack did not use them."""
    without = result.without_low_bits
    if without is None:
        return ""
    bound = f"epsilon >= {without.bound.epsilon:.6g} without rules on the low bits of floats"
    if not without.refutes(result.claim):
        only_low_bits = result.verdict is Verdict.VIOLATION and result.witness is None
        end = "only the low bits refute the claim" if only_low_bits else "the claim is not contradicted"
        return f"{bound}: {end}"
    where = f": {without.curve_violation}" if without.bound.epsilon <= result.claim else ""
    rule = f" ({without.rule})" if without.rule else ""
    return f"{bound}{rule}: the claim is refuted without the low bits too{where}"


def _deciding(result: AuditResult) -> list[tuple[str, str]]:
    """Return rows on the event that refutes the claim, with its counts and example outputs of each side."""
    event, decided = result.deciding, result.decided_by
    if event is None:
        return []
    sizes = (result.tally.n_out, result.tally.n_in)
    return [("event", f"{event.name} under the {result.attack} attack"), *event_rows(event, decided.hits, sizes)]


def _bound(result: AuditResult) -> str:
    if result.dependence is not None:
        return f"no valid bound; {result.bound.epsilon:.6g} if the trials were independent"
    return f"epsilon >= {result.bound.epsilon:.6g} with {percent(result.confidence)} confidence"


def evidence(result: AuditResult) -> str:
    """Return about a dozen lines on the deciding event, enough to check the verdict by hand."""
    bound, explained = result.bound, Explanations()
    decided = result.decided_by
    event = (lambda: _event(result, decided)) if result.game.has_scores else (lambda: _guesses(result))
    shared = f", divided among {len(result.bounds)} bounds" if len(result.bounds) > 1 else ""
    rows = [
        *_condition(result),
        _headline(result),
        ("mechanism", mechanism(result)),
        ("claim", f"{result.claim_name} at delta = {result.delta:g}, relation {result.relation}"),
        *((f"d{side}", _truncated_text(dataset)) for side, dataset in enumerate(result.datasets or ())),
        *explained.step("the witness", lambda: witnessed(result), []),
        *explained.step("the deciding event", event, []),
        ("bound", f"{decided.method}, {percent(result.confidence)} confidence{shared}"),
        *([("no low bits", without_low_bits(result))] if result.without_low_bits is not None else []),
        ("p-value", f"{_p_value_text(result)}; ceiling {result.ceiling:.6g}"),
        ("trials", "; ".join([result.game.describe_trials(result.trials), *_exceptional(result)[:3]])),
        ("reproduce", f"seed {result.seed}, fingerprint {result.fingerprint[:16]}"),
    ]
    rows += [("warning", text) for text in (*result.warnings, *explained.warnings)]
    rows += [("assumes", text) for text in bound.assumptions]
    return "\n".join(f"{name:<11} {line(text)}" for name, text in rows)


def _truncated_text(text: str, longest: int = 80) -> str:
    """Return the beginning and the end of a long text.

    >>> _truncated_text("[1, 2, 3, 4, 5, 6, 7, 8]", 20)
    '[1, 2, 3, ... 7, 8]'
    """
    end = longest // 4
    return text if len(text) <= longest else f"{text[: longest - end - 5].rstrip()} ... {text[-end:].lstrip()}"


def _event(result: AuditResult, decided: LowerBound | CurveViolation) -> list[tuple[str, str]]:
    """Return rows on the deciding event, its counts on each side, and example outputs where they were recorded."""
    if result.deciding is not None:
        return _deciding(result)
    sizes, rates = (result.tally.n_out, result.tally.n_in), ["more than one event"] * 2
    if decided.hits is not None:
        rates = [f"{k:,} of {n:,} = {k / n:.6g}" for k, n in zip(decided.hits, sizes, strict=True)]
    at = "" if decided.threshold is None else f" >= {decided.threshold:.6g}"
    event = ("event", f"score{at} under the {result.attack} attack")
    return [event, ("on side 1", rates[1]), ("on side 0", rates[0])]


def recovered(recovery: Recovery) -> str:
    """Return the success rate of a reconstruction, as one line."""
    limits = "" if math.isnan(recovery.lower) else f" ({recovery.lower:.4g} to {recovery.upper:.4g})"
    rate = f"{recovery.success:.4g}{limits}; {recovery.prior:.4g} without the output"
    return f"{rate}, at most {recovery.allowed:.4g} under the claim"


def _guesses(result: AuditResult) -> list[tuple[str, str]]:
    """Return rows on the success rate, with the output and without, and on the distribution of the secret."""
    drawn = [entry.looked_at for entry in result.bound.ledger if entry.what == "secret"]
    successes = [entry.looked_at for entry in result.bound.ledger if entry.what == "success"]
    event = ("event", f"the {result.attack} guess is close enough")
    rows = [event, *(("successes", text) for text in successes), *(("secret", text) for text in drawn)]
    return rows if result.recovery is None else [*rows, ("allowed", f"{result.recovery.allowed:.6g} of the rounds")]


def _headline(result: AuditResult) -> tuple[str, str]:
    """Return the verdict and its basis: the bound at the delta of the audit, or the claimed curve at another delta."""
    shown = result.refuting_bound if result.verdict is Verdict.VIOLATION else result.bound
    bound, claim = f"epsilon >= {shown.epsilon:.6g}", f"{result.claim:.6g} is claimed"
    if result.witness is not None:
        return "VIOLATION:", f"{result.witness}"
    if result.verdict is not Verdict.VIOLATION:
        return f"{result.verdict.value}:", f"{bound}, and {claim}"
    return "VIOLATION:", f"{result.refuted_elsewhere or f'{bound}, but {claim}'}"


def _exceptional(result: AuditResult) -> list[str]:
    """Return the exceptional outputs, with their counts on side 0 and side 1, the most frequent first."""
    events = sorted(result.events.items(), key=lambda event: -sum(event[1]))
    return [f"{name}: {out:,} on side 0, {in_:,} on side 1" for name, (out, in_) in events]


T = TypeVar("T")


@dataclass(frozen=True)
class Explanations:
    """The steps of one explanation, and a warning for each step that raised.

    Args:
        through: exceptions that are not caught, such as that of a full disk.
        warnings: of the steps so far, a clause each.

    Example:
        >>> explained = Explanations()
        >>> explained.step("the rule of the event", lambda: 1 // 0, otherwise=None)
        >>> explained.warnings
        ['the rule of the event is missing: ZeroDivisionError: integer division or modulo by zero']
    """

    through: tuple[type[Exception], ...] = ()
    warnings: list[str] = field(default_factory=list)

    def step(self, what: str, make: Callable[[], T], otherwise: Any) -> T:
        """Return the value of `make`, or `otherwise` if it raises; `what` names the step in the warning."""
        try:
            return make()
        except self.through:
            raise
        except Exception as error:
            self.warnings.append(f"{what} is missing: {in_words(error)}")
            return cast("T", otherwise)
