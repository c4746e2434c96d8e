"""Sparse vector techniques that release a number for each query above the threshold.

    ReleasesValues         base class of these techniques
    NumericalSparseVector  the released numbers have new noise


Output of a run: `(n_queries,)` numbers, the released number if the query is above, else 0, which means below and, after
the last released number, not answered. A released number is 0 with probability 0.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP
from ...accounting.numerics.laplace import laplace_log_density
from ...accounting.numerics.quadrature import gauss_legendre
from ...core import Bools, Dataset, Floats, Guarantee, Neighbours, Outputs, PositiveInt
from ...noise.laplace import draw_laplace
from .above_threshold import MAX_PATTERNS, SparseVector
from .answers import ABOVE, BELOW, STOPPED, Answers, all_patterns, distinct
from .threshold_integral import MAX_ANSWER_DISTANCE, TAIL_SCALES, panels

CELLS, NODES = 6, 4
"""Parts of a panel, and Gauss-Legendre nodes in each, in the exact curve."""


@dataclass(frozen=True)
class ReleasesValues(SparseVector):
    """A sparse vector technique whose answer above is a number with Laplace noise."""

    _: KW_ONLY
    stop_after: PositiveInt = 1

    @property
    def stops_after(self) -> int:
        return self.stop_after

    @property
    @abstractmethod
    def value_scale(self) -> float:
        """Scale of the noise on a released number."""

    @abstractmethod
    def _log_rest(self, pattern: Answers, log_p: float, released: Floats, queries: Floats) -> Floats:
        """Return the log density without the terms of the noise on the released numbers.

        Args:
            pattern: `(n_queries,)` answers.
            log_p: log probability of the pattern.
            released: `(size, n_above)` numbers.
            queries: `(n_queries,)` exact answers.

        Returns:
            Shape `(size,)`.
        """

    def _unanswered(self, size: int) -> NDArray[np.generic]:
        return np.zeros((size, self.n_queries))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`; -inf if too many numbers."""
        values, queries = outputs.values, self.answers(dataset)
        released, place = distinct((values != 0.0).astype(np.int8))
        patterns = self._stopped(released)
        log_ps = self.log_probabilities(patterns, dataset)
        rows = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
        log_p = np.full(len(values), -np.inf)
        for pattern, pattern_log_p, runs in zip(patterns, log_ps, rows, strict=False):  # without runs: one empty row
            if pattern_log_p > -np.inf:
                log_p[runs] = self._log_density(pattern, pattern_log_p, values[runs][:, pattern == ABOVE], queries)
        return log_p

    def _log_density(self, pattern: Answers, log_p: float, released: Floats, queries: Floats) -> Floats:
        """Return the log density of outputs with the same pattern."""
        noise = released - queries[pattern == ABOVE]
        density = self._log_rest(pattern, log_p, released, queries)
        density += laplace_log_density(noise, self.value_scale).sum(axis=1)
        return density

    def _stopped(self, patterns: Answers) -> Answers:
        """Return the patterns with the answers after the last possible answer above marked as not answered."""
        above = np.cumsum(patterns == ABOVE, axis=1)
        return np.where((above >= self.stop_after) & (patterns == BELOW), STOPPED, patterns).astype(np.int8)

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """Return the exact curve of a pair if at most one number is released, else None.

        Also None if the answers are too far from the threshold for the grid of cells. The density of the number is
        integrated by Gauss-Legendre panels that end at the kinks of the densities. A cell with a constant likelihood
        ratio is exact; the error of delta is the variation of the ratio within a cell, about 1e-6.
        """
        patterns = all_patterns(self.n_queries, self.stop_after, MAX_PATTERNS) if self.stop_after == 1 else None
        if patterns is None:
            return None
        sides = (neighbours.d0, neighbours.d1)
        scales = (self.threshold_scale, self.query_scale, self.value_scale)
        if max(float(np.abs(self.answers(side) - self.threshold).max()) for side in sides) > MAX_ANSWER_DISTANCE * max(
            scales
        ):
            return None
        nodes, weights = self._cells(sides)
        log0, log1 = (self._log_cell_probabilities(patterns, nodes, weights, side) for side in sides)
        return ExactDP.of_logs(log0, log1, self.relation)

    def _log_cell_probabilities(self, patterns: Answers, nodes: Floats, weights: Floats, dataset: Dataset) -> Floats:
        """Return the log probability of no number, and of each cell of numbers for each query that may be above."""
        queries, law = self.answers(dataset), []
        for pattern, log_p in zip(patterns, self.log_probabilities(patterns, dataset), strict=True):
            releases = (pattern == ABOVE).any()
            released = nodes[:, None] if releases else np.empty((1, 0))
            density = self._log_density(pattern, log_p, released, queries)
            law.append(density + np.log(weights) if releases else density)
        return np.concatenate(law)

    def _cells(self, sides: tuple[Dataset, Dataset]) -> tuple[Floats, Floats]:
        """Return the released numbers and the weights of their cells."""
        corners = np.unique(np.concatenate([[self.threshold], *(self.answers(side) for side in sides)]))
        scales = (self.threshold_scale, self.query_scale, self.value_scale)
        coarse = panels(corners, min(scales) / 2.0, TAIL_SCALES * max(scales))
        return gauss_legendre(np.unique(np.linspace(coarse[:-1], coarse[1:], CELLS + 1)), NODES)


