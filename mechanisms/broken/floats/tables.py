"""The exact curve of two samplers whose outputs can all be listed."""

from __future__ import annotations

import numpy as np

from ...guarantees import ExactDP
from ...queries.base import Floats
from ...relation import Relation

ENUMERABLE = 16
"""Most random bits whose outputs are listed one by one."""


def exact_law(outputs0: Floats, outputs1: Floats, *, relation: Relation) -> ExactDP:
    """The curve of two samplers with equally likely draws.

    Args:
        outputs0, outputs1: what each draw gives on side 0 and on side 1, shape `(n_draws, ...)` each.
        relation: the neighbouring relation.
    """
    every = np.concatenate([outputs0, outputs1]) + 0.0  # -0.0 is 0.0
    _, at = np.unique(every, axis=0, return_inverse=True)
    at, n = at.ravel(), len(outputs0)
    p0, p1 = (np.bincount(part, minlength=at.max() + 1) / len(part) for part in (at[:n], at[n:]))
    return ExactDP(p0, p1, relation=relation)
