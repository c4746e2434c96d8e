"""Reconstructions: success rate, prior success, and the ceiling by the claim, of one audit or along a sweep."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ....audit.evidence.verdict import Verdict
from ....audit.results.audit_result import AuditResult
from ....audit.results.recovery import Recovery
from ....mechanisms.core import Floats, confidence_text, percent, percent_range
from ..results.parameters import cut, distinct_texts, long_key, short_keys, value_text
from .bound_claim import x_key
from .style import (
    BOUND,
    CLAIM,
    INK,
    MUTED,
    VIOLATION,
    EndLabel,
    Plot,
    end_labels,
    logarithmic,
    series_colour,
    style_axes,
)
from .sweep_lines import MARKERS, scale_x
from .tradeoff import with_corners

if TYPE_CHECKING:
    from ..results.sweep import SweepResult

CEILING, FORBIDDEN = "ceiling by the claim", "forbidden by the claim"
BLIND, HERE = "guess without the output", "ceiling of this game"
FAINT = 0.13
SMALL_PRIOR = 0.05
"""Below this prior success the axes are logarithmic."""
FEW = 4
"""Number of lines of a sweep above which only parameter values are shown, and the x axis names the parameters."""
SEPARATOR = " · "
DASHES: dict[str, Any] = {"ceiling": (0, (5, 2)), "blind": (0, (1, 2))}


@dataclass(frozen=True, eq=False)
class SuccessCeiling(Plot):
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
        prior, allowed = percent(rates.prior), percent(rates.allowed)
        return f"{percent(rates.success)} {verb}; without the output {prior}; the claim allows {allowed}"

    @property
    def caption(self) -> str:
        interval = (
            "" if self.of_bits else f" The bar is its exact {confidence_text(self.confidence)} confidence interval."
        )
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

    def _draw(self, ax: Axes) -> None:
        """Draw the success rate, the ceiling and the prior success."""
        rates = self.recovery
        floor = rates.prior / 10.0
        x = np.unique(np.concatenate([self.prior, np.geomspace(floor, 1.0, 200), np.linspace(0.0, 1.0, 101)]))
        allowed = np.interp(x, self.prior, self.ceiling)
        ax.fill_between(x, allowed, 1.0, color=VIOLATION.light, alpha=FAINT, linewidth=0)
        handles: list[Any] = ax.plot(x, allowed, color=CLAIM.light, linewidth=1.6, label=CEILING)
        handles.append(Patch(color=VIOLATION.light, alpha=FAINT, linewidth=0, label=FORBIDDEN))
        handles += ax.plot(x, x, color=MUTED.light, linewidth=1.0, linestyle=(0, (1, 2)), label=BLIND)
        if self.lower_here:
            mark: dict[str, Any] = {"linestyle": "none", "marker": "D", "markersize": 9, "markerfacecolor": "none"}
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


@dataclass(frozen=True)
class SuccessSweep(Plot):
    """Success rate of reconstructions along a swept number.

    Args:
        lines: name of the other swept parameters -> (x, measured success), ordered by x.
        x_name: the parameter on the x axis.
        confidence: confidence of the interval of each success rate.
        refuted: number of audits of the sweep that are violations.
        varied: parameters whose values name the lines; "" if the names of the lines include them.
    """

    lines: dict[str, tuple[tuple[float, Recovery], ...]]
    x_name: str
    confidence: float
    refuted: int = 0
    varied: str = ""
    height: float = 4.2

    @staticmethod
    def fits(sweep: SweepResult) -> bool:
        """Return True if all audits are reconstructions, along a swept number."""
        recovered = all(point.result.recovery is not None for point in sweep.points)
        return recovered and len(sweep.points) > 1 and x_key(sweep.points) is not None

    @classmethod
    def from_sweep(cls, sweep: SweepResult) -> SuccessSweep:
        """Return the figure of all audits of a sweep that `fits`."""
        key = x_key(sweep.points) or ""
        lines: dict[str, list[tuple[float, Recovery]]] = {}
        rest = [{name: value for name, value in p.parameters.items() if name != key} for p in sweep.points]
        names = distinct_texts(rest)
        many = len(set(names)) > FEW and len(rest[0]) > 1
        if many:
            brief = [SEPARATOR.join(map(value_text, others.values())) for others in rest]
            names = brief if len(set(brief)) == len(set(names)) else names
        for point, name in zip(sweep.points, names, strict=True):
            recovery = point.result.recovery
            if recovery is not None:
                lines.setdefault(name, []).append((float(point.parameters[key]), recovery))
        ordered = {name: tuple(sorted(row, key=lambda entry: entry[0])) for name, row in lines.items()}
        varied = SEPARATOR.join(short_keys(rest[0])) if many else ""
        refuted = sum(point.verdict is Verdict.VIOLATION for point in sweep.points)
        return cls(ordered, long_key(key), sweep.points[0].result.confidence, refuted, varied)

    @property
    def _all(self) -> list[Recovery]:
        return [recovery for row in self.lines.values() for _, recovery in row]

    @property
    def title(self) -> str:
        """Success rates as a share of the ceiling, or the number of refuted claims."""
        if self.refuted:
            return f"{self.refuted} of {len(self._all)} attacks recover more than the claim allows"
        shares = [min(1.0, recovery.success / recovery.allowed) for recovery in self._all]
        return f"The success rates reach {percent_range(shares)} of the ceiling by the claim"

    @property
    def caption(self) -> str:
        intervals = f" The bars are exact {confidence_text(self.confidence)} confidence intervals." * any(
            not math.isnan(recovery.lower) for recovery in self._all
        )
        return (
            f"Share of the secrets, or of the bits, that each attack recovered.{intervals} “{CEILING}” is the largest "
            f"success rate of any attack if the claim is true, and “{BLIND}” the success rate of the best such guess."
        )

    def _draw(self, ax: Axes) -> None:
        """Draw success rate, ceiling and prior success of each line, in its colour if there are several."""
        single = len(self.lines) == 1
        attack_colour = series_colour(0) if single else INK
        handles = [
            Line2D([], [], color=attack_colour.light, marker="o", markersize=4, label="attack"),
            Line2D([], [], color=CLAIM.light, linestyle=DASHES["ceiling"], label=CEILING),
            Line2D([], [], color=MUTED.light, linestyle=DASHES["blind"], label=BLIND),
        ]
        at_right = f"  (at the right: {self.varied})" if self.varied else ""
        labels = []
        for index, (name, row) in enumerate(self.lines.items()):
            colour = series_colour(index)
            x, rates = np.array([x for x, _ in row]), [recovery for _, recovery in row]
            success = np.array([rate.success for rate in rates])
            reach = np.nan_to_num([[rate.success - rate.lower, rate.upper - rate.success] for rate in rates]).T
            ceiling_colour = CLAIM.light if single else colour.light
            ceiling = [rate.allowed for rate in rates]
            ax.plot(x, ceiling, color=ceiling_colour, linestyle=DASHES["ceiling"], linewidth=1.4)
            prior_colour = MUTED.light if single else colour.light
            ax.plot(x, [rate.prior for rate in rates], color=prior_colour, linestyle=DASHES["blind"], linewidth=1.2)
            style: dict[str, Any] = {"color": colour.light, "marker": MARKERS[index % len(MARKERS)], "markersize": 5}
            ax.errorbar(x, success, yerr=np.maximum(reach, 0.0), linewidth=1.8, capsize=2.5, elinewidth=1.2, **style)
            if not single:
                labels.append(EndLabel(float(success[-1]), cut(name, 32), colour))
        style_axes(ax, title=self.title, x=self.x_name + at_right, y="share recovered", handles=handles, columns=3)
        ax.set_ylim(-0.012, 1.012)
        scale_x(ax, np.unique([x for row in self.lines.values() for x, _ in row]))
        end_labels(ax, labels)


__all__ = ["SuccessCeiling", "SuccessSweep"]
