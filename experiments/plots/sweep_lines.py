"""A sweep drawn: lines along a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from experiments.plots.canvas import EndLabel, end_labels, legend, logarithmic, style_axes, write
from experiments.plots.formatting import cut, number
from experiments.plots.palette import BOUND, CEILING, CLAIM, INK, MUTED, TRUTH, VIOLATION, Colour, series_colour

if TYPE_CHECKING:
    from experiments.plots.bound_claim import BoundClaim, Series

MARKERS = "osD^vP"
CROWDED = 40
"""Points in a line beyond which they are no longer marked one by one."""
WIDE = 30.0
"""Largest / smallest value beyond which an axis is logarithmic."""
LABELLED = 16
"""Lines beyond which only some are named."""


def draw_lines(plot: BoundClaim, ax: Axes) -> None:
    """Bounds, claims and exact values along a swept number."""
    alone = len(plot.series) == 1
    labels = _draw_alone(plot, plot.series[0], ax) if alone else _draw_several(plot, ax)
    for series in plot.series:
        _cross_out(ax, series)
    style_axes(ax, title=plot.title, x=plot.x_name, y=f"epsilon{plot.delta}", pad=9.0 if alone else 24.0)
    _scale_x(ax, np.unique([x for series in plot.series for x in series.x]))
    _scale_y(ax, plot)
    if alone:
        _note_ceiling(ax, plot.series[0])
    end_labels(ax, labels + _warning(plot, ax))


def _draw_alone(plot: BoundClaim, series: Series, ax: Axes) -> list[EndLabel]:
    """One line of bounds, the distance to its claims shaded."""
    x, bound, claim = np.array(series.x), np.array(series.bound), _finite(series.claim)
    fills = ((bound <= claim, BOUND, 0.10), (bound > claim, VIOLATION, 0.18))
    for where, colour, alpha in fills:
        ax.fill_between(
            x, bound, claim, where=where.tolist(), interpolate=True, color=colour.light, alpha=alpha, linewidth=0
        )
    ax.plot(x, claim, color=CLAIM.light, linewidth=1.6)
    labels = [EndLabel(_last(series.claim), "claim, exact" if plot.exact else "claim", CLAIM)]
    if not plot.exact:
        ax.plot(x, series.truth, color=TRUTH.light, linestyle=":", linewidth=1.8)
        labels.append(EndLabel(_last(series.truth), "exact", TRUTH))
    ax.plot(x, bound, color=BOUND.light, linewidth=1.8, marker=_marker(x, 0), markersize=5)
    ax.plot(x, _finite(series.ceiling), color=CEILING.light, linestyle=(0, (1, 2)), linewidth=1.2)
    labels.append(EndLabel(_last(series.bound), plot.bound_name, BOUND))
    if min(series.ceiling) <= plot.top:
        labels.append(EndLabel(_last(series.ceiling), "ceiling", CEILING))
    return [label for label in labels if math.isfinite(label.y)]


def _draw_several(plot: BoundClaim, ax: Axes) -> list[EndLabel]:
    """Several lines of bounds; a claim or an exact value that all of them share is drawn once."""
    every = math.ceil(len(plot.series) / LABELLED)
    labels = []
    handles = [
        Line2D(
            [], [], color=INK.light, linewidth=1.8, marker="o", markersize=4, label=" ".join(plot.bound_name.split())
        )
    ]
    styles: tuple[tuple[str, str, Any, Colour], ...] = (
        ("claim", "claim", (0, (5, 2)), CLAIM),
        ("truth", "exact", (0, (1, 1.5)), TRUTH),
    )
    for name, shown, dashes, colour in styles:
        together = plot.shared(name)
        if together is not None and math.isfinite(_last(together)):
            ax.plot(plot.series[0].x, _finite(together), color=colour.light, linestyle=dashes, linewidth=1.6)
            labels.append(EndLabel(_last(together), shown, colour))
            continue
        for index, series in enumerate(plot.series):
            own = series_colour(index).light
            ax.plot(series.x, _finite(getattr(series, name)), color=own, linestyle=dashes, linewidth=1.2)
        if any(math.isfinite(_last(getattr(series, name))) for series in plot.series):
            handles.append(Line2D([], [], color=INK.light, linestyle=dashes, linewidth=1.2, label=shown))
    for index, series in enumerate(plot.series):
        colour = series_colour(index)
        ax.plot(
            series.x, series.bound, color=colour.light, linewidth=1.8, marker=_marker(series.x, index), markersize=5
        )
        if index % every == 0:
            labels.append(EndLabel(_last(series.bound), cut(series.name, 32), colour))
    legend(ax, handles=handles, loc="lower left", bbox_to_anchor=(-0.012, 1.0), ncols=3, borderaxespad=0.1)
    return labels


def _cross_out(ax: Axes, series: Series) -> None:
    """A cross on every violation."""
    wrong = np.array(series.violation)
    x, bound = np.array(series.x)[wrong], np.array(series.bound)[wrong]
    size = 8 if len(series.x) <= CROWDED else 4
    ax.plot(x, bound, "X", color=VIOLATION.light, markersize=size, zorder=4)


def _warning(plot: BoundClaim, ax: Axes) -> list[EndLabel]:
    """What the crosses mean, if there are any."""
    wrong = any(any(series.violation) for series in plot.series)
    return [EndLabel(ax.get_ylim()[0], "✖ violation", VIOLATION)] if wrong else []


def _note_ceiling(ax: Axes, series: Series) -> None:
    """Where the ceiling is, when it is too high to be drawn."""
    low, high = number(min(series.ceiling)), number(max(series.ceiling))
    if min(series.ceiling) > ax.get_ylim()[1]:
        text = f"ceiling {low if low == high else f'{low} to {high}'}, above the plot"
        write(ax, 0.99, 0.985, text, MUTED, fontsize=8, ha="right", va="top", transform=ax.transAxes)


def _scale_y(ax: Axes, plot: BoundClaim) -> None:
    """As high as what matters; logarithmic where it spans decades."""
    shown = np.array([v for s in plot.series for v in (*s.bound, *s.claim) if math.isfinite(v)])
    if shown.min() > 0 and shown.max() / shown.min() >= WIDE:
        ax.set_ylim(shown.min() / 1.6, plot.top * 1.6)
        logarithmic(ax.yaxis, span=plot.top / shown.min())
    else:
        ax.set_ylim(0.0, plot.top * 1.12)


def _scale_x(ax: Axes, values: np.ndarray[Any, Any]) -> None:
    """Logarithmic where it spans decades; ticks at the swept values where they are few and stand well apart."""
    wide = values[0] > 0 and values[-1] / values[0] >= WIDE
    if wide:
        logarithmic(ax.xaxis, span=values[-1] / values[0])
    gaps = np.diff(np.log(values) if wide else values)
    if 0 < len(gaps) < 10 and gaps.min() > 0.045 * gaps.sum():
        ax.xaxis.set_major_locator(FixedLocator(values.tolist()))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value, 4)))


def _marker(x: Sequence[float] | np.ndarray[Any, Any], index: int) -> str:
    return MARKERS[index % len(MARKERS)] if len(x) <= CROWDED else ""


def _finite(values: Sequence[float]) -> np.ndarray[Any, Any]:
    """NaN, which is not drawn, for what is infinite."""
    array = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


def _last(values: Sequence[float]) -> float:
    """The last finite value; NaN if there is none."""
    return next((value for value in reversed(values) if math.isfinite(value)), math.nan)
