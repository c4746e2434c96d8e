"""Intentionally broken counts: histograms, subset counts and n-gram counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...accounting.broken import Broken
from ...combinators.repeated import Repeated
from ...core import Guarantee
from ...noise.laplace import Laplace
from .subset_counts import LaplaceSubsetCounts


@dataclass(frozen=True)
class UncomposedSubsetCounts(Broken, LaplaceSubsetCounts):
    """Broken: Laplace noise of scale 1 / epsilon on each of many subset counts, with epsilon claimed for all of them.

    A record is in up to `n_moved` subsets, and the answers together are n_moved * epsilon-DP.

    Example:
        >>> broken = UncomposedSubsetCounts(epsilon=0.5, n_records=10, n_queries=8)
        >>> broken.guarantee().epsilon(0.0), broken.n_moved, broken.exact_guarantee().epsilon(0.0)
        (0.5, 7, 3.5)
    """

    cause = "Every query is epsilon-DP, and the budget is not composed."
    source = "Dinur and Nissim (2003): many answers with so little noise reveal the column."
    correct_class = LaplaceSubsetCounts

    @cached_property
    def noise(self) -> Laplace:
        """Laplace noise of scale 1 / epsilon; should be n_moved / epsilon."""
        return Laplace(
            self.epsilon * self.n_moved, sensitivity=self.n_moved, n_queries=self.n_queries, relation=self.relation
        )

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of n_moved answers of epsilon each."""
        return Repeated(Laplace(self.epsilon, relation=self.relation), self.n_moved).exact_guarantee()
