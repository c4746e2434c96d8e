"""Attribute inference from synthetic tables: the release is rows (X, y)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ....mechanisms.core import AttackError, Floats, PositiveInt
from ...people.base import AttributeInference, People, Sensitive
from ...people.imputation import ProbabilityLearner, fitted_scores


@dataclass(frozen=True)
class NearestRows(AttributeInference):
    """Guess of the most frequent value among the nearest synthetic rows, by the known attributes.

    Distances are Euclidean, columns divided by their standard deviation in the table.

    Args:
        n_neighbours: number of nearest rows.

    References:
        Stadler, Oprisanu, Troncoso (2022); Giomi et al. (2023), section 5.4, with one neighbour.
    """

    n_neighbours: PositiveInt = 1

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        rows, value_index, people_columns = _table(released, people, sensitive)
        spread = rows.std(axis=0)
        scale = np.where(spread > 0.0, spread, 1.0)
        k = min(self.n_neighbours, len(rows))
        _, nearest = cKDTree(rows / scale).query(people_columns / scale, k=k)
        neighbour_values = value_index[np.reshape(nearest, (len(people_columns), k))]
        n_values = len(np.asarray(sensitive.values))
        return np.stack([(neighbour_values == index).mean(axis=1) for index in range(n_values)], axis=1)


@dataclass(frozen=True)
class TrainedOnSynthetic(AttributeInference):
    """Classifier from the known attributes to the value, trained on the synthetic rows.

    Args:
        learner: "logistic", "forest", "boosting", or an unfitted scikit-learn classifier.

    References:
        Stadler, Oprisanu, Troncoso (2022), section 5; Jayaraman and Evans (2022).
    """

    learner: ProbabilityLearner = "logistic"

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        rows, value_index, people_columns = _table(released, people, sensitive)
        return fitted_scores(self.learner, rows, value_index, people_columns, sensitive)


@dataclass(frozen=True)
class CorrectAttribution(AttributeInference):
    """Share of each value among the synthetic rows that agree in all known attributes; the prior if there are none.

    The score of the true value is the correct attribution probability.

    References:
        Taub, Elliot, Pampaka, Smith (2018), "Differential correct attribution probability for synthetic data".
    """

    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        rows, value_index, people_columns = _table(released, people, sensitive)
        _, group = np.unique(np.concatenate([rows, people_columns]), axis=0, return_inverse=True)
        group = group.ravel()
        counts = np.zeros((group.max() + 1, len(np.asarray(sensitive.values))))
        np.add.at(counts, (group[: len(rows)], value_index), 1.0)
        counts_of_people = counts[group[len(rows) :]]
        total = counts_of_people.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, counts_of_people / np.maximum(total, 1.0), np.asarray(sensitive.prior))


def _table(released: Any, people: People, sensitive: Sensitive) -> tuple[Floats, Any, Floats]:
    """Return known columns of the synthetic rows, the indices of their values, and known columns of the people."""
    if not isinstance(released, tuple) or len(released) != 2 or len(np.asarray(released[0])) == 0:
        raise AttackError(
            f"a synthetic table is needed, features and labels (X, y) of at least one row, but got a "
            f"{type(released).__name__}."
        )
    labels = np.unique(np.concatenate([np.asarray(released[1]), np.asarray(people[1])]))
    rows, people_columns = sensitive.known(released, labels), sensitive.known(people, labels)
    return rows, sensitive.truth(released), people_columns
