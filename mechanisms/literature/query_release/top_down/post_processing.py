"""Post-processing from measurements to tables, from the top down, which depends on the release only.

For the nation, the table that fits the measurements best; for the states, the tables that fit their measurements best
and add up to the nation; for the counties, the tables that add up to their states. Every table satisfies the
invariants, including the sums of those of finer levels.

Each step is a problem of least squares under equality constraints on sums, for many runs at once,

    minimise   x^T H x / 2 - g^T x     subject to A x = b, and x >= 0 if requested

H and A are common to all runs, g and b belong to each run: one matrix is inverted, and the rest is products.
Non-negative solutions are found by the alternating direction method of multipliers (Boyd, Parikh, Chu, Peleato and
Eckstein 2011, section 5.2): x satisfies the sums, z the signs, and both converge to each other.

Controlled rounding then rounds each number down or up so that all sums, which are integers, are preserved and the total
change is minimal: a linear program with integral vertices, because its sums are over children and over nested kinds of
people (Cox 1987). Runs are blocks of one program, solved by HiGHS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core import Floats, Ints, ReleaseError, one_of
from .geography import LEVELS
from .plan import TopDownPlan, at_level_or_finer

MAX_ITERATIONS = 4000
"""Largest number of iterations; a few hundred are typical."""
CONVERGENCE_TOLERANCE = 1e-4
"""Tolerance at the end, in people: largest change of a cell in a step, and largest negative value."""
RELAXATION = 1.6


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Constrained least-squares problem without the right-hand sides.

    Args:
        hessian: H, `(n, n)`, positive definite.
        sums: A, `(n_sums, n)`; the rows may be linearly dependent.
    """

    hessian: Floats
    sums: Floats

    def solve(self, gradient: Floats, values: Floats, *, non_negative: bool) -> Floats:
        """Return the solutions of all runs.

        Args:
            gradient: g, `(size, n)`.
            values: b, `(size, n_sums)`, which some x (x >= 0 if requested) must satisfy.
            non_negative: whether x must be >= 0.

        Returns:
            `(size, n)`; the sums hold up to rounding, and no number is below -1e-4 if `non_negative` is true.
        """
        if not non_negative:
            with_gradient, with_values = _solver(self.hessian, self.sums)
            return gradient @ with_gradient.T + values @ with_values.T
        with_gradient, with_values = self._pulled
        fixed = gradient @ with_gradient.T + values @ with_values.T
        pull = self._stiffness * with_gradient.T
        x, z = fixed, np.maximum(fixed, 0.0)
        scaled = np.zeros_like(x)
        for _ in range(MAX_ITERATIONS):
            x = fixed + (z - scaled) @ pull
            before, relaxed = z, RELAXATION * x + (1.0 - RELAXATION) * z
            z = np.maximum(relaxed + scaled, 0.0)
            scaled = scaled + relaxed - z
            if max(np.abs(x - z).max(initial=0.0), np.abs(z - before).max(initial=0.0)) < CONVERGENCE_TOLERANCE:
                break
        return x

    @cached_property
    def _stiffness(self) -> float:
        """Penalty parameter of the method: the geometric mean of the largest and the smallest curvature."""
        curvature = np.linalg.eigvalsh(self.hessian)
        return float(np.sqrt(curvature[0] * curvature[-1]))

    @cached_property
    def _pulled(self) -> tuple[Floats, Floats]:
        return _solver(self.hessian + self._stiffness * np.eye(len(self.hessian)), self.sums)


