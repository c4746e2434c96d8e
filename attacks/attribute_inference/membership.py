"""Black-box attribute inference from a model's predictions for each person with each value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.constraints import Finite, check_fields
from ...mechanisms.core.errors import AttackError
from ...mechanisms.core.validation import one_of
from ..membership.signals import SIGNALS
from .base import LABEL, AttributeInference, People, Sensitive, needed
from .predictions import log_probabilities, places


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

    signal: str = "loss"
    threshold: Finite | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        one_of(tuple(SIGNALS), signal=self.signal)

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Return the scores for a fitted classifier; `known` is not needed."""
        X, y = sensitive.filled(people)
        log_p = log_probabilities(released, X)
        class_index = places(released, y, log_p.shape[-1])
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
        """Return the scores for a fitted classifier; the label must be known."""
        if sensitive.feature == LABEL:
            raise AttackError("ErrorRates reads the label of each person, so it cannot infer the label.")
        others, labels = (np.asarray(part) for part in needed(known, self))
        X, y = sensitive.filled(people)
        log_p = log_probabilities(released, X)
        n_classes = log_p.shape[-1]
        predicted = log_probabilities(released, others.astype(np.float64)).argmax(axis=-1)
        counts = np.ones((n_classes, n_classes))
        np.add.at(counts, (predicted, places(released, labels, n_classes)), 1.0)
        rates = np.log(counts / counts.sum(axis=1, keepdims=True))
        return np.asarray(rates[log_p.argmax(axis=-1), places(released, y, n_classes)].T + sensitive.log_prior)
