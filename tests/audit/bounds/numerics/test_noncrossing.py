"""The miss probability of a band: closed forms, a slow recursion, simulation, and a table."""

import math

import numpy as np
import pytest
from scipy import special

from dpassay.audit.bounds.numerics.binomial import quantile
from dpassay.audit.bounds.numerics.noncrossing import both_miss, local_level, miss_probability, residual
from dpassay.mechanisms.core import ParameterError


def slow_miss_probability(n, eta):
    """Return the miss probability, by a slow recursion over the ranks.

    A Poisson process of rate n is killed at its first touch, and conditioned on n points. Every term is positive. After
    rank i the state is the number of points so far, which is at least i.
    """
    ranks = np.arange(1, n + 1.0)
    limit = np.concatenate([[0.0], special.betainccinv(ranks, n - ranks + 1, eta)])
    rest = np.concatenate([[1.0], special.betaincinv(n - ranks + 1, ranks, eta)])
    alive, miss = np.ones(1), 0.0
    for i in range(1, n + 1):
        mean = n * (limit[i] - limit[i - 1] if limit[i] < 0.5 else rest[i - 1] - rest[i])
        steps = np.arange(int(mean + 12 * math.sqrt(mean) + 40) + 1.0)
        alive = np.convolve(alive, np.exp(_log_poisson(steps, mean)))
        miss += alive[0] * math.exp(_log_poisson(n - i + 1.0, n * rest[i]) - _log_poisson(float(n), float(n)))
        alive = alive[1 : n + 2 - i]
        if len(alive) and alive.max() > 0:
            alive = alive[: np.flatnonzero(alive > 1e-30 * alive.max())[-1] + 1]
    return miss


def _log_poisson(k, mean):
    return -mean + k * np.log(mean) - special.gammaln(k + 1.0)


@pytest.mark.parametrize("eta", [0.3, 0.01, 1e-12])
def test_one_point_misses_with_the_local_level(eta):
    assert miss_probability(1, eta) == pytest.approx(eta, rel=1e-12)


@pytest.mark.parametrize("eta", [0.3, 0.04, 1e-6])
def test_two_points_have_a_closed_form(eta):
    root = math.sqrt(1 - eta)
    assert miss_probability(2, eta) == pytest.approx(eta + (root - 1 + math.sqrt(eta)) ** 2, rel=1e-8)


@pytest.mark.parametrize("eta", [0.2, 1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize(
    ("n", "tolerance"), [(3, 1e-12), (40, 1e-12), (100, 1e-12), (101, 1e-5), (150, 1e-5), (1000, 1e-5)]
)
def test_fast_and_slow_agree(n, tolerance, eta):
    assert miss_probability(n, eta) == pytest.approx(slow_miss_probability(n, eta), rel=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("eta", [0.2, 3e-4, 1e-12])
@pytest.mark.parametrize("n", [3_000, 10_000])
def test_fast_and_slow_agree_on_many_points(n, eta):
    assert miss_probability(n, eta) == pytest.approx(slow_miss_probability(n, eta), rel=1e-6)


@pytest.mark.parametrize("eta", [0.05, 2e-4, 1e-12])
@pytest.mark.parametrize("n", [101, 5_000, 1_000_000, 1_000_000_000])
def test_the_weights_solve_the_equation_at_ranks_that_are_not_nodes(n, eta):
    # the relative error of the miss is at most the largest of these, whatever the weights (see the module)
    spots = np.unique(np.round((n + 1) * special.expit(np.linspace(-1, 1, 37) * math.log(n / 30)))).clip(1, n)
    assert np.abs(residual(n, eta, spots)).max() < 1e-5


@pytest.mark.parametrize(("n", "eta"), [(1, 0.2), (10, 0.05), (300, 0.002)])
def test_simulated_uniform_order_statistics_miss_as_often_as_computed(n, eta):
    repeats = 20_000
    ranks = np.arange(1, n + 1.0)
    limits = special.betainccinv(ranks, n - ranks + 1, eta)
    rng = np.random.default_rng(7)
    misses = sum(
        int((np.sort(rng.random((1000, n)), axis=1) > limits).any(axis=1).sum()) for _ in range(repeats // 1000)
    )
    computed = miss_probability(n, eta)
    assert quantile(5e-7, repeats, computed) <= misses <= quantile(1 - 5e-7, repeats, computed)


@pytest.mark.parametrize(
    ("n", "a", "expected"),
    # local levels of one side from the Poisson recursion with n steps, confirmed by 60,000 simulated repeats; 4 digits
    [
        (10, 0.05, 7.943e-3),
        (10, 0.005, 6.55e-4),
        (50, 0.025, 1.474e-3),
        (100, 0.025, 1.094e-3),
        (200, 0.05, 1.920e-3),
        (500, 0.025, 6.393e-4),
        (1000, 0.05, 1.217e-3),
        (1000, 0.025, 5.329e-4),
        (1000, 0.005, 8.471e-5),
        (2000, 0.025, 4.540e-4),
        (5000, 0.025, 3.772e-4),
        (10_000, 0.05, 7.635e-4),
        (10_000, 0.025, 3.332e-4),
    ],
)
def test_local_level_has_its_known_value(n, a, expected):
    assert local_level(n, n, 2 * a) == pytest.approx(expected, rel=1.5e-3)


@pytest.mark.parametrize("significance", [0.99, 0.2, 0.05, 1e-6, 1e-12])
@pytest.mark.parametrize(
    ("n_out", "n_in"), [(1, 1), (2, 90), (100, 101), (30, 4000), (1_000_000, 1_000_000), (10**9, 7)]
)
def test_local_level_spends_the_significance_and_no_more(n_out, n_in, significance):
    spent = both_miss(n_out, n_in, local_level(n_out, n_in, significance))
    assert (1 - 2e-4) * significance < spent < (1 - 2e-5) * significance


def test_local_level_falls_with_the_size_and_rises_with_the_significance():
    sizes = [1, 2, 10, 99, 100, 101, 102, 1000, 10**5, 10**7, 10**9]
    levels = [local_level(n, n, 0.05) for n in sizes]
    assert levels == sorted(levels, reverse=True)
    assert local_level(500, 500, 0.04) < local_level(500, 500, 0.05)


def test_sizes_and_levels_out_of_range_are_named():
    with pytest.raises(ParameterError, match="n_out must be a whole number >= 1, but is 0"):
        local_level(0, 5, 0.05)
    with pytest.raises(ParameterError, match="significance must lie strictly between 0 and 1"):
        local_level(5, 5, 1.0)
