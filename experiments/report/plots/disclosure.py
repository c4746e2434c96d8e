"""Several attacks on synthetic tables, each compared with its baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes

from ....audit.metrics.gain import PERSON, RELEASE, Gain
from ....audit.results.text import percent
from .style.canvas import axes_or_new, style_axes
from .style.palette import BLUE, GREEN, MUTED

GUESSES = {"attack": (BLUE, "o"), RELEASE: (MUTED, "s"), PERSON: (GREEN, "D")}


@dataclass(frozen=True)
class SuccessByAttack:
    """Success of each attack, without the release and without the person, with intervals.

    Args:
        gains: name of an attack -> its gain over the baselines.
    """

    gains: Mapping[str, Gain]

    @property
    def title(self) -> str:
        """Number of attacks with a significant gain, as a sentence."""
        n_significant = sum(gain.shown for gain in self.gains.values())
        return f"{n_significant} of {len(self.gains)} attacks gain from the release"

    @property
    def caption(self) -> str:
        """Explanation of the figure."""
        level = percent(next(iter(self.gains.values())).confidence)
        return (
            f"Points are shares of people about whom a guess is correct, each with its {level} confidence interval. "
            "Only the gain over both baselines on the same people counts. These are metrics, not bounds on epsilon."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates, one row per attack."""
        ax = axes_or_new(ax)
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
        return ax
