"""The interpretation of results, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ....audit.evidence.verdict import Verdict, mostly_unseen
from ....audit.results.audit_result import AuditResult
from ....audit.results.breakdown import EpsilonBreakdown, EpsilonPart
from ....audit.results.text import (
    INDEPENDENCE_ADVICE,
    new_outputs,
    percent,
    verdict_reason,
    what_to_change,
    without_low_bits,
)
from ...config.sweep import VERDICT
from .formatting import (
    DAGGER,
    IN_FAMILY,
    NOTHING_ASSUMED,
    distinguishable,
    number,
    parameters_text,
    percent_of,
    percent_range,
)
from .sweep import SweepPoint, SweepResult

HEADLINE = {
    Verdict.VIOLATION: "Violation",
    Verdict.CONSISTENT: "Consistent",
    Verdict.UNDERPOWERED: "Underpowered",
    Verdict.DEPENDENT: "No verdict",
}
SIGN = {Verdict.VIOLATION: "✖", Verdict.CONSISTENT: "✓", Verdict.UNDERPOWERED: "?", Verdict.DEPENDENT: "–"}
RELATION = {
    "add_remove": "one of the two datasets has one record more than the other",
    "replace_one": "the two datasets have the same number of records, and one record differs",
    "zero_out": "one record is blank in one dataset and present in the other",
}
STRONGEST = "likelihood-ratio"
"""Most powerful attack on a known output distribution (Neyman and Pearson, 1933)."""
CLEAR = 1e-4
"""Corrected p-value up to which false alarms are not mentioned: the default significance of experiments."""
SURPRISES = 3
"""Largest number of audits without their expected verdict that are named."""
TIGHT = 0.9
"""Share of the claim from which on a bound is tight."""


def unexpected(sweep: SweepResult) -> list[SweepPoint] | None:
    """Return the audits without their expected verdict; None if there are none, and some audits expect no verdict."""
    stated = [sweep.expected_of(point).get(VERDICT) for point in sweep.points]
    pairs = zip(sweep.points, stated, strict=True)
    surprises = [point for point, verdict in pairs if verdict not in (None, point.verdict.value)]
    return surprises if surprises or None not in stated else None


def headline(sweep: SweepResult) -> str:
    """Return the result of the experiment in a few words: as expected or not, or the verdict if none is expected."""
    surprises = unexpected(sweep)
    if surprises is None:
        return verdict_headline(sweep)
    return f"{len(surprises)} of {len(sweep.points)} verdicts not as expected" if surprises else "As expected"


def verdict_headline(sweep: SweepResult) -> str:
    """Return the verdict on the experiment in a few words, with the number of tested claims if some were not."""
    underpowered, n = len(_underpowered_points(sweep)), len(sweep.points)
    if sweep.verdict is Verdict.UNDERPOWERED and underpowered < n:
        return f"{n - underpowered} of {n} claims tested, none contradicted"
    if n == 1 and sweep.verdict is Verdict.UNDERPOWERED and mostly_unseen(sweep.points[0].result.unseen):
        return "No learnable outputs"
    return HEADLINE[sweep.verdict]


def tone(sweep: SweepResult) -> Verdict:
    """Return the verdict for the sign and colour of the headline: that of most audits if a few were underpowered.

    Where verdicts are expected, a violation is alarming only if it is not.
    """
    surprises = unexpected(sweep)
    if surprises is not None:
        alarm = any(point.verdict is Verdict.VIOLATION for point in surprises)
        return Verdict.VIOLATION if alarm else Verdict.UNDERPOWERED if surprises else Verdict.CONSISTENT
    few = 2 * len(_underpowered_points(sweep)) < len(sweep.points)
    return Verdict.CONSISTENT if few and sweep.verdict is Verdict.UNDERPOWERED else sweep.verdict


def _underpowered_points(sweep: SweepResult) -> list[SweepPoint]:
    return [point for point in sweep.points if point.verdict is Verdict.UNDERPOWERED]


def answer(sweep: SweepResult) -> str:
    """Return the verdict on the whole experiment, in one or two sentences."""
    surprises = unexpected(sweep)
    if surprises is None:
        return _verdict_in_sentences(sweep)
    if not surprises:
        return _as_expected(sweep)
    named = [
        f"{parameters_text(p.parameters) or 'the verdict'} is {p.verdict.value}, expected "
        f"{sweep.expected_of(p)[VERDICT]}"
        for p in surprises
    ]
    more = f"; and {len(named) - SURPRISES} more" if len(named) > SURPRISES else ""
    return f"Not as expected: {'; '.join(named[:SURPRISES])}{more}. {_verdict_in_sentences(sweep)}"


def _as_expected(sweep: SweepResult) -> str:
    """Return the number of refuted claims, all of them expected; the verdict if that is none or all of them."""
    refuted, n = sum(point.verdict is Verdict.VIOLATION for point in sweep.points), len(sweep.points)
    if refuted in (0, n):
        return _verdict_in_sentences(sweep)
    confidence = f"{percent(sweep.confidence)} confidence in all of these verdicts together"
    false = "The claim that is" if refuted == 1 else f"Each of the {refuted} claims that are"
    others = "the other is not" if n - refuted == 1 else f"none of the other {n - refuted} is"
    return f"{false} expected to be false is refuted, and {others}, with {confidence}."


def _verdict_in_sentences(sweep: SweepResult) -> str:
    return {
        Verdict.VIOLATION: _violation,
        Verdict.CONSISTENT: _consistent,
        Verdict.UNDERPOWERED: _underpowered,
        Verdict.DEPENDENT: _dependent,
    }[sweep.verdict](sweep)


def _violation(sweep: SweepResult) -> str:
    refuted = [point for point in sweep.points if point.verdict is Verdict.VIOLATION]
    worst = max(refuted, key=lambda point: point.result.refuting_bound.epsilon - point.result.claim)
    result, confidence = worst.result, percent(sweep.confidence)
    bound, claimed = distinguishable(result.refuting_bound.epsilon, result.claim)
    where, end = result.refuted_elsewhere, "The implementation, the proof or the accounting is wrong."
    witness = next((point for point in refuted if point.result.witness is not None), None)
    if witness is not None:
        return _by_witness(sweep, refuted, witness, end)
    end = f"{end}{_false_alarm(sweep, refuted)}"
    if len(sweep.points) == 1:
        if where:
            return f"The claim is refuted {_elsewhere(result)}, with {confidence} confidence: {where}. {end}"
        return (
            f"The claim is refuted. With {confidence} confidence, the true epsilon is at least {bound}, but at most "
            f"{claimed} is claimed. {end}"
        )
    claims = "claims is" if len(refuted) == 1 else "claims are"
    finding = f"{where}" if where else f"epsilon is at least {bound}, but at most {claimed} is claimed"
    return (
        f"{len(refuted)} of {len(sweep.points)} {claims} refuted, with {confidence} confidence in all of these "
        f"verdicts together. The largest excess is at {parameters_text(worst.parameters)}: {finding}. {end}"
    )


def _false_alarm(sweep: SweepResult, refuted: Sequence[SweepPoint]) -> str:
    """Return a sentence on the rate of false alarms, if it is not negligible; else an empty text."""
    significance = 1.0 - sweep.confidence
    if min(point.p_adjusted for point in refuted) <= CLEAR:
        return ""
    runs = "audits of true claims" if len(sweep.points) == 1 else "experiments with true claims only"
    return (
        f" However, up to 1 in {number(1.0 / significance)} {runs} also reports a violation: repeat it with another "
        f"seed, or with confidence {1.0 - CLEAR:.4f}."
    )


def _by_witness(sweep: SweepResult, refuted: Sequence[SweepPoint], point: SweepPoint, end: str) -> str:
    """Return the verdict if a witness refutes a claim, without false alarms."""
    if len(sweep.points) == 1:
        return f"The claim is refuted by a witness, which needs no statistics: {point.result.witness} {end}"
    claims = "claims is" if len(refuted) == 1 else "claims are"
    finding = f"at {parameters_text(point.parameters)} by a witness: {point.result.witness}"
    return f"{len(refuted)} of {len(sweep.points)} {claims} refuted; {finding} {end}"


def _elsewhere(result: AuditResult) -> str:
    return f"at another delta than {number(result.delta)}"


def refuted_elsewhere(point: SweepPoint) -> bool:
    """Return whether the claim is refuted although the bound in its row does not exceed it."""
    return point.verdict is Verdict.VIOLATION and point.result.refuted_elsewhere is not None


def elsewhere_notes(points: Iterable[SweepPoint]) -> tuple[str, ...]:
    """Return a line for each claim that is refuted at another delta than that of the audit."""
    return tuple(
        f"{DAGGER} {parameters_text(point.parameters) or 'The claim'}: refuted {_elsewhere(point.result)}; "
        f"{point.result.refuted_elsewhere}."
        for point in points
        if refuted_elsewhere(point)
    )


def warning_notes(points: Iterable[SweepPoint]) -> tuple[str, ...]:
    """Return the warnings of all audits, each once, with the number of audits that it applies to."""
    points = list(points)
    counts = Counter(text for point in points for text in dict.fromkeys(point.result.warnings))
    return tuple(
        f"Warning{'' if count == len(points) else f' ({count} of {len(points)} audits)'}: {text}"
        for text, count in counts.items()
    )


def _consistent(sweep: SweepResult) -> str:
    if len(sweep.points) == 1:
        result = sweep.points[0].result
        if result.condition:
            return f"{_capitalised(verdict_reason(result))}. {_power(result)}"
        return (
            f"These trials do not contradict the claim. With {percent(result.confidence)} confidence they show that "
            f"epsilon is at least {number(result.bound.epsilon)}; at most {number(result.claim)} is claimed. "
            f"{_power(result)}"
        )
    unless = [point for point in sweep.points if point.result.condition]
    but = f" {parameters_text(unless[0].parameters)}: {verdict_reason(unless[0].result)}." if unless else ""
    none = f"These trials contradict none of the {len(sweep.points)} claims."
    return f"{none}{but}{_reach(sweep.points)}{_sweep_power(sweep)}"


def _reach(points: Sequence[SweepPoint]) -> str:
    """Return a sentence on the ratio of bounds to claims, for bounds that assume a family and for others."""
    known = [point.result for point in points if point.result.claim > 0]
    if not known:
        return ""
    reach = f" The lower bounds reach {percent_range([r.bound.epsilon / r.claim for r in known])} of the claims"
    if not any(r.bound.assumptions for r in known):
        return f"{reach}."
    free = [bound.epsilon / r.claim for r in known if (bound := r.assumption_free_bound) is not None]
    without = f", and {percent_range(free)} with {NOTHING_ASSUMED}" if free else ""
    return f"{reach} {IN_FAMILY} of trade-off curves that they assume{without}."


def _sweep_power(sweep: SweepResult) -> str:
    """Return a sentence on the power at the claim with the least power; empty if it is unknown."""
    claims = [(point.result.detectable, point.result.claim) for point in sweep.points]
    if any(claim <= 0 or not math.isfinite(detectable) for detectable, claim in claims):
        return ""
    worst = math.ceil(100.0 * max(detectable / claim for detectable, claim in claims)) / 100.0
    return (
        f" With a perfect attack, 9 of 10 such audits detect a true epsilon of {number(worst)} times the claim, if "
        "the true curve is in the family of the claim."
    )


def _power(result: AuditResult) -> str:
    """Return a sentence on the power of an audit."""
    if result.detectable == math.inf:
        return "With so few trials no excess over the claim can be detected reliably."
    return (
        f"With a perfect attack, 9 of 10 such audits detect a true epsilon of {number(result.detectable, 4)}, if the "
        f"true curve is that of {result.detectable_family}."
    )


def _underpowered(sweep: SweepResult) -> str:
    underpowered, n = _underpowered_points(sweep), len(sweep.points)
    worst = max(underpowered, key=lambda point: point.result.claim - point.result.ceiling)
    result = worst.result
    change = what_to_change(result)
    if n == 1 and mostly_unseen(result.unseen):
        return (
            f"The attack could not learn from the pilot: {new_outputs(result)}. Return numbers, or few distinct texts, "
            "such as rounded numbers; or use an attack that parses these outputs."
        )
    limit = f"their bound is at most {number(result.ceiling)}, but {number(result.claim)} is claimed"
    if result.ceiling > result.claim:
        limit = f"no p-value of these trials is significant after the correction over {n} audits"
    if len(underpowered) == n:
        which = "the claim" if n == 1 else f"any of the {n} claims"
        return f"No outcome of these trials could have contradicted {which}: {limit}. {change}".strip()
    tested = [point for point in sweep.points if point not in underpowered]
    name = f"“{parameters_text(worst.parameters)}”"
    which = (
        f"{name} could not be tested"
        if len(underpowered) == 1
        else f"{len(underpowered)} could not be tested, such as {name}"
    )
    return (
        f"{len(tested)} of {n} claims were tested, and these trials contradict none of them.{_reach(tested)} "
        f"{which}: {limit}. {change}"
    ).strip()


def _dependent(sweep: SweepResult) -> str:
    points = [point for point in sweep.points if point.verdict is Verdict.DEPENDENT]
    which = "These trials" if len(sweep.points) == 1 else f"The trials of {len(points)} of {len(sweep.points)} audits"
    dependence = points[0].result.dependence
    no_verdict = f"{which} are not independent, so no bound is valid and there is no verdict: {dependence}"
    return f"{no_verdict}. {INDEPENDENCE_ADVICE}."


def reading(point: SweepPoint) -> str:
    """Return the interpretation of the distance between bound and claim."""
    result = point.result
    share, exact = _share_of_claim(result), result.exact_epsilon
    if point.verdict is Verdict.VIOLATION:
        where = result.refuted_elsewhere
        if result.witness is not None:
            return f"Refuted by a witness, which contradicts {result.witness.contradicts}."
        also = f" {without_low_bits(result)}." if result.without_low_bits is not None else ""
        return (
            f"Refuted {_elsewhere(result)}: {where}.{also}" if where else f"Refuted: the bound exceeds the claim.{also}"
        )
    if result.verdict is Verdict.VIOLATION:
        return (
            "As a single audit this would be a violation. It is not significant after the correction for the number of "
            "audits in the sweep (Holm)."
        )
    if mostly_unseen(result.unseen):
        return f"No learnable outputs: {new_outputs(result)}."
    if result.condition:
        return f"{_capitalised(verdict_reason(result))}."
    if result.ceiling <= result.claim:
        return "Underpowered: no outcome of these trials could have contradicted the claim."
    if share is not None and share >= TIGHT:
        return f"Tight: the bound reaches {percent_of(share)} of the claim."
    if exact is not None and exact < TIGHT * result.claim:
        return f"Loose: the exact epsilon of this pair is {number(exact)}, and {number(result.claim)} is claimed."
    if exact is None:
        return (
            "The bound is well below the claim: the attack may be weak, the claim may be loose, or there may be too "
            "few trials. These trials cannot distinguish the reasons."
        )
    if result.attack == STRONGEST:
        return "The claim is exact, and no attack is stronger than this one: more trials would bring the bound closer."
    return "The claim is exact: a stronger attack or more trials would bring the bound closer."


def _capitalised(clause: str) -> str:
    return clause[0].upper() + clause[1:]


def _share_of_claim(result: AuditResult) -> float | None:
    """Return lower bound / claim; None if the claim is 0."""
    return result.bound.epsilon / result.claim if result.claim > 0 else None


def share_text(result: AuditResult) -> str:
    """Return the share of the claim that the bound reaches: "96 %"."""
    share = _share_of_claim(result)
    return "–" if share is None else percent_of(share)


def parts_text(breakdown: EpsilonBreakdown) -> str:
    """Return the parts in words: "accounting 0, attack 1.2 (0.9 to 1.5), estimator 2"."""
    return ", ".join(f"{part.name} {_part_text(part)}" for part in breakdown.parts)


def _part_text(part: EpsilonPart) -> str:
    if part.interval is None:
        return number(part.epsilon)
    return f"{number(part.epsilon)} ({number(part.interval[0])} to {number(part.interval[1])})"
