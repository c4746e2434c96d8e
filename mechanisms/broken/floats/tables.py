"""Exact curve of two samplers whose outputs can all be listed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP
from ...core.arrays import Floats
from ...core.relation import Relation

ENUMERABLE = 16
"""Largest number of random bits for which all outputs are listed."""


def curve_of_outputs(
    outputs0: NDArray[Any], outputs1: NDArray[Any], *, relation: Relation, weights: Floats | None = None
) -> ExactDP:
    """Return the exact curve of two samplers with the same draws.

    Args:
        outputs0, outputs1: output of each draw on side 0 and on side 1, shape `(n_draws, ...)` each.
        relation: the neighbouring relation.
        weights: `(n_draws,)` probabilities of the draws; None where they are equally likely.
    """
    outputs = np.concatenate([outputs0, outputs1]) + outputs0.dtype.type(0)  # -0.0 is 0.0
    _, index = np.unique(outputs, axis=0, return_inverse=True)
    n, index = len(outputs0), index.ravel()
    weights = np.full(n, 1.0 / n) if weights is None else weights
    p0, p1 = (np.bincount(part, weights, minlength=index.max() + 1) for part in (index[:n], index[n:]))
    return ExactDP(p0, p1, relation=relation)
