"""Maximum likelihood over columns of bits under Gaussian noise: least squares, rounded, then improved bit by bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import Positive
from .base import DecodedAnswers, DecodingStatus, PriorDecoder, everywhere
from .least_squares import BoxedLeastSquares

MOST_FLIPS = 2000


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
        return everywhere(bits, DecodingStatus.LOCAL)


def flipped(gram: Floats, right: Floats, bits: Floats) -> Floats:
    """Improve `bits`, `(n_runs, n)`, until no single flip and no pair of flips improves them.

    The objective is z gram z / 2 - right z. A flip of bit i changes it by d_i g_i + gram_ii / 2, where d_i = 1 - 2 z_i
    and g is the gradient; two flips change it by the sum of both and d_i d_j gram_ij.
    """
    bits = bits.copy()
    gradient = bits @ gram - right
    active = np.arange(len(bits))
    for _ in range(MOST_FLIPS):
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
