"""Which guess stands for which example: batches have no order, and so each guess is laid beside its nearest example."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ....mechanisms.errors import ParameterError
from .regression import Floats


def matched_errors(guesses: Any, truths: Any) -> Floats:
    """Root mean squared error of the guess that stands for each example; inf where there is none.

    Guesses and examples are assigned to each other so that as many as possible have one, and then the sum of the
    squared errors is least.

    Args:
        guesses: `(m, n_features)`; rows with NaN are no guesses.
        truths: `(n, n_features)`.

    Raises:
        ParameterError: shapes that do not fit.

    Example:
        >>> matched_errors([[1.0], [np.nan], [5.0]], [[5.0], [0.0], [9.0]]).tolist()
        [0.0, 1.0, inf]
    """
    found, true = np.asarray(guesses, dtype=np.float64), np.asarray(truths, dtype=np.float64)
    if found.ndim != 2 or true.ndim != 2 or found.shape[1] != true.shape[1]:
        raise ParameterError(
            f"guesses and truths must have rows of equal length, but have shapes {found.shape} and {true.shape}.",
            argument="guesses",
        )
    found = found[~np.isnan(found).any(axis=1)]
    squares = np.mean((true[:, None] - found[None]) ** 2, axis=2)
    errors = np.full(len(true), np.inf)
    rows, columns = linear_sum_assignment(squares)
    errors[rows] = np.sqrt(squares[rows, columns])
    return errors
