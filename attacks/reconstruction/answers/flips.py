"""Maximum likelihood over columns of bits under Gaussian noise: least squares, rounded, then improved bit by bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....mechanisms.validation import positive
from .base import Decoded, Floats, PriorDecoder, Status, everywhere
from .least_squares import BoxedLeastSquares

MOST_FLIPS = 2000


@dataclass(frozen=True)
class GaussianLikelihood(PriorDecoder):
    """A column of bits that no flip of one or two bits makes more probable under Gaussian noise.

        minimise  |A z - a|^2 / (2 noise^2) + sum z_i ln((1 - p_i) / p_i)    over z in {0, 1}^n

    It starts from `BoxedLeastSquares`, rounded, and flips the bit or the pair of bits that gains most, all runs at
    once, until nothing gains: a local optimum, never worse than the start. (Which column is the best of all is
    NP-hard to tell.)

    Args:
        noise: standard deviation of the noise, > 0.
        prior: `(n,)` probabilities that each bit is 1, in (0, 1); None: 1/2 each.

    Example:
        >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]
        >>> GaussianLikelihood(noise=1.0).decode(queries, [1.2, 0.9, 1.7, 2.2]).values.tolist()
        [[1.0, 0.0, 1.0]]
    """

    noise: float = 1.0
    prior: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        positive(noise=self.noise)
        super().__post_init__()

    def _decode(self, queries: Floats, answers: Floats) -> Decoded:
        start = BoxedLeastSquares(noise=self.noise).decode(queries, answers).bits
        bits = flipped(queries.T @ queries, answers @ queries - self.noise**2 * self.log_odds, start.astype(np.float64))
        return everywhere(bits, Status.LOCAL)


def flipped(gram: Floats, right: Floats, bits: Floats) -> Floats:
    """Bits that no single flip and no pair of flips improves, from `bits` on, `(n_runs, n)`.

    The objective is z gram z / 2 - right z. A flip of bit i moves it by d_i g_i + gram_ii / 2, where d_i = 1 - 2 z_i
    and g is the gradient; two flips by the sum of both and d_i d_j gram_ij.
    """
    bits = bits.copy()
    gradient = bits @ gram - right
    moving = np.arange(len(bits))
    for _ in range(MOST_FLIPS):
        one, two, gain = _best_flips(gram, bits[moving], gradient[moving])
        better = gain < -1e-9
        moving, one, two = moving[better], one[better], two[better]
        if not len(moving):
            break
        for place in (one, two):
            chosen = place >= 0
            rows, columns = moving[chosen], place[chosen]
            step = 1.0 - 2.0 * bits[rows, columns]
            bits[rows, columns] += step
            gradient[rows] += step[:, None] * gram[columns]
    return bits


def _best_flips(gram: Floats, bits: Floats, gradient: Floats) -> tuple[np.ndarray, np.ndarray, Floats]:
    """The best bit, the best second one (-1: none), and what they gain, for each run."""
    step = 1.0 - 2.0 * bits
    single = step * gradient + 0.5 * gram.diagonal()
    one = single.argmin(axis=1)
    rows = np.arange(len(bits))
    gain, first, second = single[rows, one], one, np.full(len(bits), -1)
    for run in np.flatnonzero(gain >= -1e-9):  # no single flip gains: pairs of this run
        pair = single[run][:, None] + single[run] + np.outer(step[run], step[run]) * gram
        np.fill_diagonal(pair, np.inf)
        first[run], second[run] = np.unravel_index(pair.argmin(), pair.shape)
        gain[run] = pair.min()
    return first, second, gain
