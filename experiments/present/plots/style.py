"""Style of all figures: colours, canvas and files, without changes to the global state of matplotlib.

Colours have a light and a dark form, distinguishable with any kind of colour vision. A figure is drawn in the light
form. The dark form is a style sheet in the same file (`dark_rules`), so that one SVG serves both themes, and programs
without support for themes show the light one. The hues follow Okabe and Ito (2008), darkened (or lightened) until text
in them has a contrast of 4.5 on the page.

Files are SVG for screens, PNG at 200 dots per inch, and on request PDF with embedded fonts, for papers. The same
numbers give the same bytes: no date, no random ids, no embedded fonts in SVG; text stays text.

series_colour(i)         colour of a line
new_figure(...)          an empty figure
panels(draw, ...)        a figure of panels side by side
legend(ax, ...)          a legend above the axes
style_axes(ax, ...)      title, legend, names of the axes, light spines and grid
logarithmic(axis, ...)   a logarithmic axis, which may include 0
end_labels(...)          the name of each line at its right end, without overlaps
save(figure, ...)        SVG, PNG and, on request, PDF of a figure
"""

from __future__ import annotations

import io
import itertools
import json
import math
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import Formatter, NullLocator, ScalarFormatter
from matplotlib.transforms import blended_transform_factory

from ....audit.trials.folder import write_atomically
from ....mechanisms.core import html
from .labels import one_notation

PAGE = ("#ffffff", "#15191e")
"""Background of the page behind a figure, light and dark; figures themselves are transparent."""


@dataclass(frozen=True)
class Colour:
    """Colour of the palette, in a light and a dark form."""

    light: str
    dark: str


INK = Colour("#1f2328", "#e6e9ed")
MUTED = Colour("#59636e", "#a3adb8")
RULE = Colour("#d5dbe1", "#39424c")
BLUE = Colour("#0067a5", "#6cb6ff")
AMBER = Colour("#945900", "#f0b040")
GREEN = Colour("#00745a", "#45c9a0")
VERMILION = Colour("#c03c06", "#ff8f66")
PURPLE = Colour("#9b3d88", "#e79ad6")
STEEL = Colour("#4a6785", "#9fbcd9")
OLIVE = Colour("#6b6b00", "#c9c95a")
CYAN = Colour("#007a8f", "#5cd0e6")
BROWN = Colour("#6e3b2a", "#d8a48f")
INDIGO = Colour("#4b3fb5", "#a9a0ff")
ROSE = Colour("#b0265f", "#ff94bd")

PALETTE = (INK, MUTED, RULE, BLUE, AMBER, GREEN, VERMILION, PURPLE, STEEL, OLIVE, CYAN, BROWN, INDIGO, ROSE)

CLAIM, BOUND, EXACT, CEILING, VIOLATION, WEAK_COLOUR = INK, BLUE, GREEN, MUTED, VERMILION, OLIVE
SIDE0, SIDE1 = AMBER, BLUE
SERIES = (BLUE, AMBER, PURPLE, CYAN, OLIVE, INDIGO, BROWN, ROSE, STEEL)
"""For lines that differ by a swept parameter; vermilion is kept for violations, and green for exact values."""


def series_colour(index: int) -> Colour:
    """Return the colour of line number `index`; colours repeat after `len(SERIES)`, so lines also have markers."""
    return SERIES[index % len(SERIES)]


def dark_rules(scope: str) -> str:
    """Return CSS that repaints everything below `scope` in the dark form, on screens with a dark theme.

    Reads the inline styles that matplotlib writes, such as "fill: #0067a5", and overrides them.
    """
    rules = "".join(
        f'{scope} [style*="{paint}: {colour.light}"]{{{paint}:{colour.dark}!important}}'
        for colour in PALETTE
        for paint in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"


SMALL, TEXT, TITLE = 8.0, 9.0, 10.5
"""Font sizes in points."""
ROW = 14.0
"""Height of a row of a legend in points."""

TELEPHONE, NARROW = 4.0, "narrow"
"""Width in inches of the form of a figure for a telephone, and the suffix of its file."""
LOWEST = 1e-300
"""Smallest value on a logarithmic axis; the largest is 1 / LOWEST."""


class NotebookFigure(Figure):
    """Figure that notebooks display, without a plotting window."""

    alt: str = ""
    """Text alternative, for readers who do not see the figure."""
    narrow: Callable[[], NotebookFigure] | None = None
    """Draws the form for a telephone; None if the figure is narrow enough for one."""

    def _repr_svg_(self) -> str:
        return _svg_text(self, title=self.alt or "dpassay", description="")


def new_figure(width: float = 6.0, height: float = 4.0, *, alt: str = "") -> NotebookFigure:
    """Return an empty transparent figure of the given size in inches, with a constrained layout."""
    figure = NotebookFigure(figsize=(width, height), facecolor="none")
    figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06))
    figure.alt = alt
    return figure


