"""Assignment of guesses to examples: batches have no order, so guesses are matched to the nearest examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import ParameterError


def matched_errors(guesses: Any, truths: Any) -> Floats:
    """Return the root mean squared error of the guess assigned to each example; inf if there is none.

    Guesses and examples are assigned to each other so that as many as possible are matched, with the smallest sum of
    squared errors.

    Args:
        guesses: `(m, n_features)` guesses; rows with NaN are no guesses.
        truths: `(n, n_features)` true examples.

    Raises:
        ParameterError: inconsistent shapes.

    Example:
        >>> matched_errors([[1.0], [np.nan], [5.0]], [[5.0], [0.0], [9.0]]).tolist()
        [0.0, 1.0, inf]
    """
    guessed, true = np.asarray(guesses, dtype=np.float64), np.asarray(truths, dtype=np.float64)
    if guessed.ndim != 2 or true.ndim != 2 or guessed.shape[1] != true.shape[1]:
        raise ParameterError(
            f"guesses and truths must have rows of equal length, but have shapes {guessed.shape} and {true.shape}.",
            argument="guesses",
        )
    guessed = guessed[~np.isnan(guessed).any(axis=1)]
    squares = np.mean((true[:, None] - guessed[None]) ** 2, axis=2)
    errors = np.full(len(true), np.inf)
    rows, columns = linear_sum_assignment(squares)
    errors[rows] = np.sqrt(squares[rows, columns])
    return errors
