"""Least squares under equality constraints on sums, and optionally non-negativity, for many runs at once.

    minimise   x^T H x / 2 - g^T x     subject to A x = b, and x >= 0 if requested

H and A are common to all runs, g and b belong to each run: one matrix is inverted, and the rest is products.
Non-negative solutions are found by the alternating direction method of multipliers (Boyd, Parikh, Chu, Peleato and
Eckstein 2011, section 5.2): x satisfies the sums, z the signs, and both converge to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.arrays import Floats

STEPS = 4000
"""Largest number of iterations; a few hundred are typical."""
CLOSE = 1e-4
"""Tolerance at the end, in people: largest change of a cell in a step, and largest negative value."""
RELAXED = 1.6


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
        for _ in range(STEPS):
            x = fixed + (z - scaled) @ pull
            before, relaxed = z, RELAXED * x + (1.0 - RELAXED) * z
            z = np.maximum(relaxed + scaled, 0.0)
            scaled = scaled + relaxed - z
            if max(np.abs(x - z).max(initial=0.0), np.abs(z - before).max(initial=0.0)) < CLOSE:
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
