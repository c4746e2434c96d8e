"""Laplace: sampler against law, density, exact curve for numbers and vectors, prefix sums, refusals."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import audit
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.noise.laplace import Laplace, PrefixSums, orthant_probabilities
from dpassay.mechanisms.noise.queries import Count, Histogram

FALSE_ALARM = 1e-6


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1.0, 1.0), (0.1, 3.0), (4.0, 0.5)])
def test_noise_has_the_laplace_law_of_its_claim(epsilon, sensitivity):
    mechanism = Laplace(epsilon, sensitivity=sensitivity)
    pair = mechanism.worst_case()
    assert abs(pair.d1 - pair.d0) == sensitivity
    assert mechanism.guarantee().epsilon(0.0) == epsilon
    assert mechanism.exact_guarantee().delta(0.5 * epsilon) == pytest.approx(-math.expm1(-0.25 * epsilon), rel=1e-12)
    values = mechanism.release(7.0, 200_000, np.random.default_rng(1)).values
    assert stats.kstest(values, stats.laplace(loc=7.0, scale=sensitivity / epsilon).cdf).pvalue > FALSE_ALARM


def test_mean_absolute_noise_is_the_scale():
    # sharper than the test above: a factor of 1.01 is 10 standard errors
    noise = np.abs(Laplace(0.5, sensitivity=2.0).release(0.0, 1_000_000, np.random.default_rng(1)).values)
    assert abs(noise.mean() / 4.0 - 1.0) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(len(noise))


def test_coordinates_of_a_vector_are_independent_laplace_noise():
    mechanism = Laplace(1.0, sensitivity=2.0, n_queries=3)
    values = mechanism.release([0.0, 10.0, 20.0], 100_000, np.random.default_rng(2)).values
    assert values.shape == (100_000, 3)
    for column, centre in enumerate([0.0, 10.0, 20.0]):
        assert stats.kstest(values[:, column], stats.laplace(loc=centre, scale=2.0).cdf).pvalue > FALSE_ALARM
    signs = np.sign(values - [0.0, 10.0, 20.0])
    limit = stats.norm.isf(FALSE_ALARM / 6) / math.sqrt(100_000)
    assert np.abs(np.corrcoef(signs.T)[np.triu_indices(3, 1)]).max() < limit


def test_log_density_is_scipys():
    mechanism = Laplace(0.7, sensitivity=2.0)
    values = np.linspace(-30.0, 30.0, 101)
    expected = stats.laplace(loc=1.5, scale=2.0 / 0.7).logpdf(values)
    np.testing.assert_allclose(mechanism.log_density(Outputs(values), 1.5), expected, rtol=1e-13)


def test_log_density_of_a_vector_is_the_sum_over_its_coordinates():
    mechanism = Laplace(0.7, n_queries=2)
    outputs = mechanism.release([1.0, 2.0], 50, np.random.default_rng(3))
    single = Laplace(0.7)
    expected = sum(single.log_density(Outputs(outputs.values[:, i]), [1.0, 2.0][i]) for i in range(2))
    np.testing.assert_allclose(mechanism.log_density(outputs, [1.0, 2.0]), expected, rtol=1e-13)


def test_whole_number_outputs_have_a_density():
    assert Laplace(1.0).log_density(Outputs(np.array([0, 1])), 0).tolist() == [-math.log(2), -math.log(2) - 1.0]


def laplace_split_delta(epsilon: float, first: float, second: float) -> float:
    """Hockey-stick divergence between unit Laplace noise in the plane and the same moved by (first, second), on a grid.

    A slow twin of the closed form: the losses of the two coordinates are binned (downwards) and convolved.
    """
    step = 1e-3

    def losses(shift: float) -> np.ndarray:
        """Law, under the moved side, of the loss |x| - |x - shift| in steps from -shift to shift."""
        n = round(shift / step)
        edges = (np.arange(-n, n + 1) + 1) * step  # loss < edge
        cdf = np.where(edges > shift, 1.0, stats.laplace.cdf((edges + shift) / 2.0, loc=shift))
        return np.diff(cdf, prepend=0.0)

    law = np.convolve(losses(first), losses(second))
    n = (len(law) - 1) // 2
    loss = np.arange(-n, n + 1) * step
    above = loss > epsilon
    return float(np.sum(law[above] * -np.expm1(epsilon - loss[above])))


@pytest.mark.parametrize("first", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5, 0.9])
def test_no_split_of_the_sensitivity_over_two_queries_is_worse_than_none(first, epsilon):
    claim = Laplace(1.0, n_queries=2).guarantee()
    split = laplace_split_delta(epsilon, first, 1.0 - first)
    assert split <= claim.delta(epsilon) + 1e-12
    if epsilon == 0.0:
        assert split > 0.5 * claim.delta(0.0)  # the twin is not empty


def test_the_slow_twin_agrees_where_one_query_does_all_the_moving():
    claim = Laplace(1.0).guarantee()
    for epsilon in (0.0, 0.25, 0.5):
        assert laplace_split_delta(epsilon, 1.0, 0.0) == pytest.approx(claim.delta(epsilon), abs=2e-3)


def test_scale_of_the_survey_comparison():
    # Laplace noise at epsilon ln 3: scale 1 / ln 3, variance 2 / (ln 3)^2
    scale = Laplace(math.log(3.0)).scale
    assert scale == pytest.approx(0.910239, abs=5e-7)
    assert 2 * scale**2 == pytest.approx(1.657071, abs=5e-7)


def test_event_below_the_count_has_exactly_ratio_e_to_the_epsilon():
    mechanism = Laplace(1.0)
    pair = mechanism.worst_case()
    below = np.linspace(-5.0, 0.0, 11)
    ratio = mechanism.log_density(Outputs(below), pair.d0) - mechanism.log_density(Outputs(below), pair.d1)
    np.testing.assert_allclose(ratio, 1.0, atol=1e-12)


def test_unknown_relation_is_refused_with_the_nearest_names():
    with pytest.raises(ParameterError, match="Did you mean 'add_remove'"):
        Laplace(1.0, relation="add-remove")


def test_answers_of_another_shape_are_refused():
    with pytest.raises(ParameterError, match=r"n_queries is 2, but the dataset .* gives answers of shape \(3,\)"):
        Laplace(1.0, n_queries=2).release([1.0, 2.0, 3.0], 5, np.random.default_rng(0))


@pytest.mark.parametrize("dataset", [math.nan, math.inf, "three", None, {"a": 1}])
def test_answers_that_are_no_numbers_are_refused(dataset):
    with pytest.raises(ParameterError):
        Laplace(1.0).release(dataset, 5, np.random.default_rng(0))


def test_pair_further_apart_than_the_sensitivity_is_refused():
    with pytest.raises(NeighboursError, match="lie 2 apart in the L1 norm"):
        Laplace(1.0, n_queries=2).bind(Neighbours([0, 0], [1, 1], "add_remove"))


def test_sensitivity_below_that_of_the_query_is_refused_with_both():
    histogram = Histogram(edges=(0, 1, 2))
    with pytest.raises(ParameterError, match=r"sensitivity is 1, .* has 2 under 'replace_one'"):
        Laplace(1.0, n_queries=2, query=histogram, relation="replace_one")
    Laplace(1.0, n_queries=2, query=histogram, relation="add_remove")


def test_number_of_queries_must_be_that_of_the_query():
    with pytest.raises(ParameterError, match="Set n_queries=2"):
        Laplace(1.0, query=Histogram(edges=(0, 1, 2)))


def test_query_of_records_is_answered_and_its_pair_checked_by_records():
    mechanism = Laplace(50.0, query=Count(above=2))
    values = mechanism.release([1, 2, 3, 4], 1000, np.random.default_rng(4)).values
    assert abs(values.mean() - 2.0) < 0.1
    mechanism.bind(Neighbours([1, 2, 3], [1, 2, 3, 4], "add_remove"))
    with pytest.raises(NeighboursError, match="remove_record"):
        mechanism.bind(Neighbours([1, 2], [1, 2, 3, 4], "add_remove"))


def test_worst_case_of_a_query_of_records_is_not_invented():
    with pytest.raises(NeighboursError, match="set query=None to audit the noise alone"):
        Laplace(1.0, query=Count()).worst_case()


def test_sensitivity_of_a_plain_function_is_not_checked():
    mechanism = Laplace(1.0, sensitivity=1.0, query=lambda records: 5.0 * len(records))
    mechanism.bind(Neighbours([1], [1, 2], "add_remove"))


@pytest.mark.parametrize("n_queries", [1, 3, 5])
def test_every_output_of_the_orthant_has_the_whole_ratio_and_no_other_has(n_queries):
    mechanism = Laplace(1.0, sensitivity=n_queries, n_queries=n_queries)
    answers = [np.full(n_queries, float(side)) for side in (0, 1)] if n_queries > 1 else [0.0, 1.0]
    n = 200_000
    outputs = mechanism.release(answers[1], n, np.random.default_rng(8))
    losses = mechanism.log_density(outputs, answers[1]) - mechanism.log_density(outputs, answers[0])
    within = (outputs.values.reshape(n, -1) >= 1.0).all(axis=1)
    np.testing.assert_allclose(losses[within], 1.0, rtol=1e-9)
    assert (losses[~within] < 1.0 - 1e-9).all()
    p0, p1 = orthant_probabilities(1.0, n_queries)
    assert stats.binomtest(int(within.sum()), n, p1).pvalue > FALSE_ALARM
    assert p1 == 2.0**-n_queries
    assert p0 == pytest.approx(p1 / math.e)


def test_an_audit_of_five_queries_decides_by_the_orthant(without_power):
    """Or by its mirror image, and little more, so that the bound is nearly epsilon. With twenty queries the orthant is
    too rare for the trials, and the bound is far smaller."""
    bounds = {}
    for k in (5, 20):
        mechanism = Laplace(1.0, sensitivity=k, n_queries=k)
        pair = Neighbours(np.zeros(k), np.ones(k), "add_remove")
        bounds[k] = audit(mechanism, pair, trials=100_000, seed=0).bound
    assert 0.95 < abs(bounds[5].threshold) <= 1.0 + 1e-8  # of the largest score, which the orthant alone has
    n, hits = bounds[5].n_trials // 2, np.array(bounds[5].hits)
    rare = np.sort(hits if bounds[5].threshold > 0 else n - hits) / n
    assert (rare > 0.95 * np.array(orthant_probabilities(1.0, 5))).all()
    assert (rare < 1.15 * np.array(orthant_probabilities(1.0, 5))).all()
    assert bounds[5].epsilon > 0.95
    assert bounds[20].epsilon < 0.75


def test_sums_are_those_of_the_noisy_answers_of_the_same_stream():
    answers = np.array([3.0, -1.0, 4.0])
    released = (kind(0.5, n_queries=3).release(answers, 50, np.random.default_rng(1)) for kind in (PrefixSums, Laplace))
    sums, noisy = (outputs.values for outputs in released)
    np.testing.assert_allclose(sums, np.cumsum(noisy, axis=1))


def test_likelihood_ratio_is_that_of_the_noisy_answers():
    """In exact numbers a change of variables of determinant 1."""
    pair = Neighbours(np.ones(10), 2.0 * np.ones(10), "add_remove")
    sums, noisy = PrefixSums(1.0, sensitivity=10.0, n_queries=10), Laplace(1.0, sensitivity=10.0, n_queries=10)
    assert sums.bind(pair) is sums
    answers = noisy.release(pair.d0, 100, np.random.default_rng(2))
    for side in (pair.d0, pair.d1):
        summed = sums.log_density(Outputs(np.cumsum(answers.values, axis=1)), side)
        np.testing.assert_allclose(summed, noisy.log_density(answers, side), rtol=1e-9)


def test_prefix_sums_of_answers_that_all_move_by_one_share_the_budget():
    all_low = Outputs(np.cumsum(-np.ones((1, 10)), axis=1))
    mechanism = PrefixSums(1.0, sensitivity=10.0, n_queries=10)
    ratio = mechanism.log_density(all_low, np.zeros(10)) - mechanism.log_density(all_low, np.ones(10))
    assert ratio[0] == pytest.approx(1.0, rel=1e-12)
    assert mechanism.guarantee().epsilon(0.0) == 1.0
