"""How far a release moves a belief: known answers, a Bayesian observer who never leaves the interval, and its ends."""

import math

import numpy as np
import pytest

from dpassay.mechanisms import Gaussian, Laplace
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, PureDP, posterior_interval
from dpassay.mechanisms.core import ParameterError


@pytest.mark.parametrize(
    ("epsilon", "low", "high"), [(0.1, 0.37626, 0.42422), (1.0, 0.19695, 0.64440), (math.log(3), 2 / 11, 2 / 3)]
)
def test_interval_has_its_known_ends(epsilon, low, high):
    assert posterior_interval(PureDP(epsilon), prior=0.4) == pytest.approx((low, high), abs=5e-6)


def test_posteriors_stay_in_the_interval_and_reach_both_ends():
    mechanism, prior = Laplace(epsilon=1.0), 0.4
    pair = mechanism.worst_case()
    outputs = mechanism.release(pair.d1, 10_000, np.random.default_rng(0))
    ratio = mechanism.log_density(outputs, pair.d1) - mechanism.log_density(outputs, pair.d0)
    posterior = prior / (prior + (1 - prior) * np.exp(-ratio))
    low, high = posterior_interval(mechanism.guarantee(), prior=prior)
    assert posterior.min() == pytest.approx(low, rel=1e-9)
    assert posterior.max() == pytest.approx(high, rel=1e-9)
    beyond = np.abs(outputs.values - 0.5) > 0.5
    assert np.isclose(posterior[beyond], low).sum() + np.isclose(posterior[beyond], high).sum() == beyond.sum()


def test_gaussian_noise_bounds_the_posterior_of_events_only():
    mechanism = Gaussian(noise_multiplier=1.0)
    assert posterior_interval(mechanism.guarantee(), prior=0.4) == (0.0, 1.0)
    low, high = posterior_interval(GaussianDP(1.0), prior=0.4, fpr=0.1)
    tpr = 0.389  # Phi(Phi^-1(0.1) + 1)
    assert high == pytest.approx(0.4 * tpr / (0.4 * tpr + 0.6 * 0.1), abs=1e-3)
    assert 0.0 < low < 0.4


def test_an_event_under_delta_may_be_certain():
    low, high = posterior_interval(ApproximateDP(0.0, 0.2), prior=0.5, fpr=0.1)
    assert (low, high) == (0.0, pytest.approx(0.3 / 0.4))


@pytest.mark.parametrize("wrong", [{"prior": 0.0}, {"prior": 1.0}, {"prior": 0.5, "fpr": 1.0}])
def test_probabilities_are_strictly_between_zero_and_one(wrong):
    with pytest.raises(ParameterError):
        posterior_interval(PureDP(1.0), **wrong)
