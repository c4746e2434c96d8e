"""The feature baseline: how well the features of records reveal their membership without the audited model.

Two sets of records that were drawn at random from the same ones cannot be told apart without the model. If they can, an
attack on the model may do no more than that, and its success shows no leak. `blind_baseline` looks in several ways:

    records      logistic regression of membership on features and labels
    trees        boosted trees, the same: variances, ranges and interactions
    difficulty   the probability of a record's label under models of labels on features, trained on the other folds
                 without a look at membership: whether one side is harder to predict, as a loss shows
    references   the mean loss under references that saw none of the records

The first three are cross-validated. If membership is exchangeable over the records, each AUC has mean 1/2. The first
two learn from membership: their errors on two folds are nearly the same, and their intervals are averaged. The models
of labels do not: given features and labels, the AUCs of different folds depend on different bits, are independent, and
their variances are averaged, divided by the number of folds. All intervals hold together (Bonferroni over ways), so one
of them excludes 1/2 with probability 1 - confidence at most, up to the normal approximation of DeLong's interval. The
reverse does not hold: sets may differ in a way that none of them sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....mechanisms.core import Bools, Floats, Ints, ParameterError, one_of, open_unit, whole
from .roc import Pooled

MIN_RECORDS = 10
"""Fewest members, and others, of a baseline."""
N_FOLDS = 5
"""Number of folds of the models of labels."""
MAX_CLASSES = 200
"""Number of values above which labels that are numbers are targets of a regression."""


@dataclass(frozen=True)
class FeatureBaseline:
    """AUC of a classifier that separates members from non-members by their features only.

    Args:
        auc, lower, upper: cross-validated, with its interval.
        way: the way with the largest lower limit, as in the list above.
        most: largest upper limit of all ways; None if there is only one.
    """

    auc: float
    lower: float
    upper: float
    way: str = "records"
    most: float | None = None

    @property
    def shifted(self) -> bool:
        """True if members and non-members differ in distribution, which alone can explain an attack's success."""
        return self.lower > 0.5

    @property
    def limit(self) -> float:
        """Largest AUC that the records alone may explain."""
        return max(0.5, self.upper if self.most is None else self.most)


