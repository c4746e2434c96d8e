"""A ladder of named audits: what each of them shows of the epsilon that is claimed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from audit.results import AuditResult
from audit.text import percent
from audit.verdict import Verdict
from experiments.plots.canvas import SMALL, axes_or_new, legend, style_axes, write
from experiments.plots.formatting import DAGGER, cut, delta_text, number, parameters_text, percent_range, refuted_text
from experiments.plots.palette import BOUND, CLAIM, MUTED, TRUTH, VIOLATION, Colour

if TYPE_CHECKING:
    from experiments.results import SweepPoint, SweepResult

NAME_WIDTH = 34
"""Letters in a line of the name of a rung."""
TALL = 50
"""Rungs beyond which they stand closer, and only some are named."""
REACH = 1.6
"""Exact values beyond so many times the largest claim or bound are arrows at the edge."""
PALE = 0.35


@dataclass(frozen=True)
class Rung:
    """One audit.

    Args:
        name: what sets it apart, such as what its adversary sees and chooses.
        shown: the lower bound on epsilon, the largest of those that were computed.
        without: the largest lower bound that assumes nothing about the curve; NaN if all assume something.
        claim: the claimed epsilon.
        truth: the exact epsilon; NaN where it is not known.
        violation: whether the verdict, corrected over all rungs, is a violation.
    """

    name: str
    shown: float
    without: float
    claim: float
    truth: float
    violation: bool

    @classmethod
    def of(cls, name: str, result: AuditResult, *, violation: bool) -> Rung:
        """The rung of one audit."""
        free = [bound.epsilon for bound in result.bounds if not bound.assumptions]
        truth = math.nan if result.truth is None else result.truth
        return cls(name, result.bound.epsilon, max(free, default=math.nan), result.claim, truth, violation)

    @property
    def elsewhere(self) -> bool:
        """Whether the claim is refuted, but not at the delta of the bound."""
        return self.violation and self.shown <= self.claim


@dataclass(frozen=True)
class Ladder:
    """Rungs in the order in which they are given, the first on top, beside their claims.

    Args:
        rungs: one or more.
        delta: " at delta = ..." when all share it, else empty.
        confidence: of each bound.
        assumed: whether any bound leans on a family of curves.
    """

    rungs: tuple[Rung, ...]
    delta: str
    confidence: float
    assumed: bool

    @classmethod
    def of(cls, named: Iterable[tuple[str, AuditResult, Verdict]]) -> Ladder:
        """Audits with their names and the verdicts that hold for them together."""
        rows = list(named)
        results = [result for _, result, _ in rows]
        return cls(
            rungs=tuple(Rung.of(n, result, violation=verdict is Verdict.VIOLATION) for n, result, verdict in rows),
            delta=delta_text(result.delta for result in results),
            confidence=results[0].confidence,
            assumed=any(result.bound.assumptions for result in results),
        )

    @classmethod
    def from_sweep(cls, sweep: SweepResult) -> Ladder:
        """The audits of a sweep, in their order."""
        return cls.of((_name(point), point.result, point.verdict) for point in sweep.points)

    @property
    def title(self) -> str:
        """What is seen, in one line."""
        if wrong := [rung for rung in self.rungs if rung.violation]:
            return refuted_text(len(wrong), len(self.rungs), sum(rung.elsewhere for rung in wrong))
        shares = [rung.shown / rung.claim for rung in self.rungs if 0.0 < rung.claim < math.inf]
        if not shares:
            return "What each attack shows"
        claims = "claim" if len({rung.claim for rung in self.rungs}) == 1 else "claims"
        return f"The attacks show {percent_range(shares)} of the {claims}"

    @property
    def caption(self) -> str:
        """How to read it."""
        family = (
            " The pale part of a bar is shown only if the trade-off curve belongs to the family of the claim; the dark "
            "part assumes nothing."
            if self.assumed
            else ""
        )
        exact = (
            " The exact value stands where it is known; an arrow means that it lies beyond the plot."
            if any(not math.isnan(rung.truth) for rung in self.rungs)
            else ""
        )
        elsewhere = (
            f" {DAGGER}: the claim is refuted at another delta than the one of this plot, which the table names."
            if any(rung.elsewhere for rung in self.rungs)
            else ""
        )
        return (
            f"Each bar ends at a lower bound on epsilon, below the truth with {percent(self.confidence)} confidence: "
            f"what the attack was able to show.{family} The black line is the claim, which no bar may cross but by "
            f"chance.{exact}{elsewhere}"
        )

    @property
    def height(self) -> float:
        """Inches that the rungs need."""
        return 1.3 + 0.36 * min(len(self.rungs), TALL)

    @property
    def top(self) -> float:
        """The largest epsilon that has to be seen."""
        finite = [v for rung in self.rungs for v in (rung.claim, rung.shown) if math.isfinite(v)]
        largest = max(finite, default=0.0) or 1.0
        return max([largest] + [rung.truth for rung in self.rungs if rung.truth <= REACH * largest])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it: bars on a linear axis, since what matters is the share of the claim."""
        ax = axes_or_new(ax)
        every = math.ceil(len(self.rungs) / TALL)
        limit = 1.06 * self.top
        for place, rung in enumerate(self.rungs):
            self._draw_bar(ax, place, rung)
            ax.plot([rung.claim] * 2, [place - 0.5, place + 0.5], color=CLAIM.light, linewidth=1.8)
            _draw_truth(ax, place, rung.truth, limit)
        keys = self._keys()
        lines = math.ceil(len(keys) / 3)
        style_axes(ax, title=self.title, x=f"epsilon{self.delta}", y="", pad=8.0 + 14.0 * lines)
        named = range(0, len(self.rungs), every)
        names = [_wrapped(self.rungs[i].name) if every == 1 else cut(self.rungs[i].name, NAME_WIDTH) for i in named]
        ax.set_yticks(list(named), names, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        ax.set(xlim=(0.0, limit), ylim=(len(self.rungs) - 0.4, -0.6))
        for column, cells in enumerate(self._columns()):
            _write_column(ax, column, [cells[0], *cells[1:][::every]], list(named))
        legend(ax, handles=keys, loc="lower left", bbox_to_anchor=(-0.012, 1.0), ncols=3, borderaxespad=0.1)
        return ax

    def _draw_bar(self, ax: Axes, place: int, rung: Rung) -> None:
        """The bound that may lean on a family, and over it the part that does not."""
        colour = _colour(rung)
        if not self.assumed:
            ax.barh(place, rung.shown, height=0.62, color=colour.light)
            return
        ax.barh(place, rung.shown, height=0.62, color=colour.light, alpha=PALE)
        ax.barh(place, 0.0 if math.isnan(rung.without) else rung.without, height=0.62, color=colour.light)

    def _keys(self) -> list[Any]:
        """What each mark means, of those that occur."""
        right, wrong = (any(rung.violation is violation for rung in self.rungs) for violation in (False, True))
        bound = BOUND if right else VIOLATION
        shown = "lower bound, nothing assumed" if self.assumed else "lower bound"
        found: list[Any] = [Patch(color=bound.light, label=shown if right else f"{shown}: refuted")]
        if self.assumed:
            found.append(Patch(color=bound.light, alpha=PALE, label="if in the family of the claim"))
        if right and wrong:
            found.append(Patch(color=VIOLATION.light, label="the claim is refuted"))
        found.append(Line2D([], [], color=CLAIM.light, linewidth=1.8, label="claim"))
        if any(not math.isnan(rung.truth) for rung in self.rungs):
            found.append(Line2D([], [], label="exact", **_DIAMOND))
        return found

    def _columns(self) -> list[list[tuple[str, Colour]]]:
        """Numbers beside the bars, each column under its name."""
        shown = [(f"{DAGGER} " * r.elsewhere + number(r.shown), _colour(r)) for r in self.rungs]
        exact = [(number(r.truth), TRUTH) for r in self.rungs]
        known = any(not math.isnan(r.truth) for r in self.rungs)
        return [[("exact", MUTED), *exact]] * known + [[("shown", MUTED), *shown]]


_DIAMOND: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 5,
    "color": TRUTH.light,
    "markerfacecolor": "none",
    "markeredgewidth": 1.4,
}


