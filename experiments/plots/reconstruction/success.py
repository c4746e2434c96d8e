"""One reconstruction: its success, over the prior success, below what the claim allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ....audit.evidence.scores import Floats
from ....audit.results.audit_result import AuditResult
from ....audit.results.recovery import Recovery
from ....audit.results.text import percent
from ...results.formatting import share
from ..style.canvas import axes_or_new, logarithmic, style_axes
from ..style.palette import BOUND, CLAIM, MUTED, VIOLATION
from ..tradeoff import with_corners

CEILING, FORBIDDEN, BLIND, HERE = "ceiling by the claim", "forbidden by the claim", "without the output", "ceiling here"
FAINT = 0.13
SMALL_PRIOR = 0.05
"""Below this prior success the axes are logarithmic."""


@dataclass(frozen=True, eq=False)
class SuccessCeiling:
    """Success of a reconstruction against the prior success.

    Args:
        prior, ceiling: `(k,)` the largest success 1 - f(prior) that the claim allows, compared with one reference
            dataset.
        recovery: what was measured.
        confidence: of the limits of the success.
        of_bits: whether the secret were bits, whose share of right ones has no limits.
        name: the claim, such as "PureDP(epsilon=1.0)".
    """

    prior: Floats
    ceiling: Floats
    recovery: Recovery
    confidence: float
    of_bits: bool
    name: str

    @classmethod
    def from_result(cls, result: AuditResult) -> SuccessCeiling:
        """Of an audit that recovered a secret; raises `ValueError` for others."""
        if result.recovery is None:
            raise ValueError("this audit recovered no secret: draw the trade-off curve instead.")
        fpr, fnr = with_corners(np.array(result.claim_curve.fpr), np.array(result.claim_curve.fnr))
        of_bits = math.isnan(result.recovery.lower)
        return cls(fpr, 1.0 - fnr, result.recovery, result.confidence, of_bits, result.claim_name)

    @property
    def what(self) -> str:
        """What is counted."""
        return "bits that are right" if self.of_bits else "success"

    @property
    def title(self) -> str:
        """What is recovered, blindly and by the claim."""
        seen = self.recovery
        verb = "of the bits are right" if self.of_bits else "of the secrets are recovered"
        return f"{share(seen.success)} {verb}; blindly {share(seen.prior)}; the claim allows {share(seen.allowed)}"

    @property
    def caption(self) -> str:
        """How to read it."""
        limits = "" if self.of_bits else f" The bar is its exact {percent(self.confidence)} interval."
        here = f" “{HERE}” uses that any two of the candidates are neighbours of each other." * self.lower_here
        bits = " Bits of one run hang together, so that no interval goes with their share." * self.of_bits
        return (
            f"The point is what the attack recovered, over what the best guess recovers without the output.{limits}"
            f"{bits} No attack on a mechanism that keeps its claim succeeds more often than the line “{CEILING}”, "
            f"which is 1 - f(prior success) with f the claimed trade-off curve.{here}"
        )

    @property
    def lower_here(self) -> bool:
        """Whether this game has a lower ceiling than the line."""
        return self.recovery.allowed < float(np.interp(self.recovery.prior, self.prior, self.ceiling)) - 1e-3

    @property
    def logarithmic(self) -> bool:
        """Whether the prior success is so small that only logarithmic axes show anything."""
        return self.recovery.prior < SMALL_PRIOR

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it."""
        ax = axes_or_new(ax)
        seen = self.recovery
        floor = seen.prior / 10.0
        x = np.unique(np.concatenate([self.prior, np.geomspace(floor, 1.0, 200), np.linspace(0.0, 1.0, 101)]))
        allowed = np.interp(x, self.prior, self.ceiling)
        ax.fill_between(x, allowed, 1.0, color=VIOLATION.light, alpha=FAINT, linewidth=0)
        handles: list[Any] = ax.plot(x, allowed, color=CLAIM.light, linewidth=1.6, label=CEILING)
        handles.append(Patch(color=VIOLATION.light, alpha=FAINT, linewidth=0, label=FORBIDDEN))
        handles += ax.plot(x, x, color=MUTED.light, linewidth=1.0, linestyle=(0, (1, 2)), label=BLIND)
        if self.lower_here:
            mark: dict[str, Any] = {"linestyle": "none", "marker": "_", "markersize": 14, "markeredgewidth": 1.8}
            handles += ax.plot(seen.prior, seen.allowed, color=CLAIM.light, label=HERE, zorder=3, **mark)
        if not self.of_bits:
            ax.vlines(seen.prior, seen.lower, seen.upper, color=BOUND.light, linewidth=2.4, zorder=3)
        handles += ax.plot(
            seen.prior, seen.success, color=BOUND.light, marker="o", markersize=6, linestyle="none", zorder=4,
            label=f"attack, {self.what}",
        )  # fmt: skip
        style_axes(
            ax, title=self.title, x="prior success (best guess without the output)", y=self.what, handles=handles
        )
        if self.logarithmic:
            logarithmic(ax.xaxis, floor, 1.0)
            logarithmic(ax.yaxis, floor, 1.0)
        else:
            ax.set(xlim=(-0.012, 1.012), ylim=(-0.012, 1.012))
        return ax


__all__ = ["SuccessCeiling"]
