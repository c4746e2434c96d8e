"""Trees: gradient boosting on histograms, and a random forest. They detect what no smooth function of a column shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.core.arrays import Floats
from .threads import single_openmp_thread, single_thread


@dataclass(frozen=True, eq=False)
class BoostingModel:
    """A fitted `HistGradientBoostingClassifier`.

    Args:
        model: the fitted estimator.
        log_prior: log(n1 / n0) of its training rows, subtracted so that log odds are those of equal sides.
    """

    model: Any
    log_prior: float

    def log_odds(self, rows: Floats) -> Floats:
        """Return the log odds of each row, shape `(size,)`."""
        if len(rows) == 0:
            return np.empty(0)
        with single_openmp_thread():
            decision = np.asarray(self.model.decision_function(rows), dtype=np.float64)
        return decision - self.log_prior


def fit_boosting(rows0: Floats, rows1: Floats, seed: int) -> BoostingModel:
    """Fit trees of at most 8 leaves, stopped early on a tenth of the rows.

    Args:
        rows0, rows1: `(n0, n_columns)` and `(n1, n_columns)` pilot rows of the sides.
        seed: seed of the split for early stopping.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    n = len(rows0) + len(rows1)
    with single_thread():
        model = HistGradientBoostingClassifier(
            max_iter=200,
            max_leaf_nodes=8,
            min_samples_leaf=max(5, min(20, n // 20)) if n < 2_000 else max(20, n // 500),
            l2_regularization=1.0,
            early_stopping=n >= 1_000,
            validation_fraction=0.1,
            n_iter_no_change=10,
            random_state=seed,
        )
        model.fit(np.concatenate([rows0, rows1]), np.repeat([0, 1], [len(rows0), len(rows1)]))
    return BoostingModel(model, float(np.log(len(rows1) / len(rows0))))


N_TREES = 100
FEWEST_IN_A_LEAF = 5
ODDS_OF_ALL = 0.5 / N_TREES
"""Smallest share of trees: half a tree, so that the log odds are finite when all trees agree."""


@dataclass(frozen=True, eq=False)
class ForestModel:
    """A fitted `RandomForestClassifier`.

    Args:
        model: the fitted estimator.
        log_prior: log(n1 / n0) of its training rows, subtracted so that log odds are those of equal sides.
    """

    model: Any
    log_prior: float

    def log_odds(self, rows: Floats) -> Floats:
        """Return the log odds of each row, shape `(size,)`."""
        if len(rows) == 0:
            return np.empty(0)
        share = np.clip(self.model.predict_proba(rows)[:, 1], ODDS_OF_ALL, 1.0 - ODDS_OF_ALL)
        return np.asarray(np.log(share) - np.log1p(-share) - self.log_prior)


def fit_forest(rows0: Floats, rows1: Floats, seed: int) -> ForestModel:
    """Fit a forest of `N_TREES` trees.

    Args:
        rows0, rows1: `(n0, n_columns)` and `(n1, n_columns)` pilot rows of the sides.
        seed: seed of the samples and the splits.
    """
    from sklearn.ensemble import RandomForestClassifier

    with single_thread():
        model = RandomForestClassifier(N_TREES, min_samples_leaf=FEWEST_IN_A_LEAF, random_state=seed, n_jobs=1)
        model.fit(np.concatenate([rows0, rows1]), np.repeat([0, 1], [len(rows0), len(rows1)]))
    return ForestModel(model, float(np.log(len(rows1) / len(rows0))))
