"""Randomised response, binary and k-ary: probabilities, estimators, posterior, refusals."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError, RelationError
from dpassay.mechanisms.local.randomized_response import KAryRandomizedResponse, RandomizedResponse

FALSE_ALARM = 1e-6


def binomial_p(hits: int, n: int, p: float) -> float:
    return stats.binomtest(hits, n, p).pvalue


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("bit", [0, 1])
def test_a_user_lies_with_the_stated_probability(epsilon, bit):
    mechanism = RandomizedResponse(epsilon)
    answers = mechanism.release(bit, 200_000, np.random.default_rng(1)).values
    assert set(np.unique(answers)) <= {0, 1}
    lies = int(np.count_nonzero(answers != bit))
    assert binomial_p(lies, len(answers), 1 / (1 + math.exp(epsilon))) > FALSE_ALARM


def test_each_user_has_an_answer_of_their_own():
    mechanism = RandomizedResponse(1.0)
    bits = np.array([0, 1, 1])
    answers = mechanism.release(bits, 100_000, np.random.default_rng(2)).values
    assert answers.shape == (100_000, 3)
    for user in range(3):
        truths = int(np.count_nonzero(answers[:, user] == bits[user]))
        assert binomial_p(truths, 100_000, mechanism.p_true) > FALSE_ALARM
    both = int(np.count_nonzero((answers == bits).all(axis=1)))
    assert binomial_p(both, 100_000, mechanism.p_true**3) > FALSE_ALARM


def test_two_coin_version_lies_one_time_in_four_and_is_ln_3():
    survey = RandomizedResponse.two_coin()
    assert survey.lying_probability == pytest.approx(0.25, abs=1e-15)
    assert survey.guarantee().epsilon(0.0) == pytest.approx(1.0986123, abs=5e-8)
    assert survey.guarantee().tradeoff([0.25]) == pytest.approx([0.25])  # best balanced guess is right 3 times in 4


def test_lying_probability_and_epsilon_are_inverse():
    for r in (0.001, 0.25, 0.4999):
        assert RandomizedResponse(math.log((1.0 - r) / r)).lying_probability == pytest.approx(r, rel=1e-12)


def test_tax_investigator_learns_a_factor_of_three_at_most():
    # Bayes: 0.02 * 3/4 / (0.02 * 3/4 + 0.98 * 1/4) = 3/52
    survey = RandomizedResponse.two_coin()
    assert survey.posterior(prior=0.02, answer=1) == pytest.approx(3 / 52, rel=1e-12)
    assert survey.posterior(prior=0.02, answer=0) == pytest.approx(0.02 * 0.25 / (0.02 * 0.25 + 0.98 * 0.75), rel=1e-12)
    for prior in (0.01, 0.4, 0.9):
        odds = prior / (1 - prior)
        after = survey.posterior(prior=prior, answer=1)
        assert after / (1 - after) == pytest.approx(3 * odds)


# N Var = 3/4 + mu (1 - mu) for the two-coin version
@pytest.mark.parametrize(("mean", "variance"), [(0.02, 0.7696), (0.1, 0.84), (0.5, 1.0)])
def test_variance_of_the_two_coin_estimator_is_the_known_one(mean, variance):
    assert RandomizedResponse.two_coin().estimator_variance(mean, 1) == pytest.approx(variance, rel=1e-12)
    assert RandomizedResponse.two_coin().estimator_variance(mean, 10_000) == pytest.approx(variance / 10_000)


def test_estimator_is_unbiased_and_has_its_variance():
    mechanism, mean, n_users, rounds = RandomizedResponse(0.8), 0.3, 50, 20_000
    rng = np.random.default_rng(3)
    bits = (rng.random(n_users) < mean).astype(int)
    estimates = mechanism.estimate_mean(mechanism.release(bits, rounds, rng).values)
    r = mechanism.lying_probability
    fixed_users = r * (1 - r) / (n_users * (1 - 2 * r) ** 2)  # the users stay, only the coins are tossed again
    limit = stats.norm.isf(FALSE_ALARM / 2)
    assert abs(estimates.mean() - bits.mean()) < limit * math.sqrt(fixed_users / rounds)
    assert estimates.var() == pytest.approx(fixed_users, rel=limit * math.sqrt(3 / rounds))
    # drawing the users as well adds mu (1 - mu) / n
    assert mechanism.estimator_variance(mean, n_users) == pytest.approx(fixed_users + mean * (1 - mean) / n_users)


@pytest.mark.parametrize(
    ("k", "epsilon", "p_true", "p_other"), [(4, 1.0, 0.475367, 0.174878), (10, 2.0, 0.450853, 0.0610163)]
)
def test_k_ary_probabilities_are_the_known_ones(k, epsilon, p_true, p_other):
    mechanism = KAryRandomizedResponse(epsilon, k)
    assert mechanism.p_true == pytest.approx(p_true, abs=5e-7)
    assert mechanism.p_other == pytest.approx(p_other, abs=5e-7)
    assert mechanism.p_true + (k - 1) * mechanism.p_other == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (3, 0.2), (10, 2.0), (1000, 6.0)])
def test_k_ary_answers_have_their_law(k, epsilon):
    mechanism = KAryRandomizedResponse(epsilon, k)
    answers = mechanism.release(1, 300_000, np.random.default_rng(4)).values
    expected = np.full(k, mechanism.p_other)
    expected[1] = mechanism.p_true
    assert stats.chisquare(np.bincount(answers, minlength=k), expected * len(answers)).pvalue > FALSE_ALARM


def test_two_categories_are_binary_randomized_response():
    binary, k_ary = RandomizedResponse(1.3), KAryRandomizedResponse(1.3, 2)
    outputs = Outputs(np.array([0, 1]))
    np.testing.assert_allclose(binary.log_density(outputs, 1), k_ary.log_density(outputs, 1), rtol=1e-13)
    for t in (0.0, 0.5, 1.2):
        assert binary.guarantee().delta(t) == pytest.approx(k_ary.guarantee().delta(t), rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_k_ary_claim_is_the_worst_of_all_pairs_of_values(k):
    mechanism = KAryRandomizedResponse(1.0, k)
    outputs = Outputs(np.arange(k))
    laws = [np.exp(mechanism.log_density(outputs, value)) for value in range(k)]
    for t in (0.0, 0.5, 0.9):
        worst = max(np.maximum(p - math.exp(t) * q, 0).sum() for p, q in itertools.permutations(laws, 2))
        assert mechanism.guarantee().delta(t) == pytest.approx(worst, rel=1e-10)
    assert mechanism.guarantee().epsilon(0.0) == pytest.approx(1.0, rel=1e-12)


def test_frequency_estimator_is_unbiased():
    mechanism = KAryRandomizedResponse(1.0, 4)
    users = np.array([0] * 10 + [1] * 5 + [3] * 5)
    answers = mechanism.release(users, 20_000, np.random.default_rng(5)).values
    estimates = mechanism.estimate_frequencies(answers)
    assert estimates.shape == (20_000, 4)
    np.testing.assert_allclose(estimates.sum(axis=1), 1.0, atol=1e-12)
    error = estimates.std(axis=0) / math.sqrt(20_000)
    assert np.all(np.abs(estimates.mean(axis=0) - [0.5, 0.25, 0.0, 0.25]) < stats.norm.isf(FALSE_ALARM / 8) * error)


def test_frequencies_of_several_rounds_are_those_of_each():
    mechanism = KAryRandomizedResponse(1.0, 3)
    rounds = np.array([[0, 1, 1, 2], [2, 2, 2, 2]])
    expected = np.stack([mechanism.estimate_frequencies(one) for one in rounds])
    np.testing.assert_array_equal(mechanism.estimate_frequencies(rounds), expected)


@pytest.mark.parametrize("mechanism", [RandomizedResponse(1.0), KAryRandomizedResponse(1.0, 3)])
def test_log_probability_of_an_impossible_answer_is_minus_infinity(mechanism):
    assert np.isneginf(mechanism.log_density(Outputs(np.array([-1, 3])), 0)).all()


def test_log_probability_sums_over_the_users():
    mechanism = RandomizedResponse(1.0)
    outputs = Outputs(np.array([[0, 0, 0], [1, 1, 0]]))
    log_true, log_lie = math.log(mechanism.p_true), math.log(mechanism.lying_probability)
    np.testing.assert_allclose(mechanism.log_density(outputs, [0, 0, 1]), [2 * log_true + log_lie, 3 * log_lie])


@pytest.mark.parametrize("dataset", [2, -1, 0.5, "yes", [0, 1, 2], [], [[0, 1]], math.nan])
def test_values_that_are_no_categories_are_refused(dataset):
    with pytest.raises(ParameterError, match="must be whole numbers from 0 to 1"):
        RandomizedResponse(1.0).release(dataset, 3, np.random.default_rng(0))


def test_pairs_in_which_several_users_differ_are_refused():
    mechanism = RandomizedResponse(1.0)
    mechanism.bind(Neighbours([0, 1], [0, 0], "replace_one"))
    with pytest.raises(NeighboursError, match="2 users do"):
        mechanism.bind(Neighbours([0, 1], [1, 0], "replace_one"))
    with pytest.raises(NeighboursError, match="same users"):
        mechanism.bind(Neighbours([0, 1], [1], "replace_one"))
    with pytest.raises(RelationError):
        mechanism.bind(Neighbours(0, 1, "add_remove"))


def test_answers_outside_the_categories_are_refused_by_the_estimator():
    with pytest.raises(ParameterError, match=r"messages must be .* are impossible"):
        KAryRandomizedResponse(1.0, 3).estimate_frequencies([0, 3])
