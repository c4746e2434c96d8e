"""What was shown beside what is claimed: epsilon against the swept parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from audit.results import AuditResult
from audit.text import percent
from audit.verdict import Verdict
from experiments.plots.canvas import EndLabel, axes_or_new, dress, end_labels, key, logarithmic, write
from experiments.plots.number_line import draw_number_line
from experiments.plots.palette import BOUND, CEILING, CLAIM, INK, MUTED, TRUTH, VIOLATION, series_colour
from experiments.plots.words import cut, delta_text, long_key, number, parameters_text

if TYPE_CHECKING:
    from experiments.results import SweepPoint, SweepResult

MARKERS = "osD^vP"
CROWDED = 40
"""Points in a line beyond which they are no longer marked one by one."""


@dataclass(frozen=True)
class Series:
    """One line: the audits that share every swept parameter except the one on the x axis, in its order.

    Args:
        name: the shared parameters, such as "k = 4"; empty when there is only one line.
        x, bound, claim, truth, ceiling: `(n,)` epsilons; truth is NaN where it is not known.
        violation: `(n,)` whether the verdict, corrected over the sweep, is a violation.
    """

    name: str
    x: tuple[float, ...]
    bound: tuple[float, ...]
    claim: tuple[float, ...]
    truth: tuple[float, ...]
    ceiling: tuple[float, ...]
    violation: tuple[bool, ...]


@dataclass(frozen=True)
class BoundClaim:
    """Lower bound, claim, exact value and ceiling along a sweep.

    Args:
        series: one or more lines.
        x_name: the parameter on the x axis.
        ticks: names of the places 0, 1, ... when that parameter is not a number; else empty.
        delta: " at δ = ..." when all audits share it, else empty.
        confidence: of each bound.
    """

    series: tuple[Series, ...]
    x_name: str
    ticks: tuple[str, ...]
    delta: str
    confidence: float

    @classmethod
    def from_result(cls, result: AuditResult) -> BoundClaim:
        """One audit: a single place."""
        row = _series("", [(0.0, result, result.verdict is Verdict.VIOLATION)])
        return cls((row,), "", ("",), delta_text([result.delta]), result.confidence)

    @classmethod
    def from_sweep(cls, sweep: SweepResult) -> BoundClaim:
        """All audits of a sweep; the x axis is a swept number, an epsilon if there is one."""
        points = sweep.points
        x_key = _x_key(points)
        places = [float(p.parameters[x_key]) if x_key else float(i) for i, p in enumerate(points)]
        groups: dict[str, list[tuple[float, AuditResult, bool]]] = {}
        for place, point in zip(places, points, strict=True):
            others = {k: v for k, v in point.parameters.items() if k != x_key} if x_key else {}
            row = (place, point.result, point.verdict is Verdict.VIOLATION)
            groups.setdefault(parameters_text(others), []).append(row)
        results = [point.result for point in points]
        return cls(
            series=tuple(_series(name, sorted(rows, key=lambda row: row[0])) for name, rows in groups.items()),
            x_name=long_key(x_key) if x_key else " and ".join(map(long_key, sweep.parameter_names)),
            ticks=() if x_key else tuple(parameters_text(p.parameters) for p in points),
            delta=delta_text(result.delta for result in results),
            confidence=results[0].confidence,
        )

    @property
    def n_points(self) -> int:
        return sum(len(s.x) for s in self.series)

    @property
    def title(self) -> str:
        """What is seen, in one line."""
        refuted = sum(sum(s.violation) for s in self.series)
        if refuted == 0:
            return "What was shown stays below what is claimed" if self._below() else "No claim is refuted"
        if self.n_points == 1:
            return "More epsilon was shown than is claimed"
        return f"More epsilon was shown than is claimed at {refuted} of {self.n_points} points"

    @property
    def caption(self) -> str:
        """How to read it."""
        known = any(not math.isnan(t) for s in self.series for t in s.truth)
        exact = " The exact value is drawn where it is known." if known else ""
        return (
            f"Each lower bound is below the true epsilon with {percent(self.confidence)} confidence, so the truth lies "
            f"between it and infinity; the claim says that it lies at or below the claim. A bound above its claim refutes "
            f"it; a bound close under it shows that the analysis is tight. The ceiling is the largest bound that so many "
            f"trials could have given.{exact}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it; a single audit becomes a number line."""
        ax = axes_or_new(ax)
        if self.n_points == 1:
            draw_number_line(self, ax)
            return ax
        top = self._top()
        for index, series in enumerate(self.series):
            self._draw(ax, series, index)
        dress(ax, title=self.title, x=self.x_name, y=f"epsilon{self.delta}")
        self._scales(ax, top)
        self._names(ax, top)
        return ax

    @property
    def _exact(self) -> bool:
        """Whether the claims are the exact values, so that one line shows both."""
        return all(math.isclose(c, t, rel_tol=1e-6) for s in self.series for c, t in zip(s.claim, s.truth, strict=True))

    def _below(self) -> bool:
        return all(b <= c for s in self.series for b, c in zip(s.bound, s.claim, strict=True))

    def _top(self) -> float:
        """The largest finite epsilon that has to be seen; ceilings need not be."""
        drawn = [v for s in self.series for v in (*s.bound, *s.claim, *s.truth) if math.isfinite(v)]
        return max(drawn, default=1.0) or 1.0

    def _draw(self, ax: Axes, series: Series, index: int) -> None:
        """One line of bounds and what belongs to it."""
        alone = len(self.series) == 1
        colour = BOUND if alone else series_colour(index)
        x, bound, claim = (np.array(v) for v in (series.x, series.bound, series.claim))
        marker = MARKERS[index % len(MARKERS)] if len(x) <= CROWDED else None
        line = "none" if self.ticks else "-"
        ax.plot(
            x, _finite(claim), linestyle=line if alone else "none" if self.ticks else "--", linewidth=1.6,
            color=CLAIM.light if alone else colour.light, marker="_" if self.ticks else None, markersize=16,
            markeredgewidth=2,
        )  # fmt: skip
        if not self._exact:
            ax.plot(x, series.truth, linestyle=":" if not self.ticks else "none", linewidth=1.8, marker="D" if self.ticks else None,
                    markersize=4, color=TRUTH.light if alone else colour.light)  # fmt: skip
        ax.plot(x, bound, linestyle=line, linewidth=1.8, marker=marker, markersize=5, color=colour.light)
        if alone:
            ax.plot(x, _finite(np.array(series.ceiling)), linestyle=line if line == "none" else (0, (1, 2)), linewidth=1.2,
                    color=CEILING.light, marker="v" if self.ticks else None, markersize=4)  # fmt: skip
            if not self.ticks:
                ax.fill_between(x, bound, np.minimum(claim, self._top()), where=(bound <= claim).tolist(),
                                interpolate=True, color=colour.light, alpha=0.10, linewidth=0)  # fmt: skip
                ax.fill_between(x, bound, claim, where=(bound > claim).tolist(), interpolate=True,
                                color=VIOLATION.light, alpha=0.18, linewidth=0)  # fmt: skip
        wrong = np.array(series.violation)
        size = 8 if len(x) <= CROWDED else 4
        ax.plot(x[wrong], bound[wrong], linestyle="none", marker="X", markersize=size, color=VIOLATION.light, zorder=4)

    def _scales(self, ax: Axes, top: float) -> None:
        """Logarithmic where the values span decades; the y axis as high as what matters."""
        x = np.array([v for s in self.series for v in s.x])
        shown = np.array([v for s in self.series for v in (*s.bound, *s.claim) if math.isfinite(v)])
        if self.ticks:
            _tick_names(ax, self.ticks)
        elif x.min() > 0 and x.max() / x.min() >= 30:
            logarithmic(ax.xaxis, span=x.max() / x.min())
        if shown.min() > 0 and shown.max() / shown.min() >= 30:
            ax.set_ylim(shown.min() / 1.6, top * 1.6)
            logarithmic(ax.yaxis, span=top / shown.min())
        else:
            ax.set_ylim(0.0, top * 1.12)
        if not self.ticks:
            _tick_values(ax, np.unique(x))

    def _names(self, ax: Axes, top: float) -> None:
        """The name of every line at its end, or a key where there are too many."""
        bottom, upper = ax.get_ylim()
        if len(self.series) == 1:
            s = self.series[0]
            rows = [("claim", s.claim, CLAIM), ("lower bound", s.bound, BOUND), ("exact", s.truth, TRUTH)]
            if self._exact:
                rows = [("claim, exact", s.claim, CLAIM), rows[1]]
            labels = [EndLabel(_last(v), name, colour) for name, v, colour in rows if not math.isnan(_last(v))]
            if any(c <= upper for c in s.ceiling):
                labels.append(EndLabel(_last(s.ceiling), "ceiling", CEILING))
            end_labels(ax, labels + self._warning(bottom))
            if min(s.ceiling) > upper:
                write(ax, 0.99, 0.985, f"ceiling {_span(s.ceiling)}, above the plot", MUTED, fontsize=8, ha="right", va="top",
                      transform=ax.transAxes)  # fmt: skip
        else:
            every = math.ceil(len(self.series) / 16)
            end_labels(ax, [
                EndLabel(_last(s.bound), cut(s.name, 32), series_colour(i)) for i, s in enumerate(self.series) if i % every == 0
            ] + self._warning(bottom))  # fmt: skip
            key(ax, handles=_key_handles(self), loc="upper left")

    def _warning(self, bottom: float) -> list[EndLabel]:
        """What the crosses mean, if there are any."""
        return [EndLabel(bottom, "✖ violation", VIOLATION)] if any(any(s.violation) for s in self.series) else []


