"""Broken additive noise: the claim is false, and the stated truth is exact."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.noise.broken import ClassicGaussian, LaplaceInverseScale, LaplaceUnitSensitivity

FALSE_ALARM = 1e-6


def test_inverse_scale_is_one_over_epsilon_private():
    broken = LaplaceInverseScale(epsilon=0.1)
    assert broken.guarantee().epsilon(0.0) == pytest.approx(0.1)
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx(10.0)
    pair = broken.worst_case()
    below = Outputs(np.array([-3.0, -1.0]))
    np.testing.assert_allclose(broken.log_density(below, pair.d0) - broken.log_density(below, pair.d1), 10.0)


def test_inverse_scale_is_right_at_one_and_wasteful_above():
    assert LaplaceInverseScale(epsilon=1.0).exact_guarantee().epsilon(0.0) == pytest.approx(1.0)
    assert LaplaceInverseScale(epsilon=4.0).exact_guarantee().epsilon(0.0) == pytest.approx(0.25)


def test_inverse_scale_does_not_depend_on_the_sensitivity():
    assert LaplaceInverseScale(epsilon=0.2, sensitivity=7.0).exact_guarantee().epsilon(0.0) == pytest.approx(5.0)


def test_inverse_scale_on_a_count_has_the_published_probabilities():
    # Ding et al. (2018), algorithm 10: count 1 against 2 at epsilon 0.1, event "< 1": 0.5 against e^-10 / 2 = 2.3e-5
    broken = LaplaceInverseScale(epsilon=0.1)
    below = stats.laplace(scale=broken.scale).cdf
    assert below(0.0) == 0.5
    assert below(-1.0) == pytest.approx(2.27e-5, abs=5e-8)
    hits = np.count_nonzero(broken.release(1.0, 400_000, np.random.default_rng(1)).values < 1.0)
    assert stats.binomtest(int(hits), 400_000, 0.5).pvalue > FALSE_ALARM


def test_unit_sensitivity_multiplies_epsilon():
    broken = LaplaceUnitSensitivity(epsilon=0.5, sensitivity=3.0, n_queries=2)
    assert broken.guarantee().epsilon(0.0) == pytest.approx(0.5)
    assert broken.exact_guarantee().epsilon(0.0) == pytest.approx(1.5)
    values = broken.release([0.0, 1.0], 100_000, np.random.default_rng(2)).values
    assert stats.kstest(values[:, 1], stats.laplace(loc=1.0, scale=2.0).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("epsilon", "delta", "true"),
    [(1.0, 1e-5, 0.751), (8.0, 1e-5, 7.914), (10.0, 1e-5, 10.394), (20.0, 1e-5, 25.443), (50.0, 1e-5, 96.434)],
)
def test_classic_noise_has_the_epsilon_of_its_curve(epsilon, delta, true):
    """With mu = epsilon / sqrt(2 ln(1.25 / delta)), delta(true) by Balle and Wang (2018), theorem 8."""
    broken, mu = ClassicGaussian(epsilon, delta), epsilon / math.sqrt(2.0 * math.log(1.25 / delta))
    assert broken.exact_guarantee().epsilon(delta) == pytest.approx(true, abs=1e-3)
    upper, lower = (stats.norm.logcdf(sign * mu / 2 - true / mu) for sign in (1, -1))
    assert math.exp(upper) - math.exp(true + lower) == pytest.approx(delta, rel=0.01)
    twin = broken.twin()
    assert twin.guarantee() == broken.guarantee()
    assert twin.exact_guarantee().delta(epsilon) == pytest.approx(delta, rel=1e-6)
    values = broken.release(3.0, 100_000, np.random.default_rng(2)).values
    assert stats.kstest(values, stats.norm(loc=3.0, scale=1.0 / mu).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LaplaceInverseScale(0.0), "epsilon must be"),
        (lambda: ClassicGaussian(0.0, 0.1), "epsilon must be"),
        (lambda: ClassicGaussian(1.0, 0.0), "delta is 0"),
        (lambda: LaplaceUnitSensitivity(math.nan), "epsilon must be"),
        (lambda: LaplaceUnitSensitivity(1.0, sensitivity=-1), "sensitivity must be"),
    ],
)
def test_bad_options_are_refused(build, message):
    with pytest.raises(ParameterError, match=message):
        build()
