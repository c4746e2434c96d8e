"""Report noisy max: the law of each noise, the pairs on which it was audited before, and what only Gumbel noise has."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from dpassay.mechanisms.accounting import ExactDP
from dpassay.mechanisms.core.errors import ParameterError
from dpassay.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax

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


def test_laplace_law_of_two_candidates_is_that_of_the_difference_of_two_noises():
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


def test_unknown_noise_is_refused():
    with pytest.raises(ParameterError, match=r"noise.*gaussian"):
        ReportNoisyMax(1.0, 3, noise="gaussian")
