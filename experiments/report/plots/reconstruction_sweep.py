"""Reconstructions of a sweep: success rate, ceiling and prior success along a swept number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ....audit.evidence.verdict import Verdict
from ....audit.results.recovery import Recovery
from ....audit.results.text import percent
from ..results.formatting import cut, distinct_texts, long_key, percent_range, short_keys, value_text
from .bound_claim import x_key
from .style.canvas import EndLabel, axes_or_new, end_labels, style_axes
from .style.palette import CLAIM, INK, MUTED, series_colour
from .sweep_lines import MARKERS, scale_x

if TYPE_CHECKING:
    from ..results.sweep import SweepResult

FEW = 4
"""Number of lines above which only parameter values are shown, and the x axis names the parameters."""
SEPARATOR = " · "
CEILING, BLIND = "ceiling by the claim", "guess without the output"
DASHES: dict[str, Any] = {"ceiling": (0, (5, 2)), "blind": (0, (1, 2))}


@dataclass(frozen=True)
class SuccessSweep:
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
        """Explanation of the figure."""
        intervals = f" The bars are exact {percent(self.confidence)} confidence intervals." * any(
            not math.isnan(recovery.lower) for recovery in self._all
        )
        return (
            f"Share of the secrets, or of the bits, that each attack recovered.{intervals} “{CEILING}” is the largest "
            f"success rate of any attack if the claim is true, and “{BLIND}” the success rate of the best such guess."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw success rate, ceiling and prior success of each line, in its colour if there are several."""
        ax = axes_or_new(ax)
        handles = [
            Line2D([], [], color=INK.light, marker="o", markersize=4, label="attack"),
            Line2D([], [], color=CLAIM.light, linestyle=DASHES["ceiling"], label=CEILING),
            Line2D([], [], color=MUTED.light, linestyle=DASHES["blind"], label=BLIND),
        ]
        at_right = f"  (at the right: {self.varied})" if self.varied else ""
        labels = []
        single = len(self.lines) == 1
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
        return ax


__all__ = ["SuccessSweep"]
