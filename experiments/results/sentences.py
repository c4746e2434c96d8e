"""What a result says, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ...audit.evidence.verdict import Verdict, nothing_to_go_on
from ...audit.results.audit_result import AuditResult
from ...audit.results.text import INDEPENDENT, new_outputs, percent, what_to_change, without_low_bits
from .formatting import (
    DAGGER,
    IN_FAMILY,
    NOTHING_ASSUMED,
    apart,
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
"""The attack that no other beats on a known output law (Neyman and Pearson, 1933)."""
CLEAR = 1e-4
"""A corrected p-value up to which nothing is said of false alarms: that of the default confidence of experiments."""
TIGHT = 0.9
"""A bound from 9/10 of the claim on is tight."""


def headline(sweep: SweepResult) -> str:
    """The verdict on the whole experiment, in a few words; how many claims were tested where some could not be."""
    underpowered, n = len(_underpowered_points(sweep)), len(sweep.points)
    if sweep.verdict is Verdict.UNDERPOWERED and underpowered < n:
        return f"{n - underpowered} of {n} claims tested, none contradicted"
    if n == 1 and sweep.verdict is Verdict.UNDERPOWERED and nothing_to_go_on(sweep.points[0].result.unseen):
        return "Nothing to go on"
    return HEADLINE[sweep.verdict]


def tone(sweep: SweepResult) -> Verdict:
    """The verdict whose sign and colour the headline has: that of most audits where only some could not be tested."""
    few = 2 * len(_underpowered_points(sweep)) < len(sweep.points)
    return Verdict.CONSISTENT if few and sweep.verdict is Verdict.UNDERPOWERED else sweep.verdict


def _underpowered_points(sweep: SweepResult) -> list[SweepPoint]:
    return [point for point in sweep.points if point.verdict is Verdict.UNDERPOWERED]


def answer(sweep: SweepResult) -> str:
    """The verdict on the whole experiment, in one or two sentences."""
    return {
        Verdict.VIOLATION: _violation,
        Verdict.CONSISTENT: _consistent,
        Verdict.UNDERPOWERED: _underpowered,
        Verdict.DEPENDENT: _dependent,
    }[sweep.verdict](sweep)


def _violation(sweep: SweepResult) -> str:
    refuted = [point for point in sweep.points if point.verdict is Verdict.VIOLATION]
    worst = max(refuted, key=lambda point: point.result.bound.epsilon - point.result.claim)
    result, sure = worst.result, percent(sweep.confidence)
    shown, claimed = apart(result.bound.epsilon, result.claim)
    where, end = result.refuted_elsewhere, "The implementation, the proof or the accounting is wrong."
    witness = next((point for point in refuted if point.result.witness is not None), None)
    if witness is not None:
        return _by_witness(sweep, refuted, witness, end)
    end = f"{end}{_false_alarm(sweep, refuted)}"
    if len(sweep.points) == 1:
        if where:
            return f"The claim is refuted {_elsewhere(result)}, with {sure} confidence: {where}. {end}"
        return (
            f"The claim is refuted. With {sure} confidence, the true epsilon is at least {shown}, but at most "
            f"{claimed} is claimed. {end}"
        )
    claims = "claims is" if len(refuted) == 1 else "claims are"
    what = f"{where}" if where else f"an epsilon of {shown} was shown, where at most {claimed} is claimed"
    return (
        f"{len(refuted)} of {len(sweep.points)} {claims} refuted, with {sure} confidence in all of these verdicts "
        f"together. Most clearly at {parameters_text(worst.parameters)}: {what}. {end}"
    )


def _false_alarm(sweep: SweepResult, refuted: Sequence[SweepPoint]) -> str:
    """How often claims that hold end here, where that is often enough to matter; else nothing."""
    significance = 1.0 - sweep.confidence
    if min(point.p_adjusted for point in refuted) <= CLEAR:
        return ""
    runs = "audits of right claims ends" if len(sweep.points) == 1 else "experiments whose claims all hold ends"
    return (
        f" But 1 in {number(1.0 / significance)} {runs} here as well: repeat it with another seed, or with confidence "
        f"{1.0 - CLEAR:.4f}."
    )


def _by_witness(sweep: SweepResult, refuted: Sequence[SweepPoint], point: SweepPoint, end: str) -> str:
    """The verdict where a witness refutes a claim, with no chance of a false alarm."""
    if len(sweep.points) == 1:
        return f"The claim is refuted by a witness, which needs no statistics: {point.result.witness} {end}"
    claims = "claims is" if len(refuted) == 1 else "claims are"
    what = f"at {parameters_text(point.parameters)} by a witness: {point.result.witness}"
    return f"{len(refuted)} of {len(sweep.points)} {claims} refuted; {what} {end}"


def _elsewhere(result: AuditResult) -> str:
    return f"at another delta than {number(result.delta)}"


def refuted_elsewhere(point: SweepPoint) -> bool:
    """Whether the claim is refuted although the bound in its row stays below it."""
    return point.verdict is Verdict.VIOLATION and point.result.refuted_elsewhere is not None


def elsewhere_notes(points: Iterable[SweepPoint]) -> tuple[str, ...]:
    """Where the claims are refuted that are not at the delta that was asked, a line each."""
    return tuple(
        f"{DAGGER} {parameters_text(point.parameters) or 'The claim'}: refuted {_elsewhere(point.result)}; "
        f"{point.result.refuted_elsewhere}."
        for point in points
        if refuted_elsewhere(point)
    )


def warning_notes(points: Iterable[SweepPoint]) -> tuple[str, ...]:
    """The warnings of all audits, each once, with how many of several audits it belongs to."""
    points = list(points)
    counts = Counter(text for point in points for text in dict.fromkeys(point.result.warnings))
    return tuple(
        f"Warning{'' if count == len(points) else f' ({count} of {len(points)} audits)'}: {text}"
        for text, count in counts.items()
    )


def _consistent(sweep: SweepResult) -> str:
    if len(sweep.points) == 1:
        result = sweep.points[0].result
        return (
            f"These trials do not contradict the claim. With {percent(result.confidence)} confidence they show that "
            f"epsilon is at least {number(result.bound.epsilon)}, where at most {number(result.claim)} is claimed. "
            f"{_power(result)}"
        )
    return f"These trials contradict none of the {len(sweep.points)} claims.{_reach(sweep.points)}{_unnoticed(sweep)}"


def _reach(points: Sequence[SweepPoint]) -> str:
    """How much of the claims was shown, by bounds that lean on a family and by those that do not."""
    known = [point.result for point in points if point.result.claim > 0]
    if not known:
        return ""
    shown = f" The lower bounds reach {percent_range([r.bound.epsilon / r.claim for r in known])} of what is claimed"
    if not any(r.bound.assumptions for r in known):
        return f"{shown}."
    free = [bound.epsilon / r.claim for r in known if (bound := r.assumption_free_bound) is not None]
    without = f", and {percent_range(free)} with {NOTHING_ASSUMED}" if free else ""
    return f"{shown} {IN_FAMILY} of trade-off curves that they assume{without}."


def _unnoticed(sweep: SweepResult) -> str:
    """What would have been noticed, at the worst of the claims."""
    claims = [(point.result.detectable, point.result.claim) for point in sweep.points]
    if any(claim <= 0 or not math.isfinite(detectable) for detectable, claim in claims):
        return ""
    worst = math.ceil(100.0 * max(detectable / claim for detectable, claim in claims)) / 100.0
    return (
        f" With a perfect attack, 9 of 10 such audits detect a true epsilon of {number(worst)} times the claim, if "
        "the true curve is of the family of the claim."
    )


def _power(result: AuditResult) -> str:
    """What would have been noticed."""
    if result.detectable == math.inf:
        return "With this few trials no excess over the claim could have been detected reliably."
    return (
        f"With a perfect attack, 9 of 10 such audits detect a true epsilon of {number(result.detectable, 4)}, if the "
        f"truth is {result.detectable_family}."
    )


def _underpowered(sweep: SweepResult) -> str:
    underpowered, n = _underpowered_points(sweep), len(sweep.points)
    worst = max(underpowered, key=lambda point: point.result.claim - point.result.ceiling)
    result = worst.result
    change = what_to_change(result)
    if n == 1 and nothing_to_go_on(result.unseen):
        return (
            f"The attack had nothing to go on: {new_outputs(result)}. Return numbers, or text of few kinds, such as "
            "rounded numbers; or give an attack that knows how to read these outputs."
        )
    limit = f"they can show an epsilon of {number(result.ceiling)} at most, where {number(result.claim)} is claimed"
    if result.ceiling > result.claim:
        limit = f"nothing that they can show outlasts the correction over {n} audits"
    if len(underpowered) == n:
        which = "the claim" if n == 1 else f"any of the {n} claims"
        return f"No outcome of these trials could have contradicted {which}: {limit}. {change}".strip()
    tested = [point for point in sweep.points if point not in underpowered]
    name = f"“{parameters_text(worst.parameters)}”"
    which = (
        f"{name} could not have been"
        if len(underpowered) == 1
        else f"{len(underpowered)} could not have been, such as {name}"
    )
    return (
        f"{len(tested)} of {n} claims were tested, and these trials contradict none of them.{_reach(tested)} "
        f"{which}: {limit}. {change}"
    ).strip()


def _dependent(sweep: SweepResult) -> str:
    points = [point for point in sweep.points if point.verdict is Verdict.DEPENDENT]
    which = "These trials" if len(sweep.points) == 1 else f"The trials of {len(points)} of {len(sweep.points)} audits"
    seen = points[0].result.dependence
    return f"{which} are not independent, so that no bound on them holds and nothing follows: {seen}. {INDEPENDENT}."


def reading(point: SweepPoint) -> str:
    """What the distance between bound and claim says, where it can be said."""
    result = point.result
    share, exact = share_of_claim(result), result.exact_epsilon
    if point.verdict is Verdict.VIOLATION:
        where = result.refuted_elsewhere
        if result.witness is not None:
            return f"Refuted by a witness, which contradicts {result.witness.contradicts}."
        also = f" {without_low_bits(result)}." if result.without_low_bits is not None else ""
        return (
            f"Refuted {_elsewhere(result)}: {where}.{also}"
            if where
            else f"Refuted: more was shown than is claimed.{also}"
        )
    if result.verdict is Verdict.VIOLATION:
        return (
            "On its own, this audit would be a violation. It is not one among all audits of the sweep, where luck has "
            "as many chances as there are audits (Holm)."
        )
    if nothing_to_go_on(result.unseen):
        return f"Nothing to go on: {new_outputs(result)}."
    if result.ceiling <= result.claim:
        return "Underpowered: no outcome of these trials could have contradicted the claim."
    if share is not None and share >= TIGHT:
        return f"Tight: the bound reaches {percent_of(share)} of the claim."
    if exact is not None and exact < TIGHT * result.claim:
        return f"Loose: the exact epsilon of this pair is {number(exact)}, and {number(result.claim)} is claimed."
    if exact is None:
        return (
            "The bound stays well below the claim: the attack may be weak, the claim larger than the truth, or the "
            "trials too few to come closer. These trials cannot tell which."
        )
    if result.attack == STRONGEST:
        return "The claim is exact, and no attack is stronger than this one: more trials would bring the bound closer."
    return "The claim is exact: a stronger attack or more trials would bring the bound closer."


def share_of_claim(result: AuditResult) -> float | None:
    """Lower bound / claim; None where the claim is 0."""
    return result.bound.epsilon / result.claim if result.claim > 0 else None


def share_text(result: AuditResult) -> str:
    """How much of the claim was shown: "96 %"."""
    share = share_of_claim(result)
    return "–" if share is None else percent_of(share)
