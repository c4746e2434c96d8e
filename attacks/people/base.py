"""Attribute inference: the unknown attribute, and the interface of the attacks. Read this first.

    Sensitive             the column (or the label) that is unknown, its possible values and their prior
    AttributeInference    released model or table, and the known attributes of each person -> a score for each value

The sensitive column of the people under attack is never read.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.core import AttackError, Bools, Floats, Ints, Options, ParameterError, whole

People = tuple[ArrayLike, ArrayLike]
"""Features `(n, d)` and labels `(n,)`."""

LABEL_COLUMN = "label"


@dataclass(frozen=True, eq=False)
class Sensitive:
    """Attribute of each person that an attack infers.

    Args:
        feature: index of a column of the features, or "label".
        values: `(m,)` its distinct possible values, m >= 2.
        prior: `(m,)` their probabilities; None: uniform.

    Raises:
        ParameterError: fewer than two values, equal ones, a prior that does not sum to 1.

    Example:
        >>> secret = Sensitive(1, [0, 1], prior=[0.75, 0.25])
        >>> X, y = secret.filled(([[5.0, 0.0], [6.0, 1.0]], [0, 1]))
        >>> X[:, 1, 1].tolist()  # the second person, with each value
        [0.0, 1.0]
    """

    feature: int | str
    values: NDArray[Any] | ArrayLike
    prior: Floats | ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.feature != LABEL_COLUMN:
            if isinstance(self.feature, str):
                raise ParameterError(
                    argument="feature", value=self.feature, allowed=f"be the number of a column, or {LABEL_COLUMN!r}"
                )
            whole(0, feature=self.feature)
        values = np.asarray(self.values)
        if values.ndim != 1 or len(values) < 2 or len(np.unique(values)) < len(values):
            raise ParameterError(
                f"values must be at least 2 distinct values, but are {values.tolist()}: with one value there is "
                "nothing to infer. Give all possible values of the attribute.",
                argument="values",
            )
        object.__setattr__(self, "values", values)
        prior = np.full(len(values), 1.0 / len(values)) if self.prior is None else np.asarray(self.prior, np.float64)
        if prior.shape != values.shape or not (prior >= 0.0).all() or abs(prior.sum() - 1.0) > 1e-9:
            raise ParameterError(
                f"prior must be {len(values)} probabilities, one per value, that sum to 1, but has shape {prior.shape} "
                f"and sum {prior.sum():.6g}. Divide by the sum.",
                argument="prior",
            )
        object.__setattr__(self, "prior", prior)

    @classmethod
    def observed(cls, people: People, feature: int | str) -> Self:
        """Return the values and their frequencies among people whose attributes are all known.

        Raises:
            ParameterError: no such column, or a constant one: there is nothing to infer.

        Example:
            >>> Sensitive.observed(([[0.0], [1.0], [1.0], [1.0]], [0, 0, 0, 0]), 0).prior
            array([0.25, 0.75])
        """
        column = _column(people, feature)
        values, counts = np.unique(column, return_counts=True)
        if len(values) == 1:
            raise ParameterError(
                f"feature {feature!r} is constant, {values[0]} for every person: there is nothing to infer.",
                argument="feature",
            )
        return cls(feature, values, counts / counts.sum())

    @property
    def log_prior(self) -> Floats:
        """Logarithms of the prior, `(m,)`; -inf where it is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.asarray(self.prior)))

    def truth(self, people: People) -> Ints:
        """Return the index of each person's value, `(n,)`.

        Raises:
            ParameterError: a value that is not among `values`.

        Example:
            >>> Sensitive("label", [0, 1, 2]).truth(([[0.0], [0.0]], [2, 0])).tolist()
            [2, 0]
        """
        column, values = _column(people, self.feature), np.asarray(self.values)
        order = np.argsort(values)
        positions = np.searchsorted(values, column, sorter=order).clip(max=len(values) - 1)
        index = order[positions]
        if not (values[index] == column).all():
            unknown_value = column[values[index] != column][0]
            raise ParameterError(
                f"values must contain every value that occurs, but {unknown_value} is not among {values.tolist()}. Add "
                "it, or group the attribute into these values first.",
                argument="values",
            )
        return np.asarray(index)

    def filled(self, people: People) -> tuple[Floats, NDArray[Any]]:
        """Return all people with each value: features `(m, n, d)` and labels `(m, n)`."""
        X, y = _arrays(people)
        _column(people, self.feature)
        values = np.asarray(self.values)
        X, y = np.repeat(X[np.newaxis], len(values), axis=0), np.repeat(y[np.newaxis], len(values), axis=0)
        if self.feature == LABEL_COLUMN:
            return X, np.broadcast_to(values[:, np.newaxis], y.shape)
        X[:, :, int(self.feature)] = values[:, np.newaxis]
        return X, y

    def known(self, people: People, labels: NDArray[Any]) -> Floats:
        """Return the known columns of each person: the other features, and an indicator of each of `labels`."""
        X, y = _arrays(people)
        if self.feature == LABEL_COLUMN:
            return X
        return np.column_stack([np.delete(X, int(self.feature), axis=1), y[:, np.newaxis] == labels])


class AttributeInference(Options):
    """Base class of attribute inference attacks. Subclasses are frozen dataclasses whose fields are the options."""

    @abstractmethod
    def scores(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Floats:
        """Return a score of each value for each person, higher = more likely.

        Args:
            released: a fitted model, or a synthetic table (X, y); None for a baseline without release.
            people: features `(n, d)` and labels `(n,)` of the people under attack; the sensitive column is not read.
            sensitive: the attribute to infer.
            known: features and labels of other people, whose attributes are all known.

        Returns:
            Scores, `(n, m)`.

        Raises:
            AttackError: the attack cannot use the release, or needs `known`.
        """

    def guess(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Ints:
        """Return the index of the value with the largest score, `(n,)`; the first of equal ones."""
        return np.asarray(self.scores(released, people, sensitive, known).argmax(axis=1))

    def correct(self, released: Any, people: People, sensitive: Sensitive, known: People | None = None) -> Bools:
        """Return a mask `(n,)` of the people whose value is guessed correctly."""
        return np.asarray(self.guess(released, people, sensitive, known) == sensitive.truth(people))


def require_known(known: People | None, attack: object) -> People:
    """Return `known`; raise `AttackError` if it is missing."""
    if known is None:
        raise AttackError(
            f"{type(attack).__name__} learns from people whose attributes are all known. Give known=(X, y): other "
            "people of the same population."
        )
    return known


def _arrays(people: People) -> tuple[Floats, NDArray[Any]]:
    X, y = np.asarray(people[0], dtype=np.float64), np.asarray(people[1])
    if X.ndim != 2 or y.shape != (len(X),):
        raise ParameterError(
            f"people must be features (n, d) and labels (n,), but have shapes {X.shape} and {y.shape}.",
            argument="people",
        )
    return X, y


def _column(people: People, feature: int | str) -> NDArray[Any]:
    X, y = _arrays(people)
    if feature == LABEL_COLUMN:
        return y
    if isinstance(feature, str) or not 0 <= feature < X.shape[1]:
        raise ParameterError(
            f"feature must be {LABEL_COLUMN!r} or the index of one of the {X.shape[1]} columns, from 0, but is "
            f"{feature!r}.",
            argument="feature",
        )
    return np.asarray(X[:, feature])
