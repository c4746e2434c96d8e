"""Statistics that are wrong on purpose: the published numbers, the laws, and twins whose claim holds."""

import inspect
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.literature.statistics.broken.arithmetic import SinglePrecisionSum, WrappedSum
from dpassay.mechanisms.literature.statistics.broken.clipping import (
    BoundsFromData,
    ClippedCopyUnused,
    NaNSurvivesClipping,
    UpperBoundIgnored,
)
from dpassay.mechanisms.literature.statistics.broken.histograms import DomainFromData, HistogramAtThreshold
from dpassay.mechanisms.literature.statistics.broken.means import DivisorOfData, MeanWithExactCounts
from dpassay.mechanisms.literature.statistics.broken.median import LocalSensitivityMedian
from dpassay.mechanisms.literature.statistics.broken.second_moments import WishartNoise

FALSE_ALARM = 1e-6
BROKEN = [
    BoundsFromData,
    ClippedCopyUnused,
    DivisorOfData,
    DomainFromData,
    HistogramAtThreshold,
    LocalSensitivityMedian,
    MeanWithExactCounts,
    NaNSurvivesClipping,
    SinglePrecisionSum,
    UpperBoundIgnored,
    WishartNoise,
    WrappedSum,
]
POINTS = np.concatenate([np.linspace(-30.0, 30.0, 2001), [-1e-9, 0.0, 1e-9, 400.0, -400.0]])


def apart(mechanism):
    """Distance of the statistic over the worst case."""
    pair = mechanism.worst_case()
    return abs(mechanism.statistic(pair.d1) - mechanism.statistic(pair.d0))


def test_sums_of_the_machine_move_as_published():
    # worked out by hand from the rules of int32 and float32
    assert apart(WrappedSum()) == 2**32 - 1
    assert apart(WrappedSum(correct=True)) == 1
    assert {case: apart(SinglePrecisionSum(case=case)) for case in ("half-up", "up", "order")} == {
        "half-up": 5461.0,
        "up": 8191.0,
        "order": 16_384.0,
    }
    assert all(apart(SinglePrecisionSum(case=case, correct=True)) == 4096.0 for case in ("half-up", "up", "order"))


def test_the_order_of_records_moves_a_rounded_sum_and_not_an_exact_one():
    records = np.array([4096.0] * 4096 + [1.0] * 4096)
    broken, twin = SinglePrecisionSum(), SinglePrecisionSum(correct=True)
    assert broken.statistic(records[::-1]) - broken.statistic(records) == 4096.0
    assert twin.statistic(records[::-1]) == twin.statistic(records)


def test_sums_of_no_record_are_zero():
    assert SinglePrecisionSum().statistic([]) == WrappedSum().statistic([]) == BoundsFromData().statistic([]) == 0.0


def test_regression_declares_the_square_of_the_lower_bound():
    assert UpperBoundIgnored(lower=0.0).sensitivity == 0.0
    assert UpperBoundIgnored(lower=0.0, correct=True).sensitivity == 10_000.0
    assert apart(UpperBoundIgnored(lower=0.0)) == 10_000.0


@pytest.mark.parametrize(("epsilon", "probability"), [(1.0, 0.8647), (0.5, 0.3935), (0.1, 0.0198)])
def test_wishart_noise_leaves_an_event_of_known_probability_to_one_side(epsilon, probability):
    broken = WishartNoise(epsilon)
    assert broken.exact_guarantee().delta(99.0) == pytest.approx(probability, abs=5e-5)
    pair = broken.worst_case()
    below = [
        int(np.sum(broken.release(pair.side(s), 20_000, np.random.default_rng(s)).values[:, 0, 0] < 1.0))
        for s in (0, 1)
    ]
    exact = -math.expm1(-2.0 * epsilon**2)
    assert below[1] == 0
    assert stats.binomtest(below[0], 20_000, exact).pvalue > FALSE_ALARM


@pytest.mark.parametrize("d", [1, 2, 3])
def test_density_of_wishart_noise_is_that_of_scipy(d):
    broken, data = WishartNoise(0.7, n_features=d, norm_bound=1.5), np.eye(d)
    outputs = broken.release(data, 20, np.random.default_rng(0))
    twin = stats.wishart(df=d + 1, scale=broken.standard_deviation**2 * np.eye(d))
    expected = [twin.logpdf(value - data.T @ data) for value in outputs.values]
    np.testing.assert_allclose(broken.log_density(outputs, data), expected)


