"""Composed privacy losses: never below the exact probabilities, and close to them, far into the tails."""

import math
from functools import reduce

import numpy as np
import pytest
from dp_accounting.pld.pld_pmf import DensePLDPmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from scipy import stats

from dpassay.mechanisms.accounting import GaussianDP, PrivacyLossDP, PureDP, compose
from dpassay.mechanisms.accounting.numerics.composed_losses import TAIL_PROBABILITY, composed_losses

DELTAS = (0.3, 1e-2, 1e-5, 1e-9, 1e-11, 1e-13, 1e-15, 1e-17)


def distribution(probabilities, first, interval=0.1, infinite=0.0):
    return PrivacyLossDistribution(DensePLDPmf(interval, first, np.asarray(probabilities), infinite, True))


def dense(pld):
    return pld._pmf_remove.to_dense_pmf()


def at(pmf, losses):
    """Probabilities of `pmf` at losses of the grid; 0 outside of its window."""
    place = losses - pmf._lower_loss
    inside = (place >= 0) & (place < len(pmf._probs))
    return np.where(inside, pmf._probs[np.clip(place, 0, len(pmf._probs) - 1)], 0.0), inside


@pytest.mark.parametrize(
    ("noise_multiplier", "steps"), [(100.0, 10_000), (50.0, 3_000), (5.0, 51), (1.0, 2), (2.0, 1), (300.0, 100_000)]
)
def test_gaussian_steps_are_above_the_exact_curve_and_close_to_it(noise_multiplier, steps):
    exact = GaussianDP(math.sqrt(steps) / noise_multiplier)
    claim = PrivacyLossDP.gaussian(noise_multiplier, steps=steps)
    for delta in DELTAS:
        excess = claim.epsilon(delta) - exact.epsilon(delta)
        assert 0.0 <= excess <= 1e-5 + 1e-4 * math.sqrt(steps) / noise_multiplier * math.sqrt(steps / 1000), delta


@pytest.mark.parametrize("steps", [2, 7, 100])
def test_randomized_responses_have_the_curve_of_the_binomial(steps):
    p = 1.0 / (1.0 + math.exp(-0.5))
    lies = np.arange(steps + 1)
    losses, log_mass = 0.5 * (steps - 2 * lies), stats.binom.logpmf(lies, steps, 1.0 - p)
    claim = compose([PureDP(0.5)] * steps, accounting="privacy-loss")
    for epsilon in np.linspace(0.0, 0.5 * steps, 23)[:-1]:
        exact = float(np.sum(np.exp(log_mass) * np.maximum(0.0, -np.expm1(epsilon - losses))))
        assert claim.delta(epsilon) >= exact * (1.0 - 1e-9)
        if exact > 1e-15:
            assert claim.delta(epsilon) <= exact * (1.0 + 0.02 * steps) + TAIL_PROBABILITY


@pytest.mark.parametrize("counts", [(1, 1), (3, 2), (12, 0), (1, 40)])
def test_no_limit_is_below_the_direct_convolution(counts):
    """Sums of positive terms keep their relative accuracy: the slow twin is exact to 1e-13 in the tails too."""
    rng = np.random.default_rng(7)
    first = np.exp(-0.5 * (np.arange(-60, 61) / 9.0) ** 2)
    second = rng.random(80) * np.exp(-np.arange(80) / 4.0)
    parts = [(first / first.sum(), -55, counts[0]), (second / second.sum() * 0.999, -3, counts[1])]
    exact = reduce(np.convolve, [p for p, _, count in parts for _ in range(count)])
    start = sum(lowest * count for _, lowest, count in parts)
    infinite = {-55: 0.0, -3: 0.001}
    used = [(distribution(p, lowest, infinite=infinite[lowest]), count) for p, lowest, count in parts if count]
    composed = dense(composed_losses(used))
    limits, inside = at(composed, start + np.arange(len(exact)))
    assert (limits[inside] >= exact[inside] * (1.0 - 1e-12)).all()
    outside = exact[~inside].sum()
    assert outside <= TAIL_PROBABILITY
    lost = -math.expm1(counts[1] * math.log1p(-0.001))
    assert composed._infinity_mass == pytest.approx(lost, abs=1e-18)
    assert counts[1] or composed._infinity_mass >= outside
    tail = np.cumsum(exact[::-1])[::-1]
    seen = inside & (tail > 1e-17) & (start + np.arange(len(exact)) > 0)
    excess = np.cumsum(limits[::-1])[::-1][seen] / tail[seen] - 1.0
    assert excess.max() < 1e-3


def test_sampled_steps_agree_with_a_direct_convolution_on_the_same_grid():
    one = PrivacyLossDP.gaussian(1.0, sampling_probability=0.05, interval=0.05).pld
    for pmf, composed in ((one._pmf_remove, "_pmf_remove"), (one._pmf_add, "_pmf_add")):
        part = pmf.to_dense_pmf()
        exact = reduce(np.convolve, [np.maximum(part._probs, 0.0)] * 30)
        found = getattr(composed_losses([(one, 30)]), composed).to_dense_pmf()
        limits, inside = at(found, 30 * part._lower_loss + np.arange(len(exact)))
        assert (limits[inside] >= exact[inside] * (1.0 - 1e-12)).all()
        assert limits[inside].sum() <= 1.0 + 1e-9


def test_composition_of_a_composition_is_that_of_all_steps():
    whole = PrivacyLossDP.gaussian(10.0, steps=60)
    parts = PrivacyLossDP.gaussian(10.0, steps=20)
    twice = compose([parts] * 3, accounting="privacy-loss")
    for delta in DELTAS[:-2]:
        assert twice.epsilon(delta) == pytest.approx(whole.epsilon(delta), rel=1e-6)


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_certain_losses_add_up(count):
    single = distribution([1.0], 3)
    composed = dense(composed_losses([(single, count)]))
    assert composed._lower_loss == 3 * count
    assert composed._probs == pytest.approx([1.0], abs=1e-9)
