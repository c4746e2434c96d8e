"""The text of an audit: verdict, claim and bound, the evidence, the next step, and the details."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...mechanisms.core import Tier, beside, chance, confidence_text, number, p_value_text, percent, percent_below
from ...mechanisms.core.errors import plural
from ..evidence.game import Game
from ..evidence.verdict import Verdict, mostly_unseen
from .explanations import Explanations
from .found_pair import found_rows
from .refuting_event import NO_ANSWER
from .result_text import ResultText, Row, TextSection, TextTable, tone_of

if TYPE_CHECKING:
    from ..power.remedies import Remedy
    from .audit_result import AuditResult
    from .recovery import Recovery
_MEANING = {
    Verdict.VIOLATION: "these trials contradict the claim",
    Verdict.CONSISTENT: "these trials do not contradict the claim",
    Verdict.UNDERPOWERED: "no outcome of these trials could have contradicted the claim",
    Verdict.DEPENDENT: "the trials are not independent, so no bound is valid",
}
INDEPENDENCE_ADVICE = (
    "Let each run draw all of its randomness from the rng (or the seed) that it receives, and keep no state from one "
    "run to the next"
)
"""Advice that makes trials independent."""
MAX_KINDS_SHOWN = 10
"""Largest number of kinds of exceptional outputs in a table."""
CLEAR = 1e-4
"""Largest p-value at which a violation is stated without the chance of a false alarm."""
WRONG = "The implementation, the proof or the accounting is wrong"
CONFIRMING = 1e-6
"""Significance at which an unclear violation is to be repeated."""
ANOTHER_SEED = "with another seed"
CLOSER = "To come closer to the claim, try another attack, another pair of datasets, or more trials."
FEW_TO_LEARN, ENOUGH_TO_LEARN = 10, 50
"""Pilot runs a side for each number of an output: up to the first an attack learns from few, the second is advised."""
FEW_RUNS = 1_000
"""Largest number of runs a side at which a recording is proposed: more are seldom slow."""
MAX_IDS_SHOWN = 5
"""Largest number of ids of canaries on one line; the result holds all of them."""
TIGHT = 0.9
"""Share of the claim from which on a bound is tight."""
STRONGEST = "likelihood-ratio"
"""Most powerful attack on a known output distribution (Neyman and Pearson, 1933)."""
ESTIMATE_LABEL = "estimate, no guarantee"
"""Label of an estimate wherever it is shown."""


def describe(result: AuditResult) -> ResultText:
    """Return the text of one audit."""
    explained = Explanations()
    tone = tone_of(result.verdict, weak=result.weak)
    evidence = _evidence(result, explained)
    examples = explained.step("the examples", lambda: _examples(result), [])
    return ResultText(
        tone=tone,
        headline=headline(result),
        answer=answer(result),
        conditions=(result.valid_if,) if result.valid_if else (),
        facts=tuple(_facts(result)),
        evidence=tuple(evidence),
        examples=tuple(examples),
        warnings=(*result.warnings, *explained.warnings),
        next_steps=next_steps(result),
        table=None,
        notes=result.notes,
        details=tuple(_details(result)),
    )


def headline(result: AuditResult) -> str:
    """Return the verdict in a few words, with the numbers that decide it."""
    label, bound = tone_of(result.verdict, weak=result.weak).label, result.bound
    if result.verdict is Verdict.VIOLATION:
        if result.witness is not None:
            return f"{label}: a witness contradicts the claim"
        if result.refuted_elsewhere is not None:
            return f"{label}: the claim is refuted at another delta than {number(result.delta)}"
        lower, claimed = beside(result.refuting_bound.epsilon, result.claim)
        return f"{label}: epsilon >= {lower}, but at most {claimed} is claimed"
    if result.verdict is Verdict.DEPENDENT:
        return f"{label}: the trials are not independent"
    if result.verdict is Verdict.UNDERPOWERED:
        return f"{label}: {_reason_of_no_power(result)}"
    if result.weak and math.isinf(result.detectable):
        return f"{label}: no epsilon above the claim of {number(result.claim)} is detected reliably"
    if result.weak:
        return f"{label}: detects only epsilon above {number(result.detectable)}, and {number(result.claim)} is claimed"
    if result.condition:
        return f"{label}: the bound exceeds the claim only under a condition that no test can check"
    if result.claim <= 0:
        return f"{label}: epsilon >= {number(bound.epsilon)}, claimed {number(result.claim)}"
    share = percent_below(bound.epsilon / result.claim)
    return f"{label}: epsilon >= {number(bound.epsilon)}, {share} of the claim of {number(result.claim)}"


def answer(result: AuditResult) -> str:
    """Return the verdict in one to three sentences, with its error rate."""
    confidence = confidence_text(result.confidence)
    if result.verdict is Verdict.VIOLATION:
        return f"{_refutation(result)}{error_rate(result)}"
    if result.verdict is Verdict.DEPENDENT:
        return f"There is no verdict: {result.dependence}."
    if result.verdict is Verdict.UNDERPOWERED:
        return f"{_capitalised(verdict_reason(result))}: the largest bound is {number(result.ceiling)}."
    if result.condition:
        return f"{_capitalised(verdict_reason(result))}. {power(result)}"
    return (
        f"These trials do not contradict the claim. With {confidence} confidence they show that epsilon is at least "
        f"{number(result.bound.epsilon)}; at most {number(result.claim)} is claimed. {power(result)}{_reading(result)}"
    )


def _refutation(result: AuditResult) -> str:
    """Return a sentence on what refutes the claim, if the headline does not say it."""
    if result.witness is not None:
        return f"{result.witness} "
    if (where := result.refuted_elsewhere) is not None:
        return f"{_capitalised(str(where))}. "
    return ""


def error_rate(result: AuditResult) -> str:
    """Return what a violation means at its level: a bug, or a result that true claims give at times."""
    if result.witness is not None:
        return f"{WRONG}: a witness needs no statistics."
    return meaning_of_violation(result.p_value, result.confidence, again=_again(result))


def _again(result: AuditResult) -> str:
    """Return how to repeat an audit: with bits of one run at the same confidence, as few claims allow a higher one."""
    if result.game.tosses_bits:
        return "with new coins and a new run"
    return f"{'on new runs with' if result.valid_if else ANOTHER_SEED + ' and'} confidence=1 - {number(CONFIRMING)}"


def meaning_of_violation(
    p_value: float,
    confidence: float,
    audits: str = "audits of right mechanisms",
    again: str = f"{ANOTHER_SEED} and confidence=1 - {number(CONFIRMING)}",
) -> str:
    """Return sentences on what refuted claims mean, with the share of false alarms if it is not negligible.

    Args:
        p_value: of a refuted claim, corrected for the number of audits.
        confidence: of the verdict.
        audits: plural noun for what gives a false alarm.
        again: how to repeat the audit.

    >>> print(meaning_of_violation(0.016, 0.95))
    At 95 % confidence, up to 1 in 20 audits of right mechanisms gives such a result: repeat it with another seed and \
