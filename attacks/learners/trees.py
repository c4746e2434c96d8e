"""Trees: gradient boosting on histograms, and a random forest, for what no smooth function of a column shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.core import Floats, Ints
from .base import log_prior_odds, single_thread

MAX_TREES = 1_000
"""Largest number of trees of a model of k classes, which has k trees an iteration."""
N_TREES = 100
MIN_LEAF_ROWS = 5
MIN_TREE_SHARE = 0.5 / N_TREES
"""Smallest share of trees of a forest: half a tree, so that the log odds are finite when all trees agree."""


@dataclass(frozen=True, eq=False)
class BoostingModel:
    """A fitted `HistGradientBoostingClassifier`.

    Args:
        model: the fitted estimator.
        log_prior: log(n1 / n0) of its training rows, subtracted so that log odds are those of equal sides; for two
            classes.
    """

    model: Any
    log_prior: float = 0.0

    def log_odds(self, rows: Floats) -> Floats:
        if len(rows) == 0:
            return np.empty(0)
        with single_thread("openmp"):
            decision = np.asarray(self.model.decision_function(rows), dtype=np.float64)
        return decision - self.log_prior

    def probabilities(self, rows: Floats) -> Floats:
        with single_thread("openmp"):
            return np.asarray(self.model.predict_proba(rows))


def fit_boosting(rows: Floats, sides: Ints, seed: int) -> BoostingModel:
    """Fit trees of at most 8 leaves, stopped early on a tenth of the rows.

    Args:
        rows: `(n, n_columns)` pilot rows.
        sides: `(n,)` side of each row.
        seed: seed of the split for early stopping.
    """
    n = len(rows)
    smallest_leaf = max(5, min(20, n // 20)) if n < 2_000 else max(20, n // 500)
    model = _boosted(rows, sides, seed, n_iterations=200, smallest_leaf=smallest_leaf, patience=10)
    return BoostingModel(model, log_prior_odds(sides))


def fit_boosted_classes(rows: Floats, truths: Ints, seed: int) -> BoostingModel:
    """Fit trees to k classes, stopped earlier than for two."""
    n_iterations = max(10, min(100, MAX_TREES // (1 + int(truths.max()))))
    smallest_leaf = max(5, min(20, len(rows) // 100))
    return BoostingModel(
        _boosted(rows, truths, seed, n_iterations=n_iterations, smallest_leaf=smallest_leaf, patience=5)
    )


def _boosted(rows: Floats, truths: Ints, seed: int, *, n_iterations: int, smallest_leaf: int, patience: int) -> Any:
    """Return the fitted classifier; it stops after `patience` iterations that do not improve the held-out loss."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    with single_thread():
        return HistGradientBoostingClassifier(
            max_iter=n_iterations,
            max_leaf_nodes=8,
            min_samples_leaf=smallest_leaf,
            l2_regularization=1.0,
            early_stopping=len(rows) >= 1_000,
            validation_fraction=0.1,
            n_iter_no_change=patience,
            random_state=seed,
        ).fit(rows, truths)


@dataclass(frozen=True, eq=False)
class ForestModel:
    """A fitted `RandomForestClassifier`: deep trees, each trained on a bootstrap sample, with a few columns per split.

    Args:
        model: the fitted estimator.
        log_prior: as for `BoostingModel`.
    """

    model: Any
    log_prior: float

    def log_odds(self, rows: Floats) -> Floats:
        if len(rows) == 0:
            return np.empty(0)
        share = np.clip(self.model.predict_proba(rows)[:, 1], MIN_TREE_SHARE, 1.0 - MIN_TREE_SHARE)
        return np.asarray(np.log(share) - np.log1p(-share) - self.log_prior)


def fit_forest(rows: Floats, sides: Ints, seed: int) -> ForestModel:
    """Fit a forest of `N_TREES` trees; arguments as for `fit_boosting`."""
    from sklearn.ensemble import RandomForestClassifier

    with single_thread():
        model = RandomForestClassifier(N_TREES, min_samples_leaf=MIN_LEAF_ROWS, random_state=seed, n_jobs=1)
        model.fit(rows, sides)
    return ForestModel(model, log_prior_odds(sides))