@dataclass(frozen=True)
class NumericalSparseVector(ReleasesValues):
    """Numerical sparse vector technique: for queries above the noisy threshold, the value with new noise.

    A third of the budget each for the threshold, noise of scale 3 sensitivity / epsilon, the comparisons, noise of
    scale 6 stop_after sensitivity / epsilon, and the released values, noise of scale
    3 stop_after sensitivity / epsilon, independent of that of the comparison. (Wang, Ding, Wang, Kifer and Zhang 2019;
    Lyu, Su and Li 2017, algorithm 7.)

    Output of a run: `(n_queries,)` numbers, the noisy value if the query is above, else 0, which means below and,
    after the last released number, not answered.

    Args:
        epsilon: the claim, > 0.
        n_queries: number of queries, >= 1.
        stop_after: number of answers above after which a run stops, >= 1; c in the papers.

    Guarantees:
        * epsilon-DP: a sparse vector technique at 2 epsilon / 3 (Lyu, Su and Li 2017, theorem 4), composed with
          `stop_after` Laplace mechanisms that share epsilon / 3.

    Example:
        >>> mechanism = NumericalSparseVector(epsilon=3.0, n_queries=3, threshold=50.0)
        >>> mechanism.release([0.0, 99.0, 99.0], 2, np.random.default_rng(0)).values.round(1)
        array([[  0. , 100.2,   0. ],
               [  0. ,  98.2,   0. ]])
        >>> round(mechanism.exact_guarantee().epsilon(0.0), 3)
        2.276
    """

    @property
    def threshold_scale(self) -> float:
        return 3.0 * self.sensitivity / self.epsilon

    @property
    def query_scale(self) -> float:
        return 6.0 * self.stop_after * self.sensitivity / self.epsilon

    @property
    def value_scale(self) -> float:
        return 3.0 * self.stop_after * self.sensitivity / self.epsilon

    def _released(self, above: Bools, noisy: Floats, exact: float, rng: np.random.Generator) -> Floats:
        released = np.zeros(len(above))
        released[above] = exact + draw_laplace(self.value_scale, (int(np.count_nonzero(above)),), rng)
        return released

    def _log_rest(self, pattern: Answers, log_p: float, released: Floats, queries: Floats) -> Floats:
        """Return the log probability of the comparisons, which are independent of the released noise."""
        return np.full(len(released), log_p)
