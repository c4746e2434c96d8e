"""A ladder of adversaries: what each of them shows of the epsilon that the accountant allows."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from audit.results import AuditResult
from audit.text import percent
from audit.verdict import Verdict
from experiments.plots.canvas import SMALL, axes_or_new, dress, write
from experiments.plots.palette import BOUND, CLAIM, INK, MUTED, VIOLATION
from experiments.plots.words import delta_text, number
from experiments.sweep import CASE

if TYPE_CHECKING:
    from experiments.results import SweepResult

NAME_WIDTH = 34
"""Letters in a line of the name of a rung."""


@dataclass(frozen=True)
class Rung:
    """One adversary.

    Args:
        name: what it sees and chooses.
        shown: the lower bound on epsilon, the largest of those that were computed.
        without: the largest lower bound that assumes nothing about the curve; NaN if all assume something.
        claim: the claimed epsilon.
        violation: whether the verdict, corrected over all rungs, is a violation.
    """

    name: str
    shown: float
    without: float
    claim: float
    violation: bool

    @classmethod
    def of(cls, name: str, result: AuditResult, *, violation: bool) -> Rung:
        """The rung of one audit."""
        free = [bound.epsilon for bound in result.bounds if not bound.assumptions]
        return cls(name, result.bound.epsilon, max(free, default=math.nan), result.claim, violation)


@dataclass(frozen=True)
class Ladder:
    """Rungs in the order in which they are given, the first on top, beside the claim.

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
        """The cases of a sweep, in their order."""
        return cls.of((point.parameters[CASE]["name"], point.result, point.verdict) for point in sweep.points)

    @staticmethod
    def fits(sweep: SweepResult) -> bool:
        """Whether what is swept are named cases and nothing else."""
        return sweep.parameter_names == (CASE,)

    @property
    def title(self) -> str:
        """What is seen, in one line."""
        if wrong := sum(rung.violation for rung in self.rungs):
            return f"More epsilon was shown than is claimed on {wrong} of {len(self.rungs)} rungs"
        shares = [rung.shown / rung.claim for rung in self.rungs if math.isfinite(rung.claim) and rung.claim > 0.0]
        if not shares:
            return "What each adversary shows"
        return f"From {100 * min(shares):.0f} % to {100 * max(shares):.0f} % of the claim: it depends on the adversary"

    @property
    def caption(self) -> str:
        """How to read it."""
        family = (
            " The pale part of a bar is shown only if the trade-off curve belongs to the family of the claim; the dark "
            "part assumes nothing."
            if self.assumed
            else ""
        )
        return (
            f"Each bar ends at a lower bound on epsilon, below the truth with {percent(self.confidence)} confidence: "
            f"what that adversary was able to show.{family} The line is the claim, which no bar may cross but by "
            "chance."
        )

    @property
    def height(self) -> float:
        """Inches that the rungs need."""
        return 1.2 + 0.36 * len(self.rungs)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it: bars on a linear axis, since what matters is the share of the claim."""
        ax = axes_or_new(ax)
        top = max([rung.claim for rung in self.rungs if math.isfinite(rung.claim)] + [r.shown for r in self.rungs])
        for place, rung in enumerate(self.rungs):
            colour = VIOLATION if rung.violation else BOUND
            ax.barh(place, rung.shown, height=0.62, color=colour.light, alpha=0.35)
            dark = rung.shown if math.isnan(rung.without) and not self.assumed else rung.without
            ax.barh(place, 0.0 if math.isnan(dark) else dark, height=0.62, color=colour.light)
            inside = self.assumed and rung.shown > 0.15 * top
            at, side = rung.shown + (-0.012 if inside else 0.012) * top, "right" if inside else "left"
            write(ax, at, place, number(rung.shown), INK, va="center", ha=side, fontsize=SMALL)
            if math.isfinite(rung.claim):
                ax.plot([rung.claim] * 2, [place - 0.5, place + 0.5], color=CLAIM.light, linewidth=1.8)
        dress(ax, title=self.title, x=f"epsilon{self.delta}", y="", pad=20.0 if self.assumed else 9.0)
        names = [textwrap.fill(rung.name, NAME_WIDTH) for rung in self.rungs]
        ax.set_yticks(range(len(self.rungs)), names, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        ax.set(xlim=(0.0, 1.14 * top), ylim=(len(self.rungs) - 0.4, -0.9))
        claims = {rung.claim for rung in self.rungs}
        if len(claims) == 1 and math.isfinite(top):
            write(ax, self.rungs[0].claim, -0.6, "claim ", CLAIM, ha="right", va="center", fontsize=SMALL)
        if self.assumed:
            text = "dark: whatever the trade-off curve; pale: if it is one of the family of the claim"
            write(ax, 0.0, 1.01, text, MUTED, fontsize=SMALL, va="bottom", transform=ax.transAxes)
        return ax
