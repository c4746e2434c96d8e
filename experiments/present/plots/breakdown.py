"""Where the epsilon of each claim goes: stacked bars of the bound and of what each step loses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ....audit.results.audit_result import AuditResult
from ....audit.results.breakdown import PARTS, EpsilonBreakdown
from ....mechanisms.core import confidence_text, percent_below
from .labels import delta_text, number
from .ladder import rung_name, wrapped
from .style import AMBER, BOUND, GREEN, INK, MUTED, OLIVE, PURPLE, SMALL, STEEL, Colour, Plot, style_axes, write

if TYPE_CHECKING:
    from ..results.sweep import SweepResult

COLOURS: dict[str, Colour] = dict(zip(PARTS, (PURPLE, AMBER, GREEN, STEEL), strict=True))
"""Step -> colour of its part."""
MERGED = OLIVE
"""Colour of a part of several steps, hatched in the colour of the last step."""
HATCH, PALE = "///", 0.45
WIDE = 0.085
"""Smallest width of a part, as a share of the axis, whose number is written in it."""

_NOTHING = 1e-6
"""Largest epsilon of a part that is 0 up to rounding."""


@dataclass(frozen=True)
class BreakdownPlot(Plot):
    """Claims as stacked bars, one per audit, the first on top.

    Args:
        rungs: name and parts of each audit, one or more.
        delta: " at delta = ..." if all rungs share it, else empty.
        confidence: confidence of each bound.
    """

    rungs: tuple[tuple[str, EpsilonBreakdown], ...]
    delta: str
    confidence: float

    @classmethod
    def of(cls, named: Iterable[tuple[str, AuditResult]]) -> BreakdownPlot:
        """Return the plot of the named audits that have a breakdown; at least one must have one."""
        rows = [(name, result, result.breakdown) for name, result in named]
        results = [result for _, result, parts in rows if parts is not None]
        return cls(
            rungs=tuple((name, parts) for name, _, parts in rows if parts is not None),
            delta=delta_text(result.delta for result in results),
            confidence=results[0].confidence,
        )

    @classmethod
    def from_sweep(cls, sweep: SweepResult) -> BreakdownPlot:
        """Return the plot of the audits of a sweep, in their order."""
        return cls.of((rung_name(point), point.result) for point in sweep.points)

    @staticmethod
    def fits(sweep: SweepResult) -> bool:
        """Return whether any audit has a breakdown of its claim."""
        return any(point.result.breakdown is not None for point in sweep.points)

    @property
    def title(self) -> str:
        """Largest part over all audits, as a share of all claims."""
        total = math.fsum(rung.claim for _, rung in self.rungs)
        lost = {name: self._sum_of(name) for name in self._names}
        most = max(lost, key=lambda name: lost[name])
        if total <= 0.0 or lost[most] <= 0.0:
            return "The bounds reach the claims"
        several = "s" if len(self.rungs) > 1 else ""
        return f"Largest loss from claim{several} to bound{several}: {most}, {percent_below(lost[most] / total)}"

    @property
    def caption(self) -> str:
        estimated = any(part.interval for _, rung in self.rungs for part in rung.parts)
        merged = any(len(part.steps) > 1 for _, rung in self.rungs for part in rung.parts)
        return (
            "Each bar is a claimed epsilon; the parts and the bound sum to it. Accounting: the claim less the exact "
            "epsilon of the worst case, for an adversary who sees every intermediate release. Threat model: less the "
            "exact epsilon of the output that this adversary sees. Attack: less the epsilon of the attack. Estimator: "
            f"less the lower bound, which holds with {confidence_text(self.confidence)} confidence."
            + " A hatched part with several names is their sum: the numbers in between are not known." * merged
            + (
                " Brackets mark the interval of an estimate of the attack’s epsilon, which assumes a Gaussian "
                "trade-off curve and has no coverage."
            )
            * estimated
        )

    @property
    def height(self) -> float:
        """Height of the figure in inches."""
        return 1.7 + 0.42 * len(self.rungs)

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the parts that occur, from the bound up to the claim."""
        kinds = {part.steps: part.name for _, rung in self.rungs for part in rung.parts}
        return tuple(kinds[steps] for steps in sorted(kinds, key=lambda steps: (-PARTS.index(steps[-1]), len(steps))))

    def _sum_of(self, name: str) -> float:
        return math.fsum(part.epsilon for _, rung in self.rungs for part in rung.parts if part.name == name)

    def _draw(self, ax: Axes) -> None:
        """Draw the bars, each from the bound on the left to the claim on the right."""
        top = max(rung.claim for _, rung in self.rungs) or 1.0
        for place, (_, rung) in enumerate(self.rungs):
            self._draw_bar(ax, place, rung, top)
        handles = [Patch(color=BOUND.light, label="lower bound"), *(self._handle(name) for name in self._names)]
        style_axes(ax, title=self.title, x=f"epsilon{self.delta}", y="", handles=handles, columns=3)
        ax.set_yticks(range(len(self.rungs)), [wrapped(name) for name, _ in self.rungs], parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        ax.set(xlim=(0.0, 1.02 * top), ylim=(len(self.rungs) - 0.4, -0.6))

    def _draw_bar(self, ax: Axes, place: int, rung: EpsilonBreakdown, top: float) -> None:
        """Draw the bound, then the parts from the estimator up to accounting."""
        ax.barh(place, rung.bound, height=0.62, color=BOUND.light)
        _label(ax, place, 0.0, rung.bound, top, "white")
        left = rung.bound
        for part in reversed(rung.parts):
            width = max(part.epsilon, 0.0)
            ax.barh(place, width, left=left, height=0.62, **_paint(part.steps))
            _label(ax, place, left, width, top, INK.light)
            if part.interval is not None and part.steps[-1] == PARTS[-1]:
                _bracket(ax, place, left + part.interval[0], left + part.interval[1])
            left += part.epsilon

    def _handle(self, name: str) -> Patch:
        """Return the entry of a part in the legend; a part that no bar shows is "0 in all bars"."""
        largest = max(part.epsilon for _, rung in self.rungs for part in rung.parts if part.name == name)
        label = name if largest > _NOTHING else f"{name}: 0 in all bars"
        return Patch(label=label, **_paint(tuple(name.split(" + "))))


def _paint(steps: tuple[str, ...]) -> dict[str, Any]:
    """Return the colours of a part."""
    last = COLOURS[steps[-1]].light
    merged = {"facecolor": MERGED.light, "hatch": HATCH, "edgecolor": last} if len(steps) > 1 else {"facecolor": last}
    return {"alpha": PALE, "linewidth": 0, **merged}


def _label(ax: Axes, place: int, left: float, width: float, top: float, colour: str) -> None:
    if width < WIDE * top:
        return
    shade = Colour(colour, colour) if colour == "white" else INK
    write(ax, left + 0.5 * width, place, number(width), shade, ha="center", va="center_baseline", fontsize=SMALL)


def _bracket(ax: Axes, place: int, low: float, high: float) -> None:
    """Draw the interval of the attack's epsilon."""
    ax.plot([low, high], [place + 0.36] * 2, color=MUTED.light, linewidth=1.4, clip_on=False)
    for end in (low, high):
        ax.plot([end] * 2, [place + 0.28, place + 0.36], color=MUTED.light, linewidth=1.4, clip_on=False)