def _series(name: str, rows: Sequence[tuple[float, AuditResult, bool]]) -> Series:
    nan = math.nan
    return Series(
        name=name,
        x=tuple(x for x, _, _ in rows),
        bound=tuple(r.bound.epsilon for _, r, _ in rows),
        claim=tuple(r.claim for _, r, _ in rows),
        truth=tuple(nan if r.truth is None else r.truth for _, r, _ in rows),
        ceiling=tuple(r.ceiling for _, r, _ in rows),
        violation=tuple(v for _, _, v in rows),
    )


def _x_key(points: Sequence[SweepPoint]) -> str | None:
    """The swept number with the most values; an epsilon before any other; None if no parameter is a number."""
    names = list(points[0].parameters) if points else []
    values = {name: [point.parameters.get(name) for point in points] for name in names}
    numbers = [n for n in names if all(_is_number(v) for v in values[n]) and len(set(values[n])) > 1]
    return max(numbers, key=lambda n: (n.endswith("epsilon"), len(set(values[n]))), default=None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _finite(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(np.isfinite(values), values, np.nan)


def _last(values: Sequence[float]) -> float:
    """The last finite value; NaN if there is none."""
    return next((v for v in reversed(values) if math.isfinite(v)), math.nan)


def _span(values: Sequence[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _tick_values(ax: Axes, values: np.ndarray[Any, Any]) -> None:
    """Ticks at the swept values themselves, where they are few and stand well apart."""
    scale = np.log if ax.get_xscale() == "log" else np.asarray
    places = scale(values)
    if len(values) <= 10 and len(values) > 1 and np.diff(places).min() > 0.045 * (places[-1] - places[0]):
        ax.xaxis.set_major_locator(FixedLocator(values.tolist()))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        ax.xaxis.set_minor_locator(FixedLocator([]))


def _tick_names(ax: Axes, names: Sequence[str]) -> None:
    """Names of places; at most about twelve are written."""
    every = math.ceil(len(names) / 12)
    places = range(0, len(names), every)
    ax.set_xticks(list(places), [cut(names[i], 28) for i in places], parse_math=False)
    ax.set_xlim(-0.5, len(names) - 0.5)
    if max(len(n) for n in names) * len(places) > 60:
        for label in ax.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")


def _key_handles(plot: BoundClaim) -> list[Line2D]:
    line = "none" if plot.ticks else "-"
    handles = [
        Line2D([], [], color=INK.light, linestyle=line, marker="o", markersize=4, label="lower bound"),
        Line2D([], [], color=INK.light, linestyle="none" if plot.ticks else "--", marker="_" if plot.ticks else None, label="claim"),
    ]  # fmt: skip
    if any(math.isfinite(t) for s in plot.series for t in s.truth):
        handles.append(Line2D([], [], color=INK.light, linestyle=":", label="exact"))
    return handles


__all__ = ["BoundClaim", "Series"]
