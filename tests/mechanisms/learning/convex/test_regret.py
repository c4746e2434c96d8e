"""Accuracy of noisy projected SGD on a quadratic, against 1 / epsilon, sqrt(d) and the bound of Shamir and Zhang."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.learning.convex.projected_sgd import NoisyProjectedSGD
from dpassay.mechanisms.learning.dp_sgd.schedules import InverseSquareRoot

N, STEPS, RADIUS = 16, 2_500, 6.0


def regret(d, sigma):
    """Mean L(theta_T) - L(theta*) of 100 runs, and the bound 2 D G (2 + ln T) / sqrt(T).

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
        radius=RADIUS,
        learning_rate=InverseSquareRoot(2.0 * RADIUS / largest),
        claim="renyi",
    )
    theta = sgd.release((rows, np.ones(N, dtype=int)), 100, np.random.default_rng(0)).values
    found = float(0.5 * ((1.0 - theta @ rows.T) ** 2).sum(axis=1).mean())  # the optimum, 0, lies in the ball
    return found, 4.0 * RADIUS * largest * (2.0 + math.log(STEPS)) / math.sqrt(STEPS)


def test_regret_doubles_with_the_noise_and_with_four_times_the_dimension_and_stays_below_the_bound():
    found = {(d, sigma): regret(d, sigma) for d, sigma in ((4, 40.0), (4, 80.0), (16, 40.0))}
    assert all(0.0 < seen < bound for seen, bound in found.values())
    (start, _), (noisier, _), (wider, _) = found.values()
    assert noisier / start == pytest.approx(2.0, rel=0.2)
    assert wider / start == pytest.approx(2.0, rel=0.2)
