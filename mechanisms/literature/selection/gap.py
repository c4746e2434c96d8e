"""Report noisy max with its gap: the best candidate and its lead, at the epsilon of the candidate only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...accounting import ExactDP
from ...accounting.numerics.laplace import laplace_log_cdf, log_laplace
from ...core import Dataset, Floats, Guarantee, Ints, Neighbours, Outputs, ParameterError
from ...selection.base import Selection
from ...selection.laws import log_all_below, log_hazards_below, nodes_between, piece_ends
from ...selection.noisy_max import NOISES

_DEGREE = 15
_MAX_PIECE = 1.5
"""Longest piece, in scales, on which a log density is a polynomial of that degree up to rounding."""
_MAX_POLYNOMIALS = 1_000_000
"""Largest number of polynomials of all distinct utilities together: 128 MB of coefficients."""
_MAX_DISTANCE = 2_000.0
"""Largest distance, in scales, of the largest and the smallest score for which the law is computed on pieces."""
_NEVER_BRIDGED = 150.0
_MAX_CURVE_EPSILON = 30_000.0
"""Largest epsilon whose exact curve is computed; beyond, quadrature takes too long."""


@dataclass(frozen=True)
class NoisyMaxWithGap(Selection):
    """Report noisy max with Laplace noise, and the gap between the largest noisy utility and the next one.

    The gap does not increase epsilon: changing the noise of the chosen candidate by 2 sensitivity (or sensitivity, if
    `monotone`) compensates any change of the utilities, and keeps the choice and the gap. The noise is that of
    `ReportNoisyMax`. Publishing the largest noisy utility itself increases epsilon
    (`dpassay.mechanisms.selection.broken`). (Ding, Wang, Zhang and Kifer 2019, noisy top k with gap at k = 1.)

    Args:
        epsilon, n_candidates, sensitivity, monotone, query, relation: as for `Exponential`. The output is `(2,)`: the
            index of a candidate, and the gap, > 0, in the units of the utilities.

    Guarantees:
        * epsilon-DP, approached by a candidate that wins by a large gap.
        * Densities are exact up to rounding. If the utilities are more than 2,000 noise scales apart, gaps that the
          noise never exceeds are shortened: events that never occur get a larger, still negligible, probability.

    Example:
        >>> mechanism = NoisyMaxWithGap(epsilon=1.0, n_candidates=3)
        >>> mechanism.release([0.0, 90.0, 0.0], 2, np.random.default_rng(0)).values.round(2)
        array([[ 1.  , 90.52],
               [ 1.  , 81.27]])
    """

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the index and gap of `size` runs, shape `(size, 2)`."""
        utilities = self.utilities(dataset)
        noise = NOISES["laplace"].draw(rng, (size, self.n_candidates))
        second, first = np.argpartition(noise + self.scores(dataset), self.n_candidates - 2, axis=1)[:, -2:].T
        runs = np.arange(size)
        with np.errstate(over="ignore"):
            gap = utilities[first] - utilities[second] + (noise[runs, first] - noise[runs, second]) / self.rate
        return Outputs(np.column_stack([first, np.clip(gap, 0.0, np.finfo(np.float64).max)]))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log of P(index) times the density of the gap, shape `(size,)`; -inf if impossible."""
        index, gap = outputs.values[:, 0], outputs.values[:, 1]
        possible = (index >= 0) & (index < self.n_candidates) & (index == np.floor(index)) & (gap >= 0.0)
        chosen = np.where(possible, index, 0).astype(np.int64)
        utilities, scores = self.utilities(dataset), self._brought_closer(self.scores(dataset))
        next_best = _placed(utilities[chosen] - np.where(possible, gap, 0.0), utilities, scores, self.rate)
        log_density = _LeadLaw.of(scores).log_density(chosen, next_best) + np.log(self.rate)
        return np.asarray(np.where(possible, log_density, -np.inf))

    def _brought_closer(self, scores: Floats) -> Floats:
        """Return the scores with gaps that the noise never exceeds shortened, to avoid too many pieces."""
        if np.ptp(scores) <= _MAX_DISTANCE:
            return scores
        widest = max(_MAX_DISTANCE / (self.n_candidates - 1), _NEVER_BRIDGED)
        order = np.argsort(-scores, kind="stable")
        closer = np.zeros(len(scores))
        closer[order[1:]] = np.cumsum(np.maximum(np.diff(scores[order]), -widest))
        return closer

    def worst_case(self) -> Neighbours:
        """Return a pair on which candidate 0 gains and the others lose as much as possible.

        Its score is epsilon / 2 below theirs on `d0`, and epsilon / 2 above on `d1`.
        """
        return self.leading(1, -0.5 * self.epsilon)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the curve of `worst_case()`, by quadrature over the gap; None beyond epsilon 30,000.

        The gap is integrated given that candidate 0 is chosen, and given that another one is.
        """
        half = 0.5 * self.epsilon
        if self.epsilon > _MAX_CURVE_EPSILON:
            return None
        ends = piece_ends(np.array([-half, 0.0, half]), 0.25)
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
    """Law of the gap: log of D_i(x), the density that i is chosen with a noisy score score_i - x above the next.

    With H_i the density of the largest noisy score of the other candidates,

        D_i(x) = integral of H_i(y) e^-|y - x| / 2 dy,

    stored as Legendre polynomials on pieces between the scores, where H_i is smooth.

    Args:
        ends: ends of the pieces.
        coefficients: coefficients for each distinct score, `(n_distinct, n_pieces, degree + 1)`.
        which: the index of the score of each candidate among the distinct scores, `(n,)`.
    """

    ends: Floats
    coefficients: Floats
    which: Ints

    @classmethod
    def of(cls, scores: Floats) -> _LeadLaw:
        knots, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
        ends = piece_ends(scores, _MAX_PIECE)
        if len(ends) * len(knots) > _MAX_POLYNOMIALS:
            raise ParameterError(
                f"the utilities have {len(knots)} different values, for which the density of the gap needs "
                f"{len(ends) * len(knots):,} polynomials, and at most {_MAX_POLYNOMIALS:,} are computed. Use fewer "
                "candidates, or attack='classifier'.",
                argument="dataset",
            )
        coefficients = np.empty((len(knots), len(ends) - 1, _DEGREE + 1))
        block = max(1, _MAX_POLYNOMIALS // (10 * len(ends)))
        for start in range(0, len(knots), block):
            part = np.arange(start, min(start + block, len(knots)))
            log_h = _log_next_best(knots, counts, part, ends)
            coefficients[part] = _log_smoothed(log_h, ends) @ _legendre()[2].T
        return cls(ends, coefficients, which.ravel())

    def log_density(self, index: Ints, x: Floats) -> Floats:
        """Return log D_i(x) for each pair of index and x; below the first piece D_i falls like e^x."""
        inside = np.clip(x, self.ends[0], self.ends[-1])
        piece = np.clip(np.searchsorted(self.ends, inside, side="right") - 1, 0, len(self.ends) - 2)
        low, high = self.ends[piece], self.ends[piece + 1]
        at = (2.0 * inside - low - high) / (high - low)
        used = self.coefficients[self.which[index], piece]
        return np.asarray(np.polynomial.legendre.legval(at, used.T, tensor=False) - np.abs(x - inside))


def _placed(values: Floats, utilities: Floats, scores: Floats, rate: float) -> Floats:
    """Return noisy utilities on the axis of the scores, at their distance in scales from the nearer utility.

    Scores are utilities in scales except for shortened gaps; a value deep in such a gap is moved to its middle.
    """
    order = np.argsort(utilities, kind="stable")
    knots, places = utilities[order], scores[order]
    above = np.searchsorted(knots, values)
    low, high = np.maximum(above - 1, 0), np.minimum(above, len(knots) - 1)
    with np.errstate(over="ignore"):
        after, before = rate * (values - knots[low]), rate * (knots[high] - values)
    half = 0.5 * (places[high] - places[low])
    inside = np.where(after <= before, np.minimum(after, half) + places[low], places[high] - np.minimum(before, half))
    return np.where(high == low, places[low] + np.where(above > 0, after, -before), inside)


@lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats, Floats]:
    """Return the weights of the Gauss rule on [0, 1], the integrals from 0 to each node, and the Legendre fit."""
    nodes, weights = np.polynomial.legendre.leggauss(_DEGREE + 1)
    orders = np.arange(_DEGREE + 1)
    fit = (orders[:, np.newaxis] + 0.5) * np.polynomial.legendre.legvander(nodes, _DEGREE).T * weights
    integrals = [np.polynomial.legendre.legval(nodes, np.polynomial.legendre.legint(c, lbnd=-1)) for c in fit.T]
    return np.asarray(0.5 * weights), np.asarray(0.5 * np.stack(integrals, axis=1), dtype=np.float64), fit


