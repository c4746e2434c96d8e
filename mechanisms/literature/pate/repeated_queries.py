"""Exact curve of one query that is asked many times, possibly until a limit on the number of answers."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.special import logsumexp

from ...accounting import ExactDP
from ...accounting.numerics.binomial import log_choose, log_orders
from ...core import Floats, Ints, Relation

MAX_OUTCOMES = 200_000
"""Largest number of outcomes that are enumerated."""


def repeated_law(
    log_law0: Floats, log_law1: Floats, n_queries: int, relation: Relation, *, most_answers: int | None = None
) -> ExactDP | None:
    """Return the exact curve of `n_queries` independent outcomes; None if there are too many counts to enumerate.

    The counts of the outcomes are sufficient; outcomes with the same likelihood ratio are merged.

    Args:
        log_law0, log_law1: `(n_outcomes,)` log probabilities of an outcome; the last is the outcome without an answer.
        n_queries: >= 1.
        relation: relation of the guarantee.
        most_answers: number of answers after which no further query is asked; None for no limit.
    """
    grouped = _grouped(log_law0, log_law1)
    parts = grouped.shape[1]
    if most_answers is None or most_answers >= n_queries:
        if math.comb(n_queries + parts - 1, parts - 1) > MAX_OUTCOMES:
            return None
        return _exact(_multinomial(grouped, _splits(n_queries, parts)), relation)
    unanswered = n_queries - most_answers
    if math.comb(most_answers + parts - 1, parts - 1) * (n_queries + 1) > MAX_OUTCOMES:
        return None
    splits = _splits(most_answers, parts - 1)
    missed = np.arange(unanswered + 1)
    log_counts = log_choose(missed + most_answers - 1, missed)
    answers = _multinomial(grouped[:, :-1], splits)
    with np.errstate(invalid="ignore"):
        misses = np.where(missed > 0, missed * grouped[:, -1:], 0.0) + log_counts
    ended = (answers[:, :, None] + misses[:, None, :]).reshape(2, -1)
    unfinished = [
        np.column_stack([split, np.full(len(split), n_queries - n_answers)])
        for n_answers in range(most_answers)
        for split in [_splits(n_answers, parts - 1)]
    ]
    laws = np.concatenate([ended, _multinomial(grouped, np.concatenate(unfinished))], axis=1)
    return _exact(laws, relation)


def _exact(log_laws: Floats, relation: Relation) -> ExactDP:
    return ExactDP.of_logs(log_laws[0], log_laws[1], relation)


def _grouped(log_law0: Floats, log_law1: Floats) -> Floats:
    """Return both log laws, `(2, n_groups)`: answers with equal likelihood ratios merged, and no answer last."""
    laws = np.stack([log_law0 - logsumexp(log_law0), log_law1 - logsumexp(log_law1)])
    answers = laws[:, :-1][:, (laws[:, :-1] > -np.inf).any(axis=0)]
    largest = np.abs(answers[answers > -np.inf]).max(initial=0.0)
    ratio = np.round(answers[1] - answers[0], 11 if largest < 1e3 else 6)
    _, group = np.unique(ratio, return_inverse=True)
    merged = np.full((2, group.max(initial=-1) + 1), -np.inf)
    for law, into in zip(answers, merged, strict=True):
        np.logaddexp.at(into, group, law)
    return np.column_stack([merged, laws[:, -1]])


def _splits(total: int, parts: int) -> Ints:
    """Return all ways to write `total` as an ordered sum of `parts` whole numbers >= 0, one in each row."""
    if parts == 0:
        return np.zeros((int(total == 0), 0), dtype=np.int64)
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), dtype=np.int64)
    bars = bars.reshape(-1, parts - 1)
    edge = np.full((len(bars), 1), -1)
    ends = np.concatenate([edge, bars, np.full((len(bars), 1), total + parts - 1)], axis=1)
    return np.diff(ends, axis=1) - 1


def _multinomial(log_laws: Floats, splits: Ints) -> Floats:
    """Return the log probability of each row of counts under each law, `(2, n_rows)`."""
    with np.errstate(invalid="ignore"):
        terms = np.where(splits > 0, splits * log_laws[:, None, :], 0.0)
    return np.asarray(log_orders(splits) + terms.sum(axis=2))
