"""Regression on piecewise-linear functions: log odds = intercept + sum over columns c of f_c(x_c).

Each f_c is a line with kinks (hinges) at quantiles of the pilot. A line alone is blind to symmetric differences; the
kinks let f_c bend: a V for a change of variance, a clipped ramp for Laplace noise. The ridge penalty lies mostly on
the kinks, so that without evidence f_c is a line, also beyond the pilot's range. The same functions serve k
classes (multinomial regression), and many targets at once (ridge regression).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.core import Floats, Ints
from .base import log_prior_odds, single_thread
from .features import robust_scale

MAX_KINKS = 20  # per column
MAX_TERMS = 240  # over all columns; each column keeps at least one kink
ROWS_PER_TERM = 20
PRIOR_TERMS = 20  # from here on the penalty grows with the number of terms: the prior spread of the score is bounded
MAX_SPREADS = 10.0  # a column is clipped at this many spreads from its middle: one outlier must not tilt the line


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """Sum of piecewise-linear functions, one for each column that varies.

    Args:
        intercept: added to every score.
        columns: indices of the columns that vary.
        points: for each of these columns, increasing abscissae.
        heights: for each of these columns, the values of f_c there; constant beyond the ends.
    """

    intercept: float
    columns: tuple[int, ...]
    points: tuple[Floats, ...]
    heights: tuple[Floats, ...]

    def log_odds(self, rows: Floats) -> Floats:
        total = np.full(len(rows), self.intercept)
        for column, points, heights in zip(self.columns, self.points, self.heights, strict=True):
            total += np.interp(rows[:, column], points, heights)
        return total

    def where(self, threshold: float, *, above: bool = True) -> Floats:
        """Return the intervals where the log odds of the only column reach the threshold, or do not.

        Returns:
            Ends `(n, 2)`, some infinite.
        """
        points = self.points[0] if self.columns else np.zeros(1)
        excess = self.intercept - threshold + (self.heights[0] if self.columns else points)
        inside = (excess >= 0.0) == above
        ends = [-np.inf] if inside[0] else []
        for i in np.flatnonzero(inside[1:] != inside[:-1]):
            share = excess[i] / (excess[i] - excess[i + 1])
            ends.append(float(points[i] + share * (points[i + 1] - points[i])))
        ends += [np.inf] * (len(ends) % 2)
        return np.array(ends).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Hinges:
    """The line and the hinges of each column that varies: the basis of piecewise-linear functions.

    Columns are clipped at MAX_SPREADS spreads from their middle.

    Args:
        columns: indices of the columns that vary.
        middles, spreads: `(n_columns,)` medians and spreads of all columns.
        kinks: for each of `columns`, abscissae where its function may bend.
    """

    columns: tuple[int, ...]
    middles: Floats
    spreads: Floats
    kinks: tuple[Floats, ...]

    @classmethod
    def learn(cls, rows: Floats, *, bent: bool = True) -> Hinges:
        """Learn kinks at quantiles of `(n, n_columns)` pilot rows; lines only unless `bent`."""
        varying = tuple(int(c) for c in np.flatnonzero((rows != rows[0]).any(axis=0)))
        middles, spreads = robust_scale(rows)
        n = max(1, len(varying))
        n_kinks = max(1, min(MAX_KINKS, MAX_TERMS // n - 1, len(rows) // (ROWS_PER_TERM * n)))
        kinks = tuple(_kinks(rows[:, c], middles[c], spreads[c], n_kinks if bent else 0) for c in varying)
        return cls(varying, middles, spreads, kinks)

    def parts(self) -> Iterator[tuple[int, float, float, Floats]]:
        """Yield for each column that varies its index, middle, spread and kinks."""
        for column, kinks in zip(self.columns, self.kinks, strict=True):
            yield column, self.middles[column], self.spreads[column], kinks

    def terms(self, rows: Floats) -> Floats:
        """Return all terms of `(n, n_columns)` rows, in units of the spreads: `(n, n_terms)`."""
        terms = [_terms(rows[:, column], middle, spread, kinks) for column, middle, spread, kinks in self.parts()]
        return np.column_stack(terms) if terms else np.zeros((len(rows), 0))


def fit_additive(rows: Floats, sides: Ints) -> AdditiveModel:
    """Fit log odds to `(n, n_columns)` pilot rows by ridge-penalised maximum likelihood."""
    basis = Hinges.learn(rows)
    if not basis.columns:
        return AdditiveModel(0.0, (), (), ())
    terms = basis.terms(rows)
    model = _ridge_logistic(terms, sides, exact=terms.shape[1] <= MAX_TERMS + MAX_KINKS)
    weights = np.asarray(model.coef_[0], dtype=np.float64)
    cuts = np.cumsum([1 + len(kinks) for kinks in basis.kinks])[:-1]
    points, heights = [], []
    for (_, middle, spread, kinks), w in zip(basis.parts(), np.split(weights, cuts), strict=True):
        ends = middle + np.array([-MAX_SPREADS, MAX_SPREADS]) * spread
        points.append(np.concatenate([ends[:1], kinks, ends[1:]]))
        heights.append((_terms(points[-1], middle, spread, kinks) * w).sum(axis=1))
    intercept = float(model.intercept_[0]) - log_prior_odds(sides)
    return AdditiveModel(intercept, basis.columns, tuple(points), tuple(heights))


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """Multinomial logistic regression on the terms of `basis`."""

    basis: Hinges
    model: Any

    def probabilities(self, rows: Floats) -> Floats:
        return np.asarray(self.model.predict_proba(self.basis.terms(rows)))


def fit_logistic_classes(rows: Floats, truths: Ints, *, bent: bool = True) -> LogisticModel:
    """Fit a model of k classes, with piecewise-linear functions of the columns, or with lines only unless `bent`."""
    basis = Hinges.learn(rows, bent=bent)
    return LogisticModel(basis, _ridge_logistic(basis.terms(rows), truths, exact=False))


def _kinks(column: Floats, middle: float, spread: float, n_kinks: int) -> Floats:
    """Return the points where f may bend: quantiles of the column, strictly inside its reach."""
    quantiles = np.unique(np.quantile(column, np.arange(1, n_kinks + 1) / (n_kinks + 1), method="inverted_cdf"))
    inside: Floats = quantiles[np.abs(quantiles - middle) < MAX_SPREADS * spread]
    return inside


def _terms(column: Floats, middle: float, spread: float, kinks: Floats) -> Floats:
    """Return the line and the hinges of one column, shape `(n, 1 + n_kinks)`, in units of the spread."""
    z = np.clip((column - middle) / spread, -MAX_SPREADS, MAX_SPREADS)
    return np.column_stack([z, np.maximum(z[:, None] - (kinks - middle) / spread, 0.0)])


def _ridge_logistic(terms: Floats, truths: Ints, *, exact: bool) -> Any:
    """Return scikit-learn's logistic regression, fitted on one thread; `exact`, for few terms, by Newton's method."""
    from sklearn.linear_model import LogisticRegression

    solver, tolerance = ("newton-cholesky", 1e-5) if exact else ("lbfgs", 1e-3)
    with single_thread():
        return LogisticRegression(
            C=min(1.0, PRIOR_TERMS / terms.shape[1]), solver=solver, max_iter=200, tol=tolerance
        ).fit(terms, truths)


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
