"""Teachers: classifiers of disjoint parts of the records, which label queries.

    NearestTeachers      the label of the nearest record
    KernelTeachers       least squares with a Gaussian kernel: fast, and accurate on few records
    EstimatorTeachers    any classifier of scikit-learn

A teacher, including its options, depends on the records of its part only, so that a record changes the votes of one
teacher.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Ints, Options, ParameterError, Positive
from ...learning.base import AnyFloats
from .disjoint_parts import part_of

Labels = Ints


class Teachers(Options):
    """Deterministic classifiers, one for each part."""

    def labels(self, X: AnyFloats, y: NDArray[Any], queries: AnyFloats, n_teachers: int, n_classes: int) -> Labels:
        """Return the label that each teacher gives to each query, `(n_teachers, n_queries)`.

        Args:
            X, y: the records, `(n, n_features)` and `(n,)` labels from 0 to n_classes - 1.
            queries: `(n_queries, n_features)`.
            n_teachers: number of parts, at most n.
            n_classes: number of labels.
        """
        y = np.asarray(y).astype(np.int64)
        parts = part_of(len(y), n_teachers)
        return np.array([self.teach(X[part], y[part], queries, n_classes) for part in parts])

    @abstractmethod
    def teach(self, X: AnyFloats, y: Labels, queries: AnyFloats, n_classes: int) -> Labels:
        """Return the labels of one teacher, `(n_queries,)`, from the records of its part."""


@dataclass(frozen=True)
class NearestTeachers(Teachers):
    """Label of the nearest record, the first in a tie.

    Example:
        >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
        >>> NearestTeachers().labels(X, y, np.array([[0.2], [0.9]]), 2, 2)
        array([[0, 1],
               [0, 1]])
    """

    def teach(self, X: AnyFloats, y: Labels, queries: AnyFloats, n_classes: int) -> Labels:
        return np.asarray(y[squared_distances(queries, X).argmin(axis=1)])


@dataclass(frozen=True)
class KernelTeachers(Teachers):
    """Kernel ridge regression of one-hot labels with the kernel exp(-|x - x'|^2 / (2 width^2)).

    Args:
        ridge: factor of the identity matrix that is added to the kernel matrix, > 0.
        width: width of the kernel, as a multiple of the median distance within the part, > 0.

    Example:
        >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
        >>> KernelTeachers().labels(X, y, np.array([[0.2], [0.9]]), 2, 2)
        array([[0, 1],
               [0, 1]])
    """

    ridge: Positive = 0.03
    width: Positive = 0.7

    def teach(self, X: AnyFloats, y: Labels, queries: AnyFloats, n_classes: int) -> Labels:
        squared = squared_distances(X, X)
        positive_squared = squared[(squared > 0.0) & np.isfinite(squared)]
        rate = 0.5 / (self.width**2 * (float(np.median(positive_squared)) if len(positive_squared) else 1.0))
        gram = np.exp(-rate * squared)
        gram.flat[:: len(y) + 1] += self.ridge
        weights = np.linalg.solve(gram, np.eye(n_classes)[y] - 1.0 / n_classes)
        return np.asarray((np.exp(-rate * squared_distances(queries, X)) @ weights).argmax(axis=1))


@dataclass(frozen=True)
class EstimatorTeachers(Teachers):
    """Clones of a classifier of scikit-learn; a part whose records have only one label gives that label.

    Args:
        estimator: unfitted, with `fit` and `predict`; a randomised estimator needs a fixed random_state.

    Example:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
        >>> EstimatorTeachers(DecisionTreeClassifier(random_state=0)).labels(X, y, np.array([[0.2], [0.9]]), 2, 2)
        array([[0, 1],
               [0, 1]])
    """

    estimator: Any

    def __post_init__(self) -> None:
        if isinstance(self.estimator, type) or not all(hasattr(self.estimator, name) for name in ("fit", "predict")):
            raise ParameterError(
                f"estimator must be a classifier of scikit-learn with fit and predict, but is {self.estimator!r}.",
                argument="estimator",
            )

    def teach(self, X: AnyFloats, y: Labels, queries: AnyFloats, n_classes: int) -> Labels:
        from sklearn.base import clone

        if (y == y[0]).all():
            return np.full(len(queries), y[0])
        X = np.clip(X, -MAX_FEATURE, MAX_FEATURE)
        return np.asarray(clone(self.estimator).fit(X, y).predict(queries), dtype=np.int64)


MAX_FEATURE = 1e38
"""Limit to which features are clipped, because scikit-learn raises for larger ones, which would leak the record."""

TEACHERS: dict[str, Teachers] = {"nearest": NearestTeachers(), "kernel": KernelTeachers()}
"""Teachers by name, with their default options."""


def squared_distances(rows: AnyFloats, columns: AnyFloats) -> AnyFloats:
    """Return the squared distance of each row of `rows` to each row of `columns`, `(n, m)`.

    Distances are >= 0, 0 between equal rows up to rounding, and inf where a square overflows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.einsum("ij,ij->i", rows, rows)[:, None] + np.einsum("ij,ij->i", columns, columns)[None, :]
        square -= 2.0 * (rows @ columns.T)
    np.maximum(square, 0.0, out=square)
    square[np.isnan(square)] = np.inf
    return np.asarray(square)
