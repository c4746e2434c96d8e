"""Attribute inference from a model: its predictions for each person with each value, or the counts in its leaves.

FromMembership     the value with the largest membership signal
ErrorRates         the value whose predicted class best explains the label
LearnedInference   a classifier of the predictions and the known attributes
LeafCounts         white box: the training counts in the leaves of a decision tree
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import AttackError, Bools, Finite, Floats, Ints, one_of_names
from ...membership.signals import MIN_LOG_PROBABILITY, SIGNALS
from ...people.base import LABEL_COLUMN, AttributeInference, People, Sensitive, require_known
from ...people.imputation import ProbabilityLearner, fitted_scores


def log_probabilities(model: Any, X: Floats) -> Floats:
    """Return the log probability of each class, `(..., n_classes)`, of records `(..., d)`.

    Args:
        model: a fitted classifier with `predict_proba`, or one trained model with `log_probabilities`.

    Raises:
        AttackError: a model with neither method, or several models.
    """
    rows = X.reshape(-1, X.shape[-1])
    if hasattr(model, "log_probabilities"):
        if len(model) != 1:
            raise AttackError(f"one model is needed, but there are {len(model)}. Give one of them.")
        log_p = model.log_probabilities(rows)[0]
    elif hasattr(model, "predict_proba"):
        with np.errstate(divide="ignore"):
            log_p = np.log(model.predict_proba(rows))
    else:
        raise AttackError(
            f"{type(model).__name__} gives no probabilities: it has neither predict_proba nor log_probabilities. Fit "
            "it so that it does (SVC(probability=True)), or wrap it (CalibratedClassifierCV)."
        )
    return np.asarray(log_p).reshape(*X.shape[:-1], -1)


def class_indices(model: Any, y: NDArray[Any], n_classes: int) -> Ints:
    """Return the index of each label among the classes of the model; raise `AttackError` for an unknown label."""
    classes = np.asarray(getattr(model, "classes_", np.arange(n_classes)))
    index = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    if not (classes[index] == y).all():
        unknown_label = np.asarray(y)[classes[index] != y].ravel()[0]
        raise AttackError(f"the model knows the classes {classes.tolist()}, but a label is {unknown_label}.")
    return np.asarray(index)


def _of_values(model: Any, people: People, sensitive: Sensitive) -> tuple[Floats, Ints]:
    """Return predictions for people with each value: log probabilities `(m, n, n_classes)`, label indices `(m, n)`."""
    X, y = sensitive.filled(people)
    log_p = log_probabilities(model, X)
    return log_p, class_indices(model, y, log_p.shape[-1])


@dataclass(frozen=True)
class FromMembership(AttributeInference):
    """Guess of the value with the largest membership signal.

        score(v) = log prior(v) + signal(x[v], y)

    With the signal "loss", log p_y, the guess is argmax prior(v) p_y(x[v]): the black-box attack with confidences. With
    a threshold, a value counts as "member" or not, and the prior decides among the members.

    Args:
        signal: one of `dpassay.attacks.membership.signals`, except those that need gradients.
        threshold: smallest signal of a member, such as the mean over the training set; None: the signal itself.

    References:
        Yeom, Giacomelli, Fredrikson, Jha (2018), section 4.3; Fredrikson, Jha, Ristenpart (2015), section 4.

    Example:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
        >>> secret = Sensitive(1, [0, 1])
        >>> FromMembership().guess(DecisionTreeClassifier().fit(X, y), (X, y), secret).tolist()
        [0, 1, 0, 1]
    """

    signal: Annotated[str, one_of_names(*SIGNALS)] = "loss"
    threshold: Finite | None = None

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        log_p, class_index = _of_values(released, people, sensitive)
        signal = SIGNALS[self.signal]
        signals = np.stack(
            [signal(log_p_of_value, labels) for log_p_of_value, labels in zip(log_p, class_index, strict=True)], axis=1
        )
        if self.threshold is not None:
            signals = np.where(signals >= self.threshold, 1e6, 0.0)
        return np.asarray(signals + sensitive.log_prior)


@dataclass(frozen=True)
class ErrorRates(AttributeInference):
    """Guess of the value whose predicted class best explains the true label, given the error rates of the model.

        score(v) = log prior(v) + log Pr[label = y | predicted = argmax p(x[v])]

    Only the predicted class is used. The errors are counted on `known`, with one added to each count.

    References:
        Fredrikson, Lantz, Jha, Lin, Page, Ristenpart (2014), figure 4.
    """

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        if sensitive.feature == LABEL_COLUMN:
            raise AttackError("ErrorRates reads the label of each person, so it cannot infer the label.")
        others, labels = (np.asarray(part) for part in require_known(known, self))
        log_p, class_index = _of_values(released, people, sensitive)
        n_classes = log_p.shape[-1]
        predicted = log_probabilities(released, others.astype(np.float64)).argmax(axis=-1)
        counts = np.ones((n_classes, n_classes))
        np.add.at(counts, (predicted, class_indices(released, labels, n_classes)), 1.0)
        rates = np.log(counts / counts.sum(axis=1, keepdims=True))
        return np.asarray(rates[log_p.argmax(axis=-1), class_index].T + sensitive.log_prior)


@dataclass(frozen=True)
class LearnedInference(AttributeInference):
    """Classifier from the known attributes, and log p_y at each value, to the value.

    It is trained on `known`, people who were not in the training set: it learns what the model reveals about the
    population, as `Imputation` does, and how the model's certainty depends on the value.

    Args:
        learner: "logistic", "forest", "boosting", or an unfitted scikit-learn classifier.

    References:
        Song and Shmatikov (2020), section 4; Jayaraman and Evans (2022), section 4.
    """

    learner: ProbabilityLearner = "boosting"

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        others = require_known(known, self)
        labels = np.unique(np.asarray(others[1]))
        rows, at = (
            np.column_stack([sensitive.known(group, labels), _log_p(released, group, sensitive)])
            for group in (others, people)
        )
        return fitted_scores(self.learner, rows, sensitive.truth(others), at, sensitive)


def _log_p(model: Any, people: People, sensitive: Sensitive) -> Floats:
    """Return log p_y of each person with each value, `(n, m)`."""
    log_p, class_index = _of_values(model, people, sensitive)
    return np.maximum(np.take_along_axis(log_p, class_index[..., np.newaxis], axis=-1)[..., 0], MIN_LOG_PROBABILITY).T


@dataclass(frozen=True)
class LeafCounts(AttributeInference):
    """Guess of the value whose leaf has most training examples with the person's label.

        score(v) = log prior(v) + log n(leaf of x[v], y) - log sum of n(leaf) over the leaves that v can reach

    n are training counts, which trees show with each prediction; the last sum is over the leaves that a person with v
    can reach for any other features, so that a value is not preferred because it reaches many leaves.

    References:
        Fredrikson, Jha, Ristenpart (2015), section 4.3, the white-box attack with counts, all other features known.
    """

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Return the scores for a fitted `DecisionTreeClassifier`."""
        if not hasattr(released, "tree_") or not hasattr(released, "classes_"):
            raise AttackError(f"LeafCounts reads the counts of one decision tree, but got a {type(released).__name__}.")
        if sensitive.feature == LABEL_COLUMN:
            raise AttackError("LeafCounts infers a feature. Take FromMembership for labels.")
        X, y = sensitive.filled(people)
        tree = released.tree_
        leaves = released.apply(X.reshape(-1, X.shape[-1])).reshape(X.shape[:2])
        shares = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        counts = (shares * tree.n_node_samples[:, np.newaxis])[leaves, class_indices(released, y, shares.shape[1])]
        reach = [_reached(tree, int(sensitive.feature), float(value)) for value in np.asarray(sensitive.values)]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(counts).T - np.log(reach) + sensitive.log_prior)


def _reached(tree: Any, feature: int, value: float) -> float:
    """Return the number of training examples in the leaves that a record with this value of the feature can reach."""
    reached: Bools = np.zeros(tree.node_count, dtype=np.bool_)
    reached[0] = True
    for node in range(tree.node_count):  # children come after their parent
        left, right = tree.children_left[node], tree.children_right[node]
        if reached[node] and left >= 0:
            splits = tree.feature[node] == feature
            reached[left] = not splits or np.float32(value) <= tree.threshold[node]
            reached[right] = not splits or np.float32(value) > tree.threshold[node]
    return float(tree.n_node_samples[reached & (tree.children_left < 0)].sum())
