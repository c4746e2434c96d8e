"""A test of the assumption of `BitScores` that the bits are independent fair coins.

Null hypothesis: all bits are independent and fair. Each comparison has a probability under the null that is known
exactly, and uses its share of `STATED_COINS_LEVEL` (Bonferroni):

    number of bits that are 1, in total, in each run, for each canary      two binomial tails
    equally many 1 in every run, or for every canary                       Pr <= (largest binomial probability)^(k - 1)
    two runs, or two canaries, with the same or with opposite bits         2^(1 - length) for each pair

The first detects records that were included for another reason than a coin; the second, random halves and designs in
which each record is in exactly half of the models; the third, reused bits and pairs of complements, whose two runs
share one coin.

A refusal is not a statement about the claim: fair coins are refused with probability at most `STATED_COINS_LEVEL`, and
a bound on accepted bits exceeds the true epsilon with no larger probability than without the test. So the test needs no
correction of the bound. It cannot detect scores that depend on their bits, nor designs whose bits look fair.

Rows of one model are records, and their membership is seldom the result of coins. Bits that fair coins give with
probability at most `UNSTATED_COINS_LEVEL` are refused too, unless the caller states that coins decided (`tossed`).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ...mechanisms.accounting.numerics.binomial import log_choose
from ...mechanisms.core import Bools, Floats, Ints, ParameterError, number
from .scores import BitScores

STATED_COINS_LEVEL = 1e-9
"""Largest probability that independent fair coins are refused, if the caller states that coins decided."""
UNSTATED_COINS_LEVEL = 1e-3
"""Largest probability that independent fair coins are refused without this statement."""

Bits = Bools


def check_coins(evidence: BitScores, *, tossed: bool = False) -> None:
    """Raise `ParameterError` if the bits cannot be independent fair coins, or look as if they were none.

    Args:
        evidence: bits and scores.
        tossed: the caller states that an independent fair coin decided each bit.
    """
    deviation, advice = _unfairness(evidence.bits), "Toss a coin for each bit of each run, and pass the results."
    if deviation is None:
        doubt = None if tossed else _unfairness(evidence.bits, UNSTATED_COINS_LEVEL)
        if doubt is None:
            return
        deviation = f"{doubt}, which happens to fair coins with probability {number(UNSTATED_COINS_LEVEL)} or less"
        advice = "If an independent fair coin decided each bit, say so: tossed=True (--tossed)."
    raise ParameterError(
        f"bits must be independent fair coins, each tossed before its run, but {deviation}. {advice} If records were "
        "included for another reason, such as in a training and a test set, report metrics "
        "(dpassay.audit.metrics.membership.evaluate) instead: no bound on epsilon follows from such bits.",
        argument="bits",
    )


def _unfairness(bits: Bits, level: float = STATED_COINS_LEVEL) -> str | None:
    """Return a clause that describes how the bits, `(n_runs, n_canaries)`, deviate from fair coins, or None.

    >>> _unfairness(np.ones((1, 100), dtype=bool))
    '100 of 100 are 1'
    >>> _unfairness(np.arange(100)[None, :] % 2 == 0)
    """
    n_runs, ones, n = len(bits), int(bits.sum()), bits.size
    each = level if n_runs == 1 else level / 7.0
    if _two_sided(np.array([ones]), n)[0] <= each:
        return f"{ones:,} of {n:,} are 1"
    if n_runs == 1:
        return None
    for unit, rows in (("run", bits), ("canary", bits.T)):
        if len(rows) == 1:
            continue
        counts, length = rows.sum(axis=1), rows.shape[1]
        tails = _two_sided(counts, length)
        worst = int(np.argmin(tails))
        if len(rows) * tails[worst] <= each:
            return f"{int(counts[worst]):,} of {length:,} are 1 in {unit} {worst} (from 0 on)"
        if (len(rows) - 1) * _log_mode(length) <= math.log(each) and (counts == counts[0]).all():
            return f"exactly {int(counts[0]):,} of {length:,} are 1 in every {unit}"
        by_chance = math.log(len(rows) * (len(rows) - 1.0)) - length * math.log(2.0)
        pair = _duplicates(rows) if by_chance <= math.log(each) else None
        if pair is not None:
            relation = "the same" if (rows[pair[0]] == rows[pair[1]]).all() else "opposite"
            return f"{unit} {pair[0]} and {unit} {pair[1]} (from 0 on) have {relation} bits"
    return None


def _two_sided(ones: Ints, n: int) -> Floats:
    """Return twice the smaller binomial tail, at most 1."""
    more = np.maximum(ones, n - ones).astype(np.float64)
    return np.asarray(np.minimum(1.0, 2.0 * special.betainc(more, n - more + 1.0, 0.5)))


def _log_mode(n: int) -> float:
    """Return the log of the largest probability of any number of heads of n coins."""
    return float(log_choose(n, n // 2) - n * math.log(2.0))


def _duplicates(rows: Bits) -> tuple[int, int] | None:
    """Return the indices of two rows that are equal or opposite; None if there are none."""
    packed = np.packbits(rows ^ rows[:, :1], axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[which.ravel()] != np.arange(len(rows)))
    return (int(first[which.ravel()[repeated[0]]]), int(repeated[0])) if len(repeated) else None