def panels(
    *draw: Callable[[Axes], object],
    alt: str,
    size: tuple[float, float] = (11.0, 4.2),
    widths: Sequence[float] | None = None,
) -> NotebookFigure:
    """Return a figure of panels side by side.

    Args:
        draw: functions that draw on given axes, from left to right; one or more.
        alt: text alternative: what each panel shows.
        size: width and height of the figure, in inches.
        widths: relative widths of the panels; None for equal widths.
    """
    figure = new_figure(*size, alt=alt)
    for panel, ax in zip(draw, figure.subplots(1, len(draw), squeeze=False, width_ratios=widths)[0], strict=True):
        panel(ax)
    figure.narrow = lambda: stacked(draw, size[1], alt=alt)
    return figure


def stacked(draw: Sequence[Callable[[Axes], object]], height: float, *, alt: str) -> NotebookFigure:
    """Return a figure for a telephone: panels of the given height in inches, one below the other."""
    figure = new_figure(TELEPHONE, height * len(draw), alt=alt)
    for panel, ax in zip(draw, figure.subplots(len(draw), squeeze=False)[:, 0], strict=True):
        panel(ax)
    _fit(figure)
    return figure


def _fit(figure: Figure) -> None:
    """Turn names of ticks that overlap, and move titles and legends to the left where they leave the figure."""
    figure.draw_without_rendering()  # which makes the layout
    for ax in figure.axes:
        names = ax.get_xticklabels()
        boxes = [name.get_window_extent() for name in names if name.get_text()]
        if any(left.x1 > right.x0 for left, right in itertools.pairwise(boxes)):
            for name in names:
                name.set(rotation=50, ha="right", rotation_mode="anchor")
    figure.draw_without_rendering()
    edge = figure.bbox.padded(-0.06 * figure.dpi)
    for ax in figure.axes:
        for title in (text for text in ax.get_children() if isinstance(text, Text) and text.get_text()):
            box = title.get_window_extent()
            if title.get_text() == ax.get_title("left") and box.x1 > edge.x1:
                title.set_x(-min(box.x1 - edge.x1, box.x0 - edge.x0) / ax.bbox.width)
        if legend_ := ax.get_legend():
            box = legend_.get_window_extent()
            if box.x1 > edge.x1:
                left = -0.015 - min(box.x1 - edge.x1, box.x0 - edge.x0) / ax.bbox.width
                legend_.set_bbox_to_anchor((left, 1.0), ax.transAxes)


