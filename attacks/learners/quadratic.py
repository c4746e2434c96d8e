"""Two normal distributions: log odds that are quadratic in the columns, for sides that differ in their correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanisms.core import Floats, Ints

MAX_COLUMNS = 1_000
"""Largest number of columns: a covariance has its square of entries."""
LIMIT = 1e3
"""Columns, on a common scale, are cut at this size: the squares of a rare huge number must stay finite."""
_SMALLEST = 1e-9
"""Smallest variance in any direction, as a share of the largest."""


@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """Log odds of side 1 from a normal density of each side (quadratic discriminant analysis).

    Args:
        means: `(2, n_columns)`, of side 0 and side 1.
        whiteners: `(2, n_columns, n_columns)`: row minus mean, times the whitener, has covariance 1.
        log_determinants: `(2,)`, of the covariances.
    """

    means: Floats
    whiteners: Floats
    log_determinants: Floats

    def log_odds(self, rows: Floats) -> Floats:
        rows = np.clip(rows, -LIMIT, LIMIT)
        log_densities = [
            -0.5 * (np.square((rows - mean) @ whitener).sum(axis=1) + log_determinant)
            for mean, whitener, log_determinant in zip(self.means, self.whiteners, self.log_determinants, strict=True)
        ]
        return np.asarray(log_densities[1] - log_densities[0])


def fit_quadratic(rows: Floats, sides: Ints) -> QuadraticModel:
    """Fit a normal distribution to each side, with the covariance shrunk by the rule of Ledoit and Wolf (2004).

    Args:
        rows: `(n, n_columns)` pilot rows on a common scale.
        sides: `(n,)` side of each row.
    """
    from sklearn.covariance import ledoit_wolf

    means, whiteners, log_determinants = [], [], []
    for side in (0, 1):
        own = np.clip(rows[sides == side], -LIMIT, LIMIT)
        mean = own.mean(axis=0)
        covariance, _ = ledoit_wolf(own - mean, assume_centered=True)
        values, directions = np.linalg.eigh(covariance)
        values = np.maximum(values, _SMALLEST * max(float(values[-1]), 1.0))
        means.append(mean)
        whiteners.append(directions / np.sqrt(values))
        log_determinants.append(float(np.log(values).sum()))
    return QuadraticModel(np.array(means), np.array(whiteners), np.array(log_determinants))
