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
from .threshold_integral import REACH, panels

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
    def _log_rest(self, pattern: Answers, released: Floats, dataset: Dataset) -> Floats:
        """What the log density has besides that of the noise on the released numbers.

        Args:
            pattern: `(n_queries,)`.
            released: `(size, n_above)`.

        Returns:
            `(size,)`.
        """

    def _nothing(self, size: int) -> NDArray[np.generic]:
        return np.zeros((size, self.n_queries))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of each output under `dataset`, shape `(size,)`; -inf where more is released than can be."""
        values = outputs.values
        patterns, place = distinct((values != 0.0).astype(np.int8))
        order = np.argsort(place, kind="stable")
        log_p = np.full(len(values), -np.inf)
        for pattern, rows in zip(patterns, np.split(order, np.cumsum(np.bincount(place))[:-1]), strict=True):
            if np.count_nonzero(pattern) <= self.stop_after:
                log_p[rows] = self._log_density(pattern, values[rows][:, pattern == ABOVE], dataset)
        return log_p

    def _log_density(self, pattern: Answers, released: Floats, dataset: Dataset) -> Floats:
        """Of outputs that have numbers at the same places."""
        pattern = self._stopped(pattern)
        noise = released - self.answers(dataset)[pattern == ABOVE]
        log_p = self._log_rest(pattern, released, dataset)
        log_p += laplace_log_density(noise, self.value_scale).sum(axis=1)
        return log_p

    def _stopped(self, pattern: Answers) -> Answers:
        """The pattern with what comes after the last answer above that there can be marked as not answered."""
        above = np.cumsum(pattern == ABOVE)
        return np.where((above >= self.stop_after) & (pattern == BELOW), STOPPED, pattern).astype(np.int8)

    def curve(self, neighbours: Neighbours) -> Guarantee | None:
        """The exact curve of a pair, where at most one number is released; None for more.

        The density of the number is integrated by Gauss-Legendre panels that end where a density has a corner. A cell
        that one likelihood ratio holds for is exact; delta is off by what its ratio varies within a cell, about 1e-6.
        """
        patterns = all_patterns(self.n_queries, self.stop_after, MOST_PATTERNS) if self.stop_after == 1 else None
        if patterns is None:
            return None
        sides = (neighbours.d0, neighbours.d1)
        nodes, weights = self._cells(sides)
        laws: tuple[list[Floats], list[Floats]] = ([], [])
        for pattern in patterns:
            released = nodes[:, None] if (pattern == ABOVE).any() else np.empty((1, 0))
            weight = weights if (pattern == ABOVE).any() else np.ones(1)
            for law, side in zip(laws, sides, strict=True):
                law.append(weight * np.exp(self._log_density(pattern, released, side)))
        return ExactDP(np.concatenate(laws[0]), np.concatenate(laws[1]), self.relation)

    def _cells(self, sides: tuple[Dataset, Dataset]) -> tuple[Floats, Floats]:
        """Released numbers and the weights of their cells."""
        corners = np.unique(np.concatenate([[self.threshold], *(self.answers(side) for side in sides)]))
        scales = (self.threshold_scale, self.query_scale, self.value_scale)
        coarse = panels(corners, min(scales) / 2.0, REACH * max(scales))
        edges = np.unique(np.linspace(coarse[:-1], coarse[1:], CELLS + 1))
        x, w = np.polynomial.legendre.leggauss(NODES)
        half = 0.5 * np.diff(edges)[:, None]
        return (0.5 * (edges[:-1] + edges[1:])[:, None] + half * x).ravel(), (half * w).ravel()
