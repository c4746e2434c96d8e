"""Exhaustive search: all columns of bits that fit the answers, and the distance between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ....mechanisms.core import Bools, Floats, NonNegative, ParameterError, number, plural
from .base import SOLVER_TOLERANCE, DecodedAnswers, Decoder, DecodingStatus, check_answers, stacked

MAX_BITS = 16
"""Largest number of bits: 65,536 columns."""
MAX_BLOCK_ANSWERS = 2**22
"""Number of answers compared at once."""
MAX_COMPARED_COLUMNS = 4096
"""Largest number of columns whose pairwise distances are computed; with more, only those of the first ones."""


@dataclass(frozen=True)
class Exhaustive(Decoder):
    """Search for all columns of bits that fit the answers.

    It keeps every column z of bits with |A z - a| <= error in every answer (Dinur and Nissim 2003, theorem 2). With all
    2^n queries, columns that fit answers within `error` of the truth are at most 4 error bits from each other and from
    the truth: two columns that fit have answers at most 2 error apart, also to the queries for the records where only
    the first has a 1, and for those where only the second has.

    The value of a bit is the share of the columns that fit in which it is 1. If no column fits, the columns with the
    smallest largest difference are used, and the note states this difference.

    Args:
        error: largest difference between an answer and the truth, >= 0; None for the smallest that fits.

    Raises:
        ParameterError: more than 16 records.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
        >>> decoded = Exhaustive(error=1.0).decode(queries, [1, 0, 1])
        >>> decoded.values.round(2).tolist(), decoded.notes[0]
        ([[0.5, 0.33, 0.33]], '6 columns fit, up to 3 bits apart')
    """

    error: NonNegative | None = None

    def consistent(self, queries: ArrayLike, answers: ArrayLike) -> Bools:
        """Return the columns that fit the answers `(m,)` of one run, `(n_columns, n)`; none if `error` is too small."""
        subsets, observed = check_answers(queries, answers)
        if len(observed) != 1 or np.isnan(observed).any():
            raise ParameterError(
                f"answers must be those of one run, without NaN, but have shape {np.shape(answers)}.",
                argument="answers",
            )
        columns = _all_columns(subsets.shape[1])
        differences = _largest_differences(subsets, observed, columns)[0]
        fitting: Bools = columns[
            differences <= (differences.min() if self.error is None else self.error) + SOLVER_TOLERANCE
        ]
        return fitting

    def _decode(self, queries: Floats, answers: Floats) -> DecodedAnswers:
        columns = _all_columns(queries.shape[1])
        differences = _largest_differences(queries, answers, columns)
        return stacked([self._decode_run(columns, differences_of_run) for differences_of_run in differences])

    def _decode_run(self, columns: Bools, differences: Floats) -> tuple[Floats, DecodingStatus, str]:
        smallest = float(differences.min())
        fits = self.error is None or smallest <= self.error + SOLVER_TOLERANCE
        allowed = smallest if self.error is None or not fits else self.error
        fitting = columns[differences <= allowed + SOLVER_TOLERANCE]
        values, distance = fitting.mean(axis=0), _max_bit_difference(fitting)
        if not fits:
            note = (
                f"no column is within {number(self.error)} of every answer: "
                f"the smallest error that fits is {number(smallest)}"
            )
            return values, DecodingStatus.INFEASIBLE, note
        if len(fitting) == 1:
            return values, DecodingStatus.OPTIMAL, "one column fits"
        return (
            values,
            DecodingStatus.SEVERAL,
            f"{plural(len(fitting), 'column')} fit, up to {plural(distance, 'bit')} apart",
        )


def _all_columns(n: int) -> Bools:
    """Return all columns of n bits, `(2^n, n)`; raise `ParameterError` above 16 bits."""
    if n > MAX_BITS:
        raise ParameterError(
            f"queries must be on at most {MAX_BITS} records, since all columns of bits are tried, but are on "
            f"{n}. Take BoxedLeastSquares or L1Decoding.",
            argument="queries",
        )
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1)


def _largest_differences(queries: Floats, answers: Floats, columns: Bools) -> Floats:
    """Return the largest |A z - a| over all answers, `(n_runs, n_columns)`."""
    largest = np.empty((len(answers), len(columns)))
    step = max(1, MAX_BLOCK_ANSWERS // len(queries))
    for start in range(0, len(columns), step):
        counts = columns[start : start + step] @ queries.T
        for run, run_answers in enumerate(answers):
            largest[run, start : start + step] = np.abs(counts - run_answers).max(axis=1)
    return largest


def _max_bit_difference(columns: Bools) -> int:
    """Return the largest number of bits in which two columns differ, of the first `MAX_COMPARED_COLUMNS`."""
    signs = np.where(columns[:MAX_COMPARED_COLUMNS], 1.0, -1.0)
    smallest_product = float((signs @ signs.T).min())
    return int(columns.shape[1] - smallest_product) // 2
