"""Lower bounds and claims: epsilon against the swept parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes

from ....audit.results.audit_result import AuditResult
from ....audit.results.result_text import Tone, tone_of
from ..results.parameters import distinct_texts, long_key
from ..results.sweep_text import tone_of_point
from .labels import delta_text
from .lines import Lines, Series
from .sweep_lines import draw_lines, draw_number_line

if TYPE_CHECKING:
    from ..results.sweep import SweepPoint, SweepResult


@dataclass(frozen=True)
class BoundClaim(Lines):
    """Lower bound, claim, exact value and ceiling along a sweep; the arguments are those of `Lines`."""

    @classmethod
    def from_result(cls, result: AuditResult) -> BoundClaim:
        """Return the figure of one audit, a single point."""
        row = _series("", [(0.0, result, tone_of(result.verdict, weak=result.weak))])
        assumes_family = bool(result.bound.assumptions)
        return cls((row,), "", delta_text([result.delta]), result.confidence, assumes_family, bool(result.condition))

    @classmethod
    def from_results(cls, lines: Mapping[str, Mapping[float, AuditResult]], x: str) -> BoundClaim:
        """Return the figure of audits along a number; each verdict is that of its audit alone.

        Args:
            lines: name of a line -> value on the x axis -> audit.
            x: name of the x axis, such as "runs on each side".
        """
        rows = {
            name: [(float(value), result, tone_of(result.verdict, weak=result.weak)) for value, result in line.items()]
            for name, line in lines.items()
        }
        return cls._of(rows, x)

    @classmethod
    def _of(cls, lines: Mapping[str, Sequence[tuple[float, AuditResult, Tone]]], x: str) -> BoundClaim:
        """Return the figure of lines of (value on the x axis, audit, tone of its verdict)."""
        results = [result for rows in lines.values() for _, result, _ in rows]
        return cls(
            series=tuple(_series(name, sorted(rows, key=lambda row: row[0])) for name, rows in lines.items()),
            x_name=x,
            delta=delta_text(result.delta for result in results),
            confidence=results[0].confidence,
            assumes_family=any(result.bound.assumptions for result in results),
            conditional=any(result.condition for result in results),
        )

    @classmethod
    def from_sweep(cls, sweep: SweepResult) -> BoundClaim:
        """Return the figure of all audits of a sweep that `fits`; the x axis is a swept number, preferably epsilon."""
        points, key = sweep.points, x_key(sweep.points)
        if len(points) == 1:
            return cls.from_result(points[0].result)
        if key is None:
            raise ValueError(f"none of {', '.join(sweep.parameter_names)} is a number: draw a Ladder instead.")
        groups: dict[str, list[tuple[float, AuditResult, Tone]]] = {}
        others = [{k: v for k, v in point.parameters.items() if k != key} for point in points]
        for point, name in zip(points, distinct_texts(others), strict=True):
            row = (float(point.parameters[key]), point.result, tone_of_point(point))
            groups.setdefault(name, []).append(row)
        return cls._of(groups, long_key(key))

    @staticmethod
    def fits(sweep: SweepResult) -> bool:
        """Return True for a single audit or a swept number; other sweeps are drawn as a `Ladder`."""
        return len(sweep.points) == 1 or x_key(sweep.points) is not None

    def _draw(self, ax: Axes) -> None:
        """Draw the figure; a single audit becomes a number line."""
        draw = draw_number_line if self.n_points == 1 else draw_lines
        draw(self, ax)


def _series(name: str, rows: Sequence[tuple[float, AuditResult, Tone]]) -> Series:
    nan = math.nan
    return Series(
        name=name,
        x=tuple(x for x, _, _ in rows),
        bound=tuple(r.bound.epsilon for _, r, _ in rows),
        claim=tuple(r.claim for _, r, _ in rows),
        exact_epsilon=tuple(nan if r.exact_epsilon is None else r.exact_epsilon for _, r, _ in rows),
        ceiling=tuple(r.ceiling for _, r, _ in rows),
        tones=tuple(tone for _, _, tone in rows),
        free=tuple(nan if r.assumption_free_bound is None else r.assumption_free_bound.epsilon for _, r, _ in rows),
        guess=tuple(r.estimates[0].value if r.estimates else nan for _, r, _ in rows)
        if any(r.estimates for _, r, _ in rows)
        else (),
    )


def x_key(points: Sequence[SweepPoint]) -> str | None:
    """Return the swept number with the most values, preferably an epsilon; None if no parameter is a number."""
    names = list(points[0].parameters) if points else []
    values = {name: [point.parameters.get(name) for point in points] for name in names}
    numbers = [n for n in names if all(_is_number(v) for v in values[n]) and len(set(values[n])) > 1]
    return max(numbers, key=lambda n: (n.endswith("epsilon"), len(set(values[n]))), default=None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
