"""Integer programmes, solved by HiGHS (Huangfu and Hall 2018) through scipy.

A `Rows` collects columns and rows, and solves the programme; further rows can be added to a copy.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse

from ....mechanisms.core import AttackError, Floats, Ints, positive

DEFAULT_TIME_LIMIT = 60.0
"""Default time limit of a search, in seconds."""


class SolverStatus(StrEnum):
    """Status of a search."""

    FOUND = "found"
    INFEASIBLE = "infeasible"
    TIME_LIMIT = "time limit"


@dataclass(frozen=True, eq=False)
class Answer:
    """Result of one solve: the values of all columns, integral where required; None if nothing was found.

    After a time limit `columns` may be the best solution so far; `status` is then TIME_LIMIT.
    """

    status: SolverStatus
    columns: Ints | None = None
    objective: float = float("nan")

    @property
    def feasible(self) -> bool | None:
        """True if a solution exists, False if none does; None if time ran out."""
        return None if self.status is SolverStatus.TIME_LIMIT else self.status is SolverStatus.FOUND


@dataclass(frozen=True, eq=False)
class ConstraintRow:
    """Constraint low <= sum of coefficients times columns <= high."""

    columns: NDArray[np.intp]
    coefficients: Floats
    low: float
    high: float


def row(columns: ArrayLike, coefficients: ArrayLike, low: float = -np.inf, high: float = np.inf) -> ConstraintRow:
    """Return a row; a single coefficient is used for all columns."""
    indices = np.asarray(columns, dtype=np.intp)
    return ConstraintRow(indices, np.broadcast_to(np.asarray(coefficients, dtype=np.float64), indices.shape), low, high)


@dataclass
class Rows:
    """Columns, each a whole number from 0 to its upper bound unless it may be fractional, and constraint rows."""

    upper: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    rows: list[ConstraintRow] = field(default_factory=list)

    def new(self, count: int, upper: ArrayLike, *, whole: bool = True) -> NDArray[np.intp]:
        """Add `count` columns and return their indices."""
        first = len(self.upper)
        self.upper.extend(np.broadcast_to(np.asarray(upper, dtype=np.float64), (count,)).tolist())
        self.whole.extend([whole] * count)
        return np.arange(first, first + count, dtype=np.intp)

    def add(self, *rows: ConstraintRow) -> None:
        """Add rows."""
        self.rows.extend(rows)

    def copy(self) -> Rows:
        """Return a copy to which columns and rows can be added."""
        return Rows(list(self.upper), list(self.whole), list(self.rows))

    def solve(self, *, objective: Floats | None = None, deadline: Deadline | None = None) -> Answer:
        """Return a solution that minimises `objective`, or any solution if there is no objective.

        Args:
            objective: one coefficient per column; columns beyond its end have 0.
            deadline: time limit; a new one of DEFAULT_TIME_LIMIT seconds by default.

        Raises:
            AttackError: the solver fails.
        """
        seconds_left = (deadline or Deadline(DEFAULT_TIME_LIMIT)).left
        if seconds_left <= 0.0:
            return Answer(SolverStatus.TIME_LIMIT)
        cost = np.zeros(len(self.upper))
        if objective is not None:
            cost[: len(objective)] = objective
        result = optimize.milp(
            cost,
            integrality=np.array(self.whole, dtype=np.uint8),
            bounds=optimize.Bounds(0.0, np.array(self.upper)),
            constraints=self._matrix(),
            options={"time_limit": seconds_left, "mip_rel_gap": 0.0},
        )
        return self._answer(result)

    def _matrix(self) -> list[optimize.LinearConstraint]:
        if not self.rows:
            return []
        lengths = [len(r.columns) for r in self.rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        matrix = sparse.csr_array(
            (
                np.concatenate([r.coefficients for r in self.rows]),
                np.concatenate([r.columns for r in self.rows]),
                starts,
            ),
            shape=(len(self.rows), len(self.upper)),
        )
        low, high = (np.array([getattr(r, side) for r in self.rows]) for side in ("low", "high"))
        return [optimize.LinearConstraint(matrix, low, high)]

    @staticmethod
    def _answer(result: optimize.OptimizeResult) -> Answer:
        status = {0: SolverStatus.FOUND, 1: SolverStatus.TIME_LIMIT, 2: SolverStatus.INFEASIBLE}.get(result.status)
        if status is None:
            raise AttackError(f"the solver HiGHS failed: {result.message}. Give tighter or fewer tables.")
        if result.x is None:
            return Answer(status)
        return Answer(status, np.rint(result.x).astype(np.int64), float(result.fun))


class Deadline:
    """Time limit shared by several solves.

    Args:
        seconds: wall-clock seconds from now on, > 0.
    """

    def __init__(self, seconds: float) -> None:
        positive(seconds=seconds)
        self.start, self.seconds = time.monotonic(), seconds

    @property
    def left(self) -> float:
        """Seconds left, not below 0."""
        return max(0.0, self.seconds - self.spent)

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start


class NoGoodCuts:
    """No-good cuts: `columns` must not all have the values of a solution again.

    If their sum is fixed, another solution is smaller in some column where this one is positive; otherwise it may also
    have a larger sum. A binary for each such column enforces a smaller value; at least one must be 1.

    Args:
        columns: columns that define a solution.
        total_fixed: whether their sum is the same in all solutions.
    """

    def __init__(self, columns: NDArray[np.intp], *, total_fixed: bool) -> None:
        self.columns, self.total_fixed = columns, total_fixed
        self.binaries: dict[tuple[int, int], int] = {}

    def add(self, rows: Rows, solution: Ints) -> None:
        """Add the cut that excludes `solution`, one value for each of the columns."""
        support = np.flatnonzero(solution)
        binaries = [self._less(rows, int(self.columns[i]), int(solution[i])) for i in support]
        if not self.total_fixed:
            larger = int(rows.new(1, 1.0)[0])
            smallest_sum = float(solution.sum()) + 1.0
            rows.add(row([*self.columns, larger], [*np.ones(len(self.columns)), -smallest_sum], low=0.0))
            binaries.append(larger)
        rows.add(row(binaries, 1.0, low=1.0))

    def _less(self, rows: Rows, column: int, value: int) -> int:
        """Return a binary that is 1 only where the column is less than `value`."""
        if (column, value) not in self.binaries:
            binary = self.binaries[column, value] = int(rows.new(1, 1.0)[0])
            upper = rows.upper[column]
            rows.add(row([column, binary], [1.0, upper - value + 1.0], high=upper))
        return self.binaries[column, value]
