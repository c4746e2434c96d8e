"""The curve of two Laplace laws against numerical integration and closed forms."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.accounting import LaplaceDP, PureDP
from dpassay.mechanisms.accounting.kinds.two_laws import TwoLaplacesDP, two_laplaces

T = np.array([0.0, 0.3, 1.0, 2.0, 5.0])


@pytest.mark.parametrize("seed", range(8))
def test_delta_is_the_integral_of_the_excess_of_one_density(seed):
    rng = np.random.default_rng(seed)
    (a, b), (s, t) = 2.0 * rng.normal(size=2), rng.uniform(0.3, 3.0, 2)
    b = a if seed == 0 else b
    x, step = np.linspace(-60.0, 60.0, 240_001, retstep=True)
    p, q = (np.exp(-np.abs(x - c) / r) / (2.0 * r) for c, r in ((a, s), (b, t)))
    for epsilon in T:
        excess = [np.maximum(0.0, u - math.exp(epsilon) * v).sum() * step for u, v in ((p, q), (q, p))]
        assert TwoLaplacesDP(a, s, b, t).delta(float(epsilon)) == pytest.approx(max(excess), abs=2e-6)


def test_epsilon_is_the_inverse_of_delta_and_infinite_at_zero():
    curve = TwoLaplacesDP(0.0, 1.0, 1.0, 2.0)
    deltas = np.array([1e-9, 1e-5, 1e-2, 0.2])
    np.testing.assert_allclose(curve.delta(curve.epsilon(deltas)), deltas, rtol=1e-6)
    assert curve.epsilon(0.0) == math.inf
    assert curve.delta(math.inf) == 0.0
    assert curve.default_delta is None


def test_equal_scales_have_the_curve_of_laplace_noise():
    curve, known = TwoLaplacesDP(5.0, 2.0, 1.0, 2.0), LaplaceDP(2.0)
    np.testing.assert_allclose(curve.delta(T), known.delta(T), atol=1e-15)
    np.testing.assert_allclose(curve.epsilon([0.0, 0.1, 0.3]), known.epsilon([0.0, 0.1, 0.3]), rtol=1e-9)
    assert two_laplaces(5.0, 2.0, 1.0, 2.0) == known


def test_sides_can_be_swapped():
    np.testing.assert_array_equal(
        TwoLaplacesDP(0.0, 1.0, 3.0, 0.2).delta(T), TwoLaplacesDP(3.0, 0.2, 0.0, 1.0).delta(T)
    )


def test_point_masses_are_distinguished_unless_they_are_equal():
    assert two_laplaces(1.0, 0.0, 1.0, 0.0) == PureDP(0.0, exact=True)
    assert two_laplaces(1.0, 0.0, 1.0, 3.0).delta(99.0) == 1.0
