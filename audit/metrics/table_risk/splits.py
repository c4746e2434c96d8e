"""Exact comparison of real with holdout records, given the synthetic table.

Null hypothesis: the synthetic table does not depend on which of the pooled records (real and holdout) are the real
ones. Given the table and the pooled records, each split of them into real and holdout is then equally likely. Let
every record have a success, 0 or 1, that is a symmetric function of the pooled records and the table: it does not
change if the labels "real" and "holdout" do. The number of successes among the real ones is then hypergeometric, given
the successes of all, and P[K >= k] is an exact p-value. No law of the records is assumed, nor that they are independent
of each other; within a group of records, chosen without the labels, the same holds.

Records due to use: let a of the real records succeed only because the table was made of them, and let the success of
holdout records be unaffected. Without this effect k - a of the real ones succeed, so that a is rejected if
P[K >= k - a] or P[K <= k - a] is at most half of the significance, given k - a + l successes in total, where l are
those of the holdout (attributable effects, Rosenbaum 2001, Biometrika 88). The a that are not rejected are an interval.
"""

from __future__ import annotations

import numpy as np


def p_value(hits_real: int, n_real: int, hits_holdout: int, n_holdout: int) -> float:
    """Return P[at least `hits_real` of the successes are real] over all splits.

    Example:
        >>> round(p_value(3, 10, 0, 10), 4)
        0.1053
    """
    from scipy.stats import hypergeom

    hits = hits_real + hits_holdout
    return min(1.0, float(hypergeom.sf(hits_real - 1, n_real + n_holdout, hits, n_real)))


def due_to_use(
    hits_real: int, n_real: int, hits_holdout: int, n_holdout: int, confidence: float
) -> tuple[float, float]:
    """Return limits of the share of the real records that succeed because the table was made of them.

    Below 0 is the share that fails for this reason.

    Example:
        >>> [round(limit, 2) for limit in due_to_use(30, 100, 0, 100, 0.95)]
        [0.25, 0.3]
    """
    from scipy.stats import hypergeom

    tail = 0.5 * (1.0 - confidence)
    left = np.arange(n_real + 1)  # successes that are not due to use
    total, pooled = left + hits_holdout, n_real + n_holdout
    high_enough = hypergeom.cdf(left, pooled, total, n_real) > tail
    low_enough = 1.0 - hypergeom.cdf(left - 1, pooled, total, n_real) > tail
    possible = left[high_enough & low_enough]
    return (hits_real - float(possible[-1])) / n_real, (hits_real - float(possible[0])) / n_real


def fewest_hits(n_real: int, n_holdout: int, significance: float) -> int | None:
    """Return the smallest number of successes, all of them real, that is significant; None if not even all are."""
    drawn = np.arange(n_real)
    all_real = np.cumsum(np.log((n_real - drawn) / (n_real + n_holdout - drawn)))  # log P[the first k are all real]
    found = 1 + np.flatnonzero(all_real <= np.log(significance))
    return int(found[0]) if len(found) else None


def smallest_p_value(hits: int, n_real: int, n_holdout: int) -> float:
    """Return the smallest p-value that any split could give with so many successes."""
    if not hits or not n_real:
        return 1.0
    most = min(hits, n_real)
    return p_value(most, n_real, hits - most, n_holdout)
