"""Tables of votes: counting and checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...core import Dataset, Ints, Neighbours, NeighboursError, ParameterError, whole

Counts = Ints


def count_votes(labels: ArrayLike, n_classes: int) -> Counts:
    """Return the number of teachers that give each label to each query, `(n_queries, n_classes)`.

    Args:
        labels: `(n_teachers, n_queries)` whole numbers from 0 to n_classes - 1.
        n_classes: >= 2.

    Raises:
        ParameterError: labels of another shape, or out of range.

    Example:
        >>> count_votes([[0, 1], [2, 1], [0, 0]], 3).tolist()
        [[2, 0, 1], [1, 2, 0]]
    """
    whole(2, n_classes=n_classes)
    values = np.asarray(labels)
    if (
        values.ndim != 2
        or values.dtype.kind not in "biu"
        or (values.size and not 0 <= values.min() <= values.max() < n_classes)
    ):
        raise ParameterError(
            f"labels must be whole numbers from 0 to {n_classes - 1}, one row for each teacher and one column for each "
            f"query, but are {short_text(labels)}.",
            argument="labels",
        )
    n_queries = values.shape[1]
    places = values.astype(np.int64) + n_classes * np.arange(n_queries)
    return np.bincount(places.ravel(), minlength=n_queries * n_classes).reshape(n_queries, n_classes)


def check_votes(dataset: Dataset, n_queries: int, n_classes: int, n_teachers: int) -> Counts:
    """Return the checked votes, `(n_queries, n_classes)`; the votes of one query may be a vector.

    Raises:
        ParameterError: another shape, votes that are not whole numbers, or another number of teachers.
    """
    counts = np.asarray(dataset)
    counts = counts[np.newaxis] if counts.ndim == 1 else counts
    if counts.shape != (n_queries, n_classes):
        raise ParameterError(
            f"a dataset must hold the votes for each label, one row for each query, shape ({n_queries}, {n_classes}), "
            f"but has shape {np.shape(dataset)}. Set n_queries and n_classes, or count with count_votes.",
            argument="dataset",
        )
    if counts.dtype.kind not in "biuf" or not np.all((counts >= 0) & (counts == np.floor(counts))):
        raise ParameterError(f"votes must be whole numbers >= 0, but are {short_text(dataset)}.", argument="dataset")
    with np.errstate(over="ignore"):
        totals = counts.sum(axis=1)
    if not np.all(totals == n_teachers):
        raise ParameterError(
            f"each query must have the votes of all n_teachers = {n_teachers} teachers, but one has "
            f"{totals[totals != n_teachers][0]:g}.",
            argument="dataset",
        )
    return counts.astype(np.int64)


def check_one_teacher(votes0: Counts, votes1: Counts) -> None:
    """Raise `NeighboursError` unless a change of the votes of one teacher explains the difference."""
    moved = np.abs(votes0 - votes1).sum(axis=1)
    if not moved.any() or moved.max() > 2:
        raise NeighboursError(
            "one teacher moves at most one vote of each query, and at least one vote in total, but "
            f"{moved.max() // 2} votes of a query differ. Build the pair with one vote moved.",
            argument=("d0", "d1"),
        )


def moved_vote(n_queries: int, n_classes: int, n_teachers: int, lead: int) -> tuple[Counts, Counts]:
    """Return two tables, equal for all queries: label 1 leads by `lead` votes (or one less), then by two more."""
    ones = min(n_teachers - 1, (n_teachers + lead) // 2)
    votes = np.zeros((n_queries, n_classes), dtype=np.int64)
    votes[:, 0], votes[:, 1] = n_teachers - ones, ones
    moved = votes.copy()
    moved[:, 0] -= 1
    moved[:, 1] += 1
    return votes, moved


def as_neighbours(pair: tuple[Counts, Counts], relation: Any) -> Neighbours:
    """Return the pair as neighbours, with read-only arrays."""
    for votes in pair:
        votes.flags.writeable = False
    return Neighbours(*pair, relation)


def short_text(values: Any) -> str:
    """Return the first six values as text, for messages."""
    return np.array2string(np.asarray(values).ravel()[:6], threshold=6)
