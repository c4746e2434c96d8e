"""One run of what is tuned: read this first."""

from __future__ import annotations

from dataclasses import dataclass

from ..base import Dataset, Mechanism, Neighbours
from ..queries.base import Floats


class Trial(Mechanism):
    """A mechanism whose outputs are rows `(size, k)` of numbers, the last of which is a score: higher is better."""

    def chances(self, scores: Floats, dataset: Dataset) -> tuple[Floats, Floats] | None:
        """Probabilities that a run on `dataset` has a lower score, and a higher one; None where they are not known."""

    def cells(self, pair: Neighbours, cuts: tuple[float, ...] = ()) -> Cells | None:
        """Points at which densities are to be summed, such that nothing of the pair is missed; None if not known.

        Args:
            pair: the outputs on both sides are looked at.
            cuts: scores at which densities may jump.
        """


@dataclass(frozen=True, eq=False)
class Cells:
    """Outputs `(n, k)` that stand for all of them, and the weights `(n,)` of a numerical integral over them."""

    outputs: Floats
    weights: Floats
