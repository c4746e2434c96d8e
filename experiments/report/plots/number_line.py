"""Number line of one audit: lower bound, claim, exact value and ceiling."""

from __future__ import annotations

import math

from matplotlib.axes import Axes

from ....audit.results.text import BEST_GUESS
from ..results.formatting import NOTHING_ASSUMED, number
from .lines import Lines
from .style.canvas import TEXT, style_axes, write
from .style.palette import BOUND, CEILING, CLAIM, EXACT, VIOLATION, Colour


def draw_number_line(plot: Lines, ax: Axes) -> None:
    """Draw bars for the lower bound, the claim, the exact value and the ceiling of a single audit."""
    series = plot.series[0]
    violation = series.violation[0]
    bound_colour = VIOLATION if violation else BOUND
    rows: list[tuple[str, float, Colour]] = [
        ("claim", series.claim[0], CLAIM),
        (plot.bound_name, series.bound[0], bound_colour),
        (f"lower bound, {NOTHING_ASSUMED}", series.free[0] if plot.with_free else math.nan, bound_colour),
        ("exact", series.exact_epsilon[0], EXACT),
        (BEST_GUESS, series.guess[0] if series.guess else math.nan, CEILING),
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
