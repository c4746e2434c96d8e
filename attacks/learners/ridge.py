"""Ridge regression from columns to many targets at once, with linear or piecewise-linear functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanisms.core.arrays import Floats
from .additive import Hinges
from .threads import single_thread

PENALTIES = np.logspace(-3, 5, 17)
"""Candidate penalties of weights of columns on a common scale."""


@dataclass(frozen=True, eq=False)
class RidgeModel:
    """Sums, over columns, of lines or of piecewise-linear functions.

    Args:
        basis: basis functions.
        weights: `(n_terms, n_targets)` weights of the terms.
        intercepts: `(n_targets,)` intercepts.
    """

    basis: Hinges
    weights: Floats
    intercepts: Floats

    def predict(self, rows: Floats) -> Floats:
        """Return predictions, `(size, n_targets)`."""
        return np.asarray(self.basis.terms(rows) @ self.weights + self.intercepts)


def fit_ridge(rows: Floats, targets: Floats) -> RidgeModel:
    """Fit lines and piecewise-linear functions; return the model with the smaller squared leave-one-out error.

    The penalty is chosen by the same error, for all targets together (Golub, Heath and Wahba 1979).

    Args:
        rows: `(n, n_columns)` inputs.
        targets: `(n, n_targets)` outputs.
    """
    linear = Hinges.learn(rows, bent=False)
    if not linear.columns:
        return RidgeModel(linear, np.zeros((0, targets.shape[1])), targets.mean(axis=0))
    fits = [_fit(basis, rows, targets) for basis in (linear, Hinges.learn(rows))]
    return min(fits, key=lambda fit: fit[0])[1]


def _fit(basis: Hinges, rows: Floats, targets: Floats) -> tuple[float, RidgeModel]:
    """Return the leave-one-out error, and the model."""
    from sklearn.linear_model import RidgeCV

    with single_thread():
        model = RidgeCV(alphas=PENALTIES).fit(basis.terms(rows), targets)
    return -float(model.best_score_), RidgeModel(basis, np.atleast_2d(model.coef_).T, np.atleast_1d(model.intercept_))
