"""The texts of gains: of one attack over its baselines, and of an attack over all people and over groups."""

from __future__ import annotations

from dataclasses import replace

from ...mechanisms.core import confidence_text, fixed, number, percent, percent_between, points
from ..results.result_text import ResultText, TextSection, TextTable, Tone
from .disclosure import DisclosureGains
from .gain import PERSON, RELEASE, Gain, Rate

METRICS = "These are metrics, not bounds on epsilon."


def describe(result: Gain | DisclosureGains) -> ResultText:
    """Return the text of a gain, or of the gains over all people and over groups."""
    return _of_groups(result) if isinstance(result, DisclosureGains) else _of_gain(result)


def _of_gain(gain: Gain) -> ResultText:
    rows = [("attack", _percent(gain.attack), "-", "-")]
    rows += [(o.baseline, _percent(o.success), _points(o.gain), _risk(o.residual_risk)) for o in gain.over]
    confidence = f"{confidence_text(gain.confidence)} confidence"
    caption = f"Success of the attack and of its baselines, with intervals at {confidence}."
    over = f"The gain over the better baseline is {_points(gain.headline)}, with {confidence}."
    return ResultText(
        tone=Tone.PLAIN,
        headline=_headline(gain),
        answer=" ".join([over, *_reasons(gain), METRICS]),
        facts=(("attacked", f"{gain.n:,} {gain.of}"),),
        next_steps=_next_steps(gain),
        table=TextTable(
            ("guess", "right" if gain.exact else "mean score", "gain over it", "residual risk"),
            tuple(("", row) for row in rows),
            1,
            caption,
        ),
    )


def _of_groups(gains: DisclosureGains) -> ResultText:
    text = gains.overall.text()
    if not gains.groups:
        return text
    name, worst = gains.worst
    left_out = (f"Too few people for a gain of their own: {', '.join(gains.left_out)}.",) if gains.left_out else ()
    head = ("group", "gain", "attacked")
    rows = tuple(("", (name, _points(gain.headline), f"{gain.n:,} {gain.of}")) for name, gain in gains.groups.items())
    return replace(
        text,
        facts=(*text.facts, ("worst group", f"{name}: gain {_points(worst.headline)}, {worst.n:,} {worst.of}")),
        notes=(f"All gains together have {confidence_text(gains.confidence)} confidence.", *left_out),
        details=(TextSection("Groups", table=TextTable(head, rows, 1)),),
    )


def interpretation(gain: Gain) -> str:
    """Return the interpretation of the numbers for the release."""
    return " ".join([f"{_headline(gain)}.", *_reasons(gain)])


def _headline(gain: Gain) -> str:
    if gain.significant:
        return f"The release leaks: the attack gains at least {number(100 * gain.headline.lower, 2)} points"
    if gain.headline.upper < 0.0:
        return "The attack is worse than a baseline: it gains nothing"
    least = f"{number(100 * gain.minimum_detectable, 2)} points"
    return f"No gain was detected; a gain of {least} would have been detected"


def _reasons(gain: Gain) -> list[str]:
    """Return sentences on what the attack learns from, and on what was not measured."""
    names = {over.baseline: over for over in gain.over}
    learned = any(over.gain.lower > 0.0 for name, over in names.items() if name != PERSON)
    said = []
    if not gain.significant and learned and PERSON in names:
        said.append("The attack learns from the population: it succeeds as often without the person.")
    if PERSON not in names:
        said.append(
            "No release without the person was attacked: the gain may be learned from the population, not memorised."
        )
    elif RELEASE not in names:
        said.append("The success of guesses without any release was not measured.")
    return said


def _next_steps(gain: Gain) -> tuple[str, ...]:
    """Return what to do now, at most one sentence."""
    if PERSON not in {over.baseline for over in gain.over}:
        return ("Attack a release of a population without these people too, and pass it as without_person.",)
    if gain.significant:
        return ("Make the release with a privacy guarantee, or release less, and measure again.",)
    return ()


def _percent(rate: Rate) -> str:
    return f"{percent(rate.value)} ({percent_between(rate.lower, rate.upper)})"


def _points(rate: Rate) -> str:
    return points(rate.value, rate.lower, rate.upper)


def _risk(rate: Rate) -> str:
    return f"{fixed(rate.value, 2)} ({fixed(rate.lower, 2)} to {fixed(rate.upper, 2)})"