class Plot(ABC):
    """Numbers of a figure, which can be drawn and described."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Result that the figure shows, as a sentence."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """Explanation of the figure."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the figure on `ax`, or on the axes of a new figure if it is None; return the axes."""
        ax = new_figure().add_subplot() if ax is None else ax
        self._draw(ax)
        return ax

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw the figure on axes."""


def style_axes(
    ax: Axes,
    *,
    title: str,
    x: str,
    y: str,
    handles: Sequence[Artist] | None = None,
    columns: int = 2,
    title_width: int | None = None,
) -> None:
    """Set the title, the legend, the names of the axes and the style of spines and grid.

    The legend is between title and axes, where it covers no curve: `handles` in that many `columns`, on a telephone in
    two at most, by default all artists with a label. Without handles there is no legend. The title has `title_width`
    characters per line, by default as many as fit the axes.
    """
    entries = list(ax.get_legend_handles_labels()[0] if handles is None else handles)
    columns = min(columns, 2) if is_narrow(ax) else columns
    rows = math.ceil(len(entries) / columns)
    if entries:
        legend(ax, entries, columns)
    inches = ax.get_position().width * _figure(ax).get_figwidth()
    tied = re.sub(r"(?<=\d) %", "\u00a0%", title)  # no line begins with a percent sign
    wrapped = "\n".join(textwrap.wrap(tied, title_width or max(24, int(inches * 12.0))))
    style: dict[str, Any] = {"fontfamily": FONT, "parse_math": False}
    ax.set_title(wrapped, loc="left", color=INK.light, fontsize=TITLE, fontweight="bold", pad=8.0 + ROW * rows, **style)
    for put, name in ((ax.set_xlabel, x), (ax.set_ylabel, y)):
        put(name, color=MUTED.light, fontsize=TEXT, **style)
    ax.set_facecolor("none")
    ax.set_axisbelow(True)
    ax.grid(True, which="major", color=RULE.light, linewidth=0.6)
    for name, spine in ax.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(RULE.light)
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), ScalarFormatter):  # a linear axis without names
            axis.set_major_formatter(OneNotation())
    ax.tick_params(which="both", color=RULE.light, labelcolor=MUTED.light, labelsize=SMALL, length=3)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_fontfamily(FONT)


class OneNotation(Formatter):
    """Ticks of a linear axis as those of all other axes: "0, 0.5, 1", not "0.0, 0.5, 1.0"."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return one_notation([x])[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the texts of all ticks, in one notation."""
        return one_notation([0.0 if abs(value) < 1e-12 * max(map(abs, values)) else float(value) for value in values])


def legend(ax: Axes, handles: Sequence[Artist], columns: int = 2) -> None:
    """Draw the legend in `columns` above the axes, where it covers no curve."""
    legend_ = ax.legend(
        handles=handles,
        frameon=False,
        labelcolor=INK.light,
        prop={"family": FONT, "size": SMALL},
        handlelength=1.8,
        loc="lower left",
        bbox_to_anchor=(-0.015, 1.0),
        ncols=columns,
        borderaxespad=0.1,
        columnspacing=1.4,
    )
    for text in legend_.get_texts():
        text.set_parse_math(False)
    legend_.set_in_layout(False)


def is_narrow(ax: Axes) -> bool:
    """Return whether axes are in the form of a figure for a telephone."""
    return bool(_figure(ax).get_figwidth() <= TELEPHONE)


def _figure(ax: Axes) -> Figure:
    """Return the top-level figure of `ax`, also if `ax` is in a subfigure."""
    return ax.figure.figure


def logarithmic(axis: Axis, low: float, high: float, *, zero: bool = False) -> None:
    """Make an axis logarithmic from `low` to `high`, > 0, with all ticks in one notation.

    With `zero`, the axis includes 0, half a decade below `low`, and the scale is linear between the two.
    """
    set_scale, set_limits = (getattr(axis.axes, f"set_{axis.axis_name}{what}") for what in ("scale", "lim"))  # type: ignore[attr-defined]
    low, high = max(low, LOWEST), min(high, 1.0 / LOWEST)
    ticks = _log_ticks(low, high)
    if zero:
        set_scale("symlog", linthresh=low, linscale=0.5)
        below = 0.03 * (1.0 + math.log10(high) - math.log10(low)) * low
        set_limits(-below, high)
        ticks = [0.0, *ticks]
    else:
        set_scale("log")
        set_limits(low, high)
    axis.set_ticks(ticks, one_notation(ticks))
    axis.set_minor_locator(NullLocator())


def _log_ticks(low: float, high: float) -> list[float]:
    """Return at most 8 integer powers of ten; over less than a factor of 200 also 2 and 5 times these."""
    first, last = math.floor(math.log10(low) + 1e-9), math.floor(math.log10(high) + 1e-9)
    if math.log10(high) - math.log10(low) < math.log10(200.0):
        ticks = [m * 10.0**k for k in range(first, last + 1) for m in (1, 2, 5)]
    else:
        step = math.ceil((last - first + 1) / 8)
        ticks = [10.0**k for k in range(last, first - 1, -step)][::-1]
    return [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)] or [low, high]


