"""An attack beside its baselines: what is guessed without the release, and from one without the person."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from ....audit.inference.gain import Gain, Rate
from ....audit.inference.text import meaning
from ....audit.results.text import percent
from ..style.canvas import NotebookFigure, axes_or_new, new_figure, style_axes
from ..style.palette import BLUE, MUTED


@dataclass(frozen=True)
class GainOverBaselines:
    """Success of an attack and of its baselines, each with its interval.

    Args:
        rates: name and success, the attack first.
        gain: over the better baseline.
        better: the name of that baseline.
        exact: whether each was right or wrong; else scores were averaged.
        people: how many, and of what: "500 people".
        confidence: of the intervals.
        meaning: what the numbers say.
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
        """All rates of a gain."""
        rates = (("attack", gain.attack), *((over.baseline, over.success) for over in gain.over))
        people = f"{gain.n:,} {gain.of}"
        return cls(rates, gain.headline, gain.better.baseline, gain.exact, people, gain.confidence, meaning(gain))

    @property
    def title(self) -> str:
        """The gain, and whether it can be told from none."""
        low, high = 100 * self.gain.lower, 100 * self.gain.upper
        return f"Gain over the better baseline: {100 * self.gain.value:+.1f} points ({low:+.1f} to {high:+.1f})"

    @property
    def caption(self) -> str:
        """How to read it."""
        return (
            f"Each point is a mean over {self.people}, with its interval of {percent(self.confidence)} confidence. The "
            f"gain is that on the same people, so that its interval is narrower than the distance of two of these. "
            f"{self.meaning} These are metrics, not bounds on epsilon."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it."""
        ax = axes_or_new(ax)
        for place, (_, rate) in enumerate(self.rates):
            colour = (BLUE if place == 0 else MUTED).light
            reach = [[100 * (rate.value - rate.lower)], [100 * (rate.upper - rate.value)]]
            ax.errorbar([100 * rate.value], [-place], xerr=reach, fmt="o", color=colour, capsize=4.0, linewidth=1.6)
            text = f"{100 * rate.value:.1f} %"
            ax.annotate(text, (100 * rate.value, -place), (0, 8), textcoords="offset points", ha="center", color=colour)
        ax.set(xlim=(-3.0, 103.0), ylim=(0.5 - len(self.rates), 0.7))
        ax.set_yticks([-place for place in range(len(self.rates))], [name for name, _ in self.rates])
        x = f"{'right' if self.exact else 'mean score'}, of {self.people} (%)"
        style_axes(ax, title=self.title, x=x, y="guess", handles=[])
        return ax


def draw_gain(gain: Gain) -> NotebookFigure:
    """The attack beside its baselines."""
    figure = new_figure(6.4, 3.2)
    GainOverBaselines.from_result(gain).plot(figure.add_subplot())
    return figure
