"""What is guessed without any release: the baselines of attribute inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.errors import ParameterError
from ..models.threads import single_thread
from .base import AttributeInference, Floats, People, Sensitive, needed

LEARNERS = ("logistic", "forest", "boosting")


@dataclass(frozen=True)
class Majority(AttributeInference):
    """The most probable value, of everybody."""

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """The prior; nothing else is read."""
        return np.repeat(sensitive.log_prior[np.newaxis], len(np.asarray(people[0])), axis=0)


@dataclass(frozen=True)
class Imputation(AttributeInference):
    """A classifier from what is known of a person to the value, trained on other people, without the release.

    Args:
        learner: "logistic", "forest", "boosting", or an unfitted scikit-learn classifier.

    References:
        Jayaraman and Evans (2022), "Are attribute inference attacks just imputation?"

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.integers(0, 2, 200).astype(float)
        >>> X = np.column_stack([x, 2 * x])  # the second column says what the first one is
        >>> secret = Sensitive(0, [0, 1])
        >>> Imputation().right(None, (X[:50], x[:50]), secret, known=(X[50:], x[50:])).all()
        np.True_
    """

    learner: Any = "logistic"

    def __post_init__(self) -> None:
        check_learner(self.learner)

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Log probabilities of the classifier; what was released is not read."""
        others = needed(known, self)
        labels = np.unique(np.asarray(others[1]))
        rows, wanted = sensitive.known(others, labels), sensitive.truth(others)
        return fitted_scores(self.learner, rows, wanted, sensitive.known(people, labels), sensitive)


def fitted_scores(learner: Any, rows: Floats, wanted: Any, at: Floats, sensitive: Sensitive) -> Floats:
    """`(n, m)` log probabilities of each value at `at`, of a classifier trained on `rows` with the numbers `wanted`."""
    found = np.full((len(at), len(np.asarray(sensitive.values))), -np.inf)
    seen = np.unique(wanted)
    if len(seen) == 1:
        found[:, seen[0]] = 0.0
        return found
    with single_thread():
        model = build(learner).fit(rows, wanted)
        with np.errstate(divide="ignore"):
            found[:, seen] = np.log(model.predict_proba(at))
    return found


def check_learner(learner: Any) -> None:
    """Raises `ParameterError` for what is no classifier with probabilities."""
    named = isinstance(learner, str) and learner in LEARNERS
    if not named and not (hasattr(learner, "fit") and hasattr(learner, "predict_proba")):
        raise ParameterError(
            f"learner must be one of {', '.join(LEARNERS)}, or a scikit-learn classifier with predict_proba, but is "
            f"{learner!r}.",
            argument="learner",
        )


def build(learner: Any) -> Any:
    """An unfitted classifier."""
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