def write(ax: Axes, x: float, y: float, text: str, colour: Colour = MUTED, **options: Any) -> Any:
    """Write text in the style of the figure, in data coordinates unless `transform` is given."""
    style: dict[str, Any] = {"color": colour.light, "fontsize": TEXT, "fontfamily": FONT, "parse_math": False} | options
    return ax.text(x, y, text, **style)


@dataclass(frozen=True)
class EndLabel:
    """Name of a line: text, colour, and the y value (in data coordinates) of its end."""

    y: float
    text: str
    colour: Colour


def end_labels(ax: Axes, labels: Sequence[EndLabel], *, gap: float = 11.5) -> None:
    """Write names of lines to the right of the axes, at least `gap` points apart, after limits and scales are set."""
    if not labels:
        return
    # Heights in points from the lower edge of the axes, approximated by a fixed share of the height of the figure.
    height = ax.get_position().height * _figure(ax).get_figheight() * 72 * 0.8
    transform = ax.transScale + ax.transLimits
    wanted = np.array([float(transform.transform((1.0, label.y))[1]) for label in labels])
    placed = spread(np.clip(np.nan_to_num(wanted, nan=0.0), 0.0, 1.0) * height, gap) / height
    placed -= max(0.0, placed.max() - 1.0)  # above the axes is the title
    outside = blended_transform_factory(ax.transAxes, ax.transAxes)
    for label, y in zip(labels, placed, strict=True):
        write(ax, 1.015, y, label.text, label.colour, transform=outside, va="center", fontsize=SMALL + 0.5)


