"""Guesses without any release: the baselines of attribute inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np

from ...mechanisms.core import Constraint, Floats, ParameterError
from ..learners.base import single_thread
from .base import AttributeInference, People, Sensitive, require_known

LEARNERS = ("logistic", "forest", "boosting")


def check_learner(learner: Any) -> None:
    """Raise `ParameterError` unless `learner` is a classifier with probabilities."""
    known_name = isinstance(learner, str) and learner in LEARNERS
    if not known_name and not (hasattr(learner, "fit") and hasattr(learner, "predict_proba")):
        raise ParameterError(
            f"learner must be one of {', '.join(LEARNERS)}, or a scikit-learn classifier with predict_proba, but is "
            f"{learner!r}.",
            argument="learner",
        )


ProbabilityLearner: TypeAlias = Annotated[Any, Constraint(check_learner, "logistic", ("no such name", 1, None))]
"""Name in `LEARNERS`, or an unfitted scikit-learn classifier."""


@dataclass(frozen=True)
class Majority(AttributeInference):
    """Guess of the most probable value for every person."""

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        return np.repeat(sensitive.log_prior[np.newaxis], len(np.asarray(people[0])), axis=0)


@dataclass(frozen=True)
class Imputation(AttributeInference):
    """Classifier from the known attributes to the value, trained on other people, without the release.

    Args:
        learner: "logistic", "forest", "boosting", or an unfitted scikit-learn classifier.

    References:
        Jayaraman and Evans (2022), "Are attribute inference attacks just imputation?"

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.integers(0, 2, 200).astype(float)
        >>> X = np.column_stack([x, 2 * x])  # the second column determines the first
        >>> secret = Sensitive(0, [0, 1])
        >>> Imputation().correct(None, (X[:50], x[:50]), secret, known=(X[50:], x[50:])).all()
        np.True_
    """

    learner: ProbabilityLearner = "logistic"

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        others = require_known(known, self)
        labels = np.unique(np.asarray(others[1]))
        rows, value_index = sensitive.known(others, labels), sensitive.truth(others)
        return fitted_scores(self.learner, rows, value_index, sensitive.known(people, labels), sensitive)


def fitted_scores(learner: Any, rows: Floats, wanted: Any, at: Floats, sensitive: Sensitive) -> Floats:
    """Return `(n, m)` log probabilities of each value at `at`, by a classifier trained on `rows` and `wanted`."""
    log_p = np.full((len(at), len(np.asarray(sensitive.values))), -np.inf)
    values_present = np.unique(wanted)
    if len(values_present) == 1:
        log_p[:, values_present[0]] = 0.0
        return log_p
    with single_thread():
        model = build(learner).fit(rows, wanted)
        with np.errstate(divide="ignore"):
            log_p[:, values_present] = np.log(model.predict_proba(at))
    return log_p


def build(learner: Any) -> Any:
    """Return an unfitted classifier."""
    from sklearn.base import clone
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if learner == "logistic":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if learner == "forest":
        return RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    if learner == "boosting":
        return HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0)
    return clone(learner)
