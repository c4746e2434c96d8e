"""One reconstruction: success rate against prior success, and the ceiling by the claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ....audit.results.audit_result import AuditResult
from ....audit.results.recovery import Recovery
from ....audit.results.text import percent
from ....mechanisms.core.arrays import Floats
from ..results.formatting import share
from .style.canvas import axes_or_new, logarithmic, style_axes
from .style.palette import BOUND, CLAIM, MUTED, VIOLATION
from .tradeoff import with_corners

CEILING, FORBIDDEN = "ceiling by the claim", "forbidden by the claim"
BLIND, HERE = "guess without the output", "ceiling of this game"
FAINT = 0.13
SMALL_PRIOR = 0.05
"""Below this prior success the axes are logarithmic."""


@dataclass(frozen=True, eq=False)
class SuccessCeiling:
    """Success rate of a reconstruction against the prior success.

    Args:
        prior, ceiling: `(k,)` prior success, and the largest success rate 1 - f(prior) that the claim allows relative
            to one reference dataset.
        recovery: the measured success.
        confidence: confidence of the interval of the success rate.
        of_bits: True if the secret is bits, whose share of correct guesses has no interval.
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
        """Return the figure of a reconstruction audit; raises `ValueError` for other audits."""
        if result.recovery is None:
            raise ValueError("this audit is not a reconstruction: draw the trade-off curve instead.")
        fpr, fnr = with_corners(np.array(result.claim_curve.fpr), np.array(result.claim_curve.fnr))
        of_bits = math.isnan(result.recovery.lower)
        return cls(fpr, 1.0 - fnr, result.recovery, result.confidence, of_bits, result.claim_name)

    @property
    def rate_name(self) -> str:
        """Name of the measured rate."""
        return "share of correct bits" if self.of_bits else "success rate"

    @property
    def title(self) -> str:
        """Success rate, prior success and ceiling, as a sentence."""
        rates = self.recovery
        verb = "of the bits are correct" if self.of_bits else "of the secrets are recovered"
        prior, allowed = share(rates.prior), share(rates.allowed)
        return f"{share(rates.success)} {verb}; without the output {prior}; the claim allows {allowed}"

    @property
    def caption(self) -> str:
        """Explanation of the figure."""
        interval = "" if self.of_bits else f" The bar is its exact {percent(self.confidence)} confidence interval."
        here = f" “{HERE}” uses that any two of the candidates are neighbours of each other." * self.lower_here
        bits = " Bits of one run are dependent, so that their share has no interval." * self.of_bits
        return (
            "The point is the success rate of the attack against that of the best guess without the output."
            f"{interval}{bits} If the claim is true, no attack has a success rate above the line “{CEILING}”, which is "
            f"1 - f(prior success) with f the claimed trade-off curve.{here}"
        )

    @property
    def lower_here(self) -> bool:
        """True if this game has a lower ceiling than the line."""
        return self.recovery.allowed < float(np.interp(self.recovery.prior, self.prior, self.ceiling)) - 1e-3

    @property
    def logarithmic(self) -> bool:
        """True if the prior success is small, so that the axes are logarithmic."""
        return self.recovery.prior < SMALL_PRIOR

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the success rate, the ceiling and the prior success."""
        ax = axes_or_new(ax)
        rates = self.recovery
        floor = rates.prior / 10.0
        x = np.unique(np.concatenate([self.prior, np.geomspace(floor, 1.0, 200), np.linspace(0.0, 1.0, 101)]))
        allowed = np.interp(x, self.prior, self.ceiling)
        ax.fill_between(x, allowed, 1.0, color=VIOLATION.light, alpha=FAINT, linewidth=0)
        handles: list[Any] = ax.plot(x, allowed, color=CLAIM.light, linewidth=1.6, label=CEILING)
        handles.append(Patch(color=VIOLATION.light, alpha=FAINT, linewidth=0, label=FORBIDDEN))
        handles += ax.plot(x, x, color=MUTED.light, linewidth=1.0, linestyle=(0, (1, 2)), label=BLIND)
        if self.lower_here:
            mark: dict[str, Any] = {"linestyle": "none", "marker": "_", "markersize": 14, "markeredgewidth": 1.8}
            handles += ax.plot(rates.prior, rates.allowed, color=CLAIM.light, label=HERE, zorder=3, **mark)
        if not self.of_bits:
            ax.vlines(rates.prior, rates.lower, rates.upper, color=BOUND.light, linewidth=2.4, zorder=3)
        handles += ax.plot(
            rates.prior, rates.success, color=BOUND.light, marker="o", markersize=6, linestyle="none", zorder=4,
            label=f"attack, {self.rate_name}",
        )  # fmt: skip
        style_axes(
            ax, title=self.title, x="prior success (best guess without the output)", y=self.rate_name, handles=handles
        )
        if self.logarithmic:
            logarithmic(ax.xaxis, floor, 1.0)
            logarithmic(ax.yaxis, floor, 1.0)
        else:
            ax.set(xlim=(-0.012, 1.012), ylim=(-0.012, 1.012))
        return ax


__all__ = ["SuccessCeiling"]
