"""The events of the next bets, learned from past scores.

A chosen event is {score >= threshold}, as likelier on side 1, or its complement, as likelier on side 0; each direction
has its own threshold. The choice maximises the ratio of the rates when each is taken at its limit on the past scores,
which guards against a few extreme scores in a tail; if no ratio of limits exceeds 1, it maximises the difference of the
rates. It depends neither on epsilon nor on the confidence: one choice serves the whole bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....mechanisms.core import Floats, Ints
from ...evidence.scores import PairScores, Tally
from ..numerics.binomial import lower, upper
from ..numerics.martingale import block_edges
from .pilot import candidates, midway

FIRST_STEPS = 8
"""Number of steps before the first threshold is learned."""
LAST_CHOICE = 2**16
"""Number of steps after which no threshold is learned: more scores hardly move it, and sorting them takes time."""
_LEVEL = 0.05
_PER_SIDE, _TAIL = 40, 8


def rounds(scores: PairScores) -> Iterator[tuple[PairScores, PairScores]]:
    """Yield (all previous scores, scores of the round) for steps 0 .. 7, 8 .. 15, 16 .. 31, 32 .. 63 and so on.

    A step is one run of the smaller side, and a block of runs of the larger.
    """
    n_steps = min(scores.n_out, scores.n_in)
    edges_out, edges_in = (block_edges(n, n_steps) for n in (scores.n_out, scores.n_in))
    begin, end = 0, min(FIRST_STEPS, n_steps)
    while begin < n_steps:
        past = PairScores(scores.out[: edges_out[begin]], scores.in_[: edges_in[begin]])
        current = PairScores(scores.out[edges_out[begin] : edges_out[end]], scores.in_[edges_in[begin] : edges_in[end]])
        yield past, current
        begin, end = end, min(2 * end, n_steps) if end < LAST_CHOICE else n_steps


def best_thresholds(tally: Tally, delta: float) -> tuple[float, float]:
    """Return the thresholds of the next bets, forward and backward, each midway between two scores."""
    indices = candidates(tally, per_side=_PER_SIDE, tail=_TAIL)
    indices = indices[indices > 0]
    if len(indices) == 0:
        return float(tally.thresholds[0]), float(tally.thresholds[0])
    hits_in, hits_out = tally.hits_in[indices], tally.hits_out[indices]
    forward = _merit(hits_in, tally.n_in, hits_out, tally.n_out, delta)
    backward = _merit(tally.n_out - hits_out, tally.n_out, tally.n_in - hits_in, tally.n_in, delta)
    chosen = (int(indices[np.argmax(forward)]), int(indices[np.argmax(backward)]))
    return midway(tally.thresholds, chosen[0]), midway(tally.thresholds, chosen[1])


def _merit(gain: Ints, n_gain: int, loss: Ints, n_loss: int, delta: float) -> Floats:
    """Return the ratio of the rates at their limits; if it never exceeds 1, the difference of the rates."""
    ratio: Floats = (lower(gain, n_gain, _LEVEL) - delta) / upper(loss, n_loss, _LEVEL)
    return ratio if ratio.max() > 1.0 else gain / n_gain - loss / n_loss
