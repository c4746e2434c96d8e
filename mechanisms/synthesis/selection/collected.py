"""What each run has measured so far, where runs choose different marginals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...queries.domain import Domain
from ..base import Floats, Generator, Ints, Marginal, Measured


class Collected:
    """The precision-weighted average of all measurements of each candidate in each run: nothing else matters for a fit.

    Args:
        domain: of the records.
        candidates: marginals that may be measured.
        size: number of runs.
    """

    def __init__(self, domain: Domain, candidates: Sequence[Marginal], size: int) -> None:
        self._candidates = tuple(candidates)
        self._precisions = np.zeros((size, len(self._candidates)))
        self._answers: dict[int, Floats] = {}
        self._n_cells = [domain.project(one).n_cells for one in self._candidates]
        self._size = size

    def add(self, place: int, runs: Ints, measured: Measured) -> None:
        """Takes in what `runs` measured of candidate number `place`."""
        mine = self._answers.setdefault(place, np.zeros((self._size, self._n_cells[place])))
        new = 1.0 / measured.deviations**2
        total = self._precisions[runs, place] + new
        mine[runs] += (new / total)[:, None] * (measured.answers - mine[runs])
        self._precisions[runs, place] = total

    def cliques(self, run: int) -> frozenset[Marginal]:
        """The marginals that one run has measured."""
        return frozenset(self._candidates[place] for place in np.flatnonzero(self._precisions[run]))

    def measured(self, runs: Ints, generator: Generator) -> list[Measured]:
        """What `runs` have measured, which become runs 0, 1, 2 and so on.

        For a generator that holds the whole domain, runs have measured what they did not measure as well, with infinite
        noise: all are then fitted at once, whatever they chose.
        """
        found = []
        for place, answers in sorted(self._answers.items()):
            precisions = self._precisions[runs, place]
            rows = np.flatnonzero(precisions)
            if not len(rows):
                continue
            name = self._candidates[place]
            if generator.holds_domain or len(rows) == len(runs):
                with np.errstate(divide="ignore"):
                    found.append(Measured(name, answers[runs], 1.0 / np.sqrt(precisions)))
            else:
                found.append(Measured(name, answers[runs[rows]], 1.0 / np.sqrt(precisions[rows]), runs=rows))
        return found
