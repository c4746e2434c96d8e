"""Utility bounds of the exponential mechanism, against exact laws and against draws."""

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.selection import Exponential, PermuteAndFlip, chance_of_shortfall, expected_shortfall, shortfall


def test_bounds_are_known():
    mechanism = Exponential(1.0, 100)
    assert chance_of_shortfall(mechanism, 20.0) == pytest.approx(0.00454, abs=5e-6)
    assert expected_shortfall(mechanism) == pytest.approx(9.2103, abs=5e-5)
    assert shortfall(mechanism, confidence=0.95) == pytest.approx(2.0 * (np.log(100) + np.log(20)))
    assert chance_of_shortfall(mechanism, shortfall(mechanism, confidence=0.9)) == pytest.approx(0.1)


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_bounds_hold_for_all_utilities(kind):
    rng, closest = np.random.default_rng(1), 0.0
    for _ in range(200):
        mechanism = kind(float(rng.uniform(0.2, 4.0)), int(rng.integers(2, 30)), monotone=bool(rng.integers(2)))
        spread = float(rng.choice([0.1, 3.0, 30.0]))
        behind = rng.exponential(spread, size=mechanism.n_candidates) * (rng.random(mechanism.n_candidates) < 0.9)
        behind -= behind.min()
        law = mechanism.probabilities(-behind)
        assert law @ behind <= expected_shortfall(mechanism)
        for level in (0.5, 3.0, 10.0):
            assert law[behind >= level].sum() <= chance_of_shortfall(mechanism, level)
        closest = max(closest, law @ behind / expected_shortfall(mechanism))
    assert closest > 0.2  # the bound on the average is not idle


def test_many_bad_candidates_come_near_the_bound():
    mechanism = Exponential(1.0, 1000)
    behind = np.append(0.0, np.full(999, 20.0))
    exact = mechanism.probabilities(-behind)[1:].sum()
    assert 0.9 * chance_of_shortfall(mechanism, 20.0) < exact <= chance_of_shortfall(mechanism, 20.0)
    missed = np.count_nonzero(mechanism.release(-behind, 100_000, np.random.default_rng(2)).values)
    at_most = chance_of_shortfall(mechanism, 20.0)
    assert stats.binomtest(int(missed), 100_000, at_most, alternative="greater").pvalue > 1e-6
