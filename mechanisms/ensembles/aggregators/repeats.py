"""The exact curve of one query that is asked many times, perhaps until it has been answered often enough."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from ...guarantees import ExactDP
from ...relation import Relation

Floats = NDArray[np.float64]

MOST = 200_000
"""Outcomes that are listed."""


def repeated_law(
    log_law0: Floats, log_law1: Floats, n_queries: int, relation: Relation, *, most_answers: int | None = None
) -> ExactDP | None:
    """What `n_queries` independent outcomes allow, the last being that of no answer; None where they are too many.

    All that tells the sides apart is how often each outcome occurred; outcomes with one likelihood ratio count as one.

    Args:
        log_law0, log_law1: `(n_outcomes,)` log probabilities of an outcome, of no answer last.
        n_queries: >= 1.
        relation: of the guarantee.
        most_answers: after so many answers no other query is asked; None for no limit.
    """
    grouped = _grouped(log_law0, log_law1)
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
    with np.errstate(invalid="ignore"):
        misses = np.where(missed > 0, missed * grouped[:, -1:], 0.0) + ways
    ended = (answers[:, :, None] + misses[:, None, :]).reshape(2, -1)
    used = [
        np.column_stack([split, np.full(len(split), n_queries - few)])
        for few in range(most_answers)
        for split in [_splits(few, parts - 1)]
    ]
    laws = np.concatenate([ended, _multinomial(grouped, np.concatenate(used))], axis=1)
    return _exact(laws, relation)


def _exact(log_laws: Floats, relation: Relation) -> ExactDP:
    return ExactDP.of_logs(log_laws[0], log_laws[1], relation)


def _grouped(log_law0: Floats, log_law1: Floats) -> Floats:
    """Both laws in logarithms, `(2, n_groups)`: answers with one likelihood ratio together, and no answer last."""
    laws = np.stack([log_law0 - logsumexp(log_law0), log_law1 - logsumexp(log_law1)])
    answers = laws[:, :-1][:, (laws[:, :-1] > -np.inf).any(axis=0)]
    largest = np.abs(answers[answers > -np.inf]).max(initial=0.0)
    ratio = np.round(answers[1] - answers[0], 11 if largest < 1e3 else 6)
    _, group = np.unique(ratio, return_inverse=True)
    merged = np.full((2, group.max(initial=-1) + 1), -np.inf)
    for law, into in zip(answers, merged, strict=True):
        np.logaddexp.at(into, group, law)
    return np.column_stack([merged, laws[:, -1]])


def _splits(total: int, parts: int) -> NDArray[np.int64]:
    """All ways to write `total` as an ordered sum of `parts` whole numbers >= 0, one a row."""
    if parts == 0:
        return np.zeros((int(total == 0), 0), dtype=np.int64)
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), dtype=np.int64)
    bars = bars.reshape(-1, parts - 1)
    edge = np.full((len(bars), 1), -1)
    ends = np.concatenate([edge, bars, np.full((len(bars), 1), total + parts - 1)], axis=1)
    return np.diff(ends, axis=1) - 1


def _multinomial(log_laws: Floats, splits: NDArray[np.int64]) -> Floats:
    """Log probability of each row of counts under each law, `(2, n_rows)`."""
    ways = gammaln(splits.sum(axis=1) + 1.0) - gammaln(splits + 1.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        each = np.where(splits > 0, splits * log_laws[:, None, :], 0.0)
    return np.asarray(ways + each.sum(axis=2))
