"""A classifier that reads the model's predictions beside what is known of a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..membership.signals import FLOOR
from .base import AttributeInference, Floats, People, Sensitive, needed
from .imputation import check_learner, fitted_scores
from .predictions import log_probabilities, places


@dataclass(frozen=True)
class Learned(AttributeInference):
    """A classifier from what is known of a person, and log p_y at each value, to the value.

    It is trained on `known`, people who were not in the training set: it finds what the model says of the population,
    as `Imputation` does, and how the model's certainty depends on the value.

    Args:
        learner: "logistic", "forest", "boosting", or an unfitted scikit-learn classifier.

    References:
        Song and Shmatikov (2020), section 4; Jayaraman and Evans (2022), section 4.
    """

    learner: Any = "boosting"

    def __post_init__(self) -> None:
        check_learner(self.learner)

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Log probabilities of the classifier."""
        others = needed(known, self)
        labels = np.unique(np.asarray(others[1]))
        rows, at = (
            np.column_stack([sensitive.known(who, labels), _said(released, who, sensitive)]) for who in (others, people)
        )
        return fitted_scores(self.learner, rows, sensitive.truth(others), at, sensitive)


def _said(model: Any, people: People, sensitive: Sensitive) -> Floats:
    """`(n, m)` log p_y of each person with each value."""
    X, y = sensitive.filled(people)
    log_p = log_probabilities(model, X)
    at = places(model, y, log_p.shape[-1])
    return np.maximum(np.take_along_axis(log_p, at[..., np.newaxis], axis=-1)[..., 0], FLOOR).T
