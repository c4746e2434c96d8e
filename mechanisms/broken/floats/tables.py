"""The exact curve of two samplers whose outputs can all be listed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...guarantees import ExactDP
from ...queries.base import Floats
from ...relation import Relation

ENUMERABLE = 16
"""Most random bits whose outputs are listed one by one."""


def curve_of_outputs(
    outputs0: NDArray[Any], outputs1: NDArray[Any], *, relation: Relation, weights: Floats | None = None
) -> ExactDP:
    """The curve of two samplers with the same draws.

    Args:
        outputs0, outputs1: what each draw gives on side 0 and on side 1, shape `(n_draws, ...)` each.
        relation: the neighbouring relation.
        weights: `(n_draws,)` probabilities of the draws; None where they are equally likely.
    """
    every = np.concatenate([outputs0, outputs1]) + outputs0.dtype.type(0)  # -0.0 is 0.0
    _, at = np.unique(every, axis=0, return_inverse=True)
    n, at = len(outputs0), at.ravel()
    weights = np.full(n, 1.0 / n) if weights is None else weights
    p0, p1 = (np.bincount(part, weights, minlength=at.max() + 1) for part in (at[:n], at[n:]))
    return ExactDP(p0, p1, relation=relation)
