"""What was shown next to what is claimed: epsilon against the swept parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes

from ...audit.evidence.verdict import Verdict
from ...audit.results import AuditResult
from ...audit.text import percent
from ..results.formatting import (
    IN_FAMILY,
    NOTHING_ASSUMED,
    delta_text,
    long_key,
    parameters_text,
    percent_range,
    refuted_text,
)
from .number_line import draw_number_line
from .style.canvas import axes_or_new
from .sweep_lines import draw_lines

if TYPE_CHECKING:
    from ..results.sweep import SweepPoint, SweepResult


@dataclass(frozen=True)
class Series:
    """One line: the audits that share every swept parameter except the one on the x axis, in its order.

    Args:
        name: the shared parameters, such as "k = 4"; empty when there is only one line.
        x, bound, claim, truth, ceiling: `(n,)` epsilons; truth is NaN where it is not known.
        free: `(n,)` the largest lower bound that assumes nothing about the curve; NaN where all assume something.
        violation: `(n,)` whether the verdict, corrected over the sweep, is a violation.
    """

    name: str
    x: tuple[float, ...]
    bound: tuple[float, ...]
    claim: tuple[float, ...]
    truth: tuple[float, ...]
    ceiling: tuple[float, ...]
    violation: tuple[bool, ...]
    free: tuple[float, ...]


@dataclass(frozen=True)
class BoundClaim:
    """Lower bound, claim, exact value and ceiling along a sweep.

    Args:
        series: one or more lines.
        x_name: the parameter on the x axis.
        delta: " at δ = ..." when all audits share it, else empty.
        confidence: of each bound.
        assumed: whether any bound leans on a family of trade-off curves.
    """

    series: tuple[Series, ...]
    x_name: str
    delta: str
    confidence: float
    assumed: bool

    @classmethod
    def from_result(cls, result: AuditResult) -> BoundClaim:
        """One audit: a single place."""
        row = _series("", [(0.0, result, result.verdict is Verdict.VIOLATION)])
        assumed = bool(result.bound.assumptions)
        return cls((row,), "", delta_text([result.delta]), result.confidence, assumed)

    @classmethod
    def from_sweep(cls, sweep: SweepResult) -> BoundClaim:
        """All audits of a sweep that `fits`; the x axis is a swept number, an epsilon if there is one."""
        points, x_key = sweep.points, _x_key(sweep.points)
        if len(points) == 1:
            return cls.from_result(points[0].result)
        if x_key is None:
            raise ValueError(f"none of {', '.join(sweep.parameter_names)} is a number: draw a Ladder instead.")
        groups: dict[str, list[tuple[float, AuditResult, bool]]] = {}
        for point in points:
            others = {k: v for k, v in point.parameters.items() if k != x_key}
            row = (float(point.parameters[x_key]), point.result, point.verdict is Verdict.VIOLATION)
            groups.setdefault(parameters_text(others), []).append(row)
        results = [point.result for point in points]
        return cls(
            series=tuple(_series(name, sorted(rows, key=lambda row: row[0])) for name, rows in groups.items()),
            x_name=long_key(x_key),
            delta=delta_text(result.delta for result in results),
            confidence=results[0].confidence,
            assumed=any(result.bound.assumptions for result in results),
        )

    @staticmethod
    def fits(sweep: SweepResult) -> bool:
        """Whether there is a line to draw: a single audit, or a swept number. Else it is a `Ladder`."""
        return len(sweep.points) == 1 or _x_key(sweep.points) is not None

    @property
    def height(self) -> float:
        """Inches: a single audit is a few bars, a sweep needs room."""
        return 2.6 if self.n_points == 1 else 4.2

    @property
    def bound_name(self) -> str:
        """What the bounds are called."""
        return f"lower bound, {IN_FAMILY}" if self.assumed else "lower bound"

    @property
    def with_free(self) -> bool:
        """Whether bounds that assume nothing are drawn as well."""
        return self.assumed and any(math.isfinite(v) for s in self.series for v in s.free)

    @property
    def n_points(self) -> int:
        return sum(len(s.x) for s in self.series)

    @property
    def title(self) -> str:
        """How much of the claim was shown, and whether any is refuted."""
        if refuted := sum(sum(s.violation) for s in self.series):
            return refuted_text(refuted, self.n_points, self._elsewhere)
        shares = [b / c for s in self.series for b, c in zip(s.bound, s.claim, strict=True) if 0.0 < c < math.inf]
        if not shares:
            return "No claim is refuted" if self.n_points > 1 else "The claim is not refuted"
        family = f", {IN_FAMILY}" if self.assumed else ""
        more = "" if self._below() else "; what is more is within chance"
        return f"The attack shows {percent_range(shares)} of what is claimed{family}{more}"

    @property
    def caption(self) -> str:
        """How to read it."""
        known = not self.exact and any(not math.isnan(t) for s in self.series for t in s.truth)
        exact = " “exact” is the true epsilon of the pair, where it is known." if known else ""
        family = f" “{self.bound_name}” holds only if the trade-off curve is one of that family." * self.assumed
        free = f" “lower bound, {NOTHING_ASSUMED}” holds whatever the curve." * self.with_free
        elsewhere = " A violation whose bound stays below its claim is refuted at another delta: see the table."
        return (
            f"Each lower bound is below the true epsilon with {percent(self.confidence)} confidence; the claim says "
            "that the truth is at most the claim. A bound above its claim refutes it; a bound close under it shows "
            "that the analysis is tight. The ceiling is the largest bound that this many trials could have given."
            f"{family}{free}{exact}{elsewhere * bool(self._elsewhere)}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it; a single audit becomes a number line."""
        ax = axes_or_new(ax)
        draw = draw_number_line if self.n_points == 1 else draw_lines
        draw(self, ax)
        return ax

    def shared(self, name: str) -> tuple[float, ...] | None:
        """The values that every line has in common, such as one claim for all of them; None if they differ."""
        first, *others = [(s.x, getattr(s, name)) for s in self.series]
        return first[1] if others and all(repr(other) == repr(first) for other in others) else None

    @property
    def exact(self) -> bool:
        """Whether the claims are the exact values, so that one line shows both."""
        return all(math.isclose(c, t, rel_tol=1e-6) for s in self.series for c, t in zip(s.claim, s.truth, strict=True))

    @property
    def top(self) -> float:
        """The largest finite epsilon that has to be seen; ceilings need not be."""
        drawn = [v for s in self.series for v in (*s.bound, *s.claim, *s.truth, *s.free) if math.isfinite(v)]
        return max(drawn, default=1.0) or 1.0

    @property
    def _elsewhere(self) -> int:
        """Violations whose bound stays below the claim: they are refuted at another delta."""
        return sum(v and b <= c for s in self.series for v, b, c in zip(s.violation, s.bound, s.claim, strict=True))

    def _below(self) -> bool:
        return all(b <= c for s in self.series for b, c in zip(s.bound, s.claim, strict=True))


def _series(name: str, rows: Sequence[tuple[float, AuditResult, bool]]) -> Series:
    nan = math.nan
    return Series(
        name=name,
        x=tuple(x for x, _, _ in rows),
        bound=tuple(r.bound.epsilon for _, r, _ in rows),
        claim=tuple(r.claim for _, r, _ in rows),
        truth=tuple(nan if r.exact_epsilon is None else r.exact_epsilon for _, r, _ in rows),
        ceiling=tuple(r.ceiling for _, r, _ in rows),
        violation=tuple(v for _, _, v in rows),
        free=tuple(nan if r.assumption_free_bound is None else r.assumption_free_bound.epsilon for _, r, _ in rows),
    )


def _x_key(points: Sequence[SweepPoint]) -> str | None:
    """The swept number with the most values; an epsilon before any other; None if no parameter is a number."""
    names = list(points[0].parameters) if points else []
    values = {name: [point.parameters.get(name) for point in points] for name in names}
    numbers = [n for n in names if all(_is_number(v) for v in values[n]) and len(set(values[n])) > 1]
    return max(numbers, key=lambda n: (n.endswith("epsilon"), len(set(values[n]))), default=None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
