"""Agreements of records with rows in continuous columns, beyond what a generator that draws from a law can make.

Three records of 10,000 that stand in the table are too few for a comparison with the holdout: all three are real with
probability 1/8, if real and holdout are equally large, whoever they are. How often records and rows agree by chance
depends on laws that nobody knows: coordinates of the same few addresses agree often, incomes to the cent do not. But
what makes records agree with rows also makes records agree with each other, or rows.

Notation. n_r real and n_h holdout records, n = n_r + n_h, m rows; R, H numbers of real and of holdout records that
agree with a row; W, V numbers of pairs of pooled records, and of rows, that agree. W and V need no labels.

Null hypothesis. Records are independent draws of one law p; rows are independent draws of a law q, which depends on no
record; p and q are arbitrary, and may be random. Of two records, a record and a row, and two rows, with probabilities
a = sum p_v^2, c = sum p_v q_v, b = sum q_v^2, Cauchy and Schwarz say c^2 <= a b. So with x = E R = n_r m c,

    E H = x n_h / n_r,    E W + E V ~ (n^2 a + m^2 b) / 2 >= n m c = x n / n_r,

and with Poisson numbers P[R >= r, H = W = V = 0] <= P[Poisson(x) >= r] exp(-x (2 n / n_r - 1)). For n_r = n_h the
largest value is .43 % for r = 3, at x = .81; without V, which a generator that repeats rows makes large, 4.5 %.

Theorem, for all p, q and fixed sizes. Let L_k = 2 (n - k - 1) (m - k - 1) and (n)_k = n (n - 1) ... (n - k + 1). Then
for some s > 0, with s_k in [s, s max_(N = n, m) (N - r - 1) / (N - k - 1)] and any j > r,

    P[R >= r, H = W = V = 0]  <=  sum_(r <= k < j) (n_r)_k (m)_k s_k^k exp(-L_k s_k) / k!  +  (n_r)_j / (n)_j.

Proof. Let f_k be the probability that k pooled records agree with rows and W = V = 0. Labels are independent of this,
so that the left side is the sum over k >= r of f_k (n_r)_k / (n)_k; from k = j on it is at most the last term. For f_k
choose k values U, and the record and the row with each: (n)_k (m)_k ways of probability prod_U p_v q_v. The other
n - k records and m - k rows are multinomial; none has a value in U, and at most one of them has each other value.
These are decreasing events of negatively associated counts, and have at most the product of their probabilities
(Joag-Dev and Proschan 1983, Annals of Statistics 11, section 3.1). Let t_v = (n - k - 1) p_v + (m - k - 1) q_v. With
(1 - p)^(N - 1) <= exp(-(N - 1) p) these are at most exp(-t_v) in U and (1 + t_v) exp(-t_v) outside. Hence

    f_k <= (n)_k (m)_k  prod_v (1 + t_v) exp(-t_v)  sum_U prod_U p_v q_v / (1 + t_v).

The last sum is at most s_k^k / k! for s_k = sum_v p_v q_v / (1 + t_v). As log(1 + t) <= t - t^2 / (2 + 2 t) and
t_v^2 >= 4 (n - k - 1) (m - k - 1) p_v q_v, the product over all v is at most exp(-L_k s_k). s = s_r is smaller than s_k
by at most the largest ratio of t_v for r and for k. QED. `agreement_p_value` is the supremum over s of the smallest
sum. At 200, 200 and 200 it is .46 %, and two laws that are known in full reach .43 %.

What the null excludes. A generator that does not depend on which pooled records are real, and was made without the
holdout, depends on no record: replacing one record of the real table by one of the holdout changes nothing, and so on.
If it was made with the holdout too, the records that it copied are all real with probability (n_r)_k / (n)_k only. Rows
or records of which repeated ones were removed, or drawn from a list without replacement, are not independent: W or V
are then 0 without meaning, and the level for three agreements is at most 4.5 % (sup of P[Poisson(x) >= 3] exp(-x)).
"""

from __future__ import annotations

import numpy as np

from ....mechanisms.core import Bools, Ints

MIN_AGREEMENTS = 3
"""Smallest number of agreements of a finding, whatever the sizes: one record is never a finding by itself."""
_MAX_TERMS = 60
_MEANS = np.geomspace(1e-3, 1e2, 2_001)
"""Numbers of real agreements n_r m s over which the supremum is searched; neighbours differ by 0.6 %."""
_GRID_RATIO = 1.0001
"""Largest ratio of the supremum to the largest value on the grid."""


def agreement_p_value(n_agree: int, n_real: int, n_holdout: int, n_rows: int) -> float:
    """Return a bound on P[R >= n_agree, H = W = V = 0] over all laws of records and rows, for these sizes.

    Args:
        n_agree: R, the number of real records that agree with a row.
        n_real, n_holdout, n_rows: numbers of records and rows.

    Example:
        >>> round(agreement_p_value(3, 10_000, 10_000, 10_000), 4)
        0.0043
    """
    from scipy.special import gammaln

    n, r = n_real + n_holdout, n_agree
    if not 0 < r <= min(n_real, n_rows):
        return 1.0 if r <= 0 else 0.0

    def log_falling(of: int, k: Ints) -> Ints:
        return np.asarray(gammaln(of + 1) - gammaln(of - k + 1))

    k = np.arange(r, min(n_real, n_rows - 2, n - 2, r + _MAX_TERMS - 1) + 1)
    last = np.append(k, r if not len(k) else k[-1] + 1)
    rest = np.where(last > n_real, 0.0, np.exp(log_falling(n_real, np.minimum(last, n_real)) - log_falling(n, last)))
    if not len(k):
        return float(rest[0])
    free = (n - k - 1.0) * (m_free := n_rows - k - 1.0)
    widest = np.maximum((n - r - 1.0) / (n - k - 1.0), (n_rows - r - 1.0) / m_free)
    log_ways = log_falling(n_real, k) + log_falling(n_rows, k) - gammaln(k + 1)
    low = _MEANS[:, None] / (n_real * n_rows)
    s = np.clip(k / (2.0 * free), low, widest * low)  # where s^k exp(-L_k s) is largest
    terms = np.exp(log_ways + k * np.log(s) - 2.0 * free * s)
    bounds = np.hstack([np.zeros((len(s), 1)), np.cumsum(terms, axis=1)]) + rest
    return min(1.0, _GRID_RATIO * float(bounds.min(axis=1).max()))


def agreements(records: Ints, real: Bools, rows: Ints) -> tuple[int, int, int, int]:
    """Return R, H, W and V of keys of records and of rows, which are equal where they agree.

    R and H count distinct records with distinct rows: of records and rows with one key, as many as the fewer.

    Example:
        >>> agreements(np.array([1, 2, 2, 3]), np.array([True, True, False, False]), np.array([2, 2, 3, 9]))
        (1, 2, 1, 1)
    """
    length = 1 + int(max(records.max(), rows.max()))
    mine, others, table = (np.bincount(keys, minlength=length) for keys in (records[real], records[~real], rows))
    pairs = [int((counts * (counts - 1) // 2).sum()) for counts in (mine + others, table)]
    return int(np.minimum(mine, table).sum()), int(np.minimum(others, table).sum()), pairs[0], pairs[1]
