"""Scores of people: the scores of all records of a person, which are in a model together, as one.

The unit is the person, as in user-level privacy: a coin decides for all records of a person at once, and the null
hypothesis of a test is that the signals of the person's records do not depend on it. Log likelihood ratios are added
(as if the records of a person were independent), other scores averaged.
"""

from __future__ import annotations

import numpy as np

from ....attacks.membership.shadows import Shadows
from ....mechanisms.core import Floats, Ints, ParameterError


def shadows_of_persons(shadows: Shadows, index: Ints, names: list[str]) -> Shadows:
    """Return shadows without signals, whose records are the persons.

    Raises:
        ParameterError: a person with records in a model and other records out of it.
    """
    first = np.unique(index, return_index=True)[1]
    together = shadows.inclusion[:, first]
    split = np.argwhere(shadows.inclusion != together[:, index])
    if len(split):
        model, record = split[0]
        raise ParameterError(
            f"persons must be in a model with all their records or with none, but model {model} has only some of the "
            f"records of person {names[index[record]]!r}. Draw the coins for persons: train_shadows(..., "
            "persons=persons).",
            argument="persons",
        )
    return Shadows(together, np.zeros(len(names)), partner=shadows.partner, fair=shadows.fair)


def scores_of_persons(scores: Floats, index: Ints, *, additive: bool) -> Floats:
    """Return one score for each model and person: the sum, or the mean, of those of the records.

    Args:
        scores: `(n_models, n_records)`, NaN where a score is missing.
        index: `(n_records,)` number of the person of each record.
        additive: whether scores are log likelihood ratios, which are added.

    Returns:
        `(n_models, n_persons)`, NaN where all scores of a person are missing.

    Example:
        >>> scores_of_persons(np.array([[1.0, 2.0, np.nan, np.nan]]), np.array([0, 0, 0, 1]), additive=False)
        array([[1.5, nan]])
    """
    order = np.argsort(index, kind="stable")
    starts = np.searchsorted(index[order], np.arange(index.max() + 1))
    there = ~np.isnan(scores)
    total = np.add.reduceat(np.where(there, scores, 0.0)[:, order], starts, axis=1)
    count = np.add.reduceat(there[:, order].astype(np.int64), starts, axis=1)
    return np.asarray(np.where(count > 0, total if additive else total / np.maximum(count, 1), np.nan))
