"""Post-processing from measurements to tables, from the top down, which depends on the release only.

For the nation, the table that fits the measurements best; for the states, the tables that fit their measurements best
and add up to the nation; for the counties, the tables that add up to their states. Every table satisfies the
invariants, including the sums of those of finer levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.arrays import Floats
from ...core.validation import one_of
from .geography import LEVELS
from .least_squares import LeastSquares
from .plan import TopDownPlan, above
from .rounding import rounded

STEPS = ("least-squares", "non-negative", "whole")
"""Steps of the processing; each includes the steps before."""
RIDGE = 1e-6
"""Weight of unmeasured directions relative to the mean weight, too small to affect measured ones."""


@dataclass(frozen=True, eq=False)
class TopDownTables:
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
        one_of(STEPS, step=step)
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
            tables = rounded(tables, rows, targets).astype(np.float64)
        return tables.reshape(gradient.shape)

    def _invariants(self, level: str, public: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the constraints of a level: sums `(n_sums, n_possible)` and values `(size, n_nodes, n_sums)`."""
        plan, size = self.plan, len(public[0]) if public else 1
        applies = above([invariant.level for invariant in plan.invariants], level)
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
            hessians[level] = hessian / self._scales[level] + RIDGE * np.eye(len(hessian))
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
