"""From measurements to tables, top down: post-processing, which reads nothing but what is released.

At the nation, the table that fits its measurements best; at the states, the tables that fit theirs best and add up to
the nation's; at the counties, those that add up to their states'. Every table keeps the invariants, those of finer
levels added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...queries.base import Floats
from ...validation import one_of
from .geography import LEVELS
from .least_squares import LeastSquares
from .plan import Plan, above
from .rounding import rounded

STEPS = ("least-squares", "non-negative", "whole")
"""How far a table is processed: each step includes those before."""
RIDGE = 1e-6
"""Weight of what no query measures, in shares of the mean weight: it decides nothing else."""


@dataclass(frozen=True, eq=False)
class TopDownTables:
    """The tables of all levels.

    Args:
        plan: what was measured.
        weights: 1 / variance of the noise of each query.
    """

    plan: Plan
    weights: Sequence[float]

    def tables(self, outputs: Floats, *, step: str = "whole") -> dict[str, Floats]:
        """Tables of each level of all runs.

        Args:
            outputs: measurements and invariants, `(size, n)`.
            step: "least-squares" alone, "non-negative", or "whole" numbers as well.

        Returns:
            For each level `(size, n_nodes, n_possible)`.
        """
        one_of(STEPS, step=step)
        answers, public = self.plan.split(np.asarray(outputs, dtype=np.float64))
        found: dict[str, Floats] = {}
        for level in LEVELS:
            above_it = found.get(LEVELS[LEVELS.index(level) - 1]) if found else None
            found[level] = self._level(level, self._gradient(level, answers), public, above_it, step)
        return found

    def variances(self, standard_deviations: Sequence[float]) -> dict[str, Floats]:
        """Variance of each number of the tables of step "least-squares", `(n_nodes, n_possible)` for each level.

        They are linear in the measurements: the sum of squared coefficients times the variances of the noise.
        """
        n, n_public = self.plan.n_measured, len(self.plan.kinds)
        numbers = sum(self.plan.geography.n_nodes(i.level) for i in self.plan.invariants) if n_public else 0
        noise = np.repeat(np.square(standard_deviations), self.plan.sizes)
        each = self.tables(np.hstack([np.eye(n), np.zeros((n, numbers))]), step="least-squares")
        return {level: np.tensordot(noise, table**2, axes=1) for level, table in each.items()}

    def _level(
        self, level: str, gradient: Floats, public: Sequence[Floats], parents: Floats | None, step: str
    ) -> Floats:
        """The tables of the nodes of a level, `(size, n_nodes, n_possible)`, given those of the level above."""
        sums, values = self._invariants(level, public)
        values = np.broadcast_to(values, (len(gradient), *values.shape[1:]))
        if parents is None:
            return self._siblings(level, gradient, sums, values, None, step)
        found = np.empty_like(gradient)
        for node in range(parents.shape[1]):
            children = self.plan.geography.children(LEVELS[LEVELS.index(level) - 1], node)
            found[:, children] = self._siblings(
                level, gradient[:, children], sums, values[:, children], parents[:, node], step
            )
        return found

    def _siblings(
        self, level: str, gradient: Floats, sums: Floats, values: Floats, parent: Floats | None, step: str
    ) -> Floats:
        """The tables of the children of one node: each keeps its invariants, and together they make the parent."""
        size, n_children, n_cells = gradient.shape
        rows: Floats = np.kron(np.eye(n_children), sums).astype(np.float64)
        wanted: Floats = values.reshape(size, -1)
        if parent is not None:
            rows = np.vstack([rows, np.tile(np.eye(n_cells), n_children)])
            wanted = np.hstack([wanted, parent])
        hessian: Floats = np.kron(np.eye(n_children), self._hessians[level]).astype(np.float64)
        problem = LeastSquares(hessian, rows)
        found = problem.solve(gradient.reshape(size, -1), wanted, non_negative=step != "least-squares")
        if step == "whole":
            found = rounded(found, rows, wanted).astype(np.float64)
        return found.reshape(gradient.shape)

    def _invariants(self, level: str, public: Sequence[Floats]) -> tuple[Floats, Floats]:
        """What each table of a level keeps: sums `(n_sums, n_possible)` and their values `(size, n_nodes, n_sums)`."""
        plan, size = self.plan, len(public[0]) if public else 1
        kept = above([invariant.level for invariant in plan.invariants], level)
        values = np.zeros((size, plan.geography.n_nodes(level), sum(kept)))
        for place, which in enumerate(np.flatnonzero(kept).tolist()):
            finer = plan.invariants[which].level
            values[:, :, place] = plan.geography.sums(public[which].T, finer, level).T
        return plan.kinds[kept].astype(np.float64), values

    @cached_property
    def _hessians(self) -> dict[str, Floats]:
        """H of one table at each level: mean 1 on the diagonal."""
        found = {}
        for level in LEVELS:
            hessian = np.zeros((len(self.plan.cells),) * 2)
            for query, margin, weight in zip(self.plan.queries, self.plan.margins, self.weights, strict=True):
                if query.level == level:
                    hessian += weight * (margin[:, None] == margin)
            found[level] = hessian / self._scales[level] + RIDGE * np.eye(len(hessian))
        return found

    @cached_property
    def _scales(self) -> dict[str, float]:
        """The weights of the queries of each level together; 1 where nothing is measured."""
        together = dict.fromkeys(LEVELS, 0.0)
        for query, weight in zip(self.plan.queries, self.weights, strict=True):
            together[query.level] += weight
        return {level: weight or 1.0 for level, weight in together.items()}

    def _gradient(self, level: str, answers: Sequence[Floats]) -> Floats:
        """g of all tables of a level, `(size, n_nodes, n_possible)`."""
        found = np.zeros((len(answers[0]), self.plan.geography.n_nodes(level), len(self.plan.cells)))
        parts = zip(self.plan.queries, self.plan.margins, self.weights, answers, strict=True)
        for query, margin, weight, answer in parts:
            if query.level == level:
                found += weight / self._scales[level] * answer[:, :, margin]
        return found
