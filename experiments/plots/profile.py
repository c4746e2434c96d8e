"""The privacy profile: delta against epsilon, shown and claimed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from audit.bounds.simultaneous import band
from audit.games import Floats
from audit.results import AuditResult
from audit.text import percent
from experiments.plots.canvas import axes_or_new, dress, key, logarithmic, write
from experiments.plots.palette import BOUND, CLAIM, MUTED, VIOLATION
from experiments.plots.words import number

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
        claimed: the claimed epsilon at that delta.
        confidence: of the lower curve.
    """

    epsilon: Floats
    lower: Floats
    claim: Floats
    audited: tuple[float, float]
    claimed: float
    confidence: float

    @classmethod
    def from_result(cls, result: AuditResult) -> Profile:
        """The curves of one audit, from its counts and its claim."""
        curve = result.claim_curve
        reach = max(curve.epsilon[-1], 1.15 * result.bound.epsilon)
        extra = np.linspace(0.0, reach, 161)
        epsilon = np.union1d(curve.epsilon, extra[extra > curve.epsilon[-1]])
        claim = np.interp(epsilon, curve.epsilon, curve.delta)
        claim[epsilon > curve.epsilon[-1]] = 0.0 if curve.delta[-1] == 0.0 else np.nan
        lower = band(result.tally, confidence=result.confidence).delta_lower(epsilon)
        bound = (result.bound.epsilon, result.delta)
        return cls(epsilon, np.asarray(lower), claim, bound, result.claim, result.confidence)

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
        return (
            "At each epsilon, the delta that is left: the probability mass by which the runs with the record exceed "
            f"e^epsilon times those without it. With {percent(self.confidence)} confidence the true profile lies on or "
            "above the lower curve, at every epsilon at once; the claim says that it lies on or below the other. A "
            "curve that drops off the plot has reached delta = 0."
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
            ax.plot(
                [epsilon],
                [delta],
                marker="o",
                markersize=7,
                markerfacecolor="none",
                linestyle="none",
                markeredgecolor=BOUND.light,
                markeredgewidth=1.6,
                label=f"lower bound at delta = {number(delta)}",
            )
        dress(ax, title=self.title, x="epsilon", y="delta")
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
            write(ax, 0.3, 0.25, "nothing was shown\nat this confidence", MUTED, transform=ax.transAxes, ha="center")
        key(ax, loc="upper left", borderaxespad=0.2)
        return ax

    def _limits(self) -> tuple[float, float, float]:
        """Least delta drawn, the largest that matters, and the end of the axis, which leaves room for the key."""
        positive = [v for v in (*self.lower, *self.claim, self.audited[1]) if v > DEEPEST]
        smallest, largest = min(positive, default=1e-3), max(positive, default=0.1)
        floor, top = max(DEEPEST, min(smallest / 2, largest / 1e3)), min(1.0, largest * 4)
        return floor, top, top * (top / floor) ** (0.28 if self.audited[1] > 0 else 0.22)
