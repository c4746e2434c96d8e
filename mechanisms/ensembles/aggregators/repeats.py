"""The exact curve of one query that is asked many times, perhaps until it has been answered often enough."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ...guarantees import ExactDP
from ...guarantees.exact import log_ratio
from ...relation import Relation

Floats = NDArray[np.float64]

MOST = 200_000
"""Outcomes that are listed."""


def repeated_law(
    law0: Floats, law1: Floats, n_queries: int, relation: Relation, *, most_answers: int | None = None
) -> ExactDP | None:
    """What `n_queries` independent outcomes allow, the last being that of no answer; None where they are too many.

    All that tells the sides apart is how often each outcome occurred; outcomes with one likelihood ratio count as one.

    Args:
        law0, law1: `(n_outcomes,)` probabilities of an outcome, of no answer last.
        n_queries: >= 1.
        relation: of the guarantee.
        most_answers: after so many answers no other query is asked; None for no limit.
    """
    grouped = _grouped(law0, law1)
    parts = grouped.shape[1]
    if most_answers is None or most_answers >= n_queries:
        if math.comb(n_queries + parts - 1, parts - 1) > MOST:
            return None
        return _exact(_multinomial(grouped, _splits(n_queries, parts)), relation)
    unanswered = n_queries - most_answers
    if math.comb(most_answers + parts - 1, parts - 1) * (n_queries + 1) > MOST:
        return None
    stopped = _splits(most_answers, parts - 1)
    missed = np.arange(unanswered + 1)
    ways = gammaln(missed + most_answers) - gammaln(missed + 1) - gammaln(most_answers)
    answers = _multinomial(grouped[:, :-1], stopped)
    with np.errstate(divide="ignore", invalid="ignore"):
        misses = np.where(missed > 0, missed * np.log(grouped[:, -1:]), 0.0) + ways
    ended = (answers[:, :, None] + misses[:, None, :]).reshape(2, -1)
    used = [
        np.column_stack([split, np.full(len(split), n_queries - few)])
        for few in range(most_answers)
        for split in [_splits(few, parts - 1)]
    ]
    laws = np.concatenate([ended, _multinomial(grouped, np.concatenate(used))], axis=1)
    return _exact(laws, relation)


def _exact(log_laws: Floats, relation: Relation) -> ExactDP:
    p0, p1 = np.exp(log_laws)
    return ExactDP(p0, p1, relation)


def _grouped(law0: Floats, law1: Floats) -> Floats:
    """Both laws, `(2, n_groups)`: answers with one likelihood ratio together, and no answer last."""
    law0, law1 = law0 / law0.sum(), law1 / law1.sum()
    answers = (law0[:-1] > 0.0) | (law1[:-1] > 0.0)
    p0, p1 = law0[:-1][answers], law1[:-1][answers]
    both = (p0 > 0.0) & (p1 > 0.0)
    ratio = np.where(p0 > 0.0, -np.inf, np.inf)
    ratio[both] = np.round(log_ratio(p1[both], p0[both]), 11)
    _, group = np.unique(ratio, return_inverse=True)
    merged = [np.append(np.bincount(group, weights=p), rest) for p, rest in ((p0, law0[-1]), (p1, law1[-1]))]
    return np.array(merged)


def _splits(total: int, parts: int) -> NDArray[np.int64]:
    """All ways to write `total` as an ordered sum of `parts` whole numbers >= 0, one a row."""
    if parts == 0:
        return np.zeros((int(total == 0), 0), dtype=np.int64)
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), dtype=np.int64)
    bars = bars.reshape(-1, parts - 1)
    edge = np.full((len(bars), 1), -1)
    ends = np.concatenate([edge, bars, np.full((len(bars), 1), total + parts - 1)], axis=1)
    return np.diff(ends, axis=1) - 1


def _multinomial(laws: Floats, splits: NDArray[np.int64]) -> Floats:
    """Log probability of each row of counts under each law, `(2, n_rows)`."""
    ways = gammaln(splits.sum(axis=1) + 1.0) - gammaln(splits + 1.0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(splits > 0, splits * np.log(laws)[:, None, :], 0.0)
    return np.asarray(ways + each.sum(axis=2))
