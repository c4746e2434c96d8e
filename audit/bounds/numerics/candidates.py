"""Which thresholds a bound looks at when there are too many to look at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...evidence.scores import Counts, Tally


def candidates(tally: Tally, *, per_side: int, tail: int) -> NDArray[np.intp]:
    """Indices of thresholds that are dense where hits are few, and a constant share of a standard deviation apart.

    The hit counts of either side are visited at n sin^2(0 .. pi / 2) and at each of the `tail` smallest and largest
    values; on both sides of every visited count, so that an atom is seen whole from below and from above. Depends on
    the order of the scores only, never on the level.
    """
    if len(tally.thresholds) <= 4 * (per_side + tail):
        return np.arange(len(tally.thresholds))
    chosen = [
        _visited(hits, n, per_side, tail) for hits, n in ((tally.hits_out, tally.n_out), (tally.hits_in, tally.n_in))
    ]
    return np.unique(np.concatenate(chosen))


def _visited(hits: Counts, n: int, per_side: int, tail: int) -> NDArray[np.intp]:
    few = np.arange(tail + 1)
    spread = np.round(n * np.sin(np.linspace(0.0, 0.5 * np.pi, per_side)) ** 2).astype(np.int64)
    wanted = np.unique(np.concatenate([few, spread, n - few]))
    below = len(hits) - np.searchsorted(hits[::-1], wanted, side="right")  # first threshold with at most this many hits
    return np.concatenate([below, below - 1]).clip(0, len(hits) - 1)