def spread(positions: np.ndarray[Any, Any], gap: float) -> np.ndarray[Any, Any]:
    """Return positions moved as little as possible (least squares) so that no two are closer than `gap`.

    Their order is kept: the positions minus their cumulative gaps are moved to increasing ones.

    >>> spread(np.array([0.0, 0.0, 10.0]), 2.0).tolist()
    [-1.0, 1.0, 10.0]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(positions, kind="stable")
    offsets = gap * np.arange(len(positions))
    moved = np.empty(len(positions))
    moved[order] = isotonic_regression(positions[order] - offsets).x + offsets
    return moved


FONT = "DejaVu Sans"
"""Font of the layout, which matplotlib includes. The fallback fonts of an SVG are narrower, so nothing overflows."""
DPI = 200
FALLBACK = f"'{FONT}',Verdana,Helvetica,Arial,sans-serif"
"""Fonts of an SVG: the font of the layout, then narrower ones."""
_STYLED: dict[Any, Any] = {
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.fonttype": "none",
    "svg.hashsalt": "dpassay",
    "pdf.fonttype": 42,  # TrueType, which conferences require
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
}


@dataclass(frozen=True)
class Mark:
    """Point of a figure that a page explains under the pointer: its place in data coordinates, and a text."""

    x: float
    y: float
    text: str


def save(
    figure: Figure, stem: Path, *, title: str, description: str, marks: Sequence[Mark] = (), pdf: bool = False
) -> list[Path]:
    """Write `stem`.svg, `stem`.png and, with `pdf`, `stem`.pdf, without control characters in texts; return the paths.

    A figure that has a form for a telephone is also written as `stem`-narrow.svg.

    `title` and `description` become the text alternative of the SVG, for screen readers. `marks` of the only axes
    become its attribute `data-marks`, in the units of the SVG.
    """
    _clean(figure)
    svg, png = stem.with_name(f"{stem.name}.svg"), stem.with_name(f"{stem.name}.png")
    text = _svg_text(figure, title=title, description=description)
    if marks:  # placed by the layout, which the drawing has made
        text = text.replace(" class=", f' data-marks="{escape(_placed(figure, marks))}" class=', 1)
    write_atomically(svg, text.encode())
    figure.set_layout_engine("none")  # the layout is final
    write_atomically(png, _png(figure))
    files = [svg, png]
    if pdf:
        files.append(stem.with_name(f"{stem.name}.pdf"))
        write_atomically(files[-1], _pdf(figure, title))
    if isinstance(figure, NotebookFigure) and figure.narrow is not None:
        small = figure.narrow()
        _clean(small)
        files.append(stem.with_name(f"{stem.name}-{NARROW}.svg"))
        write_atomically(files[-1], _svg_text(small, title=f"{title} (narrow)", description=description).encode())
    return files


def _placed(figure: Figure, marks: Sequence[Mark]) -> str:
    """Return x, y and text of the marks inside the axes as JSON; x and y in points from the upper left corner."""
    (ax,) = figure.axes
    height, points = 72.0 * figure.get_figheight(), 72.0 / figure.dpi
    places = ax.transData.transform([(mark.x, mark.y) for mark in marks])
    inside = ax.get_window_extent().padded(2.0)
    return json.dumps(
        [
            [round(float(x) * points, 1), round(height - float(y) * points, 1), html(mark.text)]
            for (x, y), mark in zip(places, marks, strict=True)
            if inside.contains(x, y)
        ],
        separators=(",", ":"),
        ensure_ascii=False,
    )


def _pdf(figure: Figure, title: str) -> bytes:
    """Return the figure as PDF with embedded fonts and without a date, so that the same numbers give the same bytes."""
    buffer = io.BytesIO()
    metadata = {"Title": html(title), "CreationDate": None, "Creator": None, "Producer": None}
    with mpl.rc_context(_STYLED):
        FigureCanvasPdf(figure).print_pdf(buffer, metadata=metadata)  # type: ignore[no-untyped-call]
    return buffer.getvalue()


def _png(figure: Figure) -> bytes:
    """Return the figure as PNG on white; unlike `savefig`, it is drawn once, without another layout."""
    pixels, before = io.BytesIO(), figure.dpi
    figure.set_dpi(DPI)
    figure.set_facecolor("white")
    try:
        with mpl.rc_context(_STYLED):
            FigureCanvasAgg(figure).print_png(pixels, metadata={"Software": None})  # type: ignore[no-untyped-call]
    finally:
        figure.set_dpi(before)
        figure.set_facecolor("none")
    return pixels.getvalue()


def _clean(figure: Figure) -> None:
    """Remove control characters from the texts of a figure, and switch off math between dollar signs."""
    for text in figure.findobj(Text):
        if text.get_text() != (printable := html(text.get_text())):
            text.set_text(printable)
        text.set_parse_math(False)


def _svg_text(figure: Figure, *, title: str, description: str) -> str:
    """Return the figure as one SVG element that follows the theme of the reader."""
    buffer, before = io.StringIO(), figure.dpi
    try:
        with mpl.rc_context(_STYLED):
            FigureCanvasSVG(figure).print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))  # type: ignore[no-untyped-call]
    finally:
        figure.set_dpi(before)
    return _tidy(buffer.getvalue(), title, description)


def _tidy(text: str, title: str, description: str) -> str:
    """Return the SVG without prologue and unused ids, with title, description, dark form and rounded coordinates."""
    start = text.index("<svg")
    opening, body = text[start : text.index(">", start)], text[text.index(">", start) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    used = set(re.findall(r"""(?:url\(#|href="#)([^)"]+)""", body))
    body = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", body)
    body = re.sub(r' (?:d|x|y)="[^"]*"', _rounded, body)
    body = re.sub(r'(<path id="[^"]*" d="[^"]*") style="[^"]*"', r"\1", body)  # each use of a marker has its own style
    body = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", body)
    body = body.replace(f"font-family: '{FONT}'; ", "")
    body = re.sub(r"\n\s*", "\n", body)
    style = f".dpassay-figure text{{font-family:{FALLBACK}}}{dark_rules('.dpassay-figure')}"
    head = f"<title>{escape(html(title))}</title><desc>{escape(html(description))}</desc><style>{style}</style>"
    return f'{opening} class="dpassay-figure" role="img">{head}{body}'


def _rounded(attribute: re.Match[str]) -> str:
    """Round coordinates to 1/100 point, which halves the size of the file without a visible difference."""
    short = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), attribute[0])
    return re.sub(r"\s*([MLCQz])\s*", r"\1", short) if short.startswith(" d=") else short


def described(svg: str) -> tuple[str, str]:
    """Return title and description of an SVG that `save` wrote; empty where missing."""
    matches = (re.search(rf"<{tag}>(.*?)</{tag}>", svg, re.DOTALL) for tag in ("title", "desc"))
    title, description = (unescape(match[1]) if match else "" for match in matches)
    return title, description
