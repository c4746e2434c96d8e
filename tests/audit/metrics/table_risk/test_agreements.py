import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import binom, poisson

from dpassay.audit.metrics.table_risk.agreements import agreement_p_value, agreements


def exact(p, q, n_real, n_holdout, n_rows, r):
    """P[R >= r, H = W = V = 0] by enumeration: coefficients of prod_v (1 + p_v x + q_v y + p_v q_v x y z)."""
    n = n_real + n_holdout
    a = np.zeros((min(n, n_rows) + 1, n + 1, n_rows + 1))
    a[0, 0, 0] = 1.0
    for pv, qv in zip(p, q, strict=True):
        b = a.copy()
        b[:, 1:] += pv * a[:, :-1]
        b[:, :, 1:] += qv * a[:, :, :-1]
        b[1:, 1:, 1:] += pv * qv * a[:-1, :-1, :-1]
        a = b
    k = np.arange(len(a))
    matched = a[:, n, n_rows] * np.exp(gammaln(n + 1) + gammaln(n_rows + 1))
    all_real = [np.prod((n_real - np.arange(i)) / (n - np.arange(i))) for i in k]
    return float((matched * all_real)[r:].sum())


def falling(of, k):
    return gammaln(of + 1) - gammaln(of - k + 1)


def on_shared_values(sizes, r, n_values, share):
    """The same, where rows are uniform on some values, records too with probability `share`, and unlike else."""
    n_real, n_holdout, m = sizes
    n = n_real + n_holdout
    j, k = np.arange(n + 1)[:, None], np.arange(r, min(n_real, m) + 1)[None, :]
    possible = (k <= j) & (j + m - k <= n_values)
    j = np.where(possible, j, m + n_real)
    taken = np.minimum(j + m - k, n_values)
    log_p = falling(j, k) + falling(m, k) - gammaln(k + 1) + falling(n_values, taken) - (j + m) * np.log(n_values)
    each = np.where(possible, np.exp(log_p + falling(n_real, k) - falling(n, k)), 0.0).sum(axis=1)
    return float(binom.pmf(np.arange(n + 1), n, share) @ each)


def test_enumeration_is_that_of_drawn_tables():
    rng, sizes, values = np.random.default_rng(0), (6, 4, 7), 12
    p, q = rng.dirichlet(np.ones(values)), rng.dirichlet(np.ones(values))
    n_tables, hits = 5_000, 0
    for _ in range(n_tables):
        counts = agreements(rng.choice(values, 10, p=p), np.arange(10) < 6, rng.choice(values, 7, p=q))
        hits += counts[0] >= 1 and not any(counts[1:])
    expected = exact(p, q, *sizes, 1) * n_tables
    assert abs(hits - expected) < 5 * np.sqrt(expected) + 5


@pytest.mark.parametrize("sizes", [(5, 5, 5), (4, 8, 6), (8, 4, 12), (6, 6, 20), (9, 3, 9)])
@pytest.mark.parametrize("r", [1, 2, 3])
def test_no_law_exceeds_the_bound(sizes, r):
    rng, limit = np.random.default_rng(r), agreement_p_value(r, *sizes)
    for n_values in (20, 60, 150):
        for sharpness in (0.3, 1.0, 5.0):
            p = rng.dirichlet(np.full(n_values, sharpness))
            for q in (
                p,
                rng.dirichlet(np.full(n_values, sharpness)),
                p**2 / (p**2).sum(),
                np.ones(n_values) / n_values,
            ):
                assert exact(p, q, *sizes, r) <= limit * (1 + 1e-9)


@pytest.mark.parametrize(
    ("sizes", "share", "tight"),
    [
        ((100, 100, 100), 0.5, 0.8),
        ((300, 300, 300), 0.5, 0.9),
        ((200, 200, 400), 1.0, 0.9),
        ((200, 100, 200), 2 / 3, 0.9),
    ],
)
@pytest.mark.parametrize("r", [3, 4])
def test_the_bound_is_nearly_reached(sizes, share, tight, r):
    n_values = np.geomspace(4 * sizes[2], 4 * sizes[0] * sizes[2], 25).astype(int)
    largest = max(on_shared_values(sizes, r, int(size), share) for size in n_values)
    limit = agreement_p_value(r, *sizes)
    assert (tight - 0.05 * (r - 3)) * limit <= largest <= limit


def test_the_bound_of_large_equal_tables_is_that_of_poisson_numbers():
    x = np.linspace(0.01, 5, 5_000)
    expected = (poisson.sf(2, x) * np.exp(-3 * x)).max()
    assert agreement_p_value(3, 10**6, 10**6, 10**6) == pytest.approx(expected, rel=1e-3)
    assert expected == pytest.approx(0.0043, abs=5e-5)


def test_the_bound_falls_with_agreements_and_with_the_holdout():
    by_number = [agreement_p_value(r, 100, 100, 100) for r in range(1, 12)]
    assert by_number == sorted(by_number, reverse=True)
    by_holdout = [agreement_p_value(3, 100, n, 100) for n in (1, 10, 100, 1_000, 10_000)]
    assert by_holdout == sorted(by_holdout, reverse=True)
    assert agreement_p_value(3, 100, 0, 100) == 1.0
    assert agreement_p_value(3, 2, 100, 100) == 0.0


def test_agreements_are_of_distinct_records_and_rows():
    records, real = np.array([5, 5, 5, 7, 8, 9]), np.array([1, 1, 0, 1, 0, 0], dtype=bool)
    assert agreements(records, real, np.array([5, 5, 7, 7, 7, 8, 3])) == (3, 2, 3, 4)
