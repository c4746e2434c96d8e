"""Decoding by linear programmes: a column within the stated error of every answer, or the nearest in the L1 norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ....mechanisms.core import Floats, NonNegative, Positive, number
from .base import SOLVER_TOLERANCE, DecodedAnswers, Decoder, DecodingStatus, stacked
from .least_squares import BoxedLeastSquares


@dataclass(frozen=True)
class LinearProgramme(Decoder):
    """Rounded z in [0, 1]^n with |A z - a| <= error in every answer.

    With m of order n log(n)^2 random queries and an error below order sqrt(n), nearly all bits are correct. (Dinur and
    Nissim 2003, theorem 3.) Of all columns that fit, the one with the smallest largest difference is returned, by the
    dual

        maximise  a y - sum w    over    A^T y <= w,  sum |y| <= 1,  w >= 0,

    whose value is the smallest error that fits: if it is above `error`, no column fits, and the note states it.

    Args:
        error: largest difference between an answer and the truth, >= 0; None for the smallest that fits.
        time_limit: seconds for each run, > 0; after it the run has status "time limit" and the least-squares fit.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
        >>> found = LinearProgramme(error=0.25).decode(queries, [1.2, 0.9, 2.0])
        >>> found.bits[0].tolist(), found.status[0].value
        ([True, False, True], 'optimal')
        >>> LinearProgramme(error=0.1).decode(queries, [4.0, 0.9, 2.0]).notes[0]
        'no column is within 0.1 of every answer: the smallest error that fits is 2'
    """

    error: NonNegative | None = None
    time_limit: Positive = 60.0

    def _decode(self, queries: Floats, answers: Floats) -> DecodedAnswers:
        m, n = queries.shape
        subsets = sparse.csr_array(queries.T)
        last = np.concatenate([np.ones(2 * m), np.zeros(n)])[None]
        rows = sparse.vstack([sparse.hstack([subsets, -subsets, -sparse.eye_array(n)]), sparse.csr_array(last)])
        return stacked([self._decode_run(queries, run_answers, rows.tocsc()) for run_answers in answers])

    def _decode_run(
        self, queries: Floats, answers: Floats, rows: sparse.csc_array
    ) -> tuple[Floats, DecodingStatus, str]:
        n = queries.shape[1]
        cost = np.concatenate([-answers, answers, np.ones(n)])
        limits = np.concatenate([np.zeros(n), [1.0]])
        solution = linprog(cost, A_ub=rows, b_ub=limits, method="highs-ds", options={"time_limit": self.time_limit})
        if solution.status != 0:
            return _unfinished(queries, answers, self.time_limit, solution)
        values, smallest_error = -solution.ineqlin.marginals[:n], max(0.0, -solution.fun)
        if self.error is None or smallest_error <= self.error + SOLVER_TOLERANCE:
            return values, DecodingStatus.OPTIMAL, ""
        note = (
            f"no column is within {number(self.error)} of every answer: the smallest error that fits is "
            f"{number(smallest_error)}"
        )
        return values, DecodingStatus.INFEASIBLE, note


@dataclass(frozen=True)
class L1Decoding(Decoder):
    """Rounded minimiser of sum |A z - a| over 0 <= z <= 1, by a linear programme.

    It needs no bound on the error, is the (relaxed) maximum likelihood under Laplace noise, and tolerates a few answers
    with arbitrary errors: up to a share of 0.239 for Gaussian A. (Dwork, McSherry and Talwar
    2007, theorem 5.)

    The dual is solved, with one row per record instead of one per query,

        maximise  a y - sum w    over    A^T y <= w,  -1 <= y <= 1,  w >= 0,

    whose multipliers are z: two to three times faster than the primal programme.

    Args:
        time_limit: seconds for each run, > 0; after it the run has status "time limit" and the least-squares fit.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]
        >>> L1Decoding().decode(queries, [1, 1, 2, 3]).bits
        array([[ True, False,  True]])
    """

    time_limit: Positive = 60.0

    def _decode(self, queries: Floats, answers: Floats) -> DecodedAnswers:
        n = queries.shape[1]
        rows = sparse.hstack([sparse.csr_array(queries.T), -sparse.eye_array(n)]).tocsc()
        limits = np.array([[-1.0, 1.0]] * len(queries) + [[0.0, np.inf]] * n)
        return stacked([self._decode_run(queries, run_answers, rows, limits) for run_answers in answers])

    def _decode_run(
        self, queries: Floats, answers: Floats, rows: sparse.csc_array, limits: Floats
    ) -> tuple[Floats, DecodingStatus, str]:
        n = queries.shape[1]
        cost = np.concatenate([-answers, np.ones(n)])
        options = {"time_limit": self.time_limit}
        solution = linprog(cost, A_ub=rows, b_ub=np.zeros(n), bounds=limits, method="highs-ds", options=options)
        if solution.status == 0:
            return -solution.ineqlin.marginals, DecodingStatus.OPTIMAL, ""
        return _unfinished(queries, answers, self.time_limit, solution)


def _unfinished(
    queries: Floats, answers: Floats, time_limit: float, solution: Any
) -> tuple[Floats, DecodingStatus, str]:
    """Return the least-squares fit, for a programme that was stopped."""
    start = BoxedLeastSquares().decode(queries, answers)
    note = f"no optimum within {number(time_limit)} s ({solution.message.strip()}): this is the least-squares fit"
    return start.values[0], DecodingStatus.TIME_LIMIT, note
