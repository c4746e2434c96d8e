"""What to bet on in the steps to come, learned from scores that have already been seen.

A chosen event is {score >= threshold}, said to be likelier on side 1, or its complement, said to be likelier on side 0;
each direction has a threshold of its own. The choice maximises the ratio of the rates when each is taken at its limit
on the past scores, so that a few lucky scores in a tail do not win; where no ratio of limits exceeds 1, it maximises
the difference of the rates. It depends neither on epsilon nor on the confidence: one choice serves the whole bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...evidence.scores import Floats, PairScores, Tally
from ..numerics.binomial import lower, upper
from ..numerics.candidates import candidates
from ..numerics.test_martingale import block_edges

FIRST_STEPS = 8
"""Steps before anything can be learned."""
LAST_CHOICE = 2**16
"""Nothing is learned after this many steps: more scores hardly move a threshold, and sorting them takes time."""
_LEVEL = 0.05
_PER_SIDE, _TAIL = 40, 8


def rounds(scores: PairScores) -> Iterator[tuple[PairScores, PairScores]]:
    """(all scores before, the scores of the round), for steps 0 .. 7, 8 .. 15, 16 .. 31, 32 .. 63 and so on.

    A step is one run of the smaller side, and a block of runs of the larger.
    """
    n_steps = min(scores.n_out, scores.n_in)
    edges_out, edges_in = (block_edges(n, n_steps) for n in (scores.n_out, scores.n_in))
    begin, end = 0, min(FIRST_STEPS, n_steps)
    while begin < n_steps:
        past = PairScores(scores.out[: edges_out[begin]], scores.in_[: edges_in[begin]])
        now = PairScores(scores.out[edges_out[begin] : edges_out[end]], scores.in_[edges_in[begin] : edges_in[end]])
        yield past, now
        begin, end = end, min(2 * end, n_steps) if end < LAST_CHOICE else n_steps


def best_thresholds(tally: Tally, delta: float) -> tuple[float, float]:
    """The thresholds to bet on, forward and backward; each midway between two scores, away from atoms."""
    at = candidates(tally, per_side=_PER_SIDE, tail=_TAIL)
    at = at[at > 0]
    if len(at) == 0:
        return float(tally.thresholds[0]), float(tally.thresholds[0])
    tpr, fpr = tally.hits_in[at], tally.hits_out[at]
    forward = _promise(tpr, tally.n_in, fpr, tally.n_out, delta)
    backward = _promise(tally.n_out - fpr, tally.n_out, tally.n_in - tpr, tally.n_in, delta)
    chosen = (int(at[np.argmax(forward)]), int(at[np.argmax(backward)]))
    return _between(tally.thresholds, chosen[0]), _between(tally.thresholds, chosen[1])


def _promise(gain: NDArray[np.int64], n_gain: int, loss: NDArray[np.int64], n_loss: int, delta: float) -> Floats:
    """The ratio of the rates at their limits; where that never exceeds 1, the difference of the rates."""
    ratio: Floats = (lower(gain, n_gain, _LEVEL) - delta) / upper(loss, n_loss, _LEVEL)
    return ratio if ratio.max() > 1.0 else gain / n_gain - loss / n_loss


def _between(thresholds: Floats, at: int) -> float:
    """A threshold midway between two neighbouring scores: the rounding of an atom cannot move it across."""
    low, high = float(thresholds[at - 1]), float(thresholds[at])
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + 0.5 * (high - low)
    return middle if low < middle < high else high
