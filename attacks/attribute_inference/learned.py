"""Attribute inference by a classifier of the model's predictions and the known attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.core.arrays import Floats
from ..membership.signals import FLOOR
from .base import AttributeInference, People, Sensitive, needed
from .imputation import check_learner, fitted_scores
from .predictions import log_probabilities, places


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

    learner: Any = "boosting"

    def __post_init__(self) -> None:
        check_learner(self.learner)

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Return log probabilities of the classifier."""
        others = needed(known, self)
        labels = np.unique(np.asarray(others[1]))
        rows, at = (
            np.column_stack([sensitive.known(group, labels), _log_p(released, group, sensitive)])
            for group in (others, people)
        )
        return fitted_scores(self.learner, rows, sensitive.truth(others), at, sensitive)


def _log_p(model: Any, people: People, sensitive: Sensitive) -> Floats:
    """Return log p_y of each person with each value, `(n, m)`."""
    X, y = sensitive.filled(people)
    log_p = log_probabilities(model, X)
    class_index = places(model, y, log_p.shape[-1])
    return np.maximum(np.take_along_axis(log_p, class_index[..., np.newaxis], axis=-1)[..., 0], FLOOR).T
