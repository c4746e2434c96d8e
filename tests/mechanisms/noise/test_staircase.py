"""Staircase noise: density, sampler, size against that of Laplace noise, and why one answer only."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import audit
from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.noise.staircase import Staircase

FALSE_ALARM = 1e-6


def steps(mechanism, n=12):
    """Edges of the steps on both sides of 0, in the units of the answers."""
    right = np.array([k + c for k in range(n) for c in (0.0, mechanism.step)]) * mechanism.sensitivity
    return np.unique(np.concatenate([-right, right]))


@pytest.mark.parametrize(("epsilon", "gamma", "sensitivity"), [(1.0, None, 1.0), (3.0, 0.7, 2.0), (0.5, 0.5, 1.0)])
def test_noise_has_its_density_and_is_flat_on_each_step(epsilon, gamma, sensitivity):
    mechanism = Staircase(epsilon, gamma=gamma, sensitivity=sensitivity)
    values = mechanism.release(0.0, 200_000, np.random.default_rng(0)).values
    edges = steps(mechanism)
    edges = np.unique(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1])]))
    middles = 0.5 * (edges[1:] + edges[:-1])
    masses = np.exp(mechanism.log_density(Outputs(middles), 0.0)) * np.diff(edges)
    counts = np.histogram(values, edges)[0]
    counts, masses = np.append(counts, len(values) - counts.sum()), np.append(masses, 1.0 - masses.sum())
    kept = masses * len(values) > 5
    total = counts[kept].sum()
    assert stats.chisquare(counts[kept], masses[kept] / masses[kept].sum() * total).pvalue > FALSE_ALARM


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 12.0])
def test_expected_size_is_the_least_one_and_that_of_the_theorem(epsilon):
    """Geng and Viswanath (2016): sensitivity e^(epsilon / 2) / (e^epsilon - 1)."""
    best = Staircase(epsilon, sensitivity=2.0)
    assert best.expected_size == pytest.approx(2.0 * math.exp(epsilon / 2) / math.expm1(epsilon), rel=1e-12)
    assert best.expected_size < 2.0 / epsilon
    for gamma in np.linspace(0.02, 0.98, 49):
        assert Staircase(epsilon, gamma=gamma, sensitivity=2.0).expected_size >= best.expected_size * (1 - 1e-12)


def test_expected_size_is_that_of_the_noise():
    for mechanism in (Staircase(1.0), Staircase(2.0, gamma=0.8, sensitivity=3.0)):
        size = np.abs(mechanism.release(5.0, 200_000, np.random.default_rng(1)).values - 5.0)
        error = size.std() / math.sqrt(len(size))
        assert abs(size.mean() - mechanism.expected_size) < stats.norm.isf(FALSE_ALARM / 2) * error


@pytest.mark.parametrize("shift", [1e-6, 0.3, 0.5, 1.0])
def test_no_shift_within_the_sensitivity_has_a_loss_above_epsilon(shift):
    mechanism = Staircase(1.3, gamma=0.3)
    y = Outputs(np.random.default_rng(2).uniform(-8, 8, size=20_000))
    loss = np.abs(mechanism.log_density(y, 0.0) - mechanism.log_density(y, shift))
    assert loss.max() <= 1.3 + 1e-12
    assert shift < 1e-3 or loss.max() > 1.3 - 1e-12


def test_two_answers_that_share_the_move_would_lose_twice_epsilon():
    """Half a sensitivity each: on the edges of both steps the two losses add up."""
    mechanism = Staircase(1.0, gamma=0.5)
    y = Outputs(np.array([0.75]))
    once = mechanism.log_density(y, 0.5) - mechanism.log_density(y, 0.0)
    assert 2 * once[0] == pytest.approx(2.0)
    with pytest.raises(TypeError, match="n_queries"):
        Staircase(1.0, n_queries=2)


def test_an_audit_does_not_flag_it_and_gets_close(without_power):
    result = audit(Staircase(1.0), trials=50_000, confidence=1 - 1e-6, seed=3)
    assert result.verdict.value == "consistent"
    assert 0.9 < result.bound.epsilon <= 1.0


def test_epsilon_above_700_is_refused():
    with pytest.raises(ParameterError, match="epsilon must be at most 700"):
        Staircase(701.0)
