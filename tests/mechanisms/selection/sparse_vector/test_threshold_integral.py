"""The integral over the threshold noise, against adaptive quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from dpassay.mechanisms.accounting.numerics.laplace import laplace_log_cdf
from dpassay.mechanisms.core import AccountingError
from dpassay.mechanisms.selection.sparse_vector.threshold_integral import ThresholdIntegral

CASES = [
    (1.0, 20.0, 40.0, (0.0, 2.0)),
    (0.0, 1.0, 1.0, (0.0,)),
    (0.5, 3.0, 0.3, (0.0, 1.0, 7.0)),
    (0.0, 0.5, 9.0, (-3.0, 20.0)),
]


def by_quad(one, n_below, n_above, limit=np.inf):
    """Piece by piece between the corners."""
    values = np.array(one.values)

    def integrand(t):
        away = (t - values) / one.query_scale
        log_f = (
            -abs(t - one.threshold) / one.threshold_scale
            + n_below @ laplace_log_cdf(away)
            + n_above @ laplace_log_cdf(-away)
        )
        return np.exp(log_f) / (2.0 * one.threshold_scale)

    corners = sorted({one.threshold, *one.values})
    far = 40.0 * max(one.threshold_scale, one.query_scale)
    pieces = pairwise([corners[0] - far, *corners, corners[-1] + far])
    bounded = [(low, min(high, limit)) for low, high in pieces if low < limit]
    return sum(integrate.quad(integrand, *piece, epsabs=0.0, epsrel=1e-11, limit=400)[0] for piece in bounded)


@pytest.mark.parametrize("case", CASES)
def test_probability_of_answers_is_that_of_adaptive_quadrature(case):
    one, rng = ThresholdIntegral(*case), np.random.default_rng(0)
    for _ in range(4):
        below, above = rng.integers(0, 6, size=(2, len(one.values)))
        result = one.log_probability(below[None, :], above[None, :])
        assert np.exp(result) == pytest.approx(by_quad(one, below, above), rel=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_probability_up_to_a_limit_is_that_of_adaptive_quadrature(case):
    one, rng = ThresholdIntegral(*case), np.random.default_rng(1)
    below = rng.integers(0, 6, size=len(one.values))
    limits = np.array([-20.0, -1.0, 0.3, 0.5, 4.0, 60.0])
    result = np.exp(one.log_probability_up_to(tuple(int(n) for n in below), limits))
    nothing = np.zeros(len(one.values))
    np.testing.assert_allclose(result, [by_quad(one, below, nothing, limit) for limit in limits], rtol=1e-7)


def test_far_beyond_the_last_corner_all_of_the_integral_is_there():
    one = ThresholdIntegral(0.0, 2.0, 3.0, (1.0,))
    everything = one.log_probability(np.array([[4]]), np.array([[0]]))
    np.testing.assert_allclose(one.log_probability_up_to((4,), np.array([1e4, 1e9])), everything[0], atol=1e-9)


def test_probabilities_of_many_alike_queries_sum_to_one():
    """All ways in which 1,000 equal queries can fall below or above: each k of them in binomially many ways."""
    from scipy.special import gammaln, logsumexp

    n = 1000
    one, k = ThresholdIntegral(0.0, 2.0, 5.0, (1.0,)), np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    total = logsumexp(ways + one.log_probability(k[:, None], n - k[:, None]))
    assert total == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "case",
    [
        (0.0, 1e-300, 1e-300, (1.0,)),
        (0.0, 1e300, 1e-300, (0.0,)),
        (0.0, 1.0, 1.0, (1e20,)),
        (0.0, 1e307, 1e307, (0.0,)),
    ],
)
def test_noise_that_floats_do_not_resolve_is_refused(case):
    one = ThresholdIntegral(*case)
    with pytest.raises(AccountingError, match="cannot resolve"):
        one.log_probability(np.array([[1]]), np.array([[0]]))
    with pytest.raises(AccountingError, match="cannot resolve"):
        one.log_probability_up_to((1,), np.array([0.5]))
