"""Gaussian noise in floats: pairs of uniform numbers behind an output, by the way back and by trying them all."""

import math

import numpy as np
import pytest
from scipy import special, stats

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.broken.floats import FloatGaussian
from dpassay.mechanisms.broken.floats.pairs import SAMPLERS
from dpassay.mechanisms.core.errors import ParameterError

FALSE_ALARM = 1e-6
samplers = pytest.mark.parametrize("sampler", SAMPLERS)


def impossible(mechanism, outputs, answers):
    return np.isneginf(mechanism.log_density(outputs, answers))


@samplers
@pytest.mark.parametrize("answers", [[0.0, 0.0], [1.0, 0.0], [3.3, -0.7]])
@pytest.mark.parametrize("noise_multiplier", [0.5, 2.0])
def test_rounding_moves_the_indices_by_less_than_what_is_searched(sampler, answers, noise_multiplier):
    """What the proof of impossibility stands on: at most two thirds of the reach, in a hundred thousand outputs."""
    mechanism = FloatGaussian(noise_multiplier, sampler=sampler)
    pairs, rng = mechanism._pairs, np.random.default_rng(0)
    drawn = rng.integers(0, pairs.n, size=(2, 100_000))
    noise = np.column_stack(pairs.noise(*drawn))
    kept = ~np.isnan(noise[:, 0])
    values = noise[kept] + answers
    rounded = 0.5 * np.spacing(np.abs(values)).max(axis=1) / mechanism.standard_deviation
    first, second, reach = pairs.near((values - answers) / mechanism.standard_deviation, rounded)
    away = np.abs(np.rint([first, second]).astype(np.int64) - drawn[:, kept])
    away = np.minimum(away, pairs.n - away)
    assert (away.max(axis=0) / reach).max() < 2 / 3


@samplers
@pytest.mark.parametrize("answers", [[0.0, 0.0], [1.0, 0.0], [-0.1, 30.0], [1e5, 0.0]])
def test_no_output_of_its_own_is_called_impossible(sampler, answers):
    mechanism = FloatGaussian(1.0, sampler=sampler)
    outputs = mechanism.release(answers, 2000, np.random.default_rng(1))
    assert not impossible(mechanism, outputs, answers).any()


@samplers
def test_the_way_back_finds_the_pairs_that_trying_all_finds(sampler):
    """Nine bits each: a quarter of a million pairs, once by the way back and once by the list."""
    noise = SAMPLERS[sampler](1 << 9, 1.0)
    every = noise.every()
    assert len(every) == pytest.approx(math.exp(noise.log_n_pairs), rel=1e-2)
    values, counts = np.unique(every.view(np.complex128)[:, 0], return_counts=True)
    values = values.view(float).reshape(-1, 2)
    some = np.random.default_rng(2).integers(0, len(values), size=500)
    found = np.exp(noise.log_mass(values[some], np.zeros((500, 2))) + noise.log_n_pairs)
    np.testing.assert_allclose(found, counts[some], rtol=1e-9)


@samplers
@pytest.mark.parametrize("bits", [5, 8])
def test_few_bits_are_counted_by_the_list(sampler, bits):
    mechanism = FloatGaussian(0.7, sampler=sampler, bits=bits, n_queries=4)
    answers = [0.0, 1.0, 2.0, -5.0]
    outputs = mechanism.release(answers, 100, np.random.default_rng(3))
    noise = mechanism._pairs.every()
    for row, stated in zip(outputs.values[:20], mechanism.log_density(outputs, answers), strict=False):
        hits = [np.count_nonzero((noise + answers[i : i + 2] == row[i : i + 2]).all(axis=1)) for i in (0, 2)]
        assert stated == pytest.approx(sum(math.log(h / len(noise)) for h in hits))


@samplers
def test_most_outputs_of_one_neighbour_cannot_come_from_the_other(sampler):
    mechanism = FloatGaussian(2.0, sampler=sampler)
    for own, other in (([0.0, 0.0], [1.0, 0.0]), ([1.0, 0.0], [0.0, 0.0])):
        outputs = mechanism.release(own, 2000, np.random.default_rng(4))
        assert np.mean(impossible(mechanism, outputs, other)) > 0.9


@samplers
def test_noise_still_looks_like_gaussian_noise(sampler):
    values = FloatGaussian(2.0, sampler=sampler).release([3.0, 0.0], 50_000, np.random.default_rng(5)).values
    for column, mean in enumerate((3.0, 0.0)):
        assert stats.kstest((values[:, column] - mean) / 2.0, special.ndtr).pvalue > FALSE_ALARM


def test_polar_noise_is_that_of_the_legacy_generator_of_numpy():
    """The same uniform numbers give the same pair, the second one first."""
    state = np.random.RandomState(7)
    drawn = state.standard_normal(2)[::-1]
    state = np.random.RandomState(7)
    noise = SAMPLERS["polar"](1 << 53, 1.0)
    while True:
        x, y = noise.noise(*(state.random_sample(2) * 2.0**53).astype(np.int64)[:, None])
        if not np.isnan(x[0]):
            break
    np.testing.assert_allclose([x[0], y[0]], drawn, rtol=1e-15)


def test_an_audit_refutes_the_claim_by_far(without_power):
    mechanism = FloatGaussian(2.0)
    pair = Neighbours([0.0, 0.0], [1.0, 0.0], "add_remove")
    result = audit(mechanism, pair, trials=4000, delta=1e-5, confidence=1 - 1e-6, seed=6)
    assert result.verdict.value == "violation"
    assert result.bound.epsilon > 2 * result.claim


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise_multiplier": -1.0}, "noise_multiplier must be"),
        ({"noise_multiplier": 1.0, "bits": 54}, "bits must be at most 53"),
        ({"noise_multiplier": 1.0, "n_queries": 3}, "n_queries must be even"),
        ({"noise_multiplier": 1.0, "sampler": "ziggurat"}, "sampler"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        FloatGaussian(**options)
