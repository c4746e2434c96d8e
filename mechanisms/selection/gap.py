"""Report noisy max with its gap: which candidate is best, and by how much, for the price of the first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, LogDensity, Neighbours, Outputs
from ..errors import ParameterError
from ..guarantees import ExactDP
from ..guarantees.base import Guarantee
from ..queries.base import Floats
from .base import Selection
from .laws import laplace_log_cdf, log_all_below, log_hazards_below, nodes_between, pieces
from .noisy_max import NOISES

_DEGREE = 15
_LONGEST = 1.5
"""Length of a piece, in scales, on which a log density is a polynomial of that degree to rounding."""
_MOST_PIECES = 20_000
_LARGEST_EPSILON = 1e4
_MOST_POLYNOMIALS = 1_000_000
"""For all distinct utilities together: 128 MB of coefficients."""


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
        above epsilon 10,000, where the gaps are too many."""
        if self.epsilon > _LARGEST_EPSILON:
            return None
        half = 0.5 * self.epsilon
        ends = pieces(np.array([-half, 0.0, half]), 0.25)
        gap, weights = nodes_between(np.concatenate([[0.0], ends[ends > 0.0]]))
        laws: list[Floats] = []
        for lead in (-half, half):
            law = _LeadLaw.of(np.append(lead, np.zeros(self.n_candidates - 1)))
            first = np.exp(law.log_density(np.zeros(len(gap), dtype=np.int64), lead - gap))
            other = np.exp(law.log_density(np.ones(len(gap), dtype=np.int64), -gap))
            laws.append(np.concatenate([weights * first, (self.n_candidates - 1) * weights * other]))
        return ExactDP(laws[0], laws[1], self.relation)


@dataclass(frozen=True, eq=False)
class _LeadLaw:
    """log of D_i(x), the density of candidate i being chosen with a noisy score score_i - x above the next.

    With H_i the density of the largest noisy score of the others,

        D_i(x) = integral of H_i(y) e^-|y - x| / 2 dy,

    kept as Legendre polynomials on pieces between the scores, where H_i is smooth.

    Args:
        ends: of the pieces.
        coefficients: of each distinct score, `(n_distinct, n_pieces, degree + 1)`.
        which: the number of the score of each candidate among the distinct ones, `(n,)`.
    """

    ends: Floats
    coefficients: Floats
    which: NDArray[np.int64]

    @classmethod
    def of(cls, scores: Floats) -> _LeadLaw:
        knots, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
        far = np.ptp(scores) > _LONGEST * _MOST_PIECES
        ends = np.empty(0) if far else pieces(scores, _LONGEST)
        if far or len(ends) > _MOST_PIECES:
            raise ParameterError(
                f"the utilities lie {np.ptp(scores):g} scales of the noise apart, and the density of the gap is known "
                f"up to about {_LONGEST * _MOST_PIECES:g}. Clip the utilities, or take attack='classifier'.",
                argument="dataset",
            )
        if len(ends) * len(knots) > _MOST_POLYNOMIALS:
            raise ParameterError(
                f"the utilities have {len(knots)} different values, for which the density of the gap needs "
                f"{len(ends) * len(knots):,} polynomials, and at most {_MOST_POLYNOMIALS:,} are computed. Take fewer "
                "candidates, or attack='classifier'.",
                argument="dataset",
            )
        coefficients = np.empty((len(knots), len(ends) - 1, _DEGREE + 1))
        block = max(1, _MOST_POLYNOMIALS // (10 * len(ends)))
        for start in range(0, len(knots), block):
            some = np.arange(start, min(start + block, len(knots)))
            log_h = _log_next_best(knots, counts, some, ends)
            coefficients[some] = _log_smoothed(log_h, ends) @ _legendre()[2].T
        return cls(ends, coefficients, which.ravel())

    def log_density(self, index: NDArray[np.int64], x: Floats) -> Floats:
        """log D_i(x) for each pair of index and x; below the first piece it falls like e^x."""
        inside = np.clip(x, self.ends[0], self.ends[-1])
        piece = np.clip(np.searchsorted(self.ends, inside, side="right") - 1, 0, len(self.ends) - 2)
        low, high = self.ends[piece], self.ends[piece + 1]
        at = (2.0 * inside - low - high) / (high - low)
        used = self.coefficients[self.which[index], piece]
        return np.asarray(np.polynomial.legendre.legval(at, used.T, tensor=False) - np.abs(x - inside))


@lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats, Floats]:
    """Weights of the Gauss rule on [0, 1], the integrals from 0 to each node, and the fit of coefficients to values."""
    nodes, weights = np.polynomial.legendre.leggauss(_DEGREE + 1)
    orders = np.arange(_DEGREE + 1)
    fit = (orders[:, np.newaxis] + 0.5) * np.polynomial.legendre.legvander(nodes, _DEGREE).T * weights
    integrals = [np.polynomial.legendre.legval(nodes, np.polynomial.legendre.legint(c, lbnd=-1)) for c in fit.T]
    return np.asarray(0.5 * weights), np.asarray(0.5 * np.stack(integrals, axis=1), dtype=np.float64), fit


