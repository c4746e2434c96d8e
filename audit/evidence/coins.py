"""Whether bits can be independent fair coins: what `BitScores` assume, as far as the bits themselves show it.

Null hypothesis: all bits are independent and fair. Each comparison has a probability under it that is known exactly,
and takes its share of `LEVEL` (Bonferroni):

    how many bits are 1, in all, in each run, for each canary              binomial tails, both
    equally many 1 in every run, or for every canary                       Pr <= (largest binomial probability)^(k - 1)
    two runs, or two canaries, with the same bits or with opposite ones    2^(1 - length) for each two

The first finds records that were in for another reason than a coin; the second random halves, and designs in which each
record is in exactly half of the models; the third bits that were used again, and pairs of complements, whose two runs
have one coin.

A refusal is no statement about the claim: fair coins are refused with probability at most `LEVEL`, and a bound on what
is not refused exceeds the truth with no larger probability than without the test. So it costs no significance. The test
cannot see whether a score knows its bit, nor which of many designs made bits that look fair.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...mechanisms.errors import ParameterError
from .scores import BitScores

LEVEL = 1e-9
"""Probability at most with which independent fair coins are refused."""

Bits = NDArray[np.bool_]


def check_coins(evidence: BitScores) -> None:
    """Raises `ParameterError` if the bits cannot be independent fair coins."""
    found = unfair(evidence.bits)
    if found is not None:
        raise ParameterError(
            f"bits must be independent fair coins, each tossed before its run, but {found}. Toss a coin for each bit "
            "of each run, and give the bits that it gave. Of records that were in for another reason, report metrics "
            "(dpassay.audit.membership.evaluate): no bound on epsilon follows from them.",
            argument="bits",
        )


def unfair(bits: Bits, level: float = LEVEL) -> str | None:
    """What of the bits, `(n_runs, n_canaries)`, fair coins hardly give, in a clause; None where there is nothing.

    >>> unfair(np.ones((1, 100), dtype=bool))
    '100 of 100 are 1'
    >>> unfair(np.arange(100)[None, :] % 2 == 0)
    """
    n_runs, ones, n = len(bits), int(bits.sum()), bits.size
    each = level if n_runs == 1 else level / 7.0
    if _two_sided(np.array([ones]), n)[0] <= each:
        return f"{ones:,} of {n:,} are 1"
    if n_runs == 1:
        return None
    for what, rows in (("run", bits), ("canary", bits.T)):
        if len(rows) == 1:
            continue
        counts, length = rows.sum(axis=1), rows.shape[1]
        tails = _two_sided(counts, length)
        worst = int(np.argmin(tails))
        if len(rows) * tails[worst] <= each:
            return f"{int(counts[worst]):,} of {length:,} are 1 in {what} {worst} (from 0 on)"
        if (len(rows) - 1) * _log_mode(length) <= math.log(each) and (counts == counts[0]).all():
            return f"exactly {int(counts[0]):,} of {length:,} are 1 in every {what}"
        by_chance = math.log(len(rows) * (len(rows) - 1.0)) - length * math.log(2.0)
        two = _alike(rows) if by_chance <= math.log(each) else None
        if two is not None:
            how = "the same" if (rows[two[0]] == rows[two[1]]).all() else "opposite"
            return f"{what} {two[0]} and {what} {two[1]} (from 0 on) have {how} bits"
    return None


def _two_sided(ones: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Twice the smaller binomial tail, at most 1."""
    more = np.maximum(ones, n - ones).astype(np.float64)
    return np.asarray(np.minimum(1.0, 2.0 * special.betainc(more, n - more + 1.0, 0.5)))


def _log_mode(n: int) -> float:
    """Log of the largest probability of a number of heads of n coins."""
    half = n // 2
    return float(special.gammaln(n + 1) - special.gammaln(half + 1) - special.gammaln(n - half + 1) - n * math.log(2.0))


def _alike(rows: Bits) -> tuple[int, int] | None:
    """Two rows that are equal, or opposite; None where there are none."""
    packed = np.packbits(rows ^ rows[:, :1], axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[which.ravel()] != np.arange(len(rows)))
    return (int(first[which.ravel()[again[0]]]), int(again[0])) if len(again) else None


__all__ = ["LEVEL", "check_coins", "unfair"]
