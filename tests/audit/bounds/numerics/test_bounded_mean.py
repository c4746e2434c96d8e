"""Limits of a mean of numbers in [0, 1]: coverage, edges, width."""

import numpy as np
import pytest
from scipy import stats

from dpassay.audit.bounds.numerics import bounded_mean

LEVEL, REPEATS = 0.2, 300
LAWS = {
    "rare": (lambda rng, n: (rng.random(n) < 0.03).astype(float), 0.03),
    "even": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "narrow": (lambda rng, n: 0.4 + 0.2 * rng.random(n), 0.5),
    "mixed": (lambda rng, n: np.where(rng.random(n) < 0.9, 0.45, 0.95), 0.5),
}


@pytest.mark.parametrize("law", LAWS)
def test_limits_miss_the_mean_no_more_often_than_they_may(law):
    draw, mean = LAWS[law]
    rng = np.random.default_rng(7)
    samples = [draw(rng, 60) for _ in range(REPEATS)]
    allowed = stats.binom.isf(1e-6, REPEATS, LEVEL)
    assert sum(bounded_mean.lower(x, LEVEL) > mean for x in samples) <= allowed
    assert sum(bounded_mean.upper(x, LEVEL) < mean for x in samples) <= allowed


def test_limits_are_mirrored_and_enclose_the_mean():
    x = np.random.default_rng(1).beta(2, 5, 500)
    low, high = bounded_mean.lower(x, 0.025), bounded_mean.upper(x, 0.025)
    assert low < x.mean() < high
    assert bounded_mean.lower(1.0 - x, 0.025) == pytest.approx(1.0 - high, abs=1e-6)
    assert high - low < 2 * 1.6 * 1.96 * x.std() / np.sqrt(500)


@pytest.mark.parametrize("x", [np.zeros(1), np.ones(1), np.zeros(50), np.ones(50), np.full(50, 0.5)])
def test_constants_are_enclosed_at_any_number(x):
    low, high = bounded_mean.lower(x, 0.05), bounded_mean.upper(x, 0.05)
    assert 0.0 <= low <= x[0] <= high <= 1.0
