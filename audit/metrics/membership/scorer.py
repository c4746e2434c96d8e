"""Membership leakage as a scorer of scikit-learn: cross validation and searches of hyperparameters read it.

A scorer of scikit-learn is called with an estimator and records. Here it trains clones of the estimator on random
halves of these records, in pairs of complements, and attacks each with the others as references; the fitted state of
the estimator is not used. The score is therefore that of a training procedure, as for hyperparameters it should be, and
it does not depend on which records the estimator was fitted to.

The value is an estimate for these records, and no bound on epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....attacks.membership.base import MembershipAttack
from ....attacks.membership.catalogue import catalogue
from ....mechanisms.adapters.estimator import EstimatorLearner
from ....mechanisms.core import ParameterError, instance, one_of, open_unit, whole
from ....mechanisms.learning.base import TrainingData
from ...games.training import train_shadows
from .roc import MIN_EXPECTED_FALSE_POSITIVES, Pooled

Scorer = Callable[[Any, Any, Any], float]
SCORER_METRICS = ("tpr", "auc")


def membership_scorer(
    *,
    attack: str | MembershipAttack = "bavaria",
    metric: str = "tpr",
    fpr: float = 0.01,
    n_models: int = 16,
    records: Any = None,
    seed: int = 0,
) -> Scorer:
    """Return a scorer for scikit-learn: minus the success of a membership attack, higher = leaks less.

    Args:
        attack: a name of the catalogue, or an attack.
        metric: "tpr", the true positive rate at `fpr`, or "auc".
        fpr: in (0, 1); for "tpr".
        n_models: number of clones that are trained for each score, even, at least 4.
        records: `(X, y)` to train on and to score, at the size of the real training set; None for those that
            scikit-learn gives: in cross validation those of the held-out fold, so that models train on half of a fold.
        seed: of the halves and of the training, the same for each estimator: differences of scores are less random.

    Returns:
        `scorer(estimator, X, y)`, for `scoring=` of `cross_val_score` and `GridSearchCV`; it can be pickled.

    Raises:
        ParameterError: an unknown attack or metric, an odd or too small `n_models`; when called, an estimator without
            probabilities, records that are no numbers, or too few of them to measure `fpr`.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> scorer = membership_scorer(metric="auc", attack="base")
        >>> deep, shallow = (scorer(DecisionTreeClassifier(max_depth=d, random_state=0), X, y) for d in (None, 1))
        >>> deep < shallow
        True
    """
    built = catalogue.build(attack) if isinstance(attack, str) else attack
    instance(MembershipAttack, "LiRA()", attack=built)
    one_of(SCORER_METRICS, metric=metric)
    open_unit(fpr=fpr)
    whole(4, n_models=n_models)
    whole(0, seed=seed)
    if n_models % 2:
        raise ParameterError(argument="n_models", value=n_models, allowed="be even: models are pairs of complements")
    built.check_references(n_models, paired=True)
    limit = fpr if metric == "tpr" else None
    return partial(_score, attack=built, fpr=limit, n_models=n_models, given=records, seed=seed)


def _score(
    estimator: Any, X: Any, y: Any, *, attack: MembershipAttack, fpr: float | None, n_models: int, given: Any, seed: int
) -> float:
    """Return minus the true positive rate at `fpr`, or minus the AUC for None."""
    data = _coded(*((X, y) if given is None else given))
    fewest = 2 if fpr is None else math.ceil(2 * MIN_EXPECTED_FALSE_POSITIVES / fpr / n_models)
    if len(data) < fewest:
        raise ParameterError(
            f"a rate at fpr={fpr} needs at least {MIN_EXPECTED_FALSE_POSITIVES} expected false positives: {fewest:,} "
            f"records with {n_models} models, but there are {len(data):,}. Give more records (records=(X, y)) or "
            "models, or metric='auc'.",
            argument="fpr",
        )
    shadows = train_shadows(EstimatorLearner(estimator), data, n_models, seed=seed)
    pooled = Pooled.of(attack.score(shadows), shadows.inclusion, shadows.partners)
    return -pooled.auc if fpr is None else -pooled.rate_at(fpr, 0.95).tpr


def _coded(X: Any, y: Any) -> TrainingData:
    """Return records with classes numbered from 0."""
    return TrainingData(np.asarray(X), np.unique(np.asarray(y), return_inverse=True)[1])
