"""The feature baseline: how well the features of records reveal their membership without any model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....mechanisms.core import Floats, ParameterError, one_of, open_unit, whole
from .roc import Pooled


@dataclass(frozen=True)
class FeatureBaseline:
    """AUC of a classifier that separates members from non-members by their features only.

    Args:
        auc, lower, upper: cross-validated, with its interval.
    """

    auc: float
    lower: float
    upper: float

    @property
    def shifted(self) -> bool:
        """True if members and non-members differ in distribution, which alone can explain an attack's success."""
        return self.lower > 0.5


def feature_baseline(
    X: Any,
    member: Any,
    *,
    y: Any = None,
    classifier: str = "logistic",
    confidence: float = 0.95,
    n_folds: int = 2,
    seed: int = 0,
) -> FeatureBaseline:
    """Compute the cross-validated AUC of members against non-members, by features only.

    Args:
        X: `(n, n_features)` features.
        member: `(n,)` booleans.
        y: `(n,)` labels, used as further features; None for none.
        classifier: "logistic" regression, or "boosting" of trees.
        confidence: of the interval.
        n_folds: number of folds. The AUC is averaged over folds: pooled folds have an AUC below 1/2 where the features
            are uninformative.
        seed: of the folds.

    Raises:
        ParameterError: inconsistent shapes, or fewer than `n_folds` members or non-members.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> member = rng.random(4000) < 0.5
        >>> feature_baseline(rng.normal(size=(4000, 1)) + member[:, None], member).shifted
        True
    """
    one_of(("logistic", "boosting"), classifier=classifier)
    open_unit(confidence=confidence)
    whole(2, n_folds=n_folds)
    rows, flags = _rows(X, y), np.asarray(member, dtype=np.bool_)
    if rows.shape[0] != len(flags) or min(flags.sum(), (~flags).sum()) < n_folds:
        raise ParameterError(
            f"member must be one boolean a record, with at least {n_folds} members and non-members, but X has "
            f"{len(rows)} rows and member has {int(flags.sum())} True of {len(flags)}.",
            argument="member",
        )
    from sklearn.model_selection import StratifiedKFold

    from ....attacks.learners.base import single_thread

    odds, fold = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
    with single_thread():
        split = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(rows, flags)
        for i, (train, test) in enumerate(split):
            model = _build(classifier, seed).fit(rows[train], flags[train])
            odds[test], fold[test] = model.predict_proba(rows[test])[:, 1], i
    # Ranks within a fold: comparisons across folds would count the intercepts of their classifiers.
    parts = [Pooled.of(odds[fold == i], flags[fold == i]) for i in range(n_folds)]
    auc = float(np.mean([part.auc for part in parts]))
    # Folds share records, so their errors are not independent: all intervals hold simultaneously (Bonferroni), and so
    # does their mean.
    simultaneous = 1.0 - (1.0 - confidence) / n_folds
    reach = float(np.mean([np.subtract(*part.auc_interval(simultaneous)[::-1]) / 2.0 for part in parts]))
    return FeatureBaseline(auc, max(0.0, auc - reach), min(1.0, auc + reach))


def _rows(X: Any, y: Any) -> Floats:
    rows = np.asarray(X, dtype=np.float64).reshape(len(X), -1)
    if y is None:
        return rows
    labels = np.asarray(y)
    return np.concatenate([rows, labels[:, None] == np.unique(labels)], axis=1)


def _build(classifier: str, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if classifier == "boosting":
        return HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=seed)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