def _log_next_best(knots: Floats, counts: Ints, part: Ints, ends: Floats) -> Floats:
    """Return log H_i at the nodes of all pieces for the scores of `part`, shape `(n, n_pieces, n_nodes)`.

    H_i(y) is the product of F(y - score) over the other candidates, times the sum of f / F over them, which is 1 for
    each score above y.
    """
    y, _ = nodes_between(ends)
    n_above = counts.sum() - np.append(0, np.cumsum(counts))[np.searchsorted(knots, y)]
    offset = y - knots[part, np.newaxis]
    log_below, log_own = laplace_log_cdf(offset), log_laplace(offset)
    log_hazards = log_hazards_below(y, knots, counts)
    hazards = np.exp(log_hazards) - np.where(offset > 0.0, np.exp(log_own - log_below), 0.0)
    others_above = n_above - (offset < 0.0)
    with np.errstate(divide="ignore"):
        log_others = np.where(others_above > 0, np.log(np.maximum(others_above + hazards, 0.0)), log_hazards)
        log_others = np.where((others_above == 0) & (offset > 0.0), np.log(np.maximum(hazards, 0.0)), log_others)
    if part[-1] == len(knots) - 1 and counts[-1] == 1:  # the leader: its own term, the largest, is not subtracted
        behind = log_hazards_below(y, knots[:-1], counts[:-1])
        log_others[-1] = np.where(y > knots[-1], behind, log_others[-1])
    log_density = log_all_below(y, knots, counts) - log_below + log_others
    return np.asarray(log_density.reshape(len(part), len(ends) - 1, -1))


def _log_smoothed(log_h: Floats, ends: Floats) -> Floats:
    """Return the log of the integral of h(y) e^-|y - x| / 2 dy at the nodes x, for log h `(n, n_pieces, n_nodes)`.

    The integrals from the left and from the right are carried from piece to piece.
    """
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
    total = np.exp(-within) * (left + own * (rising @ partial.T))
    total += np.exp(within) * (right + own * (falling @ (weights - partial).T))
    return np.asarray(scale[:, :, np.newaxis] + np.log(0.5 * total))
