"""Where figures are drawn: sheets, axes, titles and labels in one style. No global state of matplotlib is touched.

new_figure(...)          an empty figure
style_axes(ax, ...)      title, names of the axes, quiet spines and grid
end_labels(...)     the name of each line at its right end, moved apart where they would overlap
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from experiments.plots.formatting import number, power_of_ten
from experiments.plots.palette import INK, MUTED, RULE, Colour

FONT = "DejaVu Sans"
"""Ships with matplotlib and decides the layout. An SVG names narrower ones to fall back on, so nothing overflows."""
SMALL, TEXT, TITLE = 8.0, 9.0, 10.5
"""Sizes of type, in points."""


class NotebookFigure(Figure):
    """A figure that notebooks show, without any plotting window being involved."""

    def _repr_svg_(self) -> str:
        from experiments.plots.files import svg_text

        return svg_text(self, title="dpassay", description="")


def new_figure(width: float = 6.0, height: float = 4.0) -> NotebookFigure:
    """An empty transparent figure, sizes in inches, whose layout keeps labels apart and inside."""
    figure = NotebookFigure(figsize=(width, height), facecolor="none")
    figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06))
    return figure


def axes_or_new(ax: Axes | None) -> Axes:
    """`ax`, or the axes of a new figure."""
    return new_figure().add_subplot() if ax is None else ax


def style_axes(ax: Axes, *, title: str, x: str, y: str, pad: float = 9.0) -> None:
    """Title that says what is seen, `pad` points above, names of the axes, and quiet lines around them."""
    inches = ax.get_position().width * _figure(ax).get_figwidth()
    wrapped = "\n".join(textwrap.wrap(title, max(24, int(inches * 12.0))))
    ax.set_title(wrapped, loc="left", color=INK.light, fontsize=TITLE, fontfamily=FONT, fontweight="bold", pad=pad)
    for put, name in ((ax.set_xlabel, x), (ax.set_ylabel, y)):
        put(name, color=MUTED.light, fontsize=TEXT, fontfamily=FONT, parse_math=False)
    ax.set_facecolor("none")
    ax.set_axisbelow(True)
    ax.grid(True, which="major", color=RULE.light, linewidth=0.6)
    for name, spine in ax.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(RULE.light)
    ax.tick_params(which="both", color=RULE.light, labelcolor=MUTED.light, labelsize=SMALL, length=3)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_fontfamily(FONT)


def _figure(ax: Axes) -> Figure:
    """The figure around `ax`, also where a part of a figure lies between them."""
    return ax.figure.figure


def logarithmic(axis: Any, *, span: float = math.inf) -> None:
    """A logarithmic axis, ticks at whole powers of ten; at 1, 2, 5 as well where it spans less than a factor of 200."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    short = span < 200
    axis.set_major_locator(LogLocator(base=10.0, numticks=8, subs=(1.0, 2.0, 5.0) if short else (1.0,)))
    axis.set_major_formatter(FuncFormatter((lambda value, _: number(value)) if short else power_of_ten))
    axis.set_minor_locator(NullLocator())


def write(ax: Axes, x: float, y: float, text: str, colour: Colour = MUTED, **options: Any) -> Any:
    """A piece of text in the style of the sheet; data coordinates unless `transform` is given."""
    style: dict[str, Any] = {"color": colour.light, "fontsize": TEXT, "fontfamily": FONT, "parse_math": False} | options
    return ax.text(x, y, text, **style)


def legend(ax: Axes, **options: Any) -> None:
    """The key of a plot whose curves leave no room at their ends."""
    legend = ax.legend(
        frameon=False, labelcolor=INK.light, prop={"family": FONT, "size": SMALL}, handlelength=1.8, **options
    )
    legend.set_in_layout(False)


@dataclass(frozen=True)
class EndLabel:
    """The name of a line: text, colour, and the height (in data) at which the line ends."""

    y: float
    text: str
    colour: Colour


def end_labels(ax: Axes, labels: Sequence[EndLabel], *, gap: float = 11.5) -> None:
    """Names of lines to the right of the axes, at least `gap` points apart. Limits and scales must be set before."""
    if not labels:
        return
    # Heights in points, from the lower edge of the axes as if it were as high as the whole figure: near enough.
    height = ax.get_position().height * _figure(ax).get_figheight() * 72 * 0.8
    transform = ax.transScale + ax.transLimits
    wanted = np.array([float(transform.transform((1.0, label.y))[1]) for label in labels])
    placed = spread(np.clip(np.nan_to_num(wanted, nan=0.0), 0.0, 1.0) * height, gap) / height
    beside = blended_transform_factory(ax.transAxes, ax.transAxes)
    for label, y in zip(labels, placed, strict=True):
        write(ax, 1.015, y, label.text, label.colour, transform=beside, va="center", fontsize=SMALL + 0.5)


def spread(positions: np.ndarray[Any, Any], gap: float) -> np.ndarray[Any, Any]:
    """Positions moved as little as possible (least squares) so that no two are closer than `gap`; order is kept.

    Pool adjacent violators on positions less their share of the gaps.

    >>> spread(np.array([0.0, 0.0, 10.0]), 2.0).tolist()
    [-1.0, 1.0, 10.0]
    """
    order = np.argsort(positions, kind="stable")
    offsets = gap * np.arange(len(positions))
    blocks: list[list[float]] = []
    for value in positions[order] - offsets:
        blocks.append([float(value), 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, weight = blocks.pop()
            blocks[-1] = [
                (blocks[-1][0] * blocks[-1][1] + mean * weight) / (blocks[-1][1] + weight),
                blocks[-1][1] + weight,
            ]
    moved = np.empty(len(positions))
    moved[order] = np.repeat([m for m, _ in blocks], [int(w) for _, w in blocks]) + offsets
    return moved
