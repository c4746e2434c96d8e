"""Comparison of an attack with its baselines: guesses without the release, and without the person."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from ....audit.metrics.gain import Gain, Rate, meaning
from ....audit.results.text import percent
from .style.canvas import NotebookFigure, axes_or_new, new_figure, style_axes
from .style.palette import BLUE, MUTED


@dataclass(frozen=True)
class GainOverBaselines:
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
        return cls(rates, gain.headline, gain.better.baseline, gain.exact, people, gain.confidence, meaning(gain))

    @property
    def title(self) -> str:
        """Gain over the better baseline, with its interval."""
        low, high = 100 * self.gain.lower, 100 * self.gain.upper
        return f"Gain over the better baseline: {100 * self.gain.value:+.1f} points ({low:+.1f} to {high:+.1f})"

    @property
    def caption(self) -> str:
        """Explanation of the figure."""
        return (
            f"Each point is a mean over {self.people}, with its {percent(self.confidence)} confidence interval. The "
            f"gain is paired: it compares the same people, which makes its interval narrower than these intervals. "
            f"{self.meaning} These are metrics, not bounds on epsilon."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates with their intervals."""
        ax = axes_or_new(ax)
        for place, (_, rate) in enumerate(self.rates):
            colour = (BLUE if place == 0 else MUTED).light
            reach = [[100 * (rate.value - rate.lower)], [100 * (rate.upper - rate.value)]]
            ax.errorbar([100 * rate.value], [-place], xerr=reach, fmt="o", color=colour, capsize=4.0, linewidth=1.6)
            text = f"{100 * rate.value:.1f} %"
            ax.annotate(text, (100 * rate.value, -place), (0, 8), textcoords="offset points", ha="center", color=colour)
        ax.set(xlim=(-3.0, 103.0), ylim=(0.5 - len(self.rates), 0.7))
        ax.set_yticks([-place for place in range(len(self.rates))], [name for name, _ in self.rates])
        x = f"{'correct guesses' if self.exact else 'mean score'}, of {self.people} (%)"
        style_axes(ax, title=self.title, x=x, y="guess", handles=[])
        return ax


def draw_gain(gain: Gain) -> NotebookFigure:
    """Return a figure of the attack and its baselines."""
    figure = new_figure(6.4, 3.2)
    GainOverBaselines.from_result(gain).plot(figure.add_subplot())
    return figure
