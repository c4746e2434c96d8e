"""Quantiles by the exponential mechanism, means from noisy sums and counts, and how far answers move apart."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpassay.mechanisms import Exponential, Neighbours, Outputs
from dpassay.mechanisms.core import ParameterError, Relation
from dpassay.mechanisms.literature.selection import Quantile
from dpassay.mechanisms.literature.statistics import SumAndCount
from dpassay.mechanisms.noise.queries import Count, Histogram, MedianUtility, PrefixCounts

FALSE_ALARM = 1e-6


def test_density_of_a_quantile_integrates_to_one_and_is_that_of_its_runs():
    mechanism, data = Quantile(3.0, q=0.3), [0.2, 0.4, 0.4, 0.9, math.nan]

    def density(y):
        return float(np.exp(mechanism.log_density(Outputs(np.array([y])), data))[0])

    masses = [integrate.quad(density, a, b)[0] for a, b in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.9), (0.9, 1.0))]
    assert sum(masses) == pytest.approx(1.0, abs=1e-9)
    values = mechanism.release(data, 40_000, np.random.default_rng(0)).values
    counts = np.histogram(values, [0.0, 0.2, 0.4, 0.9, 1.0])[0]
    assert stats.chisquare(counts, np.array(masses) * 40_000).pvalue > FALSE_ALARM
    inside = values[(values > 0.4) & (values < 0.9)]
    assert stats.kstest(inside, stats.uniform(0.4, 0.5).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("q", [0.1, 0.5, 0.75])
def test_worst_case_of_a_quantile_is_near_the_claim(q):
    for epsilon in (0.3, 1.0):
        assert 0.9 * epsilon < Quantile(epsilon, q=q).exact_guarantee().epsilon(0.0) <= epsilon


def test_outputs_beyond_the_bounds_are_impossible():
    density = Quantile(1.0).log_density(Outputs(np.array([-0.1, 0.0, 1.0, 1.1])), [0.3])
    assert np.isfinite(density).tolist() == [False, True, True, False]


def test_sum_and_count_have_half_of_the_budget_each():
    mechanism = SumAndCount(1.0, lower=-2.0, upper=1.0)
    assert mechanism.scales.tolist() == [4.0, 2.0]
    assert mechanism.answers([-9.0, 0.5, math.nan]).tolist() == [-1.5, 3.0]
    values = mechanism.release([1.0] * 50, 20_000, np.random.default_rng(1)).values
    assert stats.kstest(values[:, 0], stats.laplace(50, 4.0).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(values[:, 1], stats.laplace(50, 2.0).cdf).pvalue > FALSE_ALARM
    assert mechanism.mean(values).mean() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("query", "relation", "range_"),
    [
        (Count(), "add_remove", 0.0),
        (Histogram(categories=(1, 2, 3)), "add_remove", 1.0),
        (Histogram(categories=(1, 2, 3)), "replace_one", 2.0),
        (MedianUtility(candidates=(0.0, 1.0)), "add_remove", 1.0),
        (PrefixCounts(thresholds=(1, 2, 3)), "replace_one", 1.0),
    ],
)
def test_range_sensitivity_is_what_answers_move_apart(query, relation, range_):
    assert query.range_sensitivity(Relation(relation)) == range_


def test_range_of_a_histogram_is_attained():
    histogram = Histogram(categories=(1, 2, 3))
    added = histogram([1, 2]) - histogram([1])
    replaced = histogram([1, 2]) - histogram([1, 3])
    assert (np.ptp(added), np.ptp(replaced)) == (1.0, 2.0)


def test_bounded_range_of_counts_is_half_of_the_claim():
    counts = Histogram(categories=(1, 2, 3))
    mechanism = Exponential(1.0, 3, query=counts)
    assert mechanism.bounded_range().eta == 0.5
    assert Exponential(1.0, 3, query=counts, monotone=True).bounded_range().eta == 1.0
    assert Exponential(1.0, 3, query=counts, relation="replace_one").bounded_range().eta == 1.0
    losses = mechanism.log_probabilities([1, 2, 2]) - mechanism.log_probabilities([1, 2])
    assert np.ptp(losses) == pytest.approx(0.5)
    mechanism.bind(Neighbours([1, 2], [1, 2, 2], "add_remove"))


def test_prefix_counts_are_those_of_a_loop_and_bad_thresholds_are_refused():
    values = np.array([0.5, 2.0, 2.5, math.nan, 9.0])
    query = PrefixCounts(thresholds=(0.0, 2.0, 8.0))
    assert query(values).tolist() == [float(sum(v <= t for v in values)) for t in query.thresholds]
    with pytest.raises(ParameterError, match="strictly increasing"):
        PrefixCounts(thresholds=(2, 1))
    with pytest.raises(ParameterError, match="lower must be below"):
        SumAndCount(lower=1.0)