def blind_baseline(
    member: Bools,
    *,
    X: Any = None,
    y: Any = None,
    references: Floats | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> FeatureBaseline | None:
    """Compute the AUC of members against others in all ways that these arrays allow; see the head of this module.

    Args:
        member: `(n,)` booleans.
        X: `(n, n_features)` numbers, or None.
        y: `(n,)` labels, or None. Labels that are all equal are not used.
        references: `(n,)` mean signal of models that saw none of the records, higher = more like a member; or None.
        confidence: of all intervals together.
        seed: of the folds.

    Returns:
        The way with the largest lower limit; None without any, or with fewer than 10 records on a side.
    """
    flags = np.asarray(member, dtype=np.bool_)
    if min(flags.sum(), (~flags).sum()) < MIN_RECORDS:
        return None
    labels = None if y is None or len(np.unique(y)) < 2 else np.asarray(y)
    ways = [] if X is None else ["records", "trees", *(["difficulty"] if labels is not None else [])]
    ways += [] if references is None else ["references"]
    each = 1.0 - (1.0 - confidence) / max(len(ways), 1)
    found = []
    for way in ways:
        if way == "references":
            pooled = Pooled.of(np.asarray(references), flags)
            one = _either_side(FeatureBaseline(pooled.auc, *pooled.auc_interval(each)))
        elif way == "difficulty":
            one = _either_side(
                _cross_validated(_rows(X, None), flags, _likelihood(labels, seed), each, N_FOLDS, seed, blind=True)
            )
        else:
            classifier = "boosting" if way == "trees" else "logistic"
            one = feature_baseline(X, flags, y=labels, classifier=classifier, confidence=each, seed=seed)
        found.append(replace(one, way=way))
    if not found:
        return None
    return replace(max(found, key=lambda one: one.lower), most=max(one.upper for one in found))


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

    def odds(train: Ints, test: Ints) -> Floats:
        model = _build(classifier, seed).fit(rows[train], flags[train])
        return np.asarray(model.predict_proba(rows[test])[:, 1])

    return _cross_validated(rows, flags, lambda _, train, test: odds(train, test), confidence, n_folds, seed)


Rule = Callable[[Floats, Ints, Ints], Floats]
"""Rows, training fold and test fold -> scores of the test fold."""


def _cross_validated(
    rows: Floats, flags: Bools, rule: Rule, confidence: float, n_folds: int, seed: int, *, blind: bool = False
) -> FeatureBaseline:
    """Return the AUC of scores of each fold by a rule that is learned from the others, averaged over the folds.

    `blind`: whether the rule does not depend on membership.
    """
    from sklearn.model_selection import StratifiedKFold

    from ....attacks.learners.base import single_thread

    odds, fold = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
    with single_thread():
        split = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(rows, flags)
        for i, (train, test) in enumerate(split):
            odds[test], fold[test] = rule(rows, train, test), i
    # Ranks within a fold: comparisons across folds would count the intercepts of their classifiers.
    parts = [Pooled.of(odds[fold == i], flags[fold == i]) for i in range(n_folds)]
    auc = float(np.mean([part.auc for part in parts]))
    if blind:
        reaches = [np.subtract(*part.auc_interval(confidence)[::-1]) / 2.0 for part in parts]
        reach = float(np.sqrt(np.mean(np.square(reaches)) / n_folds))
        return FeatureBaseline(auc, max(0.0, auc - reach), min(1.0, auc + reach))
    # Folds share records, so their errors are not independent: all intervals hold simultaneously (Bonferroni), and so
    # does their mean.
    simultaneous = 1.0 - (1.0 - confidence) / n_folds
    reach = float(np.mean([np.subtract(*part.auc_interval(simultaneous)[::-1]) / 2.0 for part in parts]))
    return FeatureBaseline(auc, max(0.0, auc - reach), min(1.0, auc + reach))


def _either_side(one: FeatureBaseline) -> FeatureBaseline:
    """Return the baseline with the AUC of whichever side is higher: easier members and harder ones differ alike."""
    return one if one.auc >= 0.5 else FeatureBaseline(1.0 - one.auc, 1.0 - one.upper, 1.0 - one.lower)


def _likelihood(y: Any, seed: int) -> Rule:
    """Return the rule that scores a record by how well its label is predicted, without a look at membership.

    Classes: the mean of the probabilities by a logistic regression and by a tree. Numbers: minus the distance from the
    prediction of a tree.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    options: dict[str, Any] = {"min_samples_leaf": 20, "random_state": seed}

    def rule(rows: Floats, train: Ints, test: Ints) -> Floats:
        if _many_values(y):
            predicted = DecisionTreeRegressor(**options).fit(rows[train], y[train]).predict(rows[test])
            return np.asarray(-np.abs(predicted - y[test]))
        classes, codes = np.unique(y, return_inverse=True)
        if len(np.unique(codes[train])) < 2:
            return np.zeros(len(test))
        total = np.zeros((len(test), len(classes)))
        for model in (_build("logistic", seed), DecisionTreeClassifier(**options)):
            model.fit(rows[train], codes[train])
            total[:, model.classes_] += model.predict_proba(rows[test])
        return np.asarray(total[np.arange(len(test)), codes[test]])

    return rule


def _many_values(y: Any) -> bool:
    """Return whether labels are numbers with more values than classes have."""
    return bool(y.dtype.kind in "iuf" and len(np.unique(y)) > MAX_CLASSES)


def _rows(X: Any, y: Any) -> Floats:
    rows = np.asarray(X, dtype=np.float64).reshape(len(X), -1)
    if y is None:
        return rows
    labels = np.asarray(y)
    columns = labels[:, None].astype(np.float64) if _many_values(labels) else labels[:, None] == np.unique(labels)
    return np.concatenate([rows, columns], axis=1)


def _build(classifier: str, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if classifier == "boosting":
        return HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=seed)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
