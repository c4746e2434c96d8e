"""Report noisy max with its gap: which candidate is best, and by how much, for the price of the first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..base import Dataset, LogDensity, Neighbours, Outputs
from ..errors import ParameterError
from ..guarantees import ExactDP
from ..guarantees.base import Guarantee
from ..queries.base import Floats
from .base import Selection
from .laws import laplace_log_cdf, nodes_between, pieces
from .noisy_max import NOISES

_DEGREE = 15
_LONGEST = 1.5
"""Length of a piece, in scales, on which a log density is a polynomial of that degree to rounding."""
_MOST_PIECES = 20_000


@dataclass(frozen=True)
class NoisyMaxWithGap(Selection):
    """Report noisy max with Laplace noise, and the gap between the largest noisy utility and the next one.

    The gap is free: changing the noise of the chosen candidate by 2 sensitivity (or sensitivity, when `monotone`) makes
    up for any change of the utilities, and leaves choice and gap as they were. The noise is that of `ReportNoisyMax`.
    Publishing the largest noisy utility itself is not free (`dpassay.mechanisms.broken.selection`). (Ding, Wang, Zhang
    and Kifer 2019, noisy top k with gap at k = 1.)

    Args:
        epsilon, n_candidates, sensitivity, monotone, query, relation: as for `Exponential`. The output is `(2,)`: the
            index of a candidate, and the gap, > 0, in the units of the utilities.

    Guarantees:
        * epsilon-DP, approached by a candidate that wins by a large gap.
        * Densities are exact to rounding, for utilities up to 20,000 pieces of noise scale apart.

    Example:
        >>> mechanism = NoisyMaxWithGap(epsilon=1.0, n_candidates=3)
        >>> mechanism.release([0.0, 90.0, 0.0], 2, np.random.default_rng(0)).values.round(2)
        array([[ 1.  , 90.52],
               [ 1.  , 81.27]])
    """

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Index and gap of `size` runs, shape `(size, 2)`."""
        noisy = NOISES["laplace"].draw(rng, (size, self.n_candidates))
        noisy += self.rate * self.utilities(dataset)
        chosen = noisy.argmax(axis=1)
        noisy.partition(self.n_candidates - 2, axis=1)
        return Outputs(np.column_stack([chosen, (noisy[:, -1] - noisy[:, -2]) / self.rate]))

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log of P(index) times the density of the gap, shape `(size,)`; -inf for what is no candidate or gap."""
        index, gap = outputs.values[:, 0], outputs.values[:, 1]
        possible = (index >= 0) & (index < self.n_candidates) & (index == np.floor(index)) & (gap >= 0.0)
        chosen = np.where(possible, index, 0).astype(np.int64)
        scores = self.rate * self.utilities(dataset)
        found = _LeadLaw.of(scores).log_density(chosen, scores[chosen] - self.rate * gap) + np.log(self.rate)
        return np.asarray(np.where(possible, found, -np.inf))

    def worst_case(self) -> Neighbours:
        """Candidate 0 gains as much as it may while the others lose as much as they may: it stands epsilon / 2 behind
        them on `d0`, and epsilon / 2 ahead on `d1`."""
        return self.leading(1, -0.5 * self.epsilon)

    def exact_guarantee(self) -> Guarantee | None:
        """The curve of `worst_case()`, by quadrature over the gap if candidate 0 is chosen, and if another one is; None
        beyond epsilon 30,000, where that takes too long."""
        half = 0.5 * self.epsilon
        if half > _LONGEST * _MOST_PIECES / 2.0:
            return None
        ends = pieces(np.array([-half, 0.0, half]), 0.25)
        gap, weights = nodes_between(np.concatenate([[0.0], ends[ends > 0.0]]))
        laws: list[Floats] = []
        for lead in (-half, half):
            law = _LeadLaw.of(np.append(lead, np.zeros(self.n_candidates - 1)))
            first = law.log_density(np.zeros(len(gap), dtype=np.int64), lead - gap)
            other = law.log_density(np.ones(len(gap), dtype=np.int64), -gap) + math.log(self.n_candidates - 1)
            laws.append(np.concatenate([first, other]) + np.tile(np.log(weights), 2))
        return ExactDP.of_logs(laws[0], laws[1], self.relation)


@dataclass(frozen=True, eq=False)
class _LeadLaw:
    """log of D_i(x), the density of candidate i being chosen with a noisy score score_i - x above the next.

    With H_i the density of the largest noisy score of the others,

        D_i(x) = integral of H_i(y) e^-|y - x| / 2 dy,

    kept as Legendre polynomials on pieces between the scores, where H_i is smooth.

    Args:
        ends: of the pieces.
        coefficients: `(n, n_pieces, degree + 1)`.
    """

    ends: Floats
    coefficients: Floats

    @classmethod
    def of(cls, scores: Floats) -> _LeadLaw:
        ends = pieces(scores, _LONGEST)
        if len(ends) > _MOST_PIECES:
            raise ParameterError(
                f"the utilities lie {np.ptp(scores):g} scales of the noise apart, and the density of the gap is known "
                f"up to about {_LONGEST * _MOST_PIECES:g}. Clip the utilities, or take attack='classifier'.",
                argument="dataset",
            )
        fit = _legendre()[2]
        log_density = np.stack([_log_smoothed(_log_next_best(scores, i, ends), ends) for i in range(len(scores))])
        return cls(ends, log_density @ fit.T)

    def log_density(self, index: NDArray[np.int64], x: Floats) -> Floats:
        """log D_i(x) for each pair of index and x; below the first piece it falls like e^x."""
        inside = np.clip(x, self.ends[0], self.ends[-1])
        piece = np.clip(np.searchsorted(self.ends, inside, side="right") - 1, 0, len(self.ends) - 2)
        low, high = self.ends[piece], self.ends[piece + 1]
        at = (2.0 * inside - low - high) / (high - low)
        used = self.coefficients[index, piece]
        return np.asarray(np.polynomial.legendre.legval(at, used.T, tensor=False) - np.abs(x - inside))


@lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats, Floats]:
    """Weights of the Gauss rule on [0, 1], the integrals from 0 to each node, and the fit of coefficients to values."""
    nodes, weights = np.polynomial.legendre.leggauss(_DEGREE + 1)
    orders = np.arange(_DEGREE + 1)
    fit = (orders[:, np.newaxis] + 0.5) * np.polynomial.legendre.legvander(nodes, _DEGREE).T * weights
    integrals = [np.polynomial.legendre.legval(nodes, np.polynomial.legendre.legint(c, lbnd=-1)) for c in fit.T]
    return np.asarray(0.5 * weights), np.asarray(0.5 * np.stack(integrals, axis=1), dtype=np.float64), fit


def _log_next_best(scores: Floats, i: int, ends: Floats) -> Floats:
    """log H_i at the nodes of all pieces, shape `(n_pieces, n_nodes)`."""
    y, _ = nodes_between(ends)
    away = y[:, np.newaxis] - np.delete(scores, i)
    log_below = laplace_log_cdf(away)
    log_density = log_below.sum(axis=1) + logsumexp(-np.abs(away) - np.log(2.0) - log_below, axis=1)
    return np.asarray(log_density.reshape(len(ends) - 1, -1))


def _log_smoothed(log_h: Floats, ends: Floats) -> Floats:
    """log of the integral of h(y) e^-|y - x| / 2 dy at the nodes x: from the left and from the right, carried in
    logarithms from piece to piece, and within a piece relative to the largest of its terms."""
    weights, partial, _ = _legendre()
    lengths = np.diff(ends)[:, np.newaxis]
    within = nodes_between(ends)[0].reshape(log_h.shape) - ends[:-1, np.newaxis]
    own = log_h.max(axis=1)
    h = lengths * np.exp(log_h - own[:, np.newaxis])
    rising, falling = h * np.exp(within), h * np.exp(-within)
    left, right = np.full(len(ends), -np.inf), np.full(len(ends), -np.inf)
    to_right, to_left = own + np.log(rising @ weights), own + np.log(falling @ weights)
    for p, length in enumerate(lengths[:, 0]):
        left[p + 1] = np.logaddexp(left[p], to_right[p]) - length
    for p in range(len(lengths) - 1, -1, -1):
        right[p] = np.logaddexp(right[p + 1] - lengths[p, 0], to_left[p])
    largest = np.max([own, left[:-1], right[1:]], axis=0)
    scale, from_before, from_beyond = (np.exp(part - largest)[:, np.newaxis] for part in (own, left[:-1], right[1:]))
    from_left = np.exp(-within) * (from_before + scale * (rising @ partial.T))
    beyond = np.exp(-lengths) * from_beyond + scale * (falling @ (weights - partial).T)
    return np.asarray(np.log(0.5 * (from_left + np.exp(within) * beyond)) + largest[:, np.newaxis])
