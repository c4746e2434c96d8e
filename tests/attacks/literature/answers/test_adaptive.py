"""Averaging, differencing and subset queries, against desks with fresh and sticky noise."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.answers import (
    Averaging,
    BoxedLeastSquares,
    Differencing,
    L1Decoding,
    SubsetQueryAttack,
    floor_subsets,
)
from dpassay.mechanisms import Gaussian, Laplace
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.counts import Answerer

FALSE_ALARM = 1e-6
RUNS = 4000


def desk(bits, seed=0, **options):
    return Answerer(bits, np.random.default_rng(seed), **options)


def columns(n, runs=RUNS, seed=9):
    return np.random.default_rng(seed).integers(0, 2, (runs, n))


@pytest.mark.parametrize(
    ("deviation", "repeats", "wrong"),
    [(0.5, 1, 0.240), (1.0, 1, 0.362), (2.0, 1, 0.430), (1.0, 16, 0.0786), (0.5, 16, 0.0023)],
)
def test_differencing_is_wrong_as_often_as_the_formula_says(deviation, repeats, wrong):
    """Phi(-sqrt(k) / (2 sqrt(2) sd)); values of the reference to their precision."""
    formula = stats.norm.cdf(-math.sqrt(repeats) / (2 * math.sqrt(2) * deviation))
    assert formula == pytest.approx(wrong, abs=6e-4)
    bits = columns(3)
    decoded = Differencing(repeats).attack(desk(bits, noise=Gaussian(noise_multiplier=deviation)))
    wrong_bits = np.count_nonzero(decoded.bits[:, 0] != bits[:, 0])
    limits = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], RUNS, formula)
    assert limits[0] <= wrong_bits <= limits[1]


@pytest.mark.parametrize(("memory", "shrinks"), [("fresh", True), ("sticky", False)])
def test_the_mean_of_100_answers_is_ten_times_as_accurate_unless_sticky(memory, shrinks):
    """epsilon 1, K = 100: standard deviation sqrt(2) / 10 = 0.14142."""
    counts = Averaging(100).count(desk(np.ones((RUNS, 3)), noise=Laplace(1.0), memory=memory), np.ones(3))
    expected = math.sqrt(2.0) / (10.0 if shrinks else 1.0)
    kurtosis = 6.0 / 100 if shrinks else 3.0
    error = expected**2 * math.sqrt((2.0 + kurtosis) / RUNS)
    assert abs(counts.var() - expected**2) <= stats.norm.isf(FALSE_ALARM / 2) * error


def test_the_median_is_the_better_average_of_laplace_answers():
    desks = [desk(np.ones((RUNS, 3)), noise=Laplace(1.0)) for _ in range(2)]
    mean, median = (
        Averaging(65, how).count(d, np.ones(3)).std() for how, d in zip(("mean", "median"), desks, strict=True)
    )
    assert median < 0.9 * mean


def test_sticky_noise_depends_on_the_set_only():
    sticky = desk(np.zeros((RUNS, 6)), noise=Laplace(1.0), memory="sticky")
    first, other, again = (sticky.ask(s) for s in ([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]))
    np.testing.assert_array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(RUNS)
    other_seed = desk(np.zeros((RUNS, 6)), seed=1, noise=Laplace(1.0), memory="sticky").ask([1, 1, 0, 0, 0, 0])
    assert not np.array_equal(first, other_seed)
    assert stats.kstest(first, "laplace").pvalue > FALSE_ALARM


def test_no_query_is_answered_after_the_budget():
    limited = desk([1, 0, 1], noise=Laplace(0.5), budget=1.5)
    answers = limited.ask_again([1, 1, 1], 5)[0]
    assert np.isnan(answers).tolist() == [False] * 3 + [True] * 2
    assert limited.spent == 1.5
    sticky = desk([1, 0, 1], noise=Laplace(0.5), budget=0.5, memory="sticky")
    assert not np.isnan(sticky.ask_again([1, 1, 1], 5)).any()
    assert np.isnan(sticky.ask([1, 1, 0])).all()
    assert sticky.n_asked == 6


def test_differencing_without_answers_gives_no_guess():
    decoded = Differencing().attack(desk([1, 0, 1], noise=Laplace(0.5), budget=2.0))
    assert (decoded.values[0, 2:] == 0.5).all()
    assert decoded.notes[0] == "no answer about 1 of 3 records"


def test_small_answers_are_suppressed():
    small = desk([1, 1, 1, 0], suppressed_below=3)
    assert np.isnan(small.ask([1, 1, 0, 0])).all()
    assert small.ask([1, 1, 1, 0]).tolist() == [3.0]


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"memory": "forgetful"}, "memory"),
        ({"noise": Laplace(1.0, n_queries=2)}, "noise"),
        ({"budget": 1.0}, "budget"),
        ({"budget": 1.0, "noise": Gaussian(noise_multiplier=1.0)}, "budget"),
        ({"suppressed_below": -1.0}, "suppressed_below"),
    ],
)
def test_invalid_options_are_refused(options, argument):
    with pytest.raises(ParameterError) as error:
        desk([1, 0], **options)
    assert error.value.argument == argument
    with pytest.raises(ParameterError, match="each of the 2 records"):
        desk([1, 0]).ask([1, 0, 1])


def test_floor_subsets_are_those_of_the_formula_one_by_one():
    ids = np.array([1003, 1019, 5000])
    subsets = floor_subsets(ids, n_primes=2)
    assert subsets.shape == (100, 3)
    loop = {
        tuple(int(math.floor(o * (i * p) ** e + 0.5) == math.floor(o * (i * p) ** e)) for i in ids.tolist())
        for p in (2, 3)
        for o in (5, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000, 100_000)
        for e in (0.5, 0.6, 0.7, 0.8, 0.9)
    }
    assert {tuple(row) for row in subsets.tolist()} == loop
    assert len(floor_subsets(ids)) == 1250
    with pytest.raises(ParameterError, match="different numbers above 0"):
        floor_subsets([1, 1])


@pytest.mark.parametrize("decoder", [L1Decoding(), BoxedLeastSquares()], ids=["l1", "least-squares"])
def test_subset_queries_recover_a_column_despite_sticky_noise(decoder):
    """Noise of standard deviation 4 is kept on 1,250 answers: 73 people, as in the smallest part of the challenge."""
    bits = columns(73, runs=1)
    sticky = desk(bits, noise=Gaussian(noise_multiplier=4.0), memory="sticky", suppressed_below=4)
    decoded = SubsetQueryAttack(decoder=decoder).attack(sticky, np.arange(2000, 2073))
    assert sticky.n_asked == 1250
    assert decoded.accuracy(bits)[0] >= 0.9
