"""Permute-and-flip: its law, its bounded range, and that it is nowhere worse than the exponential mechanism."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.selection import Exponential, PermuteAndFlip
from dpassay.mechanisms.selection.laws import log_largest_exponential

FALSE_ALARM = 1e-6


def by_orders(weights):
    """The law, order by order: a slow twin."""
    found, orders = np.zeros(len(weights)), list(permutations(range(len(weights))))
    for order in orders:
        left = 1.0 / len(orders)
        for i in order:
            found[i] += left * weights[i]
            left *= 1.0 - weights[i]
    return found


def by_numbers_of_others(weights):
    """w_i times the integral of the product of (1 - w_j u), whose coefficients are built up one other at a time."""
    n, found = len(weights), []
    for i in range(n):
        passed = np.zeros(n)
        passed[0] = 1.0
        for j in range(n):
            if j != i:
                passed[1:] = passed[1:] - weights[j] * passed[:-1]
        found.append(weights[i] * np.sum(passed / np.arange(1, n + 1)))
    return np.array(found)


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


def test_candidates_are_chosen_with_their_probability():
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
def test_losses_spread_over_epsilon_plus_log_two_minus_e_to_the_minus_epsilon(epsilon, width):
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


def test_it_is_nowhere_worse_than_the_exponential_mechanism():
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


def test_claim_is_attained():
    for monotone in (False, True):
        mechanism = PermuteAndFlip(0.7, 5, monotone=monotone, sensitivity=2.0)
        assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(0.7, rel=1e-12)