def _colour(rung: Rung) -> Colour:
    return VIOLATION if rung.violation else BOUND


def _draw_truth(ax: Axes, place: int, truth: float, limit: float) -> None:
    """A diamond at the exact value, or an arrow at the edge where it lies beyond."""
    if math.isnan(truth):
        return
    if truth <= limit:
        ax.plot([truth], [place], zorder=4, clip_on=False, **_DIAMOND)
        return
    ends = ((1.005, place), (0.955, place))
    arrow = {"arrowstyle": "->", "color": TRUTH.light, "linewidth": 1.4, "shrinkA": 0.0, "shrinkB": 0.0}
    across = ax.get_yaxis_transform()
    ax.annotate("", ends[0], ends[1], xycoords=across, textcoords=across, arrowprops=arrow)


def _write_column(ax: Axes, column: int, cells: list[tuple[str, Colour]], places: list[int]) -> None:
    """Texts to the right of the axes, beside their rungs; the first is the name of the column."""
    for (text, colour), place in zip(cells, (-0.6, *places), strict=True):
        bottom = "bottom" if place < 0 else "center_baseline"
        write(ax, 1.09 + 0.105 * column, place, text, colour, transform=ax.get_yaxis_transform(), ha="right", va=bottom,
              fontsize=SMALL)  # fmt: skip


def _wrapped(name: str) -> str:
    return textwrap.fill(name, NAME_WIDTH)


def _name(point: SweepPoint) -> str:
    """What sets an audit apart."""
    return parameters_text(point.parameters) or point.result.mechanism
