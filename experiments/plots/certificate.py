"""The certificate drawn: how often each method exceeds the truth, and how close to it the bounds come."""

from __future__ import annotations

import math
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

from ...audit.results.text import percent
from ...audit.testing.cell import Cell
from ...audit.testing.certificate import Certificate
from ...audit.testing.methods import BOUND, KNOWN, PEER, UNCORRECTED
from ..results.formatting import cut, number
from .style.canvas import EndLabel, axes_or_new, end_labels, logarithmic, new_figure, style_axes
from .style.files import save
from .style.palette import AMBER, CLAIM, RULE, SERIES, VIOLATION
from .sweep_lines import MARKERS

TICKS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
REACH = 1.6
"""A power plot is this many times as high as the truth: what lies above is marked at its edge."""
BETWEEN_ROWS = 0.36
"""Inches for each method."""
DOT: dict[str, Any] = {"alpha": 0.75, "markeredgewidth": 0.0, "clip_on": False, "zorder": 3}
COLOURS = tuple(colour for colour in SERIES if colour is not AMBER)
LIMIT: dict[str, Any] = {"color": CLAIM.light, "linewidth": 1.2}
ALLOWED, LUCK, MISSES = "allowed", "may be bad luck", "misses too often"
KIND_NAME = {BOUND: "bound", UNCORRECTED: "no correction", PEER: "another library"}
KIND_COLOUR = {BOUND: SERIES[0], UNCORRECTED: VIOLATION, PEER: AMBER}


@dataclass(frozen=True)
class Row:
    """The miss rates of one method.

    Args:
        name, kind: of the method.
        cells: miss rates, and whether each is within what is allowed.
        limit: the miss rate up to which a valid bound may have had bad luck; the largest, where repeats differ.
    """

    name: str
    kind: str
    cells: tuple[tuple[float, bool], ...]
    limit: float


