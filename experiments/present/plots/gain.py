"""Attacks compared with their baselines: guesses without the release, and without the person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes

from ....audit.metrics.gain import PERSON, RELEASE, Gain, Rate
from ....audit.metrics.text import interpretation
from ....mechanisms.core import confidence_text, percent, points
from .draw import figure_of
from .style import BLUE, GREEN, MUTED, NotebookFigure, Plot, style_axes

GUESSES = {"attack": (BLUE, "o"), RELEASE: (MUTED, "s"), PERSON: (GREEN, "D")}


@dataclass(frozen=True)
class GainOverBaselines(Plot):
    """Success of an attack and of its baselines, each with its interval.

    Args:
        rates: name and success rate, the attack first.
        gain: gain over the better baseline.
        better: name of that baseline.
        exact: True if each guess is right or wrong, False if scores are averaged.
        people: number and unit of the targets, such as "500 people".
        confidence: confidence of the intervals.
        meaning: interpretation of the gain, in a sentence.
    """

    rates: tuple[tuple[str, Rate], ...]
    gain: Rate
    better: str
    exact: bool
    people: str
    confidence: float
    meaning: str

    @classmethod
    def from_result(cls, gain: Gain) -> GainOverBaselines:
        """Return the figure with all rates of a gain."""
        rates = (("attack", gain.attack), *((over.baseline, over.success) for over in gain.over))
        people = f"{gain.n:,} {gain.of}"
        return cls(
            rates, gain.headline, gain.better.baseline, gain.exact, people, gain.confidence, interpretation(gain)
        )

    @property
    def title(self) -> str:
        """Gain over the better baseline, with its interval."""
        return f"Gain over the better baseline: {points(self.gain.value, self.gain.lower, self.gain.upper)}"

    @property
    def caption(self) -> str:
        return (
            f"Each point is a mean over {self.people}, with its {confidence_text(self.confidence)} confidence "
            f"interval. The gain is paired: it compares the same people, which makes its interval narrower than these "
            f"intervals. {self.meaning} These are metrics, not bounds on epsilon."
        )

    def _draw(self, ax: Axes) -> None:
        """Draw the rates with their intervals."""
        for place, (_, rate) in enumerate(self.rates):
            colour = (BLUE if place == 0 else MUTED).light
            reach = [[100 * (rate.value - rate.lower)], [100 * (rate.upper - rate.value)]]
            ax.errorbar([100 * rate.value], [-place], xerr=reach, fmt="o", color=colour, capsize=4.0, linewidth=1.6)
            text = percent(rate.value)
            ax.annotate(text, (100 * rate.value, -place), (0, 8), textcoords="offset points", ha="center", color=colour)
        ax.set(xlim=(-3.0, 103.0), ylim=(0.5 - len(self.rates), 0.7))
        ax.set_yticks([-place for place in range(len(self.rates))], [name for name, _ in self.rates])
        x = f"{'correct guesses' if self.exact else 'mean score'}, of {self.people} (%)"
        style_axes(ax, title=self.title, x=x, y="guess", handles=[])


def draw_gain(gain: Gain) -> NotebookFigure:
    """Return a figure of the attack and its baselines."""
    return figure_of(GainOverBaselines.from_result(gain), 6.4, 3.2)


@dataclass(frozen=True)
class SuccessByAttack(Plot):
    """Success of each attack, without the release and without the person, with intervals.

    Args:
        gains: name of an attack -> its gain over the baselines.
    """

    gains: Mapping[str, Gain]

    @property
    def title(self) -> str:
        """Number of attacks with a significant gain, as a sentence."""
        n_significant = sum(gain.significant for gain in self.gains.values())
        return f"{n_significant} of {len(self.gains)} attacks gain from the release"

    @property
    def caption(self) -> str:
        level = confidence_text(next(iter(self.gains.values())).confidence)
        return (
            f"Points are shares of people about whom a guess is correct, each with its {level} confidence interval. "
            "Only the gain over both baselines on the same people counts. These are metrics, not bounds on epsilon."
        )

    def _draw(self, ax: Axes) -> None:
        """Draw the rates, one row per attack."""
        for place, gain in enumerate(self.gains.values()):
            rates = {"attack": gain.attack, **{over.baseline: over.success for over in gain.over}}
            for row, (name, rate) in enumerate(rates.items()):
                colour, marker = GUESSES[name]
                ax.errorbar(
                    [100 * rate.value],
                    [0.22 * (1 - row) - place],
                    xerr=[[100 * (rate.value - rate.lower)], [100 * (rate.upper - rate.value)]],
                    fmt=marker,
                    color=colour.light,
                    capsize=3.0,
                    linewidth=1.6,
                    label=name if place == 0 else None,
                )
        ax.set(xlim=(-3.0, 103.0), ylim=(0.6 - len(self.gains), 0.6))
        ax.set_yticks([-place for place in range(len(self.gains))], list(self.gains))
        people = next(iter(self.gains.values())).n
        handles = ax.get_legend_handles_labels()[0]
        style_axes(ax, title=self.title, x=f"correct guesses, of {people:,} people (%)", y="attack", handles=handles)
