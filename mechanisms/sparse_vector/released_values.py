"""Sparse vector techniques that release a number where a query is above: what their outputs have in common.

Output of a run: `(n_queries,)` numbers, the released one where the query is above, else 0, which stands for below and,
after the last number that is released, for not answered. A released number is 0 with probability 0.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, Neighbours, Outputs
from ..guarantees import ExactDP
from ..guarantees.base import Guarantee
from ..noise.laplace import laplace_log_density
from ..queries.base import Floats
from ..validation import whole
from .answers import ABOVE, BELOW, STOPPED, Answers, all_patterns, distinct
from .base import MOST_PATTERNS, SparseVector
from .threshold_integral import FAR, REACH, panels

CELLS, NODES = 6, 4
"""Parts of a panel, and Gauss-Legendre nodes in each, in the exact curve."""


@dataclass(frozen=True)
class ReleasesValues(SparseVector):
    """A sparse vector technique whose answer above is a number with Laplace noise."""

    _: KW_ONLY
    stop_after: int = 1

    def __post_init__(self) -> None:
        whole(1, stop_after=self.stop_after)
        super().__post_init__()

    @property
    def stops_after(self) -> int:
        return self.stop_after

    @property
    @abstractmethod
    def value_scale(self) -> float:
        """Scale of the noise on a released number."""

    @abstractmethod
    def _log_rest(self, pattern: Answers, log_p: float, released: Floats, queries: Floats) -> Floats:
        """What the log density has besides that of the noise on the released numbers.

        Args:
            pattern: `(n_queries,)` answers.
            log_p: their log probability.
            released: `(size, n_above)` numbers.
            queries: `(n_queries,)` exact answers.

        Returns:
            `(size,)`.
        """

    def _nothing(self, size: int) -> NDArray[np.generic]:
        return np.zeros((size, self.n_queries))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of each output under `dataset`, shape `(size,)`; -inf where more is released than can be."""
        values, queries = outputs.values, self.answers(dataset)
        released, place = distinct((values != 0.0).astype(np.int8))
        patterns = self._stopped(released)
        log_ps = self.log_probabilities(patterns, dataset)
        rows = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
        log_p = np.full(len(values), -np.inf)
        for pattern, its, here in zip(patterns, log_ps, rows, strict=False):  # no runs are one empty row
            if its > -np.inf:
                log_p[here] = self._log_density(pattern, its, values[here][:, pattern == ABOVE], queries)
        return log_p

    def _log_density(self, pattern: Answers, log_p: float, released: Floats, queries: Floats) -> Floats:
        """Of outputs that have numbers at the same places."""
        noise = released - queries[pattern == ABOVE]
        density = self._log_rest(pattern, log_p, released, queries)
        density += laplace_log_density(noise, self.value_scale).sum(axis=1)
        return density

    def _stopped(self, patterns: Answers) -> Answers:
        """The patterns, with what comes after the last answer above that there can be marked as not answered."""
        above = np.cumsum(patterns == ABOVE, axis=1)
        return np.where((above >= self.stop_after) & (patterns == BELOW), STOPPED, patterns).astype(np.int8)

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """The exact curve of a pair, where at most one number is released; None for more, and for answers so far from
        the threshold that cells cannot be laid up to them.

        The density of the number is integrated by Gauss-Legendre panels that end where a density has a corner. A cell
        that one likelihood ratio holds for is exact; delta is off by what its ratio varies within a cell, about 1e-6.
        """
        patterns = all_patterns(self.n_queries, self.stop_after, MOST_PATTERNS) if self.stop_after == 1 else None
        if patterns is None:
            return None
        sides = (neighbours.d0, neighbours.d1)
        scales = (self.threshold_scale, self.query_scale, self.value_scale)
        if max(float(np.abs(self.answers(side) - self.threshold).max()) for side in sides) > FAR * max(scales):
            return None
        nodes, weights = self._cells(sides)
        log0, log1 = (self._log_cell_probabilities(patterns, nodes, weights, side) for side in sides)
        return ExactDP.of_logs(log0, log1, self.relation)

    def _log_cell_probabilities(self, patterns: Answers, nodes: Floats, weights: Floats, dataset: Dataset) -> Floats:
        """Of no number, and of each cell of numbers for each query that may be above."""
        queries, law = self.answers(dataset), []
        for pattern, log_p in zip(patterns, self.log_probabilities(patterns, dataset), strict=True):
            number = (pattern == ABOVE).any()
            released = nodes[:, None] if number else np.empty((1, 0))
            density = self._log_density(pattern, log_p, released, queries)
            law.append(density + np.log(weights) if number else density)
        return np.concatenate(law)

    def _cells(self, sides: tuple[Dataset, Dataset]) -> tuple[Floats, Floats]:
        """Released numbers and the weights of their cells."""
        corners = np.unique(np.concatenate([[self.threshold], *(self.answers(side) for side in sides)]))
        scales = (self.threshold_scale, self.query_scale, self.value_scale)
        coarse = panels(corners, min(scales) / 2.0, REACH * max(scales))
        edges = np.unique(np.linspace(coarse[:-1], coarse[1:], CELLS + 1))
        x, w = np.polynomial.legendre.leggauss(NODES)
        half = 0.5 * np.diff(edges)[:, None]
        return (0.5 * (edges[:-1] + edges[1:])[:, None] + half * x).ravel(), (half * w).ravel()
