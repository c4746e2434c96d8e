"""L1 decoding: the column whose answers are nearest to the observed answers in the L1 norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import Positive, check_fields
from .base import DecodedAnswers, Decoder, DecodingStatus, stacked
from .least_squares import BoxedLeastSquares


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

    def __post_init__(self) -> None:
        check_fields(self)

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
        start = BoxedLeastSquares().decode(queries, answers)
        note = f"no optimum within {self.time_limit:g} s ({solution.message.strip()}): this is the least-squares fit"
        return start.values[0], DecodingStatus.TIME_LIMIT, note
