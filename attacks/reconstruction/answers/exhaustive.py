"""All columns of bits are tried: which of them fit the answers, and how far they lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.errors import ParameterError, plural
from ....mechanisms.validation import non_negative
from .base import TOLERANCE, Decoded, Decoder, Floats, Status, check_answers, stacked

MOST_BITS = 16
"""65,536 columns."""
CHUNK = 2**22
"""Answers that are compared at once."""
COMPARED = 4096
"""Columns whose distances from each other are all looked at; of more, the first so many."""


@dataclass(frozen=True)
class Exhaustive(Decoder):
    """Keeps every column z of bits with |A z - a| <= error in every answer. (Dinur and Nissim 2003, theorem 2.)

    With all 2^n queries, columns that fit answers within `error` of the truth are at most 4 error bits from each other
    and from the truth: two columns that fit have answers at most 2 error apart, also to the queries that ask for the
    records where only the one has a 1, and for those where only the other has.

    The value of a bit is the share of the columns that fit in which it is 1. Where none fits, those with the smallest
    largest difference are taken, and the note says how large it is.

    Args:
        error: largest difference between an answer and the truth, >= 0; None takes the smallest that fits.

    Raises:
        ParameterError: more than 16 records.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
        >>> found = Exhaustive(error=1.0).decode(queries, [1, 0, 1])
        >>> found.values.round(2).tolist(), found.notes[0]
        ([[0.5, 0.33, 0.33]], '6 columns fit, up to 3 bits apart')
    """

    error: float | None = None

    def __post_init__(self) -> None:
        if self.error is not None:
            non_negative(error=self.error)

    def consistent(self, queries: ArrayLike, answers: ArrayLike) -> NDArray[np.bool_]:
        """The columns that fit the answers `(m,)` of one run, `(n_columns, n)`; none where `error` is too small."""
        subsets, given = check_answers(queries, answers)
        if len(given) != 1 or np.isnan(given).any():
            raise ParameterError(
                f"answers must be those of one run, all of them given, but have shape {np.shape(answers)}.",
                argument="answers",
            )
        columns = all_columns(subsets.shape[1])
        off = largest_differences(subsets, given, columns)[0]
        kept: NDArray[np.bool_] = columns[off <= (off.min() if self.error is None else self.error) + TOLERANCE]
        return kept

    def _decode(self, queries: Floats, answers: Floats) -> Decoded:
        columns = all_columns(queries.shape[1])
        off = largest_differences(queries, answers, columns)
        return stacked([self._one(columns, one) for one in off])

    def _one(self, columns: NDArray[np.bool_], off: Floats) -> tuple[Floats, Status, str]:
        least = float(off.min())
        fits = self.error is None or least <= self.error + TOLERANCE
        allowed = least if self.error is None or not fits else self.error
        kept = columns[off <= allowed + TOLERANCE]
        values, apart = kept.mean(axis=0), furthest_apart(kept)
        if not fits:
            note = f"no column is within {self.error:g} of every answer: the smallest error that fits is {least:.4g}"
            return values, Status.INFEASIBLE, note
        if len(kept) == 1:
            return values, Status.OPTIMAL, "one column fits"
        return values, Status.SEVERAL, f"{plural(len(kept), 'column')} fit, up to {plural(apart, 'bit')} apart"


def all_columns(n: int) -> NDArray[np.bool_]:
    """All columns of n bits, `(2^n, n)`; raises `ParameterError` above 16 bits."""
    if n > MOST_BITS:
        raise ParameterError(
            f"queries must be about at most {MOST_BITS} records, since all columns of bits are tried, but are about "
            f"{n}. Take BoxedLeastSquares or L1Decoding.",
            argument="queries",
        )
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1)


def largest_differences(queries: Floats, answers: Floats, columns: NDArray[np.bool_]) -> Floats:
    """`(n_runs, n_columns)` the largest |A z - a| over all answers."""
    found = np.empty((len(answers), len(columns)))
    step = max(1, CHUNK // len(queries))
    for start in range(0, len(columns), step):
        counts = columns[start : start + step] @ queries.T
        for run, given in enumerate(answers):
            found[run, start : start + step] = np.abs(counts - given).max(axis=1)
    return found


def furthest_apart(columns: NDArray[np.bool_]) -> int:
    """Largest number of bits in which two of the columns differ; of more than COMPARED columns, the first of them."""
    signs = np.where(columns[:COMPARED], 1.0, -1.0)
    alike = float((signs @ signs.T).min())
    return int(columns.shape[1] - alike) // 2
    apart: int = round((columns.shape[1] - alike) / 2.0)
    return apart
