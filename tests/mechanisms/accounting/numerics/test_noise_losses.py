"""Privacy losses of a step of Gaussian or Laplace noise, against those of dp-accounting."""

from importlib.metadata import version

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as plds

from dpassay.mechanisms.accounting.numerics.noise_losses import gaussian_losses, laplace_losses

CASES = [(1.0, 0.1), (0.6, 0.01), (3.0, 1 / 11), (2.0, 1.0), (0.3, 0.5), (20.0, 1e-4), (0.5, 0.999), (5.0, 1e-9)]
ROUNDING = 0.0 if version("dp-accounting") >= "0.6" else 1e-12
"""Largest difference: older versions sum in another order."""


def same(ours, theirs):
    ours, theirs = ours.to_dense_pmf(), theirs.to_dense_pmf()
    assert ours._lower_loss == theirs._lower_loss
    assert ours._infinity_mass == theirs._infinity_mass
    np.testing.assert_allclose(ours._probs, theirs._probs, rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize(("noise_multiplier", "q"), CASES)
@pytest.mark.parametrize("interval", [1e-3, 1e-2, 0.25])
def test_distribution_has_the_bytes_of_dp_accounting(noise_multiplier, q, interval):
    ours = gaussian_losses(noise_multiplier, q, interval)
    theirs = plds.from_gaussian_mechanism(
        noise_multiplier, sampling_prob=q, value_discretization_interval=interval, use_connect_dots=True
    )
    same(ours._pmf_remove, theirs._pmf_remove)
    same(ours._pmf_add, theirs._pmf_add)


def test_loss_of_no_sample_lies_on_the_grid():
    """The least loss, log(1 - q), belongs to noise at infinity."""
    q = -np.expm1(-0.25)
    theirs = plds.from_gaussian_mechanism(1.0, sampling_prob=q, value_discretization_interval=0.25)
    ours = gaussian_losses(1.0, q, 0.25)
    same(ours._pmf_remove, theirs._pmf_remove)
    same(ours._pmf_add, theirs._pmf_add)


@pytest.mark.parametrize("q", [1.0, 0.5, 1e-3])
def test_weak_noise_has_the_bytes_of_dp_accounting(q):
    """Losses up to 800 and more, whose exponentials are no floats."""
    ours = gaussian_losses(0.025, q, 0.1)
    theirs = plds.from_gaussian_mechanism(0.025, sampling_prob=q, value_discretization_interval=0.1)
    same(ours._pmf_remove, theirs._pmf_remove)
    same(ours._pmf_add, theirs._pmf_add)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10 / 3, 100.0])
@pytest.mark.parametrize("q", [1.0, 0.999, 0.25, 1e-6])
@pytest.mark.parametrize("interval", [1e-3, 0.25])
def test_laplace_noise_has_the_bytes_of_dp_accounting(scale, q, interval):
    ours = laplace_losses(scale, q, interval)
    theirs = plds.from_laplace_mechanism(scale, sampling_prob=q, value_discretization_interval=interval)
    same(ours._pmf_remove, theirs._pmf_remove)
    same(ours._pmf_add, theirs._pmf_add)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("losses", [gaussian_losses, laplace_losses])
def test_least_sampling_probability_has_no_loss(losses):
    """The largest loss is less than a float can tell from 0."""
    step = losses(1.0, 1e-18, 1e-4)._pmf_remove.to_dense_pmf()
    assert (step._lower_loss, step._probs[0], step._infinity_mass) == (0, 1.0, 0.0)
    assert not step._probs[1:].any()