def test_probability_of_impossible_wishart_outputs_ignores_the_dimension():
    for d in (2, 4):
        broken = WishartNoise(0.5, n_features=d)
        pair = broken.worst_case()
        outputs = broken.release(pair.d0, 20_000, np.random.default_rng(d))
        impossible = int(np.isneginf(broken.log_density(outputs, pair.d1)).sum())
        assert stats.binomtest(impossible, 20_000, -math.expm1(-0.5)).pvalue > FALSE_ALARM


def test_second_moments_move_by_no_more_than_the_twin_declares():
    rng = np.random.default_rng(1)
    for d in (1, 2, 5):
        twin = WishartNoise(1.0, n_features=d, norm_bound=2.0, correct=True)
        rows = np.concatenate([rng.normal(size=(200, d)) * 3.0, np.ones((1, d)) * 9.0])
        moved = [np.abs(np.triu(twin.statistic(row[None]))).sum() for row in rows]
        assert max(moved) <= twin.laplace_scale * twin.epsilon * (1 + 1e-12)
        assert moved[-1] == pytest.approx(twin.laplace_scale * twin.epsilon)  # and equal entries attain it


def test_mean_with_exact_counts_has_the_published_tails():
    broken = MeanWithExactCounts(1.0)
    pair = broken.worst_case()
    tails = [
        [stats.laplace(broken.statistic(d), broken.noise_scale(d)).sf(t) for t in (3.0, 5.0)]
        for d in (pair.d0, pair.d1)
    ]
    np.testing.assert_allclose(tails, [[0.068, 0.0092], [0.0034, 6e-5]], rtol=0.05)


def test_mean_with_noisy_counts_shows_zeros_as_they_are():
    # Pr[c < 0] = e^(-1/2) / 2 for one record at epsilon 1
    broken = MeanWithExactCounts(1.0, noisy_divisor=True, noisy_scale=True)
    pair = broken.worst_case()
    bare = [
        int(np.sum(np.abs(broken.release(pair.side(s), 50_000, np.random.default_rng(s)).values) < 1e-9))
        for s in (0, 1)
    ]
    assert stats.binomtest(bare[0], 50_000, 0.5 * math.exp(-0.5)).pvalue > FALSE_ALARM
    assert bare[1] <= 2


MEANS = [
    ({"correct": True}, [1.0], 1.0),
    ({"correct": True}, [0.0, 0.0, 0.0], 0.3),
    ({"correct": True}, [0.5, 1.0, 0.7], 3.0),
    ({"noisy_divisor": True, "noisy_scale": True}, [0.4, 1.0], 1.0),
    ({"noisy_divisor": True, "noisy_scale": True}, [1.0], 0.5),
]


@pytest.mark.parametrize(("options", "data", "epsilon"), MEANS)
def test_law_of_a_mean_with_noisy_counts_is_that_of_its_runs(options, data, epsilon):
    """Chi-square over cells whose masses are integrals of the density."""
    mechanism = MeanWithExactCounts(epsilon, **options)
    values = mechanism.release(data, 40_000, np.random.default_rng(5)).values
    edges = np.quantile(values, np.linspace(0.02, 0.98, 25))

    def density(x):
        return float(np.exp(mechanism.log_density(Outputs(np.array([x])), data))[0])

    masses = [integrate.quad(density, a, b, limit=200)[0] for a, b in pairwise(edges)]
    seen = np.histogram(values, edges)[0]
    expected = np.array([*masses, 1.0 - sum(masses)]) * len(values)
    statistic = float(np.sum((np.append(seen, len(values) - seen.sum()) - expected) ** 2 / expected))
    assert statistic < stats.chi2.isf(FALSE_ALARM, len(masses))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_claim_of_the_correct_mean_holds_on_every_small_pair(epsilon):
    twin = MeanWithExactCounts(epsilon, correct=True)
    worst = 0.0
    for others in ([], [0.0], [1.0], [0.0, 1.0], [1.0] * 6):
        for record in (0.0, 0.5, 1.0):
            if others:
                law = [twin.log_density(Outputs(POINTS), data) for data in (others, [*others, record])]
                worst = max(worst, np.abs(law[1] - law[0]).max())
    assert 0.3 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("kind", BROKEN)
