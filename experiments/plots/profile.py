"""The privacy profile: delta against epsilon, shown and claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from audit.bounds.simultaneous import band
from audit.games import Floats
from audit.results import AuditResult
from audit.text import percent
from experiments.plots.canvas import axes_or_new, legend, logarithmic, style_axes, write
from experiments.plots.formatting import number
from experiments.plots.palette import BOUND, CLAIM, MUTED, VIOLATION

DEEPEST = 1e-12
"""Smaller deltas are not drawn."""


@dataclass(frozen=True, eq=False)
class Profile:
    """Delta against epsilon.

    Args:
        epsilon: `(k,)` increasing.
        lower: `(k,)` with `confidence`, the true delta is at least this, at every epsilon at once.
        claim: `(k,)` the delta that the claim allows.
        audited: (epsilon, delta): the lower bound of the audit at its delta.
        free: the largest bound at that delta that leans on no family of curves, if `audited` does; else None.
        assumed: whether `audited` leans on a family of curves.
        claimed: the claimed epsilon at that delta.
        confidence: of the lower curve.
    """

    epsilon: Floats
    lower: Floats
    claim: Floats
    audited: tuple[float, float]
    free: float | None
    assumed: bool
    claimed: float
    confidence: float

    @classmethod
    def from_result(cls, result: AuditResult) -> Profile:
        """The curves of one audit, from its counts and its claim."""
        curve, shown = result.claim_curve, band(result.tally, confidence=result.confidence)
        reach = max(curve.epsilon[-1], 1.15 * result.bound.epsilon)
        extra = np.linspace(0.0, reach, 161)
        end = shown.epsilon_lower(0.0) * (1.0 - np.append(np.geomspace(1e-6, 0.2, 40), 0.0))
        epsilon = np.union1d(curve.epsilon, np.concatenate([extra[extra > curve.epsilon[-1]], end[end < reach]]))
        claim = np.interp(epsilon, curve.epsilon, curve.delta)
        claim[epsilon > curve.epsilon[-1]] = 0.0 if curve.delta[-1] == 0.0 else np.nan
        free = [bound.epsilon for bound in result.bounds if not bound.assumptions]
        assumed = bool(result.bound.assumptions)
        return cls(
            epsilon=epsilon,
            lower=shown.delta_lower(epsilon),
            claim=claim,
            audited=(result.bound.epsilon, result.delta),
            free=max(free) if assumed and free else None,
            assumed=assumed,
            claimed=result.claim,
            confidence=result.confidence,
        )

    @property
    def crossed(self) -> bool:
        """Whether more delta was shown than is claimed, at some epsilon."""
        return bool(np.any(self.lower > np.nan_to_num(self.claim, nan=np.inf) + 1e-12))

    @property
    def title(self) -> str:
        """What is seen, in one line."""
        if self.crossed:
            return "More delta was shown than the claim allows"
        if not np.any(self.lower > 0):
            return "These trials show no delta above 0"
        return "The delta that was shown stays below the claim"

    @property
    def caption(self) -> str:
        """How to read it."""
        family = (
            " The open circle, the bound of the audit, holds only if the true profile is one of the family of the "
            "claim; curves and full circle assume nothing."
            if self.assumed and self.audited[1] > 0
            else ""
        )
        return (
            "At each epsilon, the delta that is left: the probability mass by which the runs with the record exceed "
            f"e^epsilon times those without it. With {percent(self.confidence)} confidence the true profile lies on or "
            "above the lower curve, at every epsilon at once; the claim says that it lies on or below the other. A "
            f"curve that drops off the plot has reached delta = 0.{family}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it, delta on a logarithmic axis."""
        ax = axes_or_new(ax)
        floor, top, room = self._limits()
        claim, lower = np.maximum(self.claim, floor / 10), np.maximum(self.lower, floor / 10)
        ax.fill_between(self.epsilon, np.minimum(claim, top), top, color=VIOLATION.light, alpha=0.13, linewidth=0)
        ax.plot(self.epsilon, claim, color=CLAIM.light, linewidth=1.6, label="claim: largest delta allowed")
        ax.plot(
            self.epsilon, lower, color=BOUND.light, linewidth=2.0, label=f"shown, at least ({percent(self.confidence)})"
        )
        ax.fill_between(self.epsilon, floor / 10, lower, color=BOUND.light, alpha=0.08, linewidth=0)
        epsilon, delta = self.audited
        if delta > 0:
            ax.axhline(delta, color=MUTED.light, linewidth=0.9, linestyle=(0, (1, 2)))
            circle: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": BOUND.light, "clip_on": False}
            label, family = f"lower bound at delta = {number(delta)}", ", if in the family of the claim" * self.assumed
            if self.free is not None:
                ax.plot([self.free], [delta], markersize=6, label=label, zorder=5, **circle)
            ax.plot([epsilon], [delta], markersize=7, markerfacecolor="none", markeredgewidth=1.6, zorder=5,
                    label="... " + family[2:] if self.free is not None else label + family, **circle)  # fmt: skip
        style_axes(ax, title=self.title, x="epsilon", y="delta")
        logarithmic(ax.yaxis)
        ax.set(xlim=(0.0, float(self.epsilon[-1])), ylim=(floor, room))
        ax.set_yticks([t for t in ax.get_yticks() if floor <= t <= top])
        ax.annotate(
            "forbidden by the claim",
            (1.0, top),
            xycoords=("axes fraction", "data"),
            xytext=(-6, -6),
            ha="right",
            textcoords="offset points",
            va="top",
            color=VIOLATION.light,
            fontsize=8.5,
        )
        if not np.any(self.lower > 0):
            x = 0.3 if self.claimed > 0.5 * self.epsilon[-1] else 0.7
            write(ax, x, 0.25, "nothing was shown\nat this confidence", MUTED, transform=ax.transAxes, ha="center")
        legend(ax, loc="upper left", borderaxespad=0.2)
        return ax

    def _limits(self) -> tuple[float, float, float]:
        """Least delta drawn, the largest that matters, and the end of the axis, which leaves room for the key."""
        positive = [v for v in (*self.lower, *self.claim, self.audited[1]) if v > DEEPEST]
        smallest, largest = min(positive, default=1e-3), max(positive, default=0.1)
        floor, top = max(DEEPEST, min(smallest / 2, largest / 1e3)), min(1.0, largest * 4)
        lines = 2 + (self.audited[1] > 0) * (1 if self.free is None else 2)
        return floor, top, top * (top / floor) ** (0.1 + 0.075 * lines)
