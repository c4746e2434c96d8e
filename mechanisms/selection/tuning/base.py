"""Interface of one run of a private selection: read this module first."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.arrays import Floats
from ...core.base import Dataset, Mechanism, Neighbours


class TuningTrial(Mechanism):
    """A mechanism whose outputs are rows `(size, k)` of numbers, the last of which is a score: higher is better."""

    def chances(self, scores: Floats, dataset: Dataset) -> tuple[Floats, Floats] | None:
        """Return the probabilities that a run on `dataset` has a lower and a higher score; None if not known."""

    def cells(self, pair: Neighbours, cuts: tuple[float, ...] = ()) -> OutcomeCells | None:
        """Return the points of a numerical integral of the densities of both sides; None if not known.

        Args:
            pair: the pair whose outputs are integrated.
            cuts: scores at which densities may jump.
        """


@dataclass(frozen=True, eq=False)
class OutcomeCells:
    """Outputs `(n, k)` as the nodes of a numerical integral, and their weights `(n,)`."""

    outputs: Floats
    weights: Floats
