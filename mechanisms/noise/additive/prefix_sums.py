"""Laplace noise on numbers, released as running sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.base import Dataset, Outputs
from .laplace import Laplace


@dataclass(frozen=True)
class PrefixSums(Laplace):
    """Laplace noise on each answer, then the running sums: noisy counts up to each position.

    The sums are computed from the noisy answers only, so that the guarantee of `Laplace` holds; the noisy answers are
    the differences of the sums, so that the exact curve of `Laplace` holds as well.

    Args:
        epsilon: the claim, > 0.
        sensitivity: largest L1 distance between the answers, before they are summed, on neighbours, > 0.
        n_queries, query, relation: as for `Laplace`.

    Guarantees:
        * epsilon-DP and the exact curve of `Laplace`: post-processing, and back (Dwork and Roth 2014, proposition 2.1).

    Example:
        >>> mechanism = PrefixSums(epsilon=1.0, n_queries=3)
        >>> mechanism.release([300.0, 0.0, 600.0], 2, np.random.default_rng(0)).values.round(1)
        array([[300. , 300.3, 897.5],
               [293.9, 291.2, 892.8]])
    """

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` vectors of running sums: shape `(size, n_queries)`, or `(size,)` for one query."""
        values = super().release(dataset, size, rng).values
        return Outputs(values if values.ndim == 1 else np.cumsum(values, axis=1, out=values))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log density of each output under `dataset`, that of its differences, shape `(size,)`."""
        values = outputs.values
        answers = values if values.ndim == 1 else np.diff(values, axis=1, prepend=0.0)
        return super().log_density(Outputs(answers), dataset)
