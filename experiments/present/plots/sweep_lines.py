"""Plots of sweeps and single audits: lines along a swept number, or bars on a number line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ....audit.results.text import ESTIMATE_LABEL
from ..results.parameters import cut
from .labels import NOTHING_ASSUMED, WEAK, number, one_notation
from .lines import Lines, Series
from .style import (
    BOUND,
    CEILING,
    CLAIM,
    EXACT,
    INK,
    MUTED,
    TEXT,
    VIOLATION,
    WEAK_COLOUR,
    Colour,
    EndLabel,
    end_labels,
    logarithmic,
    series_colour,
    style_axes,
    write,
)

MARKERS = "osD^vP"
"""Fewer markers than colours, so that lines of one colour differ in their markers."""
DASHES: dict[str, Any] = {"claim": (0, (5, 2)), "exact_epsilon": (0, (1, 1.5))}
CROSS: dict[str, Any] = {"linestyle": "none", "marker": "X", "color": VIOLATION.light, "markersize": 8}
OPEN_CROSS: dict[str, Any] = CROSS | {"markerfacecolor": "none", "markeredgewidth": 1.2}
RING: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "color": WEAK_COLOUR.light,
    "markersize": 10,
    "markerfacecolor": "none",
    "markeredgewidth": 1.4,
}
Drawn = tuple[list[EndLabel], list[Line2D]]
"""Labels at the ends of lines, and entries of the legend."""
CROWDED = 40
"""Number of points of a line above which they have no markers."""
WIDE = 30.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
LABELLED = 16
"""Number of lines above which only some are named."""


def draw_lines(plot: Lines, ax: Axes) -> None:
    """Draw bounds, claims and exact values along a swept number."""
    draw = _draw_single if len(plot.series) == 1 else _draw_several
    labels, handles = draw(plot, ax)
    for series in plot.series:
        _mark_verdicts(ax, series)
    marks = (("violation", "violation", CROSS), ("above", plot.above_name, OPEN_CROSS), ("weak", WEAK, RING))
    handles += [
        Line2D([], [], label=label, **mark)
        for name, label, mark in marks
        if any(any(getattr(series, name)) for series in plot.series)
    ]
    style_axes(ax, title=plot.title, x=plot.x_name, y=f"epsilon{plot.delta}", handles=handles, columns=3)
    scale_x(ax, np.unique([x for series in plot.series for x in series.x]))
    _scale_y(ax, plot)
    _draw_ceiling(plot, ax, labels)
    end_labels(ax, labels)


def _draw_single(plot: Lines, ax: Axes) -> Drawn:
    """Draw one line of bounds, with the distance to its claims shaded."""
    (series,) = plot.series
    x, bound, claim = np.array(series.x), np.array(series.bound), _finite(series.claim)
    refuted = np.array(series.violation) & (bound > claim)
    fills = ((~refuted, BOUND, 0.10), (refuted, VIOLATION, 0.18))
    for where, colour, alpha in fills:
        ax.fill_between(
            x, bound, claim, where=where.tolist(), interpolate=True, color=colour.light, alpha=alpha, linewidth=0
        )
    ax.plot(x, claim, color=CLAIM.light, linewidth=1.6, linestyle=DASHES["claim"])
    labels = [EndLabel(_last(series.claim), "claim, exact" if plot.exact else "claim", CLAIM)]
    if not plot.exact:
        ax.plot(x, _finite(series.exact_epsilon), color=EXACT.light, linestyle=DASHES["exact_epsilon"], linewidth=1.8)
        labels.append(EndLabel(_last(series.exact_epsilon), "exact", EXACT))
    ax.plot(x, bound, color=BOUND.light, linewidth=1.8, marker=_marker(x, 0), markersize=5)
    labels.append(EndLabel(_last(series.bound), plot.bound_name.replace(", ", ",\n"), BOUND))
    if plot.with_free:
        hollow: dict[str, Any] = {"marker": _marker(x, 1), "markersize": 5, "markerfacecolor": "none"}
        ax.plot(x, _finite(series.free), color=BOUND.light, linewidth=1.2, linestyle=(0, (3, 1)), **hollow)
        labels.append(EndLabel(_last(series.free), f"lower bound,\n{NOTHING_ASSUMED}", BOUND))
    if series.guess:
        ax.plot(x, _finite(series.guess), color=CEILING.light, linestyle="none", marker="x", markersize=6)
        labels.append(EndLabel(_last(series.guess), ESTIMATE_LABEL.replace(", ", ",\n"), CEILING))
    return [label for label in labels if math.isfinite(label.y)], []


def _draw_several(plot: Lines, ax: Axes) -> Drawn:
    """Draw several lines of bounds; a claim or an exact value that all of them share is drawn once."""
    stride = math.ceil(len(plot.series) / LABELLED)
    labels = []
    bounds: dict[str, Any] = {"color": INK.light, "linewidth": 1.8, "marker": "o", "markersize": 4}
    handles = [Line2D([], [], label=plot.bound_name, **bounds)]
    styles: tuple[tuple[str, str, Any, Colour], ...] = (
        ("claim", "claim, exact" if plot.exact else "claim", DASHES["claim"], CLAIM),
        ("exact_epsilon", "exact", DASHES["exact_epsilon"], EXACT),
    )
    for name, label, dashes, colour in styles:
        shared = None if name == "exact_epsilon" and plot.exact else plot.shared(name)
        if shared is not None and math.isfinite(_last(shared)):
            ax.plot(plot.series[0].x, _finite(shared), color=colour.light, linestyle=dashes, linewidth=1.6)
            labels.append(EndLabel(_last(shared), label, colour))
            continue
        if name == "exact_epsilon" and plot.exact:
            continue
        for index, series in enumerate(plot.series):
            line_colour = series_colour(index).light
            ax.plot(series.x, _finite(getattr(series, name)), color=line_colour, linestyle=dashes, linewidth=1.2)
        if any(math.isfinite(_last(getattr(series, name))) for series in plot.series):
            handles.append(Line2D([], [], color=INK.light, linestyle=dashes, linewidth=1.2, label=label))
    for index, series in enumerate(plot.series):
        colour = series_colour(index)
        ax.plot(
            series.x, series.bound, color=colour.light, linewidth=1.8, marker=_marker(series.x, index), markersize=5
        )
        if index % stride == 0:
            labels.append(EndLabel(_last(series.bound), cut(series.name, 32), colour))
    return labels, handles


def _mark_verdicts(ax: Axes, series: Series) -> None:
    """Draw a cross on every violation, an open one on a bound above its claim, and a ring where a verdict is weak."""
    size = 1.0 if len(series.x) <= CROWDED else 0.5
    for where, mark in ((series.weak, RING), (series.above, OPEN_CROSS), (series.violation, CROSS)):
        if any(where):
            x, bound = np.array(series.x)[list(where)], np.array(series.bound)[list(where)]
            ax.plot(x, bound, zorder=4, **(mark | {"markersize": size * mark["markersize"]}))


def _draw_ceiling(plot: Lines, ax: Axes, labels: list[EndLabel]) -> None:
    """Draw the ceiling of a single line where it lies within the plot; write its range in a corner elsewhere."""
    if len(plot.series) > 1:
        return
    (series,), top = plot.series, ax.get_ylim()[1]
    ceiling = np.array(series.ceiling)
    inside = np.where(ceiling <= top, ceiling, np.nan)
    ax.plot(series.x, inside, color=CEILING.light, linestyle=(0, (1, 2)), linewidth=1.2)
    if np.isfinite(inside).any():
        labels.append(EndLabel(_last(inside.tolist()), "ceiling", CEILING))
    if np.isnan(inside).any():
        low, high = number(float(ceiling.min())), number(float(ceiling.max()))
        text = f"ceiling {low if low == high else f'{low} to {high}'}, above the plot"
        write(ax, 0.99, 0.985, text, MUTED, fontsize=8, ha="right", va="top", transform=ax.transAxes)


def _scale_y(ax: Axes, plot: Lines) -> None:
    """Scale the y axis to the bounds and claims: logarithmic if they span decades, with 0 if it occurs."""
    drawn = [v for s in plot.series for v in (*s.bound, *s.claim, *s.exact_epsilon, *s.free) if math.isfinite(v)]
    least = min((v for v in drawn if v > 0), default=plot.top)
    if plot.top / least >= WIDE:
        logarithmic(ax.yaxis, least / 1.6, plot.top * 1.6, zero=min(drawn) <= 0)
    else:
        ax.set_ylim(-0.02 * plot.top, plot.top * 1.12)


def scale_x(ax: Axes, values: np.ndarray[Any, Any]) -> None:
    """Scale the x axis: logarithmic if it spans decades, with ticks at the swept values if these are few and apart."""
    positive = values[values > 0]
    wide = values[0] >= 0 and len(positive) > 0 and values[-1] / positive[0] >= WIDE
    if wide:
        room = (values[-1] / positive[0]) ** 0.04
        logarithmic(ax.xaxis, float(positive[0] / room), float(values[-1] * room), zero=values[0] == 0)
    gaps = np.diff(ax.transScale.transform(np.column_stack([values, np.ones_like(values)]))[:, 0])
    if 0 < len(gaps) < 10 and gaps.min() > 0.045 * gaps.sum():
        ax.set_xticks(values.tolist(), one_notation(values.tolist()))


def _marker(x: Sequence[float] | np.ndarray[Any, Any], index: int) -> str:
    return MARKERS[(index + index // len(MARKERS)) % len(MARKERS)] if len(x) <= CROWDED else ""


def _finite(values: Sequence[float]) -> np.ndarray[Any, Any]:
    """Return the values with infinities replaced by NaN, which is not drawn."""
    array = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


def _last(values: Sequence[float]) -> float:
    """Return the last finite value; NaN if there is none."""
    return next((value for value in reversed(values) if math.isfinite(value)), math.nan)


def draw_number_line(plot: Lines, ax: Axes) -> None:
    """Draw bars for the lower bound, the claim, the exact value and the ceiling of a single audit."""
    series = plot.series[0]
    violation = series.violation[0]
    bound_colour = VIOLATION if violation else WEAK_COLOUR if series.weak[0] else BOUND
    sign = f"{series.tones[0].sign} " if violation or series.weak[0] else ""
    rows: list[tuple[str, float, Colour]] = [
        ("claim", series.claim[0], CLAIM),
        (f"{sign}{plot.bound_name}", series.bound[0], bound_colour),
        (f"lower bound, {NOTHING_ASSUMED}", series.free[0] if plot.with_free else math.nan, bound_colour),
        ("exact", series.exact_epsilon[0], EXACT),
        (ESTIMATE_LABEL, series.guess[0] if series.guess else math.nan, CEILING),
        ("ceiling", series.ceiling[0], CEILING),
    ]
    rows = [row for row in rows if not math.isnan(row[1])]
    reach = max((v for name, v, _ in rows if name != "ceiling" and math.isfinite(v)), default=1.0) or 1.0
    limit = 1.35 * reach
    for place, (name, value, colour) in enumerate(rows):
        ax.barh(place, min(value, limit), height=0.5, color=colour.light, alpha=0.35 if name == "ceiling" else 1.0)
        text = number(value, 4) + (" →" if value > limit else "")
        write(ax, 1.015, place, text, colour, transform=ax.get_yaxis_transform(), va="center", fontweight="bold")
    style_axes(ax, title=plot.title, x=f"epsilon{plot.delta}", y="")
    ax.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    ax.tick_params(axis="y", length=0, labelsize=TEXT)
    ax.set(xlim=(0.0, limit), ylim=(len(rows) - 0.4, -0.6))
    ax.grid(False, axis="y")
    claim = series.claim[0]
    if math.isfinite(claim):
        ax.axvline(claim, color=CLAIM.light, linewidth=1.0, linestyle=(0, (4, 3)))
    if series.bound[0] == 0.0:
        write(ax, 0.14 * limit, 1, "no positive lower bound", VIOLATION if violation else CEILING, va="center")
