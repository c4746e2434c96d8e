"""From what a model says of each person with each value: black box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.errors import AttackError
from ...mechanisms.validation import finite, one_of
from ..membership.signals import SIGNALS
from .base import LABEL, AttributeInference, Floats, People, Sensitive, needed
from .predictions import log_probabilities, places


@dataclass(frozen=True)
class FromMembership(AttributeInference):
    """The value with which the person looks most like one that the model was trained on.

        score(v) = log prior(v) + signal(x[v], y)

    With the signal "loss", log p_y, it is argmax prior(v) p_y(x[v]): the black-box attack with confidences. With a
    threshold, a value counts as "member" or not, and the prior decides among the members.

    Args:
        signal: one of `dpassay.attacks.membership.signals`, but not one that needs gradients.
        threshold: least signal of a member, such as the mean over the training set; None: the signal itself.

    References:
        Yeom, Giacomelli, Fredrikson, Jha (2018), section 4.3; Fredrikson, Jha, Ristenpart (2015), section 4.

    Example:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
        >>> secret = Sensitive(1, [0, 1])
        >>> FromMembership().guess(DecisionTreeClassifier().fit(X, y), (X, y), secret).tolist()
        [0, 1, 0, 1]
    """

    signal: str = "loss"
    threshold: float | None = None

    def __post_init__(self) -> None:
        one_of(tuple(SIGNALS), signal=self.signal)
        if self.threshold is not None:
            finite(threshold=self.threshold)

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Of a fitted classifier; `known` is not needed."""
        X, y = sensitive.filled(people)
        log_p = log_probabilities(released, X)
        at = places(released, y, log_p.shape[-1])
        signal = SIGNALS[self.signal]
        found = np.stack([signal(one, labels) for one, labels in zip(log_p, at, strict=True)], axis=1)
        if self.threshold is not None:
            found = np.where(found >= self.threshold, 1e6, 0.0)
        return np.asarray(found + sensitive.log_prior)


@dataclass(frozen=True)
class ErrorRates(AttributeInference):
    """The value whose predicted class best explains the true label, by how often the model errs.

        score(v) = log prior(v) + log Pr[label = y | predicted = argmax p(x[v])]

    Only the predicted class is seen. How often it errs is counted on `known`, with one more of each.

    References:
        Fredrikson, Lantz, Jha, Lin, Page, Ristenpart (2014), figure 4.
    """

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Of a fitted classifier; the label must be known."""
        if sensitive.feature == LABEL:
            raise AttackError("ErrorRates reads the label of each person, so it cannot infer the label.")
        others, labels = (np.asarray(part) for part in needed(known, self))
        X, y = sensitive.filled(people)
        log_p = log_probabilities(released, X)
        n_classes = log_p.shape[-1]
        seen = log_probabilities(released, others.astype(np.float64)).argmax(axis=-1)
        counts = np.ones((n_classes, n_classes))
        np.add.at(counts, (seen, places(released, labels, n_classes)), 1.0)
        rates = np.log(counts / counts.sum(axis=1, keepdims=True))
        return np.asarray(rates[log_p.argmax(axis=-1), places(released, y, n_classes)].T + sensitive.log_prior)
