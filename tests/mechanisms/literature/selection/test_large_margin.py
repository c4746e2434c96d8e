"""Selection with a margin: its proof by search over pairs, its law, and its accuracy among many candidates."""

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.literature.selection import LargeMargin
from dpassay.mechanisms.selection import Exponential

FALSE_ALARM = 1e-6


def excess(p, q, epsilon):
    return np.maximum(0.0, p - np.exp(epsilon) * q).sum()


def largest_share_of_delta(n_pairs, wrong=1.0):
    """The largest delta at epsilon, as a share of the claim, over random pairs; `wrong` multiplies the rate."""
    rng, largest = np.random.default_rng(0), 0.0
    for _ in range(n_pairs):
        n, epsilon, delta = rng.integers(2, 6), rng.choice([0.05, 0.5, 2.0]), rng.choice([1e-4, 0.04])
        monotone = bool(rng.integers(2))
        mechanism = LargeMargin(epsilon, n, k=int(rng.integers(1, n)), delta=delta, monotone=monotone)
        utilities = rng.normal(size=n) * rng.choice([0.1, 1.0, 10.0]) / mechanism.rate
        step = rng.choice([-1, 1]) * rng.choice([0.0 if monotone else -1.0, 1.0], size=n)
        p, q = (mechanism.probabilities(wrong * x) for x in (utilities, utilities + step))
        largest = max(largest, excess(p, q, epsilon) / delta, excess(q, p, epsilon) / delta)
    return largest


def test_claim_holds_on_every_pair_and_is_nearly_attained():
    assert 0.9 < largest_share_of_delta(1_000) <= 1.0
    assert largest_share_of_delta(1_000, wrong=1.2) > 1.0  # power


def test_law_is_that_of_its_formula_and_of_the_runs():
    mechanism, utilities = LargeMargin(1.0, 4, k=2, delta=0.1), np.array([3.0, 0.0, 1.0, 5.0])
    weights = np.array([np.expm1(0.5 * 2.0), 0.0, 0.0, np.expm1(0.5 * 4.0), 2 * np.expm1(1.0) / 0.1])
    expected = weights / weights.sum()
    np.testing.assert_allclose(mechanism.probabilities(utilities), expected, rtol=1e-12)
    chosen = mechanism.release(utilities, 100_000, np.random.default_rng(1)).values
    counts = np.array([np.count_nonzero(chosen == i) for i in (0, 3, -1)])
    assert counts.sum() == 100_000
    assert stats.chisquare(counts, expected[[0, 3, 4]] * 100_000).pvalue > FALSE_ALARM
    log_density = mechanism.log_density(Outputs(np.array([0, 1, 3, -1, 4, 0.5])), utilities)
    np.testing.assert_allclose(np.exp(log_density), [expected[0], 0, expected[3], expected[4], 0, 0], rtol=1e-12)


@pytest.mark.parametrize("n", [10, 1_000, 100_000])
def test_error_does_not_grow_with_the_number_of_candidates(n):
    """Two candidates lead by 25 and 24, at epsilon 2 and delta 1e-6: the exponential mechanism is lost among 100,000
    candidates at a margin of 10, and this one is at every number of candidates."""
    utilities = np.zeros(n)
    utilities[:2] = 25.0, 24.0
    margin, exponential = LargeMargin(2.0, n, k=2, delta=1e-6), Exponential(2.0, n)
    assert margin.probabilities(utilities)[:2].sum() == pytest.approx(0.9999, abs=1e-4)
    result = exponential.probabilities(utilities / 2.5)[:2].sum()
    assert (result > 0.99) == (n == 10)
    assert margin.probabilities(utilities / 2.5)[-1] > 0.99  # no margin: no answer, whatever n is


def test_no_candidate_is_chosen_where_no_margin_is_left():
    mechanism = LargeMargin(1.0, 3, k=1, delta=1e-3)
    assert (mechanism.release(np.array([7.0, 7.0, 1.0]), 100, np.random.default_rng(0)).values == -1).all()


def test_a_delta_above_what_the_proof_covers_is_refused():
    with pytest.raises(ParameterError, match=r"delta must be at most e\^epsilon - 1"):
        LargeMargin(0.01, 3, k=1, delta=0.2)
