"""Measurements of each run so far, when runs choose different marginals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.arrays import Floats, Ints
from ...noise.queries.domain import Domain
from ..base import Generator, Marginal, Measured


class Collected:
    """Precision-weighted average of all measurements of each candidate in each run, which is sufficient for a fit.

    Args:
        domain: domain of the records.
        candidates: marginals that may be measured.
        size: number of runs.
    """

    def __init__(self, domain: Domain, candidates: Sequence[Marginal], size: int) -> None:
        self._candidates = tuple(candidates)
        self._precisions = np.zeros((size, len(self._candidates)))
        self._answers: dict[int, Floats] = {}
        self._n_cells = [domain.project(candidate).n_cells for candidate in self._candidates]
        self._size = size

    def add(self, place: int, runs: Ints, measured: Measured) -> None:
        """Add the measurements of candidate number `place` in `runs`."""
        averages = self._answers.setdefault(place, np.zeros((self._size, self._n_cells[place])))
        new = 1.0 / measured.deviations**2
        total = self._precisions[runs, place] + new
        averages[runs] += (new / total)[:, None] * (measured.answers - averages[runs])
        self._precisions[runs, place] = total

    def cliques(self, run: int) -> frozenset[Marginal]:
        """Return the marginals that one run has measured."""
        return frozenset(self._candidates[place] for place in np.flatnonzero(self._precisions[run]))

    def measured(self, runs: Ints, generator: Generator) -> list[Measured]:
        """Return the measurements of `runs`, renumbered from 0.

        For a generator that holds the whole domain, missing measurements are included with infinite noise, so that all
        runs can be fitted together, whatever they chose.
        """
        measurements = []
        for place, answers in sorted(self._answers.items()):
            precisions = self._precisions[runs, place]
            rows = np.flatnonzero(precisions)
            if not len(rows):
                continue
            name = self._candidates[place]
            if generator.holds_domain or len(rows) == len(runs):
                with np.errstate(divide="ignore"):
                    measurements.append(Measured(name, answers[runs], 1.0 / np.sqrt(precisions)))
            else:
                measurements.append(Measured(name, answers[runs[rows]], 1.0 / np.sqrt(precisions[rows]), runs=rows))
        return measurements
