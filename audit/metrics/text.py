"""A gain as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results.text import percent

if TYPE_CHECKING:
    from .gain import Gain, Rate

PERSON = "without the person"


def summary(gain: Gain) -> str:
    """Return a table of attack and baselines, the gain over the better one, and its interpretation."""
    rows = [("attack", _rate(gain.attack), "")]
    rows += [(o.baseline, _rate(o.success), f"gain {_points(o.gain)}, {_risk(o.residual_risk)}") for o in gain.over]
    name, rate = (max(len(row[i]) for row in rows) for i in (0, 1))
    lines = [f"{a:<{name}}  {b:<{rate}}  {c}".rstrip() for a, b, c in rows]
    kind = "right" if gain.exact else "mean score"
    headline = f"{_points(gain.headline)} over the better baseline"
    head = f"{kind}, of {gain.n:,} {gain.of}; intervals: {percent(gain.confidence)} confidence"
    return "\n".join([head, *lines, f"gain: {headline}", meaning(gain)])


def meaning(gain: Gain) -> str:
    """Return the interpretation of the numbers for the release."""
    least = f"{100 * gain.minimum_detectable:.2g} points"
    names = {over.baseline: over for over in gain.over}
    learned = any(over.gain.lower > 0.0 for name, over in names.items() if name != PERSON)
    if gain.shown:
        text = f"The release leaks: the attack gains at least {100 * gain.headline.lower:.2g} points."
    elif gain.headline.upper < 0.0:
        text = "The attack is worse than a baseline: it gains nothing."
    else:
        text = f"No gain was detected. A gain of {least} would have been detected."
    if not gain.shown and learned and PERSON in names:
        text += " The attack learns from the population: it succeeds as often without the person."
    if PERSON not in names:
        text += (
            " No release without the person was attacked: the gain may be learned from the population, not memorised."
        )
    elif len(names) == 1:
        text += " The success of guesses without any release was not measured."
    return text


def _rate(rate: Rate) -> str:
    return f"{100 * rate.value:.1f} % ({100 * rate.lower:.1f} to {100 * rate.upper:.1f})"


def _points(rate: Rate) -> str:
    return f"{100 * rate.value:+.1f} points ({100 * rate.lower:+.1f} to {100 * rate.upper:+.1f})"


def _risk(rate: Rate) -> str:
    return f"residual risk {rate.value:.2f} ({rate.lower:.2f} to {rate.upper:.2f})"
