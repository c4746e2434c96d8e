"""Reconstructions of a sweep: success, ceiling and prior along a swept number."""

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
from ...results.formatting import cut, distinct_texts, long_key, percent_range, short_keys, value_text
from ..bound_claim import x_key
from ..style.canvas import EndLabel, axes_or_new, end_labels, style_axes
from ..style.palette import CLAIM, INK, MUTED, series_colour
from ..sweep_lines import MARKERS, scale_x

if TYPE_CHECKING:
    from ...results.sweep import SweepResult

FEW = 4
"""Lines that are named in full; of more, the values alone are given, and the x axis says of what."""
SEPARATOR = " · "
CEILING, BLIND = "ceiling by the claim", "without the output"
DASHES: dict[str, Any] = {"ceiling": (0, (5, 2)), "blind": (0, (1, 2))}


@dataclass(frozen=True)
class SuccessSweep:
    """Success of reconstructions along a swept number.

    Args:
        lines: name of the other swept parameters -> (x, what was recovered), in the order of x.
        x_name: the parameter on the x axis.
        confidence: of the limits of each success.
        refuted: audits of the sweep that are violations.
        varied: what the names of the lines are values of; "" where they say it themselves.
    """

    lines: dict[str, tuple[tuple[float, Recovery], ...]]
    x_name: str
    confidence: float
    refuted: int = 0
    varied: str = ""
    height: float = 4.2

    @staticmethod
    def fits(sweep: SweepResult) -> bool:
        """Whether secrets were recovered along a swept number."""
        recovered = all(point.result.recovery is not None for point in sweep.points)
        return recovered and len(sweep.points) > 1 and x_key(sweep.points) is not None

    @classmethod
    def from_sweep(cls, sweep: SweepResult) -> SuccessSweep:
        """All audits of a sweep that `fits`."""
        key = x_key(sweep.points) or ""
        lines: dict[str, list[tuple[float, Recovery]]] = {}
        rest = [{name: value for name, value in p.parameters.items() if name != key} for p in sweep.points]
        names = distinct_texts(rest)
        many = len(set(names)) > FEW and len(rest[0]) > 1
        if many:
            brief = [SEPARATOR.join(map(value_text, others.values())) for others in rest]
            names = brief if len(set(brief)) == len(set(names)) else names
        for point, name in zip(sweep.points, names, strict=True):
            seen = point.result.recovery
            if seen is not None:
                lines.setdefault(name, []).append((float(point.parameters[key]), seen))
        ordered = {name: tuple(sorted(row, key=lambda one: one[0])) for name, row in lines.items()}
        varied = SEPARATOR.join(short_keys(rest[0])) if many else ""
        refuted = sum(point.verdict is Verdict.VIOLATION for point in sweep.points)
        return cls(ordered, long_key(key), sweep.points[0].result.confidence, refuted, varied)

    @property
    def _all(self) -> list[Recovery]:
        return [seen for row in self.lines.values() for _, seen in row]

    @property
    def title(self) -> str:
        """How much of what the claim allows is recovered."""
        if self.refuted:
            return f"{self.refuted} of {len(self._all)} attacks recover more than the claim allows"
        shares = [min(1.0, seen.success / seen.allowed) for seen in self._all]
        return f"The attacks recover {percent_range(shares)} of what the claim allows"

    @property
    def caption(self) -> str:
        """How to read it."""
        limits = f" The bars are exact {percent(self.confidence)} intervals." * any(
            not math.isnan(seen.lower) for seen in self._all
        )
        return (
            f"Share of the secrets, or of the bits, that each attack recovered.{limits} “{CEILING}” is the largest "
            f"success rate of any attack on a mechanism that keeps its claim, and “{BLIND}” that of the best guess."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it; ceiling and prior in the colour of each line, once where all lines share them."""
        ax = axes_or_new(ax)
        handles = [
            Line2D([], [], color=INK.light, marker="o", markersize=4, label="attack"),
            Line2D([], [], color=CLAIM.light, linestyle=DASHES["ceiling"], label=CEILING),
            Line2D([], [], color=MUTED.light, linestyle=DASHES["blind"], label=BLIND),
        ]
        at_right = f"  (at the right: {self.varied})" if self.varied else ""
        labels = []
        alone = len(self.lines) == 1
        for index, (name, row) in enumerate(self.lines.items()):
            colour = series_colour(index)
            x, seen = np.array([x for x, _ in row]), [one for _, one in row]
            success = np.array([one.success for one in seen])
            reach = np.nan_to_num([[one.success - one.lower, one.upper - one.success] for one in seen]).T
            own = CLAIM.light if alone else colour.light
            ax.plot(x, [one.allowed for one in seen], color=own, linestyle=DASHES["ceiling"], linewidth=1.4)
            blind = MUTED.light if alone else colour.light
            ax.plot(x, [one.prior for one in seen], color=blind, linestyle=DASHES["blind"], linewidth=1.2)
            style: dict[str, Any] = {"color": colour.light, "marker": MARKERS[index % len(MARKERS)], "markersize": 5}
            ax.errorbar(x, success, yerr=np.maximum(reach, 0.0), linewidth=1.8, capsize=2.5, elinewidth=1.2, **style)
            if not alone:
                labels.append(EndLabel(float(success[-1]), cut(name, 32), colour))
        style_axes(ax, title=self.title, x=self.x_name + at_right, y="share recovered", handles=handles, columns=3)
        ax.set_ylim(-0.012, 1.012)
        scale_x(ax, np.unique([x for row in self.lines.values() for x, _ in row]))
        end_labels(ax, labels)
        return ax


__all__ = ["SuccessSweep"]
