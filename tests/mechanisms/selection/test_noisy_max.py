"""Report noisy max and permute-and-flip: the law of each noise, pairs of earlier audits, bounded range, utility."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy import integrate, stats

from dpassay.mechanisms.accounting import ExactDP
from dpassay.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax
from dpassay.mechanisms.selection.laws import log_largest_exponential

FALSE_ALARM = 1e-6
SCORES = np.array([0.0, 1.0, -3.0, 5.0, 5.0, 2.0])
NOISES = ("laplace", "gumbel", "exponential")


def counts_of(mechanism, utilities, size=200_000, seed=1):
    chosen = mechanism.release(utilities, size, np.random.default_rng(seed)).values
    return np.bincount(chosen, minlength=len(utilities))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("monotone", [False, True])
def test_candidates_are_chosen_with_their_probability(noise, monotone):
    mechanism = ReportNoisyMax(1.5, 6, sensitivity=2.0, monotone=monotone, noise=noise)
    expected = mechanism.probabilities(SCORES)
    assert expected.sum() == pytest.approx(1.0, abs=1e-13)
    assert stats.chisquare(counts_of(mechanism, SCORES), expected * 200_000).pvalue > FALSE_ALARM


@pytest.mark.parametrize("noise", NOISES)
def test_chi_square_would_see_another_noise(noise):
    """Power: 200,000 runs tell each noise from the two others."""
    mechanism = ReportNoisyMax(1.5, 6, noise=noise)
    for other in set(NOISES) - {noise}:
        expected = ReportNoisyMax(1.5, 6, noise=other).probabilities(SCORES)
        assert stats.chisquare(counts_of(mechanism, SCORES), expected * 200_000).pvalue < FALSE_ALARM


def test_gumbel_noise_gives_the_exponential_mechanism():
    """The Gumbel max trick: equal tables, and draws of noise that fit the table of the other."""
    for monotone in (False, True):
        options = {"sensitivity": 2.0, "monotone": monotone}
        noisy, direct = ReportNoisyMax(1.5, 6, noise="gumbel", **options), Exponential(1.5, 6, **options)
        np.testing.assert_allclose(noisy.probabilities(SCORES), direct.probabilities(SCORES), rtol=1e-12)
        assert stats.chisquare(counts_of(noisy, SCORES), direct.probabilities(SCORES) * 200_000).pvalue > FALSE_ALARM


def test_exponential_noise_gives_permute_and_flip():
    noisy, direct = ReportNoisyMax(1.5, 6, noise="exponential"), PermuteAndFlip(1.5, 6)
    assert stats.chi2_contingency([counts_of(noisy, SCORES), counts_of(direct, SCORES, seed=2)]).pvalue > FALSE_ALARM


def test_law_of_two_candidates_is_that_of_the_difference_of_two_noises():
    # P(Z1 - Z0 > x) = e^-x (1 + x / 2) / 2 for x >= 0
    mechanism = ReportNoisyMax(2.0, 2)
    for x in (0.0, 0.5, 3.0, 40.0, 300.0):
        expected = 0.5 * np.exp(-x) * (1.0 + 0.5 * x)
        assert mechanism.probabilities([x, 0.0])[1] == pytest.approx(expected, rel=1e-12)


def test_laplace_law_is_that_of_a_slow_integral():
    scores = np.array([0.3, -4.0, 2.0, 2.5])
    law = ReportNoisyMax(2.0, 4).probabilities(scores)
    noise, points = stats.laplace(), np.sort(scores)
    for i in range(4):
        others = np.delete(scores, i)
        ends = [-40.0, *points, 40.0]
        parts = [
            integrate.quad(lambda z, i=i, o=others: noise.pdf(z - scores[i]) * np.prod(noise.cdf(z - o)), a, b)[0]
            for a, b in pairwise(ends)
        ]
        assert law[i] == pytest.approx(sum(parts), abs=1e-8)


@pytest.mark.parametrize(
    ("pair", "laplace", "exponential"),
    [
        ((0, 1, 1, 1, 1), 0.0471, 0.05),
        ((2, 1, 1, 1, 1), 0.0466, 0.05),
        ((2, 0, 0, 0, 0), 0.0927, 0.1),
        ((0, 2, 2, 2, 2), 0.0946, 0.1),
        ((2, 2, 0, 0, 0), 0.0686, 0.0734),
        ((2, 2, 2, 2, 2), 0.0, 0.0),
    ],
)
def test_best_event_on_five_queries_that_all_move(pair, laplace, exponential):
    """Next to five ones at epsilon 0.1, pairs of Ding et al. (2018); 0.0946 and 0.1 are the largest there are."""
    for noise, expected in (("laplace", laplace), ("exponential", exponential)):
        mechanism = ReportNoisyMax(0.1, 5, noise=noise)
        law = ExactDP(mechanism.probabilities(np.ones(5)), mechanism.probabilities(np.array(pair, dtype=float)))
        assert law.epsilon(0.0) == pytest.approx(expected, abs=6e-5)


def test_only_gumbel_noise_keeps_losses_in_an_interval_of_length_epsilon():
    """Three equal candidates, of which two gain and one loses as much as it may, at epsilon 1."""
    widths = {}
    for noise in NOISES:
        mechanism = ReportNoisyMax(1.0, 3, noise=noise)
        widths[noise] = np.ptp(mechanism.log_probabilities(np.zeros(3)) - mechanism.log_probabilities([1.0, 1.0, -1.0]))
    assert widths["gumbel"] == pytest.approx(1.0)
    assert widths["laplace"] > 1.1
    assert widths["exponential"] > 1.2


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n_candidates", [2, 5])
def test_worst_case_comes_near_the_claim_and_never_above(noise, n_candidates):
    for epsilon in (0.1, 5.0):
        mechanism = ReportNoisyMax(epsilon, n_candidates, noise=noise, sensitivity=3.0)
        mechanism.bind(mechanism.worst_case())
        shown = mechanism.exact_guarantee().epsilon(0.0)
        assert shown <= epsilon * (1 + 1e-12)
        assert shown > (0.6 if n_candidates == 2 and noise == "laplace" else 0.7) * epsilon


def test_utilities_far_apart_do_not_overflow():
    for noise in NOISES:
        mechanism = ReportNoisyMax(1.0, 3, noise=noise)
        assert mechanism.probabilities([1e5, 1e5, -1e5]) == pytest.approx([0.5, 0.5, 0.0], abs=1e-12)


def by_orders(weights):
    """The law, order by order: a slow twin."""
    result, orders = np.zeros(len(weights)), list(permutations(range(len(weights))))
    for order in orders:
        left = 1.0 / len(orders)
        for i in order:
            result[i] += left * weights[i]
            left *= 1.0 - weights[i]
    return result


def by_numbers_of_others(weights):
    """w_i times the integral of the product of (1 - w_j u), whose coefficients are built up one other at a time."""
    n, results = len(weights), []
    for i in range(n):
        passed = np.zeros(n)
        passed[0] = 1.0
        for j in range(n):
            if j != i:
                passed[1:] = passed[1:] - weights[j] * passed[:-1]
        results.append(weights[i] * np.sum(passed / np.arange(1, n + 1)))
    return np.array(results)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_law_is_that_of_all_orders(n):
    scores = np.random.default_rng(n).normal(scale=2.0, size=n)
    np.testing.assert_allclose(
        np.exp(log_largest_exponential(scores)), by_orders(np.exp(scores - scores.max())), rtol=1e-12
    )


def test_law_of_many_candidates_is_that_of_a_dynamic_programme():
    scores = np.random.default_rng(0).normal(size=12) - 2.0
    scores[0] = 0.0
    np.testing.assert_allclose(np.exp(log_largest_exponential(scores)), by_numbers_of_others(np.exp(scores)), rtol=1e-9)


@pytest.mark.parametrize("n", [513, 2000])
def test_law_of_very_many_candidates_adds_up_to_one(n):
    for scores in (np.zeros(n), np.random.default_rng(1).normal(scale=3.0, size=n)):
        assert np.exp(log_largest_exponential(scores)).sum() == pytest.approx(1.0, abs=1e-12)


def test_permute_and_flip_chooses_candidates_with_their_probability():
    mechanism, utilities = PermuteAndFlip(1.5, 4), np.array([0.0, 1.0, 2.0, 2.0])
    chosen = mechanism.release(utilities, 200_000, np.random.default_rng(2)).values
    law = mechanism.probabilities(utilities)
    counts = np.bincount(chosen, minlength=4)
    assert stats.chisquare(counts, law * 200_000).pvalue > FALSE_ALARM
    others = Exponential(1.5, 4).probabilities(utilities)  # power
    assert stats.chisquare(counts, others * 200_000).pvalue < FALSE_ALARM


@pytest.mark.parametrize(
    ("epsilon", "width"), [(0.1, 0.19090), (0.5, 0.83180), (1.0, 1.48988), (2.0, 2.62308), (5.0, 5.68977)]
)
def test_losses_spread_over_epsilon_plus_log_of_2_minus_exp_minus_epsilon(epsilon, width):
    """Utilities (0, 0) against (0, 1): 1/2, 1/2 against e^-epsilon / 2, 1 - e^-epsilon / 2."""
    mechanism = PermuteAndFlip(epsilon, 2, monotone=True)
    p, q = mechanism.probabilities([0.0, 0.0]), mechanism.probabilities([0.0, 1.0])
    np.testing.assert_allclose(p, [0.5, 0.5], rtol=1e-14)
    np.testing.assert_allclose(q, [0.5 * np.exp(-epsilon), 1.0 - 0.5 * np.exp(-epsilon)], rtol=1e-13)
    loss = np.log(p / q)
    assert loss[0] == pytest.approx(epsilon, rel=1e-12)
    assert np.ptp(loss) == pytest.approx(epsilon + np.log(2.0 - np.exp(-epsilon)), rel=1e-12)
    assert np.ptp(loss) == pytest.approx(width, abs=6e-6)
    assert np.ptp(loss) > epsilon  # more than a bounded range of epsilon would allow


def test_permute_and_flip_is_nowhere_worse_than_the_exponential_mechanism():
    """McKenna and Sheldon (2020): the shortfall is stochastically smaller, for all utilities."""
    rng = np.random.default_rng(3)
    better = 0
    for _ in range(200):
        n, epsilon = int(rng.integers(2, 8)), float(rng.uniform(0.1, 5.0))
        utilities = np.sort(rng.normal(scale=3.0, size=n))[::-1]
        ours, other = (kind(epsilon, n).probabilities(utilities).cumsum() for kind in (PermuteAndFlip, Exponential))
        assert (ours >= other - 1e-12).all()
        better += ours[0] > other[0] + 1e-3
    assert better > 150


def test_permute_and_flip_attains_its_claim():
    for monotone in (False, True):
        mechanism = PermuteAndFlip(0.7, 5, monotone=monotone, sensitivity=2.0)
        assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(0.7, rel=1e-12)
