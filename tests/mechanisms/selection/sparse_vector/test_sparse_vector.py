"""Sparse vector: what is released has the stated law, and the curves are those that are known."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.selection.sparse_vector import sparse_vector_twins as twins

from dpassay.mechanisms import AboveThreshold, Neighbours, NumericalSparseVector, Outputs
from dpassay.mechanisms.core import NeighboursError, ParameterError
from dpassay.mechanisms.noise.queries import Histogram
from dpassay.mechanisms.selection.sparse_vector.answers import all_patterns

FALSE_ALARM = 1e-6
SLOW = 6_000
"""Runs of a slow twin."""
QUERIES = np.array([0.0, 2.0, -1.0, 3.0])
ALGORITHMS = {
    "algorithm 1": (AboveThreshold(1.0, 4, threshold=0.5), (0.5, 2.0, 4.0, 1), {}),
    "algorithm 1, two above": (AboveThreshold(1.0, 4, stop_after=2, threshold=0.5), (0.5, 2.0, 8.0, 2), {}),
    "algorithm 2": (AboveThreshold(1.0, 4, stop_after=2, redraw=True), (0.0, 4.0, 8.0, 2), {"redraw": True}),
    "sensitivity 3": (AboveThreshold(1.0, 4, sensitivity=3.0), (0.0, 6.0, 12.0, 1), {}),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_release_has_the_law_of_a_slow_twin(name):
    mechanism, scales, options = ALGORITHMS[name]
    fast = mechanism.release(QUERIES, 100_000, np.random.default_rng(1)).values
    assert twins.alike(fast, twins.runs(SLOW, 2, QUERIES, *scales, **options)) > FALSE_ALARM


def test_slow_twin_differs_from_another_algorithm():
    """The power of the test above: noise on the queries that is two thirds of what it should be."""
    fast = ALGORITHMS["algorithm 1"][0].release(QUERIES, 100_000, np.random.default_rng(1)).values
    assert twins.alike(fast, twins.runs(SLOW, 2, QUERIES, 0.5, 2.0, 4.0 * 2 / 3, 1)) < FALSE_ALARM


@pytest.mark.parametrize("name", ALGORITHMS)
def test_patterns_of_answers_have_their_probabilities(name):
    mechanism = ALGORITHMS[name][0]
    patterns = all_patterns(4, mechanism.stops_after, 100)
    probabilities = np.exp(mechanism.log_probabilities(patterns, QUERIES))
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    values = mechanism.release(QUERIES, 200_000, np.random.default_rng(3)).values
    place = (values[:, None, :] == patterns).all(axis=2).argmax(axis=1)
    counts = np.bincount(place, minlength=len(patterns))
    assert stats.chisquare(counts, probabilities * len(values)).pvalue > FALSE_ALARM


def test_fresh_values_are_those_of_a_slow_twin():
    mechanism = NumericalSparseVector(2.0, 4, stop_after=2, threshold=0.5)
    fast = mechanism.release(QUERIES, 100_000, np.random.default_rng(4)).values
    slow = twins.runs(SLOW, 5, QUERIES, 0.5, 1.5, 6.0, 2, fresh=3.0)
    slow[slow == -1.0] = 0.0
    assert twins.alike(fast != 0.0, slow != 0.0) > FALSE_ALARM
    for query, one, other in zip(QUERIES, fast.T, slow.T, strict=True):
        assert stats.ks_2samp(one[one != 0.0], other[other != 0.0]).pvalue > FALSE_ALARM
        assert stats.kstest(one[one != 0.0], stats.laplace(query, 3.0).cdf).pvalue > FALSE_ALARM


def test_law_of_values_is_that_of_the_pattern_and_of_independent_noise():
    mechanism = NumericalSparseVector(2.0, 3, stop_after=2)
    answers = AboveThreshold(4.0 / 3.0, 3, stop_after=2)  # noise in the same proportions: 1.5 and 6
    queries, outputs = QUERIES[:3], np.array([[0.0, 1.7, 0.0], [-0.2, 5.0, 0.0]])
    patterns = np.array([[0, 1, 0], [1, 1, -1]], dtype=np.int8)
    expected = answers.log_probabilities(patterns, queries)
    for row, output in enumerate(outputs):
        there = output != 0.0
        expected[row] += stats.laplace(queries[there], 3.0).logpdf(output[there]).sum()
    np.testing.assert_allclose(mechanism.log_density(Outputs(outputs), queries), expected, rtol=1e-10)


def pairs(d):
    """Pairs A to H of Ding, Wang, Wang, Zhang and Kifer (2018), for queries that may all move."""
    one, half = np.ones(d), d // 2
    up_down = np.r_[2.0 * np.ones(half), np.zeros(half)]
    return {
        "A": (one, np.r_[0.0, np.ones(d - 1)]),
        "C": (one, np.r_[2.0, np.zeros(d - 1)]),
        "D": (one, np.r_[0.0, 2.0 * np.ones(d - 1)]),
        "E": (one, up_down),
        "F": (one, 2.0 * one),
        "G": (one, 0.0 * one),
        "H": (0.5 * up_down, 0.5 * up_down[::-1]),
    }


@pytest.mark.parametrize(
    ("mechanism", "known"),
    [
        (AboveThreshold(0.1, 10, threshold=0.5), 0.0885),
        (AboveThreshold(0.1, 10, threshold=1.0, redraw=True), 0.0882),
    ],
)
def test_best_of_the_usual_pairs_has_the_known_epsilon(mechanism, known):
    curves = {name: mechanism.curve(Neighbours(*pair, "add_remove")) for name, pair in pairs(10).items()}
    result = {name: curve.epsilon(0.0) for name, curve in curves.items()}
    assert max(result, key=result.get) == "E"
    assert result["E"] == pytest.approx(known, abs=5e-5)


@pytest.mark.parametrize("options", [{}, {"stop_after": 2}, {"stop_after": 2, "redraw": True}])
def test_worst_case_approaches_the_claim_with_more_queries(options):
    few, more = (AboveThreshold(0.5, n, **options).exact_guarantee().epsilon(0.0) for n in (4, 60))
    assert few < more <= 0.5
    assert more > 0.49


def test_worst_case_with_values_approaches_the_claim_with_more_queries():
    assert 0.49 < NumericalSparseVector(0.5, 60).exact_guarantee().epsilon(0.0) <= 0.5 * (1 + 1e-9)


def test_no_random_pair_exceeds_the_claim():
    rng = np.random.default_rng(6)
    for _ in range(20):
        n, stop_after = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        mechanism = AboveThreshold(0.7, n, stop_after=stop_after, redraw=bool(rng.integers(2)), sensitivity=2.0)
        d0 = rng.normal(size=n) * 5
        pair = Neighbours(d0, d0 + rng.uniform(-2, 2, size=n), "add_remove")
        assert mechanism.curve(pair).epsilon(0.0) <= 0.7


def test_impossible_outputs_have_no_probability():
    mechanism = AboveThreshold(1.0, 3)
    outputs = Outputs(np.array([[1, 0, 0], [0, -1, -1], [0, 1, -1]], dtype=np.int8))
    assert np.isneginf(mechanism.log_density(outputs, QUERIES[:3])).tolist() == [True, True, False]
    numbers = Outputs(np.array([[0.0, 1.0, -1.0], [0.0, 0.5, -1.0], [0.0, 2.0, -1.0]]))
    assert np.isneginf(mechanism.log_density(numbers, QUERIES[:3])).tolist() == [False, True, True]
    two_values = Outputs(np.array([[1.5, 2.5, 0.0]]))
    assert np.isneginf(NumericalSparseVector(1.0, 3).log_density(two_values, QUERIES[:3])).all()


def test_queries_of_records_are_computed_and_neighbours_checked():
    histogram = Histogram(categories=(0, 1, 2))
    mechanism = AboveThreshold(1.0, 3, query=histogram, threshold=2.0)
    assert mechanism.release(np.array([0, 0, 2]), 5, np.random.default_rng(0)).values.shape == (5, 3)
    with pytest.raises(NeighboursError, match="apart"):
        AboveThreshold(1.0, 2).bind(Neighbours([0.0, 0.0], [0.0, 1.5], "add_remove"))


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"n_queries": 0}, "n_queries"),
        ({"stop_after": 0}, "stop_after"),
        ({"sensitivity": 0.0}, "sensitivity"),
        ({"threshold": math.inf}, "threshold"),
        ({"relation": "friends"}, "relation"),
    ],
)
@pytest.mark.parametrize("kind", [AboveThreshold, NumericalSparseVector])
def test_bad_options_are_refused(kind, options, argument):
    with pytest.raises(ParameterError) as caught:
        kind(**({"epsilon": 1.0, "n_queries": 3} | options))
    assert caught.value.argument == argument


def test_too_many_patterns_have_no_exact_curve():
    assert AboveThreshold(1.0, 60, stop_after=20).exact_guarantee() is None
    assert NumericalSparseVector(1.0, 3, stop_after=2).exact_guarantee() is None
