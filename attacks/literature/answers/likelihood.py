"""Maximum likelihood over columns of bits: local search under Gaussian noise, integer programmes under other noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ....mechanisms.core import Floats, NonNegative, Positive, PositiveInt, number, percent
from .base import SOLVER_TOLERANCE, DecodedAnswers, DecodingStatus, PriorDecoder, constant_decoding, stacked
from .least_squares import BoxedLeastSquares
from .linear_programmes import LinearProgramme

MAX_FLIPS = 2000


@dataclass(frozen=True)
class GaussianLikelihood(PriorDecoder):
    """Column of bits that no flip of one or two bits makes more probable under Gaussian noise.

        minimise  |A z - a|^2 / (2 noise^2) + sum z_i ln((1 - p_i) / p_i)    over z in {0, 1}^n

    It starts from `BoxedLeastSquares`, rounded, and flips the bit or the pair of bits with the largest gain, all runs
    at once, until no flip improves: a local optimum, never worse than the start. (The global optimum is NP-hard.)

    Args:
        noise: standard deviation of the noise, > 0.
        prior: `(n,)` probabilities that each bit is 1, in (0, 1); None: 1/2 each.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]
        >>> GaussianLikelihood(noise=1.0).decode(queries, [1.2, 0.9, 1.7, 2.2]).values.tolist()
        [[1.0, 0.0, 1.0]]
    """

    noise: Positive = 1.0
    prior: tuple[float, ...] | None = None

    def _decode(self, queries: Floats, answers: Floats) -> DecodedAnswers:
        start = BoxedLeastSquares(noise=self.noise).decode(queries, answers).bits
        bits = flipped(queries.T @ queries, answers @ queries - self.noise**2 * self.log_odds, start.astype(np.float64))
        return constant_decoding(bits, DecodingStatus.LOCAL)


def flipped(gram: Floats, right: Floats, bits: Floats) -> Floats:
    """Improve `bits`, `(n_runs, n)`, until no single flip and no pair of flips improves them.

    The objective is z gram z / 2 - right z. A flip of bit i changes it by d_i g_i + gram_ii / 2, where d_i = 1 - 2 z_i
    and g is the gradient; two flips change it by the sum of both and d_i d_j gram_ij.
    """
    bits = bits.copy()
    gradient = bits @ gram - right
    active = np.arange(len(bits))
    for _ in range(MAX_FLIPS):
        first, second, gain = _best_flips(gram, bits[active], gradient[active])
        better = gain < -1e-9
        active, first, second = active[better], first[better], second[better]
        if not len(active):
            break
        for index in (first, second):
            flip = index >= 0
            rows, columns = active[flip], index[flip]
            step = 1.0 - 2.0 * bits[rows, columns]
            bits[rows, columns] += step
            gradient[rows] += step[:, None] * gram[columns]
    return bits


def _best_flips(gram: Floats, bits: Floats, gradient: Floats) -> tuple[np.ndarray, np.ndarray, Floats]:
    """Return the best bit, the best second bit (-1: none), and their gain, for each run."""
    step = 1.0 - 2.0 * bits
    single = step * gradient + 0.5 * gram.diagonal()
    best = single.argmin(axis=1)
    rows = np.arange(len(bits))
    gain, first, second = single[rows, best], best, np.full(len(bits), -1)
    for run in np.flatnonzero(gain >= -1e-9):  # no single flip improves: pairs of this run
        pair = single[run][:, None] + single[run] + np.outer(step[run], step[run]) * gram
        np.fill_diagonal(pair, np.inf)
        first[run], second[run] = np.unravel_index(pair.argmin(), pair.shape)
        gain[run] = pair.min()
    return first, second, gain


TIME_LIMIT_STATUS = 1
"""Status of scipy's `milp` for a time limit."""


