"""Privacy profile: delta against epsilon, lower bound and claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ....audit.bounds.pair.simultaneous import band
from ....audit.results.audit_result import AuditResult
from ....mechanisms.core import Floats, confidence_text
from .labels import number
from .style import BOUND, CLAIM, MUTED, VIOLATION, Plot, logarithmic, style_axes, write

MAX_EPSILON = 1e300
"""Largest epsilon that is drawn: matplotlib cannot place marks on larger numbers."""
DEEPEST = 1e-12
"""Smallest delta on the logarithmic part of the axis; smaller ones are drawn close to 0."""
ALLOWED, FORBIDDEN = "claim: largest delta allowed", "forbidden by the claim"
LEANING = "bound, if in the family of the claim"
FAINT = 0.13


@dataclass(frozen=True, eq=False)
class Profile(Plot):
    """Delta against epsilon.

    Args:
        epsilon: `(k,)` increasing.
        lower: `(k,)` lower bound on the true delta with `confidence`, simultaneous over all epsilons.
        claim: `(k,)` the delta that the claim allows.
        audited: (epsilon, delta): the lower bound of the audit at its delta.
        free: if `audited` assumes a family of curves, the largest bound at that delta without this assumption; else
            None.
        assumes_family: True if `audited` assumes a family of curves.
        claimed: the claimed epsilon at that delta.
        confidence: confidence of the lower curve.
    """

    epsilon: Floats
    lower: Floats
    claim: Floats
    audited: tuple[float, float]
    free: float | None
    assumes_family: bool
    claimed: float
    confidence: float

    @classmethod
    def from_result(cls, result: AuditResult) -> Profile:
        """Return the curves of one audit, from its counts and its claim."""
        curve, confidence_band = result.claim_curve, band(result.tally, confidence=result.confidence)
        reach = max(curve.epsilon[-1], 1.15 * result.bound.epsilon)
        extra = np.linspace(0.0, reach, 161)
        end = confidence_band.epsilon_lower(0.0) * (1.0 - np.append(np.geomspace(1e-6, 0.2, 40), 0.0))
        epsilon = np.union1d(curve.epsilon, np.concatenate([extra[extra > curve.epsilon[-1]], end[end < reach]]))
        if reach > MAX_EPSILON:
            epsilon = np.union1d(epsilon[epsilon <= MAX_EPSILON], np.linspace(0.0, MAX_EPSILON, 161))
        claim = np.interp(epsilon, curve.epsilon, curve.delta)
        claim[epsilon > curve.epsilon[-1]] = 0.0 if curve.delta[-1] == 0.0 else np.nan
        assumes_family, free = bool(result.bound.assumptions), result.assumption_free_bound
        return cls(
            epsilon=epsilon,
            lower=confidence_band.delta_lower(epsilon),
            claim=claim,
            audited=(result.bound.epsilon, result.delta),
            free=free.epsilon if assumes_family and free else None,
            assumes_family=assumes_family,
            claimed=result.claim,
            confidence=result.confidence,
        )

    @property
    def allowed(self) -> Floats:
        """Claimed delta, `(k,)`; beyond the last sample its value, which the claim does not exceed there."""
        known = self.claim[~np.isnan(self.claim)]
        return np.where(np.isnan(self.claim), known[-1] if len(known) else 1.0, self.claim)

    @property
    def crossed(self) -> bool:
        """True if the lower bound on delta exceeds the claim at some epsilon."""
        return bool(np.any(self.lower > self.allowed + 1e-12))

    @property
    def title(self) -> str:
        """Lower bound on delta and claim, where they differ most."""
        place = int(np.argmax(self.lower - self.allowed)) if self.crossed else 0
        at, lower, allowed = (number(float(values[place])) for values in (self.epsilon, self.lower, self.allowed))
        if not np.any(self.lower > 0):
            return f"No positive lower bound on delta at any epsilon; the claim is {allowed} at epsilon = {at}"
        most = "at most " if self.crossed else ""
        return f"At epsilon = {at}, delta is at least {lower}; the claim is {most}{allowed}"

    @property
    def caption(self) -> str:
        family = (
            f" “{LEANING}” is valid only if the true profile belongs to the family of the claim; the other entries "
            "need no such assumption."
            if self.assumes_family and self.audited[1] > 0
            else ""
        )
        return (
            "Delta at each epsilon: the probability mass by which the runs with the record exceed e^epsilon times the "
            f"runs without it. With {confidence_text(self.confidence)} confidence, the true profile lies on or "
            f"above “{self._shown_name}” at all epsilons simultaneously; the region above “{ALLOWED}” is "
            f"forbidden.{family}"
        )

    @property
    def _shown_name(self) -> str:
        return f"lower bound ({confidence_text(self.confidence)})"

    def _draw(self, ax: Axes) -> None:
        """Draw the curves, delta on a logarithmic axis that includes 0."""
        floor, top = self._limits()
        ax.fill_between(self.epsilon, self.allowed, top, color=VIOLATION.light, alpha=FAINT, linewidth=0)
        handles: list[Any] = ax.plot(self.epsilon, self.claim, color=CLAIM.light, linewidth=1.6, label=ALLOWED)
        handles.append(Patch(color=VIOLATION.light, alpha=FAINT, linewidth=0, label=FORBIDDEN))
        handles += ax.plot(self.epsilon, self.lower, color=BOUND.light, linewidth=2.0, label=self._shown_name)
        ax.fill_between(self.epsilon, 0.0, self.lower, color=BOUND.light, alpha=0.08, linewidth=0)
        handles += self._draw_bounds(ax)
        style_axes(ax, title=self.title, x="epsilon", y="delta", handles=handles)
        logarithmic(ax.yaxis, floor, top, zero=True)
        last = float(self.epsilon[-1])
        ax.set_xlim(-0.012 * last, last)
        if not np.any(self.lower > 0):
            x = 0.3 if self.claimed > 0.5 * last else 0.7
            write(
                ax, x, 0.25, "no positive lower bound\nat this confidence", MUTED, transform=ax.transAxes, ha="center"
            )

    def _draw_bounds(self, ax: Axes) -> list[Any]:
        """Draw the lower bounds at the delta of the audit, with and without a family; nothing if that delta is 0."""
        epsilon, delta = self.audited
        if not delta:
            return []
        ax.axhline(delta, color=MUTED.light, linewidth=0.9, linestyle=(0, (1, 2)))
        dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": BOUND.light, "clip_on": False, "zorder": 5}
        ring = dot | {"markersize": 7, "markerfacecolor": "none", "markeredgewidth": 1.6}
        free = (None if self.assumes_family else epsilon) if self.free is None else self.free
        drawn = []
        if free is not None:
            drawn += ax.plot([free], [delta], markersize=6, label=f"bound at delta = {number(delta)}", **dot)
        if self.assumes_family:
            drawn += ax.plot([epsilon], [delta], label=LEANING, **ring)
        return drawn

    def _limits(self) -> tuple[float, float]:
        """Return the start of the logarithmic part of the axis, and its end."""
        positive = [v for v in (*self.lower, *self.allowed, self.audited[1]) if v > DEEPEST]
        smallest, largest = min(positive, default=1e-3), max(positive, default=0.1)
        floor = max(DEEPEST, min(smallest / 2, largest / 1e3))
        return float(10.0 ** np.floor(np.log10(floor))), min(1.0, largest * 4)
