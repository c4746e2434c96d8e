"""What a result says, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from audit.results import AuditResult
from audit.text import INDEPENDENT, percent
from audit.verdict import Verdict
from experiments.plots.words import DAGGER, number, parameters_text, percent_of, percent_range
from experiments.results import SweepPoint, SweepResult

HEADLINE = {
    Verdict.VIOLATION: "Violation",
    Verdict.CONSISTENT: "Consistent",
    Verdict.UNDERPOWERED: "Too few trials",
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
TIGHT = 0.9
"""A bound from 9/10 of the claim on is tight."""


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
    shown, claimed, where = number(result.bound.epsilon), number(result.claim), result.refuted_elsewhere
    end = "The implementation, the proof or the accounting is wrong."
    if len(sweep.points) == 1:
        if where:
            return f"The claim is refuted {_elsewhere(result)}, with {sure} confidence: {where}. {end}"
        return (
            f"The claim is refuted. With {sure} confidence, the true epsilon is at least {shown}, but at most "
            f"{claimed} is claimed. {end}"
        )
    claims = "claim is" if len(refuted) == 1 else "claims are"
    what = f"{where}" if where else f"an epsilon of {shown} was shown, where at most {claimed} is claimed"
    return (
        f"{len(refuted)} of {len(sweep.points)} {claims} refuted, with {sure} confidence in all of these verdicts "
        f"together. Most clearly at {parameters_text(worst.parameters)}: {what}. {end}"
    )


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
    shares = [share for point in sweep.points if (share := share_of_claim(point.result)) is not None]
    reach = f" The lower bounds reach {percent_range(shares)} of what is claimed." if shares else ""
    return f"These trials contradict none of the {len(sweep.points)} claims.{reach}{_unnoticed(sweep)}"


def _unnoticed(sweep: SweepResult) -> str:
    """What would have been noticed, at the worst of the claims."""
    claims = [(point.result.detectable, point.result.claim) for point in sweep.points]
    if any(claim <= 0 or not math.isfinite(detectable) for detectable, claim in claims):
        return ""
    worst = math.ceil(100.0 * max(detectable / claim for detectable, claim in claims)) / 100.0
    return (
        f" A perfect attack catches true epsilons from {number(worst)} times the claim on in 9 of 10 such audits, if "
        "the true curves are of the families of their claims."
    )


def _power(result: AuditResult) -> str:
    """What would have been noticed."""
    if result.detectable == math.inf:
        return "No excess could have been caught reliably with so few trials."
    return (
        f"A perfect attack catches a true epsilon of {number(result.detectable, 4)} in 9 of 10 such audits, if the "
        f"truth is {result.detectable_family}."
    )


def _underpowered(sweep: SweepResult) -> str:
    blind = [point for point in sweep.points if point.verdict is Verdict.UNDERPOWERED]
    worst = max(blind, key=lambda point: point.result.claim - point.result.ceiling).result
    which = "the claim" if len(sweep.points) == 1 else f"{len(blind)} of {len(sweep.points)} claims"
    few, more = ("trials", "Run more trials") if worst.trials.n_canaries is None else ("canaries", "Take more canaries")
    limit = f"they can show an epsilon of {number(worst.ceiling)} at most, where {number(worst.claim)} is claimed"
    if worst.ceiling > worst.claim:
        limit = f"nothing that they can show outlasts the correction over {len(sweep.points)} audits"
    rest = len(sweep.points) - len(blind)
    others = f" The other {rest} were tested, and not contradicted." if rest > 1 else ""
    return f"There were too few {few} to contradict {which}, whatever had come out: {limit}. {more}.{others}"


def _dependent(sweep: SweepResult) -> str:
    points = [point for point in sweep.points if point.verdict is Verdict.DEPENDENT]
    which = "These trials" if len(sweep.points) == 1 else f"The trials of {len(points)} of {len(sweep.points)} audits"
    seen = points[0].result.dependence
    return f"{which} are not independent, so that no bound on them holds and nothing follows: {seen}. {INDEPENDENT}."


def reading(point: SweepPoint) -> str:
    """What the distance between bound and claim says, where it can be told."""
    result = point.result
    share, truth = share_of_claim(result), result.truth
    if point.verdict is Verdict.VIOLATION:
        where = result.refuted_elsewhere
        return f"Refuted {_elsewhere(result)}: {where}." if where else "Refuted: more was shown than is claimed."
    if result.verdict is Verdict.VIOLATION:
        return (
            "On its own, this audit would be a violation. It is not one among all audits of the sweep, where luck has "
            "as many chances as there are audits (Holm)."
        )
    if result.ceiling <= result.claim:
        return "Too few trials: no outcome of them could have contradicted the claim."
    if share is not None and share >= TIGHT:
        return f"Tight: the bound reaches {percent_of(share)} of the claim."
    if truth is not None and truth < TIGHT * result.claim:
        return f"Loose: the exact epsilon of this pair is {number(truth)}, and {number(result.claim)} is claimed."
    if truth is None:
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
