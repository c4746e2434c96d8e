"""Figures of the certificate: miss rates of each method, and tightness of the bounds."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter

from ....audit.calibration.cell import CertificateCell
from ....audit.calibration.certificate import Certificate
from ....audit.calibration.methods import BOUND, KNOWN_EVENT_SUFFIX, PEER, PUBLISHED, UNCORRECTED
from ....mechanisms.core import confidence_text, percent
from ..results.parameters import cut
from .draw import figure_of
from .labels import number
from .style import (
    AMBER,
    CLAIM,
    PURPLE,
    ROW,
    RULE,
    SERIES,
    VIOLATION,
    EndLabel,
    Plot,
    end_labels,
    is_narrow,
    logarithmic,
    save,
    style_axes,
)
from .sweep_lines import MARKERS

TICKS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
MAX_HEIGHT_RATIO = 1.6
"""Height of a power plot divided by the exact epsilon; larger means are marked at the upper edge."""
BETWEEN_ROWS = 0.36
"""Inches for each method."""
NARROW_TICKS = (0.0, 0.05, 0.2, 0.5, 1.0)
NAME_WIDTH, NARROW_TITLE = 16, 32
"""Characters of a line of a name beside narrow axes, and of a title above them."""
DOT: dict[str, Any] = {"alpha": 0.75, "markeredgewidth": 0.0, "clip_on": False, "zorder": 3}
DASHES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))
COLOURS = tuple(colour for colour in SERIES if colour is not AMBER)
LIMIT: dict[str, Any] = {"color": CLAIM.light, "linewidth": 1.2}
ALLOWED, LUCK, MISSES = "allowed", "within sampling error", "misses too often"
KIND_NAME = {BOUND: "bound", UNCORRECTED: "no correction", PUBLISHED: "published rule", PEER: "another library"}
KIND_COLOUR = {BOUND: SERIES[0], UNCORRECTED: VIOLATION, PUBLISHED: PURPLE, PEER: AMBER}


@dataclass(frozen=True)
class CertificateRow:
    """Miss rates of one method.

    Args:
        name, kind: name and kind of the method.
        cells: miss rates, and whether each is within its limit.
        limit: the largest miss rate that sampling error of a valid bound explains; the maximum where repeats differ.
    """

    name: str
    kind: str
    cells: tuple[tuple[float, bool], ...]
    limit: float


@dataclass(frozen=True)
class MissRates(Plot):
    """Miss rates of all cells at one confidence, one row per method.

    Args:
        rows: one row per method.
        significance: the allowed miss rate.
    """

    rows: tuple[CertificateRow, ...]
    significance: float

    @classmethod
    def from_certificate(cls, certificate: Certificate, confidence: float) -> MissRates:
        """Return the miss rates of the cells with that confidence."""
        cells = [cell for cell in certificate.cells if cell.confidence == confidence]
        rows = []
        for name in certificate.methods:
            method_cells = [cell for cell in cells if cell.method == name]
            if method_cells:
                limit = max(cell.allowed / cell.repeats for cell in method_cells)
                rows.append(
                    CertificateRow(
                        name, method_cells[0].kind, tuple((cell.miss_rate, cell.holds) for cell in method_cells), limit
                    )
                )
        return cls(tuple(rows), cells[0].significance)

    @property
    def title(self) -> str:
        """Title of the figure, with the confidence."""
        return f"Audits that exceeded the exact epsilon, at {confidence_text(1.0 - self.significance)} confidence"

    @property
    def caption(self) -> str:
        return (
            "Each dot is one distribution, delta and number of trials. A bound may exceed the exact epsilon in "
            f"{percent(self.significance)} of the audits (“{ALLOWED}”); a larger rate “{LUCK}” can be explained by the "
            f"finite number of simulated audits, “{MISSES}” cannot. The axis is stretched at its left end."
        )

    @property
    def height(self) -> float:
        """Height in inches, also of the form for a telephone."""
        return 1.5 + BETWEEN_ROWS * len(self.rows)

    def _draw(self, ax: Axes) -> None:
        """Draw the miss rates into `ax`, or on a new figure."""
        narrow = is_narrow(ax)
        ax.set_xscale("function", functions=(np.sqrt, np.square))
        ax.axvline(self.significance, label=ALLOWED, **LIMIT)
        for place, row in enumerate(self.rows):
            tolerance = row.limit - self.significance
            ax.barh(place, tolerance, left=self.significance, height=0.86, color=RULE.light, alpha=0.5, linewidth=0)
            heights = place + 0.28 * np.sin(2.4 * np.arange(len(row.cells)))
            for holds, marker, size in ((True, "o", 3.2), (False, "X", 6.0)):
                dots = [(rate, y) for (rate, held), y in zip(row.cells, heights, strict=True) if held is holds]
                if dots:
                    colour = KIND_COLOUR[row.kind] if holds or row.kind != BOUND else VIOLATION
                    ax.plot(*np.array(dots).T, marker, color=colour.light, markersize=size, **DOT)
        style_axes(
            ax, title=self.title, x="share of audits above the exact epsilon", y="", handles=self._handles(), columns=4
        )
        ax.set(xlim=(0.0, 1.0), ylim=(len(self.rows) - 0.5, -0.5))  # dots at 0 and 1 are drawn beyond the edge
        names = [textwrap.fill(row.name, NAME_WIDTH) if narrow else row.name for row in self.rows]
        ax.set_yticks(range(len(self.rows)), names, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        ax.xaxis.set_major_locator(FixedLocator(NARROW_TICKS if narrow else TICKS))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))

    def _handles(self) -> list[Any]:
        """Return the legend entries of the marks that occur."""
        handles: list[Any] = [Line2D([], [], label=ALLOWED, **LIMIT)]
        handles.append(Patch(color=RULE.light, alpha=0.5, linewidth=0, label=LUCK))
        for kind in dict.fromkeys(row.kind for row in self.rows):
            dot: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4, "label": KIND_NAME[kind]}
            handles.append(Line2D([], [], color=KIND_COLOUR[kind].light, **dot))
        if any(not holds for row in self.rows for _, holds in row.cells):
            cross: dict[str, Any] = {"linestyle": "none", "marker": "X", "markersize": 6, "label": MISSES}
            handles.append(Line2D([], [], color=VIOLATION.light, **cross))
        return handles


@dataclass(frozen=True)
class Power(Plot):
    """Mean of the reported epsilons against the number of trials, for one distribution.

    Args:
        law, delta, exact_epsilon: the distribution of the scores, and its exact epsilon at `delta`.
        confidence: the requested confidence.
        lines: name, kind, trials per side and mean reported epsilons of each method measured at several sizes.
    """

    law: str
    delta: float
    exact_epsilon: float
    confidence: float
    lines: tuple[tuple[str, str, tuple[int, ...], tuple[float, ...]], ...]

    @classmethod
    def from_cells(cls, cells: Sequence[CertificateCell]) -> Power:
        """Return the means of cells with one distribution, delta and confidence, and equal sizes of both sides."""
        lines = []
        for name in dict.fromkeys(cell.method for cell in cells):
            method_cells = sorted((cell for cell in cells if cell.method == name), key=lambda cell: cell.n_out)
            if len(method_cells) > 1:
                lines.append(
                    (
                        name,
                        method_cells[0].kind,
                        tuple(c.n_out for c in method_cells),
                        tuple(c.mean for c in method_cells),
                    )
                )
        first = cells[0]
        return cls(first.law, first.delta, first.exact_epsilon, first.confidence, tuple(lines))

    @property
    def title(self) -> str:
        """Distribution of the scores, with the largest mean of a bound and the exact epsilon."""
        at = f", at delta {number(self.delta)}" if self.delta else ""
        best = max((means[-1] for _, kind, _, means in self.lines if kind == BOUND), default=math.nan)
        law = f"{self.law[:1].upper()}{self.law[1:]}{at}"
        return f"{law}: the best bound reaches {number(best)}\u00a0of\u00a0{number(self.exact_epsilon)}"

    @property
    def caption(self) -> str:
        others = [cut(name, 36) for name, kind, *_ in self.lines if kind == UNCORRECTED]
        wrong = (
            f" Not valid bounds, because uncorrected: {', '.join(f'“{name}”' for name in others)}." if others else ""
        )
        peers = [cut(name, 36) for name, kind, *_ in self.lines if kind == PEER]
        theirs = f" From another library: {', '.join(f'“{name}”' for name in peers)}." if peers else ""
        return (
            f"Mean lower bound at {confidence_text(self.confidence)} confidence against the number of trials on each "
            f"side, including pilot trials, and the exact epsilon (“exact”).{wrong}{theirs} A triangle at the upper "
            "edge marks a mean above it."
        )

    @property
    def height(self) -> float:
        """Height in inches."""
        return max(3.6, 2.2 + 0.16 * len(self.lines))

    @property
    def narrow_height(self) -> float:
        """Height in inches for a telephone, where a legend above the axes names the lines."""
        return 3.1 + ROW / 72.0 * (len(self.lines) + 1)

    def _draw(self, ax: Axes) -> None:
        """Draw the means into `ax`, or on a new figure."""
        handles = [Line2D([], [], label="exact", color=CLAIM.light, linewidth=1.4)]
        ax.axhline(self.exact_epsilon, color=CLAIM.light, linewidth=1.4)
        labels = [EndLabel(self.exact_epsilon, "exact", CLAIM)]
        top = MAX_HEIGHT_RATIO * self.exact_epsilon
        largest = 1.0
        others = [name for name, kind, *_ in self.lines if kind != BOUND]
        bounds = list(dict.fromkeys(_own_name(name) for name, kind, *_ in self.lines if kind == BOUND))
        for name, kind, trials, means in self.lines:
            ours, known = kind == BOUND, _own_name(name) != name
            place = bounds.index(_own_name(name)) if ours else 0
            colour = COLOURS[place % len(COLOURS)] if ours else KIND_COLOUR[kind]
            style: dict[str, Any] = {"color": colour.light, "linewidth": 1.6 if ours and not known else 1.1}
            style |= {
                "linestyle": "-" if ours else DASHES[others.index(name) % len(DASHES)],
                "marker": MARKERS[place % len(MARKERS)] if ours else "",
            }
            style |= {"markersize": 4.5, "markerfacecolor": "none" if known else colour.light}
            ax.plot(trials, np.minimum(means, top), clip_on=False, **style)
            handles.append(Line2D([], [], label=cut(name, 44), **style))
            above = [n for n, mean in zip(trials, means, strict=True) if mean > top]
            if above:  # an empty line would take room in the layout
                ax.plot(above, [top] * len(above), color=colour.light, linestyle="none", marker="^", clip_on=False)
            largest = max(largest, *trials)
            labels.append(EndLabel(min(means[-1], top), cut(name, 36), colour))
        narrow = is_narrow(ax)
        style_axes(
            ax,
            title=self.title,
            x="trials on each side",
            y="epsilon",
            handles=handles if narrow else [],
            columns=1,
            title_width=NARROW_TITLE if narrow else None,
        )
        least = min(min(trials) for *_, trials, _ in self.lines)
        logarithmic(ax.xaxis, least / 1.1, largest * 1.1)
        ax.set_ylim(0.0, top)
        end_labels(ax, [] if narrow else labels)


def draw_certificate(certificate: Certificate, directory: Path) -> list[Path]:
    """Draw the figures into `directory`, each as SVG and PNG.

    Returns:
        The files, each with a narrow SVG: `misses-NN.*` for each confidence, then `power-NN.*` for each law and delta
        that was measured at several equal sizes and has an epsilon above 0, all at the largest confidence.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    confidences = sorted({cell.confidence for cell in certificate.cells}, reverse=True)
    for confidence in confidences:
        files += _draw(
            MissRates.from_certificate(certificate, confidence), directory, f"misses-{round(100 * confidence)}", 8.6
        )
    for place, power in enumerate(_powers(certificate, confidences[0]), start=1):
        files += _draw(power, directory, f"power-{place:02}", 6.4)
    return files


def _draw(plot: MissRates | Power, directory: Path, name: str, width: float) -> list[Path]:
    """Draw a figure and its form for a telephone."""
    return save(figure_of(plot, width), directory / name, title=plot.title, description=plot.caption)


def _powers(certificate: Certificate, confidence: float) -> list[Power]:
    balanced = [
        cell
        for cell in certificate.cells
        if cell.confidence == confidence
        and cell.n_out == cell.n_in
        and cell.exact_epsilon > 0
        and math.isfinite(cell.exact_epsilon)
    ]

    def place(cell: CertificateCell) -> tuple[str, float]:
        return cell.law, cell.delta

    order = list(dict.fromkeys(place(cell) for cell in balanced))
    groups = [list(cells) for _, cells in groupby(sorted(balanced, key=lambda c: order.index(place(c))), key=place)]
    return [Power.from_cells(cells) for cells in groups if len({cell.n_out for cell in cells}) > 1]


def _own_name(method: str) -> str:
    """Return the name of the bound on which a method is based."""
    return method.removesuffix(KNOWN_EVENT_SUFFIX)


__all__ = ["MissRates", "Power", "draw_certificate"]
