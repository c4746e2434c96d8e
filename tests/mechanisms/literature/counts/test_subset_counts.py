"""Subset counts: which noise they need, what they promise, and what they refuse. Claims: claims_counts."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.core import NeighboursError, ParameterError
from dpassay.mechanisms.literature.counts import (
    BoundedNoiseSubsetCounts,
    GaussianSubsetCounts,
    GeometricSubsetCounts,
    LaplaceSubsetCounts,
    RoundedSubsetCounts,
    random_subsets,
)
from dpassay.mechanisms.literature.counts.broken import UncomposedSubsetCounts

FALSE_ALARM = 1e-6


def test_random_subsets_are_public_and_hold_their_share():
    subsets = random_subsets(200, 500, share=0.3, seed=4)
    np.testing.assert_array_equal(subsets, random_subsets(200, 500, share=0.3, seed=4))
    assert abs(subsets.mean() - 0.3) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(0.21 / 100_000)
    assert not np.array_equal(subsets, random_subsets(200, 500, share=0.3, seed=5))


def test_noise_is_scaled_to_the_record_that_most_queries_hold():
    laplace = LaplaceSubsetCounts(2.0, 30, 80)
    most = int(laplace.subsets.sum(axis=0).max())
    assert laplace.noise.scale == most / 2.0
    assert GeometricSubsetCounts(2.0, 30, 80).noise.rate == 2.0 / most
    assert UncomposedSubsetCounts(2.0, 30, 80).noise.scale == 0.5
    gaussian = GaussianSubsetCounts(30, 80, epsilon=1.0, delta=1e-5)
    assert gaussian.noise.sensitivity == math.sqrt(most)
    assert gaussian.guarantee().epsilon(1e-5) == pytest.approx(1.0, abs=1e-9)
    assert GaussianSubsetCounts(30, 80, standard_deviation=4.0).noise.standard_deviation == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (LaplaceSubsetCounts(3.0, 12, 5), lambda m: stats.laplace(scale=m.n_moved / 3.0).cdf),
        (GaussianSubsetCounts(12, 5, standard_deviation=2.5), lambda m: stats.norm(scale=2.5).cdf),
    ],
)
def test_noise_around_the_exact_counts_has_its_law(mechanism, law):
    bits = np.arange(12) % 3 == 0
    noise = mechanism.release(bits, 4000, np.random.default_rng(0)).values - mechanism.subsets @ bits.astype(int)
    assert stats.kstest(noise.ravel(), law(mechanism)).pvalue > FALSE_ALARM
    assert np.abs(np.corrcoef(noise.T) - np.eye(5)).max() < stats.norm.isf(FALSE_ALARM / 20) / math.sqrt(4000)


def test_bounded_noise_is_uniform_and_whole():
    mechanism = BoundedNoiseSubsetCounts(2, 6, 3)
    bits = np.ones(6, dtype=int)
    noise = mechanism.release(bits, 5000, np.random.default_rng(0)).values - mechanism.subsets @ bits
    counts = np.bincount(noise.ravel() + 2, minlength=5)
    assert len(counts) == 5
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_rounding_and_suppression_are_those_of_the_formula():
    mechanism = RoundedSubsetCounts(
        5, 8, 3, suppressed_below=3, queries=[[1] * 8, [1] * 2 + [0] * 6, [1] * 4 + [0] * 4]
    )
    outputs = mechanism.release([1, 1, 1, 1, 1, 1, 1, 1], 2, np.random.default_rng(0))
    assert outputs.values.tolist() == [[10, 0, 5], [10, 0, 5]]
    pair = mechanism.worst_case()
    assert not np.array_equal(mechanism.rounded(pair.d0), mechanism.rounded(pair.d1))
    assert float(mechanism.guarantee().delta(50.0)) > 0.999999
    with pytest.raises(NeighboursError, match="hide every count"):
        RoundedSubsetCounts(50, 8, 3).worst_case()


def test_bounded_noise_reveals_a_bit_with_probability_delta():
    mechanism = BoundedNoiseSubsetCounts(3, 5, 12)
    pair = mechanism.worst_case()
    outputs = mechanism.release(pair.d1, 20_000, np.random.default_rng(0))
    counts = np.count_nonzero(np.isneginf(mechanism.log_density(outputs, pair.d0)))
    limits = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 20_000, float(mechanism.guarantee().delta(0.0)))
    assert limits[0] <= counts <= limits[1]


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: LaplaceSubsetCounts(1.0, 3, 1, queries=[[1, 1]]), "queries"),
        (lambda: LaplaceSubsetCounts(1.0, 2, 1, queries=[[2, 1]]), "queries"),
        (lambda: LaplaceSubsetCounts(1.0, 2, 1, queries=[[0, 0]]), "queries"),
        (lambda: LaplaceSubsetCounts(1.0, 3, 4).answers([0, 1, 2]), "dataset"),
        (lambda: LaplaceSubsetCounts(1.0, 3, 4).answers([0, 1]), "dataset"),
    ],
)
def test_wrong_options_are_named(make, argument):
    with pytest.raises(ParameterError) as error:
        make()
    assert error.value.argument == argument


def test_gaussian_noise_is_given_in_one_way():
    for options in ({}, {"epsilon": 1.0}, {"standard_deviation": 1.0, "epsilon": 1.0, "delta": 1e-5}):
        with pytest.raises(ParameterError, match="give"):
            GaussianSubsetCounts(3, 4, **options)


def test_records_at_other_places_are_no_neighbours():
    mechanism = LaplaceSubsetCounts(1.0, 3, 4)
    for d1 in ([1, 0, 1], [1, 1, 1]):
        with pytest.raises(NeighboursError):
            mechanism.bind(Neighbours([0, 1, 0], d1, "replace_one"))
