"""Results in words: the table that a person reads, and the evidence for a violation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.verdict import Verdict

if TYPE_CHECKING:
    from audit.results import AuditResult

_MEANING = {
    Verdict.VIOLATION: "the lower bound exceeds the claim: implementation, proof or accounting is wrong",
    Verdict.CONSISTENT: "these trials do not contradict the claim",
    Verdict.UNDERPOWERED: "too few trials: no outcome of them could have contradicted the claim",
}


def meaning(verdict: Verdict) -> str:
    """What a verdict says, in one clause."""
    return _MEANING[verdict]


def percent(confidence: float) -> str:
    """A confidence for people: "95 %", "99.9999 %"; beyond that, what is missing to certainty."""
    missing = 1.0 - confidence
    return f"{100 * confidence:.8g} %" if missing >= 1e-6 else f"1 - {missing:.2g}"


def summary(result: AuditResult) -> str:
    """The table of one audit."""
    bound, trials = result.bound, result.trials
    rows = [
        ("verdict", f"{result.verdict.value.upper()}: {meaning(result.verdict)}"),
        ("mechanism", result.mechanism),
        ("pair", f"neighbours under {result.relation}"),
        ("claim", f"epsilon <= {result.claim:.6g} at delta = {result.delta:g}   [{result.claim_name}]"),
        ("lower bound", f"epsilon >= {bound.epsilon:.6g} with {percent(result.confidence)} confidence   [{bound.method}]"),
        *([] if result.truth is None else [("exact", f"epsilon  = {result.truth:.6g} on this pair")]),
        ("p-value", f"{result.p_value:.3g} against the claim"),
        ("ceiling", f"{result.ceiling:.6g}, the largest bound that these trials could have given"),
        ("detectable", f"{result.detectable:.6g}, the least true epsilon that a perfect attack shows above the claim 9 times in 10"),
        ("attack", result.attack),
        ("trials", f"{trials.per_side:,} a side: {trials.pilot:,} pilot + {trials.evaluation:,} counted; seed {result.seed}"),
    ]
    rows += [("event", f"{label}: {out:,} times on side 0, {in_:,} on side 1") for label, (out, in_) in result.events.items()]
    rows += [("assumes", text) for text in bound.assumptions]
    rows += [("look", f"{entry.what}: {entry.looked_at}; {entry.correction}") for entry in result.ledger]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def evidence(result: AuditResult) -> str:
    """Ten lines on the event that decided, enough to check the verdict by hand."""
    bound = result.bound
    n = result.trials.evaluation
    rates = ["it reads more than one event"] * 2
    if bound.hits is not None:
        rates = [f"{k:,} of {n:,} = {k / n:.6g}" for k in bound.hits]
    at = "" if bound.threshold is None else f" >= {bound.threshold:.6g}"
    return "\n".join(
        [
            f"{result.verdict.value.upper()}: epsilon >= {bound.epsilon:.6g}, claimed {result.claim:.6g} at delta = {result.delta:g}",
            f"mechanism   {result.mechanism}",
            f"claim       {result.claim_name}, relation {result.relation}",
            f"event       score{at} under the {result.attack} attack",
            f"on side 1   {rates[1]}",
            f"on side 0   {rates[0]}",
            f"bound       {bound.method}, {percent(result.confidence)} confidence over {len(result.bounds)} bound(s)"
            + "".join(f"; assumes {text}" for text in bound.assumptions),
            f"p-value     {result.p_value:.3g} against the claim; ceiling {result.ceiling:.6g}",
            f"trials      {result.trials.per_side:,} a side, {result.trials.pilot:,} of them pilot",
            f"again       seed {result.seed}, fingerprint {result.fingerprint[:16]}",
        ]
    )