def _solver(hessian: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Return the matrices P and Q of the solution P g + Q b."""
    inverse: Floats = np.asarray(np.linalg.inv(hessian), dtype=np.float64)
    if not len(sums):
        return inverse, np.zeros((len(hessian), 0))
    values: Floats = inverse @ sums.T @ np.linalg.pinv(sums @ inverse @ sums.T, rcond=1e-10)
    return inverse - values @ sums @ inverse, values


MAX_LP_VARIABLES = 4000
"""Number of variables of one linear program."""
INTEGER_TOLERANCE = 1e-3
"""Numbers this close below an integer count as the integer; larger than the tolerance of `least_squares`."""


def _controlled_rounding(numbers: Floats, sums: Floats, values: Floats) -> Ints:
    """Return integers >= 0, each number rounded down or up.

    Args:
        numbers: `(size, n)`, which have these sums up to small errors.
        sums: `(n_sums, n)` of zeros and ones: two families of sets, the sets of each nested or disjoint.
        values: integer values of the sums, shape `(size, n_sums)`.
    """
    size, n = numbers.shape
    at_once = max(1, MAX_LP_VARIABLES // max(n, 1))
    low = np.floor(np.maximum(numbers, 0.0) + INTEGER_TOLERANCE).astype(np.int64)
    up = np.zeros_like(low)
    for start in range(0, size, at_once):
        part = slice(start, start + at_once)
        up[part] = _up(numbers[part] - low[part], sums, values[part] - low[part] @ sums.T)
    return low + up


def _up(fractions: Floats, sums: Floats, missing: Floats) -> Ints:
    """Return the numbers that are rounded up, `(size, n)` of zeros and ones, with these missing sums."""
    from scipy import sparse
    from scipy.optimize import linprog

    size, n = fractions.shape
    if not len(sums):
        return (fractions >= 0.5).astype(np.int64)
    blocks = sparse.kron(sparse.eye(size), sparse.csr_matrix(sums), format="csr")
    solution = linprog(
        1.0 - 2.0 * fractions.ravel(), A_eq=blocks, b_eq=np.rint(missing).ravel(), bounds=(0.0, 1.0), method="highs"
    )
    up: Ints | None = np.rint(solution.x).astype(np.int64).reshape(size, n) if solution.success else None
    if up is None or not np.array_equal(up @ sums.T, np.rint(missing)):
        raise ReleaseError("no integers adjacent to the least-squares solution have the published sums.")
    return up


PROCESSING_STEPS = ("least-squares", "non-negative", "whole")
"""Steps of the processing; each includes the steps before."""
UNMEASURED_WEIGHT = 1e-6
"""Weight of unmeasured directions relative to the mean weight, too small to affect measured ones."""


@dataclass(frozen=True, eq=False)
class TopDownPostProcessing:
    """Computation of the tables of all levels.

    Args:
        plan: the plan of the release.
        weights: 1 / variance of the noise of each query.
    """

    plan: TopDownPlan
    weights: Sequence[float]

    def tables(self, outputs: Floats, *, step: str = "whole") -> dict[str, Floats]:
        """Return the tables of each level for all runs.

        Args:
            outputs: measurements and invariants, `(size, n)`.
            step: "least-squares" only, "non-negative", or "whole" for integers as well.

        Returns:
            For each level `(size, n_nodes, n_possible)`.
        """
        one_of(PROCESSING_STEPS, step=step)
        answers, public = self.plan.split(np.asarray(outputs, dtype=np.float64))
        tables: dict[str, Floats] = {}
        for level in LEVELS:
            parents = tables.get(LEVELS[LEVELS.index(level) - 1]) if tables else None
            tables[level] = self._level(level, self._gradient(level, answers), public, parents, step)
        return tables

    def variances(self, standard_deviations: Sequence[float]) -> dict[str, Floats]:
        """Return the variance of each number of the tables of step "least-squares", `(n_nodes, n_possible)` by level.

        They are linear in the measurements: the sum of squared coefficients times the variances of the noise.
        """
        n, n_public = self.plan.n_measured, len(self.plan.kinds)
        numbers = sum(self.plan.geography.n_nodes(i.level) for i in self.plan.invariants) if n_public else 0
        noise = np.repeat(np.square(standard_deviations), self.plan.sizes)
        coefficients = self.tables(np.hstack([np.eye(n), np.zeros((n, numbers))]), step="least-squares")
        return {level: np.tensordot(noise, table**2, axes=1) for level, table in coefficients.items()}

    def _level(
        self, level: str, gradient: Floats, public: Sequence[Floats], parents: Floats | None, step: str
    ) -> Floats:
        """Return the tables of the nodes of a level, `(size, n_nodes, n_possible)`, from those of the level above."""
        sums, values = self._invariants(level, public)
        values = np.broadcast_to(values, (len(gradient), *values.shape[1:]))
        if parents is None:
            return self._siblings(level, gradient, sums, values, None, step)
        tables = np.empty_like(gradient)
        for node in range(parents.shape[1]):
            children = self.plan.geography.children(LEVELS[LEVELS.index(level) - 1], node)
            tables[:, children] = self._siblings(
                level, gradient[:, children], sums, values[:, children], parents[:, node], step
            )
        return tables

    def _siblings(
        self, level: str, gradient: Floats, sums: Floats, values: Floats, parent: Floats | None, step: str
    ) -> Floats:
        """Return the tables of the children of one node, which satisfy their invariants and add up to the parent."""
        size, n_children, n_cells = gradient.shape
        rows: Floats = np.kron(np.eye(n_children), sums).astype(np.float64)
        targets: Floats = values.reshape(size, -1)
        if parent is not None:
            rows = np.vstack([rows, np.tile(np.eye(n_cells), n_children)])
            targets = np.hstack([targets, parent])
        hessian: Floats = np.kron(np.eye(n_children), self._hessians[level]).astype(np.float64)
        problem = LeastSquares(hessian, rows)
        tables = problem.solve(gradient.reshape(size, -1), targets, non_negative=step != "least-squares")
        if step == "whole":
            tables = _controlled_rounding(tables, rows, targets).astype(np.float64)
        return tables.reshape(gradient.shape)

    def _invariants(self, level: str, public: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the constraints of a level: sums `(n_sums, n_possible)` and values `(size, n_nodes, n_sums)`."""
        plan, size = self.plan, len(public[0]) if public else 1
        applies = at_level_or_finer([invariant.level for invariant in plan.invariants], level)
        values = np.zeros((size, plan.geography.n_nodes(level), sum(applies)))
        for column, index in enumerate(np.flatnonzero(applies).tolist()):
            finer = plan.invariants[index].level
            values[:, :, column] = plan.geography.sums(public[index].T, finer, level).T
        return plan.kinds[applies].astype(np.float64), values

    @cached_property
    def _hessians(self) -> dict[str, Floats]:
        """Hessian H of one table at each level, with mean 1 on the diagonal."""
        hessians = {}
        for level in LEVELS:
            hessian = np.zeros((len(self.plan.cells),) * 2)
            for query, margin, weight in zip(self.plan.queries, self.plan.margins, self.weights, strict=True):
                if query.level == level:
                    hessian += weight * (margin[:, None] == margin)
            hessians[level] = hessian / self._scales[level] + UNMEASURED_WEIGHT * np.eye(len(hessian))
        return hessians

    @cached_property
    def _scales(self) -> dict[str, float]:
        """Sum of the weights of the queries of each level; 1 if nothing is measured."""
        totals = dict.fromkeys(LEVELS, 0.0)
        for query, weight in zip(self.plan.queries, self.weights, strict=True):
            totals[query.level] += weight
        return {level: weight or 1.0 for level, weight in totals.items()}

    def _gradient(self, level: str, answers: Sequence[Floats]) -> Floats:
        """Return g of all tables of a level, `(size, n_nodes, n_possible)`."""
        gradient = np.zeros((len(answers[0]), self.plan.geography.n_nodes(level), len(self.plan.cells)))
        parts = zip(self.plan.queries, self.plan.margins, self.weights, answers, strict=True)
        for query, margin, weight, answer in parts:
            if query.level == level:
                gradient += weight / self._scales[level] * answer[:, :, margin]
        return gradient