@dataclass(frozen=True)
class IntegerProgramme(PriorDecoder):
    """Column of bits with the largest likelihood, or posterior probability, by scipy's `milp` (HiGHS).

        minimise  sum |A z - a| / scale + sum z_i ln((1 - p_i) / p_i)    over z in {0, 1}^n

    This is the most probable column under Laplace and geometric noise of this scale and independent bits with
    probabilities p. With `error`, noise is bounded instead: every column with |A z - a| <= error is equally likely, and
    only the prior decides. Exponential in the worst case, seconds at n = 100.

    A single solution need not be the truth: up to `most_solutions` equally good solutions are searched for,
    and the value of a bit is the share of solutions in which it is 1.

    Args:
        scale: scale of the Laplace noise, > 0; 1 / rate for geometric noise. It matters only with a prior.
        error: largest error of bounded noise, >= 0; None for unbounded noise.
        prior: `(n,)` probabilities that each bit is 1, in (0, 1); None: 1/2 each.
        most_solutions: largest number of equally good columns searched for, >= 1.
        time_limit: seconds for each programme, > 0; after it the run has status "time limit" and the best column so
            far.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1]]
        >>> found = IntegerProgramme().decode(queries, [1, 1])
        >>> found.status[0].value, found.values.tolist(), found.notes[0].split(";")[0]
        ('several solutions', [[0.5, 0.5, 0.5]], 'at least 2 columns are equally good')
    """

    scale: Positive = 1.0
    error: NonNegative | None = None
    prior: tuple[float, ...] | None = None
    most_solutions: PositiveInt = 2
    time_limit: Positive = 60.0

    def _decode(self, queries: Floats, answers: Floats) -> DecodedAnswers:
        return stacked([self._decode_run(queries, run_answers) for run_answers in answers])

    def _decode_run(self, queries: Floats, answers: Floats) -> tuple[Floats, DecodingStatus, str]:
        programme = _Programme(self, queries, answers)
        first = programme.solve([])
        if first.status == 2:
            return self._nearest(queries, answers)
        if first.status != 0:
            return _partial(self, queries, answers, first)
        solutions = [programme.bits(first)]
        while len(solutions) < self.most_solutions:
            next_solution = programme.solve(solutions)
            if next_solution.x is None or next_solution.fun > first.fun + SOLVER_TOLERANCE * max(1.0, abs(first.fun)):
                if next_solution.status == TIME_LIMIT_STATUS and len(solutions) == 1:
                    note = (
                        "best column; it was not determined within "
                        f"{number(self.time_limit)} s whether another is as good"
                    )
                    return solutions[0], DecodingStatus.TIME_LIMIT, note
                break
            solutions.append(programme.bits(next_solution))
        if len(solutions) == 1:
            return solutions[0], DecodingStatus.OPTIMAL, ""
        return np.mean(solutions, axis=0), DecodingStatus.SEVERAL, f"at least {len(solutions)} columns are equally good"

    def _nearest(self, queries: Floats, answers: Floats) -> tuple[Floats, DecodingStatus, str]:
        """Return the solution of the relaxed programme, for answers that no column of bits fits within the error."""
        assert self.error is not None
        decoded = LinearProgramme(error=self.error, time_limit=self.time_limit).decode(queries, answers)
        note = (
            decoded.notes[0]
            or f"no column of bits is within {number(self.error)} of every answer, only a fractional column"
        )
        return decoded.values[0], DecodingStatus.INFEASIBLE, note


class _Programme:
    """Programme whose variables are the bits, and a bound on the difference of each answer."""

    def __init__(self, options: IntegerProgramme, queries: Floats, answers: Floats) -> None:
        m, n = queries.shape
        self.n, self.time_limit = n, options.time_limit
        weight = 0.0 if options.error is not None else 1.0 / options.scale
        self.cost = np.concatenate([np.zeros(n) + options.log_odds, np.full(m, weight)])
        subsets, slack = sparse.csr_array(queries), sparse.eye_array(m)
        rows = sparse.vstack([sparse.hstack([subsets, -slack]), sparse.hstack([-subsets, -slack])])
        self.differences = LinearConstraint(rows, -np.inf, np.concatenate([answers, -answers]))
        largest = math.inf if options.error is None else options.error + SOLVER_TOLERANCE
        self.limits = Bounds(np.zeros(n + m), np.concatenate([np.ones(n), np.full(m, largest)]))
        self.whole = np.concatenate([np.ones(n), np.zeros(m)])

    def solve(self, without: list[Floats]) -> Any:
        """Return the best column of bits that is not in `without`."""
        constraints = [self.differences]
        for bits in without:  # at least one bit differs
            row = np.concatenate([1.0 - 2.0 * bits, np.zeros(len(self.cost) - self.n)])
            constraints.append(LinearConstraint(row[None], 1.0 - bits.sum(), np.inf))
        options = {"time_limit": self.time_limit, "mip_rel_gap": 0.0}
        return milp(self.cost, integrality=self.whole, bounds=self.limits, constraints=constraints, options=options)

    def bits(self, solution: Any) -> Floats:
        """Return the column of a solution."""
        return np.asarray(np.rint(solution.x[: self.n]))


def _partial(
    options: IntegerProgramme, queries: Floats, answers: Floats, solution: Any
) -> tuple[Floats, DecodingStatus, str]:
    """Return the best result so far when the time limit is reached."""
    if solution.x is None:
        start = BoxedLeastSquares().decode(queries, answers)
        note = f"no column within {number(options.time_limit)} s: this is the least-squares fit"
        return start.values[0], DecodingStatus.TIME_LIMIT, note
    gap = (
        f", within {percent(solution.mip_gap)} of the best possible"
        if math.isfinite(solution.mip_gap or math.inf)
        else ""
    )
    note = f"best column after {number(options.time_limit)} s{gap}"
    return np.rint(solution.x[: queries.shape[1]]), DecodingStatus.TIME_LIMIT, note