def _log_next_best(knots: Floats, counts: NDArray[np.int64], some: NDArray[np.int64], ends: Floats) -> Floats:
    """log H_i at the nodes of all pieces for a candidate i with each of `some` scores, `(n_some, n_pieces, n_nodes)`.

    H_i(y) is the product of F(y - score) over the others, times the sum of f / F over the others: 1 for each score
    above y.
    """
    y, _ = nodes_between(ends)
    n_above = counts.sum() - np.append(0, np.cumsum(counts))[np.searchsorted(knots, y)]
    away = y - knots[some, np.newaxis]
    log_below, log_own = laplace_log_cdf(away), -np.abs(away) - np.log(2.0)
    log_hazards = log_hazards_below(y, knots, counts)
    hazards = np.exp(log_hazards) - np.where(away > 0.0, np.exp(log_own - log_below), 0.0)
    others_above = n_above - (away < 0.0)
    with np.errstate(divide="ignore"):
        log_others = np.where(others_above > 0, np.log(np.maximum(others_above + hazards, 0.0)), log_hazards)
        log_others = np.where((others_above == 0) & (away > 0.0), np.log(np.maximum(hazards, 0.0)), log_others)
    if some[-1] == len(knots) - 1 and counts[-1] == 1:  # nothing is subtracted from the leader's own, which is largest
        behind = log_hazards_below(y, knots[:-1], counts[:-1])
        log_others[-1] = np.where(y > knots[-1], behind, log_others[-1])
    log_density = log_all_below(y, knots, counts) - log_below + log_others
    return np.asarray(log_density.reshape(len(some), len(ends) - 1, -1))


def _log_smoothed(log_h: Floats, ends: Floats) -> Floats:
    """log of the integral of h(y) e^-|y - x| / 2 dy at the nodes x, for rows of log h `(n, n_pieces, n_nodes)`: from
    the left and from the right, carried from piece to piece."""
    weights, partial, _ = _legendre()
    lengths = np.diff(ends)
    within = nodes_between(ends)[0].reshape(log_h.shape[1:]) - ends[:-1, np.newaxis]
    largest = log_h.max(axis=2)
    h = lengths[:, np.newaxis] * np.exp(log_h - largest[:, :, np.newaxis])
    rising, falling = h * np.exp(within), h * np.exp(-within)
    from_left, from_right = np.full((2, *largest.shape), -np.inf)
    log_rising, log_falling = largest + np.log(rising @ weights), largest + np.log(falling @ weights)
    for p in range(1, len(lengths)):
        from_left[:, p] = np.logaddexp(from_left[:, p - 1], log_rising[:, p - 1]) - lengths[p - 1]
    for p in range(len(lengths) - 2, -1, -1):
        from_right[:, p] = np.logaddexp(from_right[:, p + 1], log_falling[:, p + 1]) - lengths[p]
    scale = np.maximum(np.maximum(from_left, from_right), largest)
    own, left, right = (np.exp(part - scale)[:, :, np.newaxis] for part in (largest, from_left, from_right))
    found = np.exp(-within) * (left + own * (rising @ partial.T))
    found += np.exp(within) * (right + own * (falling @ (weights - partial).T))
    return np.asarray(scale[:, :, np.newaxis] + np.log(0.5 * found))
