"""Gaussian: sampler against law, calibrations, exact curve, refusals."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr

from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.combinators.repeated import Repeated
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.noise.gaussian import Gaussian
from dpassay.mechanisms.noise.queries import Histogram

FALSE_ALARM = 1e-6


def exact_delta(epsilon: float, multiplier: float) -> float:
    """Balle and Wang (2018), theorem 8, written another way than in the library."""
    a = log_ndtr(0.5 / multiplier - epsilon * multiplier)
    b = epsilon + log_ndtr(-0.5 / multiplier - epsilon * multiplier)
    return math.exp(a) * -math.expm1(b - a)


def test_noise_has_the_normal_law_with_the_stated_deviation():
    mechanism = Gaussian(noise_multiplier=1.5, sensitivity=2.0)
    values = mechanism.release(-4.0, 200_000, np.random.default_rng(1)).values
    assert stats.kstest(values, stats.norm(loc=-4.0, scale=3.0).cdf).pvalue > FALSE_ALARM


def test_mean_square_noise_is_the_variance():
    noise = Gaussian(noise_multiplier=1.5, sensitivity=2.0).release(0.0, 1_000_000, np.random.default_rng(1)).values
    assert abs(np.mean(noise**2) / 9.0 - 1.0) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(2.0 / len(noise))


def test_log_density_is_scipys():
    mechanism = Gaussian(noise_multiplier=1.5, sensitivity=2.0, n_queries=2)
    values = np.random.default_rng(2).normal(size=(40, 2)) * 10
    expected = stats.norm(loc=[1.0, 2.0], scale=3.0).logpdf(values).sum(axis=1)
    np.testing.assert_allclose(mechanism.log_density(Outputs(values), [1.0, 2.0]), expected, rtol=1e-12)


# noise multipliers sqrt(2 ln(c / delta)) / epsilon, the least exact one, and the true epsilon at delta of each; from
# Balle and Wang (2018), theorem 8, with scipy's log_ndtr and brentq.
@pytest.mark.parametrize(
    ("epsilon", "delta", "calibration", "multiplier", "true_epsilon"),
    [
        (1.0, 1e-5, "classic-log-1", 4.7985, 0.7589),
        (1.0, 1e-5, "classic", 4.8448, 0.7510),
        (1.0, 1e-5, "classic-log-2", 4.9409, 0.7350),
        (1.0, 1e-5, "analytic", 3.7306, 1.0),
        (0.5, 1e-6, "classic-log-1", 10.5130, None),
        (0.5, 1e-6, "classic", 10.5976, None),
        (0.5, 1e-6, "classic-log-2", 10.7735, None),
        (0.5, 1e-6, "analytic", 8.0576, 0.5),
    ],
)
def test_calibrations_give_the_known_noise_and_true_epsilon(epsilon, delta, calibration, multiplier, true_epsilon):
    mechanism = Gaussian(epsilon, delta, calibration=calibration)
    assert mechanism.standard_deviation == pytest.approx(multiplier, abs=5.1e-5)
    if true_epsilon is not None:
        assert mechanism.guarantee().epsilon(delta) == pytest.approx(true_epsilon, abs=5.1e-5)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_analytic_calibration_is_private_and_not_wasteful(epsilon, delta):
    multiplier = Gaussian(epsilon, delta).standard_deviation
    assert exact_delta(epsilon, multiplier) <= delta * (1 + 1e-6)
    assert exact_delta(epsilon, multiplier * (1 - 1e-6)) > delta


# largest epsilon at which each classic constant is still a theorem; from the same exact curve
@pytest.mark.parametrize(
    ("calibration", "delta", "limit"),
    [
        ("classic-log-1", 1e-2, 6.25),
        ("classic", 1e-2, 6.77),
        ("classic-log-2", 1e-2, 7.91),
        ("classic-log-1", 1e-5, 7.97),
        ("classic", 1e-5, 8.42),
        ("classic-log-2", 1e-5, 9.39),
        ("classic-log-1", 1e-10, 9.43),
        ("classic", 1e-10, 9.85),
        ("classic-log-2", 1e-10, 10.76),
    ],
)
def test_a_classic_calibration_is_refused_from_where_it_is_false(calibration, delta, limit):
    Gaussian(limit - 0.01, delta, calibration=calibration)
    with pytest.raises(ParameterError, match=rf"calibration='{calibration}' promises .* Use calibration='analytic'"):
        Gaussian(limit + 0.01, delta, calibration=calibration)


def test_guarantee_of_a_vector_depends_on_the_l2_distance_only():
    mechanism = Gaussian(noise_multiplier=1.0, n_queries=2)
    d1 = np.array([0.6, 0.8])
    outputs = mechanism.release(np.zeros(2), 100_000, np.random.default_rng(3))
    loss = mechanism.log_density(outputs, d1) - mechanism.log_density(outputs, np.zeros(2))
    # privacy loss is N(-mu^2/2, mu^2) on side 0 with mu = 1
    assert stats.kstest(loss, stats.norm(loc=-0.5, scale=1.0).cdf).pvalue > FALSE_ALARM
    assert mechanism.guarantee().mu == 1.0


def test_gaussian_noise_is_not_pure():
    mechanism = Gaussian(noise_multiplier=1.0)
    outputs = Outputs(np.array([10.0, 100.0, 1000.0]))
    loss = mechanism.log_density(outputs, 1.0) - mechanism.log_density(outputs, 0.0)
    np.testing.assert_allclose(loss, [9.5, 99.5, 999.5])
    assert mechanism.guarantee().epsilon(0.0) == math.inf


def test_sensitivity_is_measured_in_the_l2_norm():
    mechanism = Gaussian(noise_multiplier=1.0, n_queries=2)
    mechanism.bind(Neighbours([0, 0], [0.6, 0.8], "add_remove"))
    with pytest.raises(NeighboursError, match="L2 norm"):
        mechanism.bind(Neighbours([0, 0], [1, 1], "add_remove"))
    with pytest.raises(ParameterError, match=r"has 1\.41421 under 'replace_one'"):
        Gaussian(1.0, 1e-5, n_queries=2, relation="replace_one", query=Histogram(edges=(0, 1, 2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give epsilon and delta"),
        ({"epsilon": 1.0}, "give epsilon and delta"),
        ({"epsilon": 1.0, "delta": 1e-5, "noise_multiplier": 1.0}, "not both"),
        ({"epsilon": 1.0, "delta": 0.0}, "private at no epsilon with delta 0"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Gaussian(**options)


def test_claim_is_quoted_at_the_delta_of_its_calibration():
    claim = Gaussian(1.0, 1e-5).guarantee()
    plain = GaussianDP(claim.mu, claim.relation)
    assert (claim.default_delta, plain.default_delta) == (1e-5, None)
    assert (claim, str(claim), repr(claim)) == (plain, str(plain), repr(plain))
    assert claim.under("replace_one").default_delta == 1e-5
    assert Gaussian(noise_multiplier=1.0).guarantee().default_delta is None
    assert Repeated(Gaussian(1.0, 1e-5), 3).guarantee().default_delta is None
