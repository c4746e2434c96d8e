"""Accuracy of noisy projected SGD on a quadratic: against 1 / epsilon, sqrt(d), a bound, and its exact mean."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.learning.dp_sgd.steps import InverseSquareRoot
from dpassay.mechanisms.literature.convex.projected_sgd import NoisyProjectedSGD

N, STEPS, RADIUS = 16, 2_500, 6.0


def regret(d, sigma, radius=RADIUS):
    """L(theta_T) - L(theta*) of 100 runs, G, and the diameter D.

    L(theta) is the sum of (1 - w theta)^2 / 2 over 16 records w along the axes, of curvature 1 in each direction.
    """
    rows = math.sqrt(d / N) * np.eye(d)[np.arange(N) % d]
    norm = math.sqrt(d / N)
    largest = math.hypot(N * norm * (1.0 + RADIUS * norm), math.sqrt(d) * sigma)  # G
    sgd = NoisyProjectedSGD(
        1.0,
        n_records=N,
        steps=STEPS,
        standard_deviation=sigma,
        loss="squared",
        lipschitz=norm * (1.0 + RADIUS * norm),
        radius=radius,
        learning_rate=InverseSquareRoot(2.0 * RADIUS / largest),
        claim="renyi",
    )
    theta = sgd.release((rows, np.ones(N, dtype=int)), 100, np.random.default_rng(0)).values
    return 0.5 * ((1.0 - theta @ rows.T) ** 2).sum(axis=1), largest, 2.0 * RADIUS  # the optimum, 0, lies in the ball


def test_regret_grows_with_noise_and_dimension_below_its_bound():
    means = []
    for d, sigma in ((4, 40.0), (4, 80.0), (16, 40.0)):
        excess, largest, diameter = regret(d, sigma)
        means.append(excess.mean())
        assert 0.0 < excess.mean() < 1.5 * diameter * largest * (2.0 + math.log(STEPS)) / math.sqrt(STEPS)
    assert means[1] / means[0] == pytest.approx(2.0, rel=0.2)
    assert means[2] / means[0] == pytest.approx(2.0, rel=0.2)


def test_without_a_ball_the_regret_is_that_of_the_exact_recursion():
    """A step draws an axis, and moves d times the distance x from the optimum on it:
    E x^2 -> (1 - 2 rate + d rate^2) E x^2 + rate^2 sigma^2."""
    d, sigma = 4, 40.0
    excess, largest, diameter = regret(d, sigma, radius=None)
    square = N / d
    for t in range(1, STEPS + 1):
        rate = diameter / (largest * math.sqrt(t))
        square = (1.0 - 2.0 * rate + d * rate**2) * square + (rate * sigma) ** 2
    assert 0.5 * d * square == pytest.approx(4.66, abs=0.005)
    assert abs(excess.mean() - 0.5 * d * square) < 5.0 * excess.std() / math.sqrt(len(excess))
    assert diameter * d * sigma**2 / (4.0 * largest * math.sqrt(STEPS)) == pytest.approx(0.5 * d * square, rel=0.1)