@dataclass(frozen=True)
class MissRates:
    """The miss rates of all cells at one confidence, a row for each method.

    Args:
        rows: one a method.
        significance: the miss rate that is allowed.
    """

    rows: tuple[Row, ...]
    significance: float

    @classmethod
    def from_certificate(cls, certificate: Certificate, confidence: float) -> MissRates:
        """The cells of that confidence."""
        cells = [cell for cell in certificate.cells if cell.confidence == confidence]
        rows = []
        for name in certificate.methods:
            own = [cell for cell in cells if cell.method == name]
            if own:
                limit = max(cell.allowed / cell.repeats for cell in own)
                rows.append(Row(name, own[0].kind, tuple((cell.miss_rate, cell.holds) for cell in own), limit))
        return cls(tuple(rows), cells[0].significance)

    @property
    def title(self) -> str:
        """How often each method reported more than the truth."""
        return f"Audits that reported more than the truth, at {percent(1.0 - self.significance)} confidence"

    @property
    def caption(self) -> str:
        """How to read it."""
        return (
            "Each dot is one law, delta and number of trials. A bound may exceed the truth in "
            f"{percent(self.significance)} of the audits (“{ALLOWED}”); within “{LUCK}” more may be bad luck of the "
            f"simulation, “{MISSES}” is not. The axis is stretched at its left end."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws into `ax`, or on a new figure."""
        ax = axes_or_new(ax)
        ax.set_xscale("function", functions=(np.sqrt, np.square))
        ax.axvline(self.significance, label=ALLOWED, **LIMIT)
        for place, row in enumerate(self.rows):
            luck = row.limit - self.significance
            ax.barh(place, luck, left=self.significance, height=0.86, color=RULE.light, alpha=0.5, linewidth=0)
            heights = place + 0.28 * np.sin(2.4 * np.arange(len(row.cells)))
            for holds, marker, size in ((True, "o", 3.2), (False, "X", 6.0)):
                seen = [(rate, y) for (rate, held), y in zip(row.cells, heights, strict=True) if held is holds]
                if seen:
                    colour = KIND_COLOUR[row.kind] if holds or row.kind != BOUND else VIOLATION
                    ax.plot(*np.array(seen).T, marker, color=colour.light, markersize=size, **DOT)
        style_axes(ax, title=self.title, x="share of audits above the truth", y="", handles=self._handles(), columns=4)
        ax.set(xlim=(0.0, 1.0), ylim=(len(self.rows) - 0.5, -0.5))  # dots at 0 and 1 are drawn beyond the edge
        ax.set_yticks(range(len(self.rows)), [row.name for row in self.rows], parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        ax.xaxis.set_major_locator(FixedLocator(TICKS))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
        return ax

    def _handles(self) -> list[Any]:
        """What each mark means, of those that occur."""
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
class Power:
    """Mean of the reported numbers against the number of trials, on one law.

    Args:
        law, delta, exact_epsilon: where the scores came from.
        confidence: that was asked for.
        lines: name, kind, trials a side and mean numbers of each method that was measured at several sizes.
    """

    law: str
    delta: float
    exact_epsilon: float
    confidence: float
    lines: tuple[tuple[str, str, tuple[int, ...], tuple[float, ...]], ...]

    @classmethod
    def from_cells(cls, cells: Sequence[Cell]) -> Power:
        """The cells of one law, delta and confidence, with equal sizes."""
        lines = []
        for name in dict.fromkeys(cell.method for cell in cells):
            own = sorted((cell for cell in cells if cell.method == name), key=lambda cell: cell.n_out)
            if len(own) > 1:
                lines.append((name, own[0].kind, tuple(c.n_out for c in own), tuple(c.mean for c in own)))
        first = cells[0]
        return cls(first.law, first.delta, first.exact_epsilon, first.confidence, tuple(lines))

    @property
    def title(self) -> str:
        """On which law the means are."""
        at = f", at delta {number(self.delta)}" if self.delta else ""
        best = max((means[-1] for _, kind, _, means in self.lines if kind == BOUND), default=math.nan)
        law = f"{self.law[:1].upper()}{self.law[1:]}{at}"
        return f"{law}: the best bound shows {number(best)}\u00a0of\u00a0{number(self.exact_epsilon)}"

    @property
    def caption(self) -> str:
        """How to read it."""
        others = [cut(name, 36) for name, kind, *_ in self.lines if kind == UNCORRECTED]
        wrong = f" No bounds, because uncorrected: {', '.join(f'“{name}”' for name in others)}." if others else ""
        peers = [cut(name, 36) for name, kind, *_ in self.lines if kind == PEER]
        theirs = f" Of another library: {', '.join(f'“{name}”' for name in peers)}." if peers else ""
        return (
            f"Mean lower bound at {percent(self.confidence)} confidence against the number of trials on each side, "
            f"pilot included, next to “exact”.{wrong}{theirs} A mark at the upper edge stands for a mean above it."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws into `ax`, or on a new figure."""
        ax = axes_or_new(ax)
        ax.axhline(self.exact_epsilon, color=CLAIM.light, linewidth=1.4)
        labels = [EndLabel(self.exact_epsilon, "exact", CLAIM)]
        top = REACH * self.exact_epsilon
        largest = 1.0
        bounds = list(dict.fromkeys(_own_name(name) for name, kind, *_ in self.lines if kind == BOUND))
        for name, kind, trials, means in self.lines:
            ours, known = kind == BOUND, _own_name(name) != name
            place = bounds.index(_own_name(name)) if ours else 0
            colour = COLOURS[place % len(COLOURS)] if ours else KIND_COLOUR[kind]
            style: dict[str, Any] = {"color": colour.light, "linewidth": 1.6 if ours and not known else 1.1}
            style |= {
                "linestyle": "-" if ours else (0, (4, 2)),
                "marker": MARKERS[place % len(MARKERS)] if ours else "",
            }
            style |= {"markersize": 4.5, "markerfacecolor": "none" if known else colour.light}
            ax.plot(trials, np.minimum(means, top), clip_on=False, **style)
            above = [n for n, mean in zip(trials, means, strict=True) if mean > top]
            ax.plot(above, [top] * len(above), color=colour.light, linestyle="none", marker="^", clip_on=False)
            largest = max(largest, *trials)
            labels.append(EndLabel(min(means[-1], top), cut(name, 36), colour))
        style_axes(ax, title=self.title, x="trials on each side", y="epsilon")
        least = min(min(trials) for *_, trials, _ in self.lines)
        logarithmic(ax.xaxis, least / 1.1, largest * 1.1)
        ax.set_ylim(0.0, top)
        end_labels(ax, labels)
        return ax


def draw_certificate(certificate: Certificate, directory: Path) -> list[Path]:
    """Draws the figures into `directory`, each as SVG and PNG.

    Returns:
        The files: `misses-NN.*` for each confidence, then `power-NN.*` for each law and delta that was measured at
        several equal sizes and has an epsilon above 0, all at the largest confidence.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    confidences = sorted({cell.confidence for cell in certificate.cells}, reverse=True)
    for confidence in confidences:
        plot = MissRates.from_certificate(certificate, confidence)
        figure = new_figure(8.6, 1.3 + BETWEEN_ROWS * len(plot.rows))
        plot.plot(figure.add_subplot())
        stem = directory / f"misses-{100 * confidence:.0f}"
        files += save(figure, stem, title=plot.title, description=plot.caption)
    for place, power in enumerate(_powers(certificate, confidences[0]), start=1):
        figure = new_figure(6.4, 3.6)
        power.plot(figure.add_subplot())
        files += save(figure, directory / f"power-{place:02}", title=power.title, description=power.caption)
    return files


def _powers(certificate: Certificate, confidence: float) -> list[Power]:
    balanced = [
        cell
        for cell in certificate.cells
        if cell.confidence == confidence
        and cell.n_out == cell.n_in
        and cell.exact_epsilon > 0
        and math.isfinite(cell.exact_epsilon)
    ]

    def place(cell: Cell) -> tuple[str, float]:
        return cell.law, cell.delta

    order = list(dict.fromkeys(place(cell) for cell in balanced))
    groups = [list(cells) for _, cells in groupby(sorted(balanced, key=lambda c: order.index(place(c))), key=place)]
    return [Power.from_cells(cells) for cells in groups if len({cell.n_out for cell in cells}) > 1]


def _own_name(method: str) -> str:
    """The bound that a method is a way of."""
    return method.removesuffix(KNOWN)


__all__ = ["MissRates", "Power", "draw_certificate"]