confidence=1 - 1e-6 before you call the mechanism wrong.
    """
    if p_value <= CLEAR:
        return f"{WRONG}, with {confidence_text(confidence)} confidence."
    return (
        f"At {confidence_text(confidence)} confidence, up to {chance(1.0 - confidence)} {audits} gives such a result: "
        f"repeat it {again} before you call the mechanism wrong."
    )


def _verdict_meaning(verdict: Verdict) -> str:
    """Return the meaning of a verdict, as one clause."""
    return _MEANING[verdict]


def verdict_reason(result: AuditResult) -> str:
    """Return the meaning of the verdict of this result, as one clause."""
    if result.refuted_by == "witness":
        return "a witness contradicts the claim, without statistics"
    if result.verdict is Verdict.UNDERPOWERED:
        return _reason_of_no_power(result)
    if result.condition and result.verdict is Verdict.CONSISTENT:
        return f"these trials contradict the claim only if {result.condition}, which no test of them can check"
    if result.weak:
        return f"these trials would have detected only an epsilon above {number(result.detectable)}"
    return _verdict_meaning(result.verdict)


def _reason_of_no_power(result: AuditResult) -> str:
    if mostly_unseen(result.unseen):
        return f"the attack could not learn from the pilot: {new_outputs(result)}"
    if result.condition:
        return f"no outcome of these trials could have contradicted the claim unless {result.condition}"
    return _verdict_meaning(Verdict.UNDERPOWERED)


def next_steps(result: AuditResult, p_value: float | None = None) -> tuple[str, ...]:
    """Return what to do now, at most two sentences; `p_value` is the one that decides, None for that of the result."""
    if result.verdict is Verdict.DEPENDENT:
        return (f"{INDEPENDENCE_ADVICE}.",)
    if result.verdict is Verdict.UNDERPOWERED:
        if mostly_unseen(result.unseen):
            return (
                "Return numbers, or few distinct texts, such as rounded numbers; or use an attack that parses these "
                "outputs.",
            )
        return tuple(text for text in (what_to_change(result), _instead_of_runs(result)) if text)
    if result.verdict is Verdict.VIOLATION:
        unclear = result.witness is None and (result.p_value if p_value is None else p_value) > CLEAR
        return tuple(_after_violation(result, unclear=unclear))
    if result.condition:
        return ()
    starved = _learn_more(result)
    if result.weak:
        more = (
            f"For a smaller detectable epsilon, use more {result.game.words.unit} (now "
            f"{result.game.short_trials(result.trials)}) or a lower confidence (now "
            f"{confidence_text(result.confidence)})."
        )
        steps = (what_to_change(result),) if result.remedies else starved or (more,)
        return tuple(text for text in (*steps, _instead_of_runs(result)) if text)
    tight = result.claim <= 0 or result.bound.epsilon >= TIGHT * result.claim
    return () if tight or result.exact_epsilon is not None else starved or (CLOSER,)


def _learn_more(result: AuditResult) -> tuple[str, ...]:
    """Return a sentence on how many runs would help an attack that learned from few; empty if it had enough."""
    trials, size = result.trials, result.learned_numbers
    if size * FEW_TO_LEARN < trials.pilot or not size or not trials.pilot:
        return ()
    needed = ENOUGH_TO_LEARN * size * trials.per_side / trials.pilot
    rounded = round(needed, 1 - len(str(int(needed))))
    return (
        f"The attack learned from {trials.pilot:,} runs on each side how outputs of {plural(size, 'number')} differ, "
        f"which is few: use about {int(rounded):,} runs on each side.",
    )


def _instead_of_runs(result: AuditResult) -> str:
    """Return the step that needs few runs of a function; empty if this is no audit of a function with few runs."""
    if result.game is not Game.DISTINGUISHING or result.tier != Tier.PROVISIONAL:
        return ""
    if result.trials.per_side > FEW_RUNS:
        return ""
    return (
        "If the runs are slow, compare how the function draws and uses its noise on both datasets, which takes a few "
        "runs: `--record`, or `record(release, neighbours)`."
    )


def _after_violation(result: AuditResult, *, unclear: bool) -> list[str]:
    """Return the next steps after a refuted claim: the likeliest cause, and how to pass the evidence on.

    A refutation that is `unclear`, likely enough for a true claim, is repeated before its cause is looked for.
    """
    without = result.without_low_bits
    if without is not None and not without.refutes(result.claim):
        steps = ["Only the low bits of floats leak: add discrete noise, or round the noisy output to a coarse grid."]
    elif result.attack.startswith(NO_ANSWER):
        steps = ["Return a result, or raise, on both datasets: one can be told from the other by a call that hangs."]
    elif result.game is Game.MEMBERSHIP:
        steps = [
            "Find where one canary changes the result by more than the noise covers. In a training: clipping of each "
            "record before any mean, the noise itself, what the accountant counts."
        ]
    elif result.relation == "add_remove" and result.game.has_scores:
        steps = [
            "Compare the noise with the sensitivity on this pair. If it was computed for datasets of equal size, as "
            "for a mean, the claim is about replace_one: audit that relation, or add noise for add_remove."
        ]
    else:
        steps = [f"Compare the noise with the sensitivity under {result.relation} on this pair."]
    if unclear:
        again = f"Repeat the audit {_again(result)}"
        if result.game.tosses_bits:
            again += f": a true claim is refuted again with probability at most {number(1.0 - result.confidence)}"
        return [f"{again}.", f"If the claim is refuted again: {steps[0][0].lower()}{steps[0][1:]}"]
    if result.datasets is not None or result.event_rule is not None:
        steps.append("To pass the evidence on, write a witness: `--witness FILE`, or `result.to_witness(path)`.")
    return steps


def _reading(result: AuditResult) -> str:
    """Return a sentence on the distance between bound and claim, if the claim is not refuted; "" for weak results."""
    if result.weak:
        return ""
    share = result.bound.epsilon / result.claim if result.claim > 0 else None
    exact = result.exact_epsilon
    if share is not None and share >= TIGHT:
        return f" Tight: the bound reaches {percent_below(share)} of the claim."
    if exact is not None and exact < TIGHT * result.claim:
        return f" Loose: the exact epsilon of this pair is {number(exact)}, and {number(result.claim)} is claimed."
    if exact is None:
        return (
            " The bound is well below the claim: the attack may be weak, the claim may be loose, or there may be too "
            "few trials. These trials cannot distinguish the reasons."
        )
    if result.attack == STRONGEST:
        return " The claim is exact, and no attack is stronger than this one: more trials would bring the bound closer."
    return " The claim is exact: a stronger attack or more trials would bring the bound closer."


def _facts(result: AuditResult) -> list[Row]:
    """Return what was tested, and the bound."""
    return [
        *found_rows(result.ledger),
        ("mechanism", mechanism(result)),
        (result.game.words.setting.lower(), result.game.relation(result.relation)),
        ("claim", f"epsilon <= {number(result.claim)} at delta = {number(result.delta)}   [{result.claim_name}]"),
        ("bound", _bound(result)),
    ]


def mechanism(result: AuditResult) -> str:
    """Return the mechanism with its trust tier."""
    return result.mechanism if result.tier is None else f"{result.mechanism}   [{result.tier}]"


def _bound(result: AuditResult) -> str:
    if result.dependence is not None:
        return f"no valid bound; {number(result.bound.epsilon)} if the trials were independent"
    lower, _ = beside(result.bound.epsilon, result.claim)
    return f"epsilon >= {lower} with {confidence_text(result.confidence)} confidence"


def _evidence(result: AuditResult, explained: Explanations) -> list[Row]:
    """Return what shows the verdict: a witness, the dependence, the deciding event, the success rate."""
    rows: list[Row] = []
    if result.without_low_bits is not None and result.dependence is None:
        rows += explained.step("the bound without low bits", lambda: [("no low bits", without_low_bits(result))], [])
    if (recovery := result.recovery) is not None:
        rows += explained.step("the success rate", lambda: [("recovered", recovered(recovery))], [])
    rows += explained.step("the witness", lambda: witnessed(result), [])
    if result.dependence is not None:
        rows.append(("dependence", result.dependence))
    if (elsewhere := result.refuted_elsewhere) is not None:
        rows.append(("curve", str(elsewhere)))
    if result.verdict is Verdict.VIOLATION and result.refuted_by != "witness":
        event = (lambda: _event(result)) if result.game.has_scores else (lambda: _guesses(result))
        rows += explained.step("the deciding event", event, [])
    if result.exact_epsilon is not None:
        rows.append(("exact", f"epsilon  = {number(result.exact_epsilon)} on this pair"))
    rows += [("assumes", text) for text in result.bound.assumptions]
    rows += [(ESTIMATE_LABEL, f"epsilon  ~ {number(e.value)}   [{e.method}; {e.label}]") for e in result.estimates]
    return rows


def _details(result: AuditResult) -> list[TextSection]:
    """Return power, attack and trials, exceptional outputs, assumptions and choices."""
    bound = result.bound
    power_rows: list[Row] = []
    if result.dependence is None:
        unassumed = " without its unchecked condition" if bound.condition else ""
        power_rows = [
            ("p-value", f"{p_value_text(result.p_value, 1.0 - result.confidence)} against the claim"),
            ("ceiling", f"{number(result.ceiling)}: the largest bound{unassumed} that these trials could have given"),
            ("detectable", detectable(result)),
        ]
    outputs = exceptional(result)
    shown: list[Row] = [("exceptional", text) for text in outputs[:MAX_KINDS_SHOWN]]
    if len(outputs) > MAX_KINDS_SHOWN:
        shown.append(("exceptional", f"... and {len(outputs) - MAX_KINDS_SHOWN:,} more kinds"))
    trials: list[Row] = [
        ("attack", result.attack),
        *_methods(result),
        ("trials", result.game.describe_trials(result.trials)),
        ("seed", f"{result.seed}, digest {result.fingerprint[:16]}"),
    ]
    return [
        TextSection("Power", tuple(power_rows)),
        TextSection("Trials", (*trials, *shown)),
        TextSection("All bounds", table=_bounds_table(result)) if len(result.bounds) > 1 else TextSection("All bounds"),
        TextSection("Choices and corrections", tuple(_ledger_rows(result))),
    ]


def _methods(result: AuditResult) -> list[Row]:
    """Return the names of the methods behind the first screen: of the bound, the curve and the deciding event."""
    rows = [("method", f"{result.bound.method}, of the bound")]
    if (elsewhere := result.refuted_elsewhere) is not None:
        rows.append(("method", f"{elsewhere.method}, of the curve"))
    if result.verdict is Verdict.VIOLATION and result.game.has_scores and result.refuted_by != "witness":
        rows.append(("score", _score(result)))
    return rows


def _score(result: AuditResult) -> str:
    """Return the deciding event as a set of scores."""
    event, decided = result.deciding, result.decided_by
    if event is not None:
        return event.name
    if decided.threshold is not None:
        return f"score >= {number(decided.threshold)}"
    guesses = result.refuting_bound.guesses if decided is result.refuting_bound else None
    if guesses is None:
        return "more than one event"
    ends = zip(guesses, ("highest", "lowest"), strict=True)
    return f"{' and '.join(f'the {n:,} {end}' for n, end in ends if n)} of all scores"


def _ledger_rows(result: AuditResult) -> list[Row]:
    """Return the choices that depend on data, with their corrections."""
    return [("ledger", f"{entry.what}: {entry.looked_at}; {entry.correction}") for entry in result.ledger]


def _bounds_table(result: AuditResult) -> TextTable:
    """Return a table of all bounds of an audit."""
    rows = tuple(
        (
            "",
            (
                bound.method,
                "a family of curves" if bound.assumptions else "nothing",
                number(bound.epsilon),
                number(bound.ceiling),
                confidence_text(bound.confidence),
            ),
        )
        for bound in result.bounds
    )
    caption = "All bounds. They hold together at the stated confidence, so the largest one is reported."
    return TextTable(("bound", "assumes", "epsilon >=", "ceiling", "confidence"), rows, 2, caption)


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
        changes.append(f"a confidence of {confidence_text(remedy.confidence)} or less")
    if remedy.delta is not None:
        changes.append(f"a claim of the same epsilon at a delta of {number(remedy.delta)} or less")
    if remedy.prior_success is not None:
        secret = "a secret that is guessed without the output with probability"
        changes.append(f"{secret} {number(remedy.prior_success)} or less")
    return changes


def new_outputs(result: AuditResult) -> str:
    """Return a clause on the share of evaluation runs whose outputs did not occur in the pilot."""
    return f"{percent(result.unseen)} of the evaluation runs gave a text or an event that no pilot run gave"


def detectable(result: AuditResult) -> str:
    """Return the power of an audit, as one line."""
    if math.isinf(result.detectable):
        return "inf: no outcome of these trials could have contradicted the claim"
    return (
        f"{number(result.detectable)}: a perfect attack detects an epsilon this large 9 times in 10, if the true curve "
        f"is that of {result.detectable_family}"
    )


def power(result: AuditResult) -> str:
    """Return a sentence on the power of an audit."""
    if result.detectable == math.inf:
        return "With so few trials no excess over the claim can be detected reliably."
    return f"With a perfect attack, 9 of 10 such audits detect a true epsilon of {number(result.detectable)}."


def witnessed(result: AuditResult) -> list[Row]:
    """Return the witnesses as rows of a table."""
    rows: list[Row] = []
    for witness in result.witnesses:
        rows += [("witness", str(witness)), ("refutes", witness.contradicts)]
        rows += [("replay", witness.again)] if witness.again else []
        rows += [("assumes", text) for text in witness.assumptions]
    return rows


def without_low_bits(result: AuditResult) -> str:
    """Return the bound without the low bits of floats, and its consequence; "" if the attack did not use them."""
    without = result.without_low_bits
    if without is None:
        return ""
    bound = f"epsilon >= {number(without.bound.epsilon)} without rules on the low bits of floats"
    if not without.refutes(result.claim):
        only_low_bits = result.verdict is Verdict.VIOLATION and result.witness is None
        end = "only the low bits refute the claim" if only_low_bits else "the claim is not contradicted"
        return f"{bound}: {end}"
    where = f": {without.curve_violation}" if without.bound.epsilon <= result.claim else ""
    rule = f" ({without.rule})" if without.rule else ""
    return f"{bound}{rule}: the claim is refuted without the low bits too{where}"


def _truncated_text(text: str, longest: int = 80) -> str:
    """Return the beginning and the end of a long text.

    >>> _truncated_text("[1, 2, 3, 4, 5, 6, 7, 8]", 20)
    '[1, 2, 3, ... 7, 8]'
    """
    end = longest // 4
    return text if len(text) <= longest else f"{text[: longest - end - 5].rstrip()} ... {text[-end:].lstrip()}"


def _event(result: AuditResult) -> list[Row]:
    """Return rows on the event that decides a violation, with its counts on each side."""
    event, decided = result.deciding, result.decided_by
    if result.game.tosses_bits and decided.hits is None and decided.threshold is None:
        guessed = result.guessed
        of = "" if guessed is None else f", {len(guessed.right):,} of {len(guessed.right) + len(guessed.wrong):,}"
        return [("event", f"more guesses of the attack are right than the claim allows{of}")]
    sizes, rates = (result.tally.n_out, result.tally.n_in), ["more than one event"] * 2
    if decided.hits is not None:
        below = event is not None and not event.above
        counts = [n - k if below else k for k, n in zip(decided.hits, sizes, strict=True)]
        rates = [f"{k:,} of {n:,} = {number(k / n)}" for k, n in zip(counts, sizes, strict=True)]
    said = "several events of the attack together"
    if decided.threshold is not None:
        above = event is None or event.above
        said = f"outputs that the attack takes for side {int(above)}"
    rule = [("rule", event.rule)] if event is not None and event.rule else []
    return [
        ("event", said),
        *rule,
        ("on side 1", rates[1]),
        ("on side 0", rates[0]),
    ]


def _examples(result: AuditResult) -> list[Row]:
    """Return datasets and outputs, which may be values of people: shown where the result was made, never passed on."""
    rows = [(f"d{side}", _truncated_text(dataset)) for side, dataset in enumerate(result.datasets or ())]
    event = result.deciding
    for side in (1, 0):
        of_event = () if event is None else (event.outputs0, event.outputs1)[side]
        of_witnesses = dict.fromkeys(text for witness in result.witnesses for text in witness.outputs[side])
        if shown := [*of_event, *(text for text in of_witnesses if text not in of_event)]:
            rows.append((f"outputs {side}", "; ".join(shown)))
    if (guessed := result.guessed) is not None:
        for how, ids in (("right", guessed.right), ("wrong", guessed.wrong)):
            more = f"; and {len(ids) - MAX_IDS_SHOWN:,} more" if len(ids) > MAX_IDS_SHOWN else ""
            first = "; ".join(_truncated_text(id_) for id_ in ids[:MAX_IDS_SHOWN])
            rows += [(f"guessed {how}", f"{first}{more}")] if ids else []
    return rows


def recovered(recovery: Recovery) -> str:
    """Return the success rate of a reconstruction, as one line."""
    limits = "" if math.isnan(recovery.lower) else f" ({number(recovery.lower)} to {number(recovery.upper)})"
    rate = f"{number(recovery.success)}{limits}; {number(recovery.prior)} without the output"
    return f"{rate}, at most {number(recovery.allowed)} under the claim"


def _guesses(result: AuditResult) -> list[Row]:
    """Return rows on the success rate, with the output and without, and on the distribution of the secret."""
    drawn = [entry.looked_at for entry in result.bound.ledger if entry.what == "secret"]
    successes = [entry.looked_at for entry in result.bound.ledger if entry.what == "success"]
    event = ("event", f"the {result.attack} guess is close enough")
    rows = [event, *(("successes", text) for text in successes), *(("secret", text) for text in drawn)]
    return rows if result.recovery is None else [*rows, ("allowed", f"{number(result.recovery.allowed)} of the rounds")]


def exceptional(result: AuditResult) -> list[str]:
    """Return the exceptional outputs, with their counts on side 0 and side 1, the most frequent first."""
    events = sorted(result.events.items(), key=lambda event: -sum(event[1]))
    return [f"{name}: {out:,} on side 0, {in_:,} on side 1" for name, (out, in_) in events]


def _capitalised(clause: str) -> str:
    return clause[0].upper() + clause[1:]