def test_twin_differs_in_the_bug_only_and_keeps_its_claim(kind):
    broken = kind(0.7)
    twin = broken.twin()
    assert twin == kind(0.7, correct=True)
    assert twin.twin() == twin
    pair = broken.worst_case()
    assert type(twin.bind(pair)) is kind
    truth, claim = twin.exact_guarantee(), twin.guarantee()
    assert claim == broken.guarantee()
    assert claim.epsilon(claim.default_delta) == pytest.approx(0.7)
    if truth is None:
        assert kind is MeanWithExactCounts  # for which the law is searched above
    else:
        t = np.array([0.0, 0.1, 0.4, 0.7])
        assert truth.epsilon(claim.default_delta) <= 0.7 * (1 + 1e-12)
        assert np.all(truth.delta(t) <= np.asarray(claim.delta(t)) + 1e-12)


@pytest.mark.parametrize("kind", BROKEN)
def test_true_epsilon_exceeds_the_claim_at_every_epsilon(kind):
    for epsilon in (1.0, 3.0) if kind is HistogramAtThreshold else (0.1, 1.0, 3.0):
        delta = kind(epsilon).guarantee().default_delta
        assert kind(epsilon).exact_guarantee().epsilon(delta) > 1.3 * epsilon


def test_twin_of_the_divisor_divides_by_a_public_number():
    twin = DivisorOfData(1.0, records=4, correct=True)
    assert twin.divisor([1.0]) == twin.divisor([1.0] * 9) == 4
    assert DivisorOfData(1.0, records=4).divisor([1.0] * 9) == 9


def test_histogram_over_categories_of_the_data_shows_which_there_are():
    broken = DomainFromData(1.0)
    values = broken.release([0, 1, 0], 1000, np.random.default_rng(0)).values
    assert np.all((values != 0.0) == [True, True, False])
    assert np.all(broken.twin().release([0, 1, 0], 1000, np.random.default_rng(0)).values != 0.0)


def test_missing_value_is_an_event_and_the_twin_counts_it_as_zero():
    broken, missing = NaNSurvivesClipping(1.0), [1.0, math.nan]
    outputs = broken.release(missing, 3, np.random.default_rng(0))
    assert outputs.events.tolist() == ["nan"] * 3
    np.testing.assert_array_equal(broken.log_density(outputs, missing), 0.0)
    np.testing.assert_array_equal(broken.log_density(outputs, [1.0, 2.0]), -np.inf)
    assert broken.twin().statistic(missing) == 1.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SinglePrecisionSum(case="down"), "case"),
        (lambda: ClippedCopyUnused(bound=0.0), "bound must be"),
        (lambda: UpperBoundIgnored(lower=2.0, upper=1.0), "lower must be below upper"),
        (lambda: DivisorOfData(records=0), "records must be"),
        (lambda: DomainFromData(n_categories=2), "n_categories must be"),
        (lambda: WishartNoise(n_features=0), "n_features must be"),
        (lambda: WishartNoise(correct="yes"), "correct must be True or False"),
        (lambda: WrappedSum(correct=1), "correct must be True or False"),
        (lambda: MeanWithExactCounts(noisy_scale=1), "noisy_scale must be True or False"),
        (lambda: DomainFromData().counts([5]), "whole numbers from 0 to 2"),
        (lambda: WishartNoise().statistic([1.0]), r"must have shape \(n_records, 1\)"),
        (lambda: WrappedSum().statistic(["a"]), "must hold numbers, but holds"),
    ],
)
def test_bad_options_and_data_are_refused(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


def test_pairs_that_are_no_neighbours_are_refused():
    with pytest.raises(NeighboursError):
        WrappedSum().bind(Neighbours([1.0], [1.0, 2.0, 3.0], "add_remove"))
    with pytest.raises(NeighboursError):
        WishartNoise().bind(Neighbours(np.zeros((1, 1)), np.zeros((3, 1)), "add_remove"))


def test_every_broken_statistic_can_be_built_without_an_option():
    for kind in BROKEN:
        assert all(p.default is not p.empty for p in inspect.signature(kind).parameters.values())
