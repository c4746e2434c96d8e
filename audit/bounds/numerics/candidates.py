"""The thresholds that a bound evaluates when there are too many to evaluate all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...evidence.scores import Counts, Tally


def candidates(tally: Tally, *, per_side: int, tail: int) -> NDArray[np.intp]:
    """Return indices of thresholds, dense where hits are few and evenly spaced in standard deviations elsewhere.

    The hit counts of either side are visited at n sin^2(0 .. pi / 2) and at each of the `tail` smallest and largest
    values. The thresholds on both sides of every visited count are included, so that no atom is split. The result
    depends on the order of the scores only, never on the level.
    """
    if len(tally.thresholds) <= 4 * (per_side + tail):
        return np.arange(len(tally.thresholds))
    chosen = [
        _visited(hits, n, per_side, tail) for hits, n in ((tally.hits_out, tally.n_out), (tally.hits_in, tally.n_in))
    ]
    return np.unique(np.concatenate(chosen))


def _visited(hits: Counts, n: int, per_side: int, tail: int) -> NDArray[np.intp]:
    small = np.arange(tail + 1)
    spread = np.round(n * np.sin(np.linspace(0.0, 0.5 * np.pi, per_side)) ** 2).astype(np.int64)
    counts = np.unique(np.concatenate([small, spread, n - small]))
    below = len(hits) - np.searchsorted(hits[::-1], counts, side="right")  # first threshold with at most this many hits
    return np.concatenate([below, below - 1]).clip(0, len(hits) - 1)
