"""Ladder of named audits: the lower bound of each one and its claimed epsilon."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from ....audit.results.audit_result import AuditResult
from ....audit.results.result_text import Tone, tone_of
from ....mechanisms.core import confidence_text, percent_range
from ..results.parameters import cut_inside, parameters_text
from ..results.sweep_text import DAGGER, tone_of_point
from .labels import IN_FAMILY, NOTHING_ASSUMED, WEAK, delta_text, number, refuted_text
from .lines import ASSUMED, BY_CHANCE
from .style import (
    BOUND,
    CLAIM,
    EXACT,
    MUTED,
    SMALL,
    VIOLATION,
    WEAK_COLOUR,
    Colour,
    Plot,
    logarithmic,
    style_axes,
    write,
)
from .sweep_lines import WIDE

if TYPE_CHECKING:
    from ..results.sweep import SweepPoint, SweepResult

NAME_WIDTH, LONG = 34, 44
"""Characters per line of the name of a rung, and characters of a name where all are on one line."""
NAME_POINTS, TITLE_POINTS = 5.0, 7.2
"""Width in points of a character of a name, and of a title."""
SHORT, ROOMY = 26, 7.0
"""Characters per line of a name in figures narrower than `ROOMY` inches."""
TALL, NAMED = 30, 200
"""Numbers of rungs above which they are drawn closer together, and above which only some are named."""
MAX_VALUE_RATIO = 1.6
"""Exact values beyond this many times the largest claim or bound are drawn as arrows at the edge."""
COLUMN = 48.0
"""Points from one column of numbers to the next."""
PALE, HATCH = 0.35, "////"
"""Opacity and hatching of the part of a bar that assumes a family of curves."""


@dataclass(frozen=True)
class Rung:
    """One audit.

    Args:
        name: distinguishing name, such as the power of the adversary.
        shown: the largest of the computed lower bounds on epsilon.
        without: the largest lower bound without an assumption about the trade-off curve; NaN if there is none.
        claim: the claimed epsilon.
        exact_epsilon: the true epsilon; NaN where it is unknown.
        tone: of the verdict, corrected over all rungs.
    """

    name: str
    shown: float
    without: float
    claim: float
    exact_epsilon: float
    tone: Tone

    @classmethod
    def of(cls, name: str, result: AuditResult, tone: Tone) -> Rung:
        """Return the rung of one audit."""
        free = result.assumption_free_bound
        exact = math.nan if result.exact_epsilon is None else result.exact_epsilon
        return cls(name, result.bound.epsilon, free.epsilon if free else math.nan, result.claim, exact, tone)

    @property
    def violation(self) -> bool:
        """True if the claim is refuted."""
        return self.tone is Tone.VIOLATION

    @property
    def above(self) -> bool:
        """True if the bound exceeds the claim and does not refute it."""
        return self.tone in (Tone.CONSISTENT, Tone.WEAK) and self.shown > self.claim

    @property
    def elsewhere(self) -> bool:
        """True if the claim is refuted, but not at the delta of the bound."""
        return self.violation and self.shown <= self.claim


@dataclass(frozen=True)
class LadderPlot(Plot):
    """Lower bounds and claims as horizontal bars, one per audit, the first on top.

    Args:
        rungs: one or more.
        delta: " at delta = ..." if all rungs share it, else empty.
        confidence: confidence of each bound.
        assumes_family: True if any bound assumes a family of trade-off curves.
        conditional: as in `Lines`.
    """

    rungs: tuple[Rung, ...]
    delta: str
    confidence: float
    assumes_family: bool
    conditional: bool = False

    @classmethod
    def of(cls, named: Iterable[tuple[str, AuditResult, Tone]]) -> LadderPlot:
        """Return the ladder of named audits, with the tones of their jointly valid verdicts."""
        rows = list(named)
        results = [result for _, result, _ in rows]
        return cls(
            rungs=tuple(Rung.of(*row) for row in rows),
            delta=delta_text(result.delta for result in results),
            confidence=results[0].confidence,
            assumes_family=any(result.bound.assumptions for result in results),
            conditional=any(result.condition for result in results),
        )

    @classmethod
    def from_results(cls, named: Mapping[str, AuditResult]) -> LadderPlot:
        """Return the ladder of audits by name; each verdict is that of its audit alone."""
        return cls.of((name, result, tone_of(result.verdict, weak=result.weak)) for name, result in named.items())

    @classmethod
    def from_sweep(cls, sweep: SweepResult) -> LadderPlot:
        """Return the ladder of the audits of a sweep, in their order."""
        return cls.of((rung_name(point), point.result, tone_of_point(point)) for point in sweep.points)

    @property
    def title(self) -> str:
        """Number of refuted claims, or the share of the claims that the bounds reach."""
        if wrong := [rung for rung in self.rungs if rung.violation]:
            above = sum(rung.above for rung in self.rungs)
            return refuted_text([rung.tone for rung in self.rungs], sum(rung.elsewhere for rung in wrong), above)
        known = [rung for rung in self.rungs if 0.0 < rung.claim < math.inf]
        if not known:
            return "No claim is refuted"
        claims = "claim" if len({rung.claim for rung in self.rungs}) == 1 else "claims"
        reached = f"The lower bounds reach {percent_range([rung.shown / rung.claim for rung in known])} of the {claims}"
        reached += ASSUMED if self.conditional else BY_CHANCE * any(rung.above for rung in self.rungs)
        if not self.assumes_family:
            return reached
        free = [rung.without / rung.claim for rung in known if not math.isnan(rung.without)]
        return f"{reached}, {IN_FAMILY}" + (f"; {percent_range(free)} with {NOTHING_ASSUMED}" if free else "")

    @property
    def caption(self) -> str:
        assuming = self._names[1]
        family = (
            f" “{assuming}” is valid only if the trade-off curve belongs to the family of the claim."
            * self.assumes_family
        )
        exact = (
            " “exact” is the true epsilon where it is known; an arrow means that it lies beyond the plot."
            if any(not math.isnan(rung.exact_epsilon) for rung in self.rungs)
            else ""
        )
        above = (
            " *: the bound is above the claim, but not significant after the correction for the number of audits."
            if any(rung.above for rung in self.rungs) and not self.conditional
            else ""
        )
        weak = f" {Tone.WEAK.sign}: {WEAK}." if any(rung.tone is Tone.WEAK for rung in self.rungs) else ""
        elsewhere = (
            f" {DAGGER}: the claim is refuted at a delta other than that of this plot; see the table."
            if any(rung.elsewhere for rung in self.rungs)
            else ""
        )
        return (
            "Each bar ends at a lower bound on epsilon, which is at most the true epsilon with "
            f"{confidence_text(self.confidence)} confidence.{family} If the claims are true, a bar crosses “claim” "
            f"only by chance.{exact}{weak}{above}{elsewhere}"
        )

    @property
    def _names(self) -> tuple[str, str, str]:
        """Legend texts of bounds without an assumption, of bounds that assume a family, and of refuted claims."""
        assumption_free = f"lower bound, {NOTHING_ASSUMED}" if self.assumes_family else "lower bound"
        return assumption_free, f"lower bound, {IN_FAMILY}", "the claim is refuted"

    @property
    def _any_without(self) -> bool:
        """True if any audit has a bound without an assumption."""
        return any(not math.isnan(rung.without) for rung in self.rungs)

    @property
    def height(self) -> float:
        """Height of the figure in inches."""
        n = min(len(self.rungs), NAMED)
        return 1.5 + (0.36 * n if n <= TALL else max(0.36 * TALL, 0.19 * n))

    @property
    def top(self) -> float:
        """Largest epsilon that has to be visible."""
        finite = [v for rung in self.rungs for v in (rung.claim, rung.shown) if math.isfinite(v)]
        largest = max(finite, default=0.0) or 1.0
        exact = [rung.exact_epsilon for rung in self.rungs if rung.exact_epsilon <= MAX_VALUE_RATIO * largest]
        return max([largest, *exact])

    @property
    def logarithmic(self) -> bool:
        """True if the visible epsilons exceed the smallest claim so far that its bar could not be seen."""
        return bool(self._claims) and self.top / min(self._claims) >= WIDE

    @property
    def _claims(self) -> list[float]:
        return [rung.claim for rung in self.rungs if 0.0 < rung.claim < math.inf]

    def _draw(self, ax: Axes) -> None:
        """Draw the bars, on a linear axis, on which their share of the claim is visible, unless claims span decades."""
        stride = math.ceil(len(self.rungs) / NAMED)
        limit = (1.3 if self.logarithmic else 1.06) * self.top
        for place, rung in enumerate(self.rungs):
            self._draw_bar(ax, place, rung)
            ax.plot([rung.claim] * 2, [place - 0.5, place + 0.5], color=CLAIM.light, linewidth=1.8)
            _draw_exact(ax, place, rung.exact_epsilon, limit)
        handles = self._handles()
        named = range(0, len(self.rungs), stride)
        narrow = ax.figure.figure.get_figwidth() < ROOMY
        short = wrapped if len(self.rungs) <= TALL else partial(cut_inside, length=LONG)
        if narrow:
            short = (
                partial(textwrap.fill, width=SHORT) if len(self.rungs) <= TALL else partial(cut_inside, length=SHORT)
            )
        names = [short(self.rungs[i].name) for i in named]
        longest = max(len(line) for name in names for line in name.splitlines())
        room = 72.0 * ax.figure.figure.get_figwidth() - NAME_POINTS * longest  # the title begins beside the names
        wrap = max(24, int(room / TITLE_POINTS))
        style_axes(
            ax,
            title=self.title,
            x=f"epsilon{self.delta}",
            y="",
            handles=handles,
            columns=1 if narrow else 2,
            title_width=wrap,
        )
        ax.set_yticks(list(named), names, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        if self.logarithmic:
            logarithmic(ax.xaxis, 0.5 * min(self._claims), limit, zero=True)
        else:
            ax.set_xlim(-0.008 * limit, limit)
        ax.set_ylim(len(self.rungs) - 0.4, -0.6)
        for column, cells in enumerate(self._columns()):
            _write_column(ax, column, [cells[0], *cells[1:][::stride]], list(named))

    def _draw_bar(self, ax: Axes, place: int, rung: Rung) -> None:
        """Draw the bound that may assume a family, and over it the bound that does not."""
        colour, free = _colour(rung), rung.without if self.assumes_family else rung.shown
        pale: dict[str, Any] = {
            "height": 0.62,
            "alpha": PALE,
            "hatch": HATCH,
            "edgecolor": colour.light,
            "linewidth": 0,
        }
        if self.assumes_family:
            ax.barh(place, rung.shown, color=colour.light, **pale)
        ax.barh(place, 0.0 if math.isnan(free) else free, height=0.62, color=colour.light)
        if rung.shown == 0.0:
            ax.plot([0.0, 0.0], [place - 0.31, place + 0.31], color=colour.light, linewidth=2.5)

    def _handles(self) -> list[Any]:
        """Return the legend entries of the marks that occur."""
        any_unrefuted, any_refuted = (
            any(rung.violation is violation for rung in self.rungs) for violation in (False, True)
        )
        any_weak = any(rung.tone is Tone.WEAK for rung in self.rungs)
        bound, (assumption_free, assuming, refuted) = BOUND if any_unrefuted else VIOLATION, self._names
        handles: list[Any] = []
        if self._any_without or not self.assumes_family:
            label = assumption_free if any_unrefuted else f"{assumption_free}: refuted"
            handles.append(Patch(color=bound.light, label=label))
        if self.assumes_family:
            hatched: dict[str, Any] = {"alpha": PALE, "hatch": HATCH, "linewidth": 0}
            handles.append(Patch(facecolor=bound.light, edgecolor=bound.light, label=assuming, **hatched))
        if any_unrefuted and any_refuted:
            handles.append(Patch(color=VIOLATION.light, label=refuted))
        if any_weak:
            handles.append(Patch(color=WEAK_COLOUR.light, label=WEAK))
        handles.append(Line2D([], [], color=CLAIM.light, linewidth=1.8, label="claim"))
        if any(not math.isnan(rung.exact_epsilon) for rung in self.rungs):
            handles.append(Line2D([], [], label="exact", **_DIAMOND))
        return handles

    def _columns(self) -> list[list[tuple[str, Colour]]]:
        """Return the columns of numbers next to the bars, each with its name first."""
        columns = []
        if any(not math.isnan(r.exact_epsilon) for r in self.rungs):
            columns.append([("exact", MUTED), *((number(r.exact_epsilon), EXACT) for r in self.rungs)])
        bounds = [(_mark(r) + number(r.shown), _colour(r)) for r in self.rungs]
        if not self.assumes_family:
            return [*columns, [("bound", MUTED), *bounds]]
        if self._any_without:
            columns.append([("nothing\nassumed", MUTED), *((number(r.without), _colour(r)) for r in self.rungs)])
        return [*columns, [("if in the\nfamily", MUTED), *bounds]]


_DIAMOND: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 5,
    "color": EXACT.light,
    "markerfacecolor": "none",
    "markeredgewidth": 1.4,
}


def _colour(rung: Rung) -> Colour:
    return {Tone.VIOLATION: VIOLATION, Tone.WEAK: WEAK_COLOUR}.get(rung.tone, BOUND)


def _mark(rung: Rung) -> str:
    """Return the sign before the number of a rung whose bar and verdict need a note."""
    if rung.elsewhere:
        return f"{DAGGER} "
    return "* " if rung.above else f"{rung.tone.sign} " if rung.tone in (Tone.VIOLATION, Tone.WEAK) else ""


def _draw_exact(ax: Axes, place: int, exact: float, limit: float) -> None:
    """Draw a diamond at the exact value, or an arrow at the edge if it lies beyond."""
    if math.isnan(exact):
        return
    if exact <= limit:
        ax.plot([exact], [place], zorder=4, clip_on=False, **_DIAMOND)
        return
    ends = ((1.005, place), (0.955, place))
    arrow = {"arrowstyle": "->", "color": EXACT.light, "linewidth": 1.4, "shrinkA": 0.0, "shrinkB": 0.0}
    across = ax.get_yaxis_transform()
    ax.annotate("", ends[0], ends[1], xycoords=across, textcoords=across, arrowprops=arrow)


def _write_column(ax: Axes, column: int, cells: list[tuple[str, Colour]], places: list[int]) -> None:
    """Write texts to the right of the axes, next to their rungs; the first is the name of the column."""
    across = ScaledTranslation((COLUMN * (column + 1)) / 72, 0.0, ax.figure.dpi_scale_trans)  # not a share of the axes
    style: dict[str, Any] = {"transform": ax.get_yaxis_transform() + across, "ha": "right", "fontsize": SMALL}
    for (text, colour), place in zip(cells, (-0.6, *places), strict=True):
        write(ax, 1.0, place, text, colour, va="bottom" if place < 0 else "center_baseline", **style)


def wrapped(name: str) -> str:
    """Return the name of a rung in lines of at most `NAME_WIDTH` characters."""
    return textwrap.fill(name, NAME_WIDTH)


def rung_name(point: SweepPoint) -> str:
    """Return the swept parameters of an audit, or the name of its mechanism."""
    return parameters_text(point.parameters) or point.result.mechanism
