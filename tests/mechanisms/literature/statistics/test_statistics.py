"""Statistics whose noise follows the data: known answers, laws, and claims on all pairs of small datasets."""

import math
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.noise.frequencies import p_value_of

from dpassay.mechanisms.accounting import ExactDP, LaplaceDP
from dpassay.mechanisms.accounting.kinds.two_laws import TwoCauchysDP, two_laplaces
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.literature.selection import Quantile
from dpassay.mechanisms.literature.statistics import (
    BoundedMedian,
    LaplaceChoiceDP,
    ProposeTestRelease,
    RestrictedEdgeCount,
    SmoothSensitivityMedian,
    StabilityHistogram,
    TriangleCount,
)

FALSE_ALARM = 1e-6
GRID = (0.0, 0.3, 0.4, 1.0)


def datasets(n):
    return list(combinations_with_replacement(GRID, n))


def replacements(data):
    return {tuple(sorted((*data[:i], value, *data[i + 1 :]))) for i in range(len(data)) for value in GRID}


# --- the median -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_local_sensitivities_of_the_median_agree_with_brute_force(n):
    """Brute force over a grid that holds both bounds, where the largest moves end."""
    median = BoundedMedian()
    local = {x: max(abs(median(x) - median(y)) for y in replacements(x)) for x in datasets(n)}
    for x in datasets(n):
        reached, largest = {x}, []
        for _ in range(n + 1):
            largest.append(max(local[y] for y in reached))
            reached |= {z for y in reached for z in replacements(y)}
        np.testing.assert_allclose(median.within(x), largest, atol=1e-12)


def test_smooth_sensitivity_changes_by_no_more_than_its_decay():
    median = BoundedMedian()
    for x in datasets(4):
        for y in replacements(x):
            ratio = median.smooth(x, 0.2) / median.smooth(y, 0.2)
            assert abs(math.log(ratio)) <= 0.2 + 1e-12
            assert abs(median(x) - median(y)) <= median.smooth(x, 0.2) + 1e-12


def test_distance_to_instability_changes_by_at_most_one():
    median = BoundedMedian()
    for bound in (0.05, 0.35, 0.65, 1.0):
        for x in datasets(3):
            near = [median.distance(y, bound) for y in replacements(x)]
            assert max(near) - min(near) <= 2
            assert max(abs(d - median.distance(x, bound)) for d in near) <= 1


def test_missing_values_count_as_the_lower_bound_and_none_are_refused():
    assert BoundedMedian(-1.0, 1.0)([math.nan, 5.0, math.nan]) == -1.0
    with pytest.raises(ParameterError, match="at least one record"):
        BoundedMedian()([])


@pytest.mark.parametrize("options", [{}, {"noise": "laplace", "delta": 0.05}])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_smooth_sensitivity_keeps_its_claim_on_all_small_pairs(options, epsilon):
    mechanism = SmoothSensitivityMedian(epsilon, **options)
    delta, worst = options.get("delta", 0.0), 0.0
    law = TwoCauchysDP if delta == 0.0 else two_laplaces
    for n in (2, 3):
        for x in datasets(n):
            for y in (y for y in replacements(x) if y > x):
                curve = law(mechanism.median(x), mechanism.scale(x), mechanism.median(y), mechanism.scale(y))
                worst = max(worst, float(curve.delta(epsilon)))
    assert worst <= delta
    assert mechanism.exact_guarantee().epsilon(delta) > 0.2 * epsilon


def test_both_halves_of_propose_test_release_are_attained_together():
    mechanism = ProposeTestRelease(1.0, 1e-3)
    assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(1.0, rel=1e-12)
    unstable = [0.0] * 50 + [1.0] * 51
    assert mechanism.answer_probability(unstable) == pytest.approx(1e-3, rel=1e-12)


def test_propose_test_release_keeps_its_claim_on_all_small_pairs():
    mechanism, worst = ProposeTestRelease(1.0, 0.2, bound=0.1), 0.0
    for n in (2, 3, 4):
        for x in datasets(n):
            for y in (y for y in replacements(x) if y > x):
                p0, p1 = mechanism.answer_probability(x), mechanism.answer_probability(y)
                apart = abs(mechanism.median(x) - mechanism.median(y)) / mechanism.scale
                curve = LaplaceChoiceDP([1 - p0, p0], [1 - p1, p1], [0.0, apart])
                worst = max(worst, float(curve.delta(1.0)))
    assert 0.1 < worst <= 0.2


def test_answers_of_propose_test_release_come_as_often_as_stated():
    mechanism = ProposeTestRelease(1.0, 1e-3)
    data = mechanism.worst_case().d1
    values = mechanism.release(data, 20_000, np.random.default_rng(0)).values
    given = values[:, 0] == 1.0
    assert stats.binomtest(int(given.sum()), 20_000, mechanism.answer_probability(data)).pvalue > FALSE_ALARM
    assert np.all(values[~given] == 0.0)
    law = stats.laplace(mechanism.median(data), mechanism.scale)
    assert stats.kstest(values[given, 1], law.cdf).pvalue > FALSE_ALARM


# --- the histogram ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "threshold", "probability"),
    [(1.0, 1e-6, 28, 5.176e-7), (0.1, 1e-6, 277, 4.951e-7), (1.0, 2**-50, 70, 3.925e-16), (1.0, 0.05, 6, 0.0309904)],
)
def test_threshold_of_the_stability_histogram_has_the_known_values(epsilon, delta, threshold, probability):
    mechanism = StabilityHistogram(epsilon, delta)
    assert mechanism.threshold == threshold
    assert mechanism.unique_probability == pytest.approx(probability, rel=2e-4)
    assert mechanism.unique_probability < delta


def test_stability_histogram_lists_what_its_law_says():
    mechanism = StabilityHistogram(1.0, 0.05, n_categories=3)
    data = np.repeat([0, 1], [5, 1])
    values = mechanism.release(data, 50_000, np.random.default_rng(1)).values
    assert np.all(values[:, 2] == 0)
    assert np.all((values == 0) | (values > mechanism.threshold))
    listed = int(np.count_nonzero(values[:, 1]))
    assert stats.binomtest(listed, 50_000, mechanism.unique_probability).pvalue > FALSE_ALARM
    outputs = np.unique(values, axis=0)
    probabilities = np.exp(mechanism.log_density(Outputs(outputs), data))
    assert p_value_of(values, outputs, probabilities) > FALSE_ALARM
    assert 0.9 < probabilities.sum() <= 1.0 + 1e-9


# --- graphs -----------------------------------------------------------------------------------------------------------


def graphs(n):
    """All graphs on n vertices, as arrays of edges."""
    pairs = list(combinations(range(n), 2))
    for size in range(len(pairs) + 1):
        for edges in combinations(pairs, size):
            yield np.array(edges, dtype=int).reshape(-1, 2)


def test_triangles_move_within_their_sensitivity_which_moves_by_one():
    mechanism = TriangleCount(n_vertices=4)
    attained = 0
    for edges in graphs(4):
        count, local = mechanism.triangles(edges), mechanism.local_sensitivity(edges)
        moves = [
            (abs(count - mechanism.triangles(rest)), abs(local - mechanism.local_sensitivity(rest)))
            for rest in (np.delete(edges, i, axis=0) for i in range(len(edges)))
        ]
        assert all(by <= local and change <= 1 for by, change in moves)
        attained = max([attained, *(by for by, _ in moves)])
    assert attained == 2


def test_bound_on_the_local_sensitivity_fails_with_probability_delta():
    mechanism = TriangleCount(1.0, 0.1)
    data = mechanism.worst_case().d1
    bounds = mechanism.release(data, 50_000, np.random.default_rng(2)).values[:, 0]
    below = int(np.count_nonzero(bounds < mechanism.local_sensitivity(data)))
    assert stats.binomtest(below, 50_000, 0.1).pvalue > FALSE_ALARM


def test_triangle_count_keeps_its_claim_where_all_is_known():
    for epsilon, delta in ((1.0, 0.01), (3.0, 0.1)):
        mechanism = TriangleCount(epsilon, delta)
        assert 0.0 < mechanism.exact_guarantee().delta(epsilon) <= delta


@pytest.mark.parametrize("max_degree", [1, 2])
def test_extension_is_exact_up_to_its_degree_and_moves_within_it(max_degree):
    mechanism = RestrictedEdgeCount(max_degree=max_degree)
    values = {}

    def extension(matrix):
        if matrix.tobytes() not in values:
            values[matrix.tobytes()] = mechanism.extension(matrix)
        return values[matrix.tobytes()]

    for edges in graphs(4):
        matrix = TriangleCount(n_vertices=4).adjacency(edges)
        value = extension(matrix)
        assert value <= len(edges)
        if matrix.sum(axis=0).max() <= max_degree:
            assert value == len(edges)
        for i in range(4):
            rest = np.delete(np.delete(matrix, i, axis=0), i, axis=1)
            assert -1e-9 <= value - extension(rest) <= max_degree + 1e-9


def test_graphs_that_are_no_neighbours_are_refused():
    with pytest.raises(NeighboursError, match="without one vertex"):
        RestrictedEdgeCount().bind(Neighbours(np.zeros((2, 2)), 1 - np.eye(4), "add_remove"))
    assert RestrictedEdgeCount().bind(Neighbours(np.zeros((2, 2)), np.zeros((3, 3)), "add_remove"))


# --- curves -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("laws", [(0.0, 1.0, 2.0, 1.0), (0.0, 1.0, 0.0, 2.0), (-1.0, 0.5, 0.3, 0.7)])
def test_curve_of_two_cauchys_is_the_integral_of_the_excess(laws):
    p, q = stats.cauchy(*laws[:2]), stats.cauchy(*laws[2:])
    curve, angle = TwoCauchysDP(*laws), (np.arange(200_000) + 0.5) / 200_000 - 0.5
    x, width = np.tan(math.pi * angle), math.pi / 200_000 / np.cos(math.pi * angle) ** 2
    p_x, q_x = p.pdf(x) * width, q.pdf(x) * width
    for epsilon in (0.0, 0.2, 0.6):
        largest = [np.maximum(0.0, a - math.exp(epsilon) * b).sum() for a, b in ((p_x, q_x), (q_x, p_x))]
        assert curve.delta(epsilon) == pytest.approx(max(largest), abs=1e-6)
    x = np.linspace(-50.0, 50.0, 200_001)
    assert curve.epsilon(0.0) == pytest.approx(np.abs(p.logpdf(x) - q.logpdf(x)).max(), rel=1e-3)


def test_choice_curve_includes_finite_laws_and_laplace_noise():
    t = np.array([0.0, 0.3, 1.0, 2.0])
    choice, known = LaplaceChoiceDP([0.2, 0.8], [0.5, 0.5], [0.0, 0.0]), ExactDP([0.2, 0.8], [0.5, 0.5])
    np.testing.assert_allclose(choice.delta(t), known.delta(t), atol=1e-15)
    np.testing.assert_allclose(LaplaceChoiceDP([1.0], [1.0], [1.5]).delta(t), LaplaceDP(1.5).delta(t), atol=1e-15)
    assert LaplaceChoiceDP([1.0, 0.0], [0.5, 0.5], [0.0, 0.0]).epsilon([0.0, 0.6]).tolist() == [math.inf, 0.0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: StabilityHistogram().counts([0.5]), "category numbers"),
        (lambda: SmoothSensitivityMedian(delta=0.1), "delta is 0.1"),
        (lambda: SmoothSensitivityMedian(noise="laplace"), "above 0"),
        (lambda: SmoothSensitivityMedian(lower=2.0), "lower must be below"),
        (lambda: ProposeTestRelease(bound=0.6), "bound at most half"),
        (lambda: ProposeTestRelease(delta=0.5), "delta must be below"),
        (lambda: TriangleCount().adjacency([[0, 0]]), "must join two"),
        (lambda: TriangleCount().adjacency([[0, 1], [1, 0]]), "twice"),
        (lambda: RestrictedEdgeCount().extension([[0, 1], [0, 0]]), "symmetric matrix"),
        (lambda: RestrictedEdgeCount().extension([[1]]), "joined to itself"),
        (lambda: LaplaceChoiceDP([0.5], [1.0], [0.0]), "weights0 must be"),
    ],
)
def test_bad_options_and_data_are_refused(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


def test_very_stable_medians_keep_noise_and_cost_no_more_than_others():
    """100,000 equal values at the lower bound: e^-beta k is 0 in floats long before k reaches another value."""
    d0 = np.zeros(100_000)
    d1 = np.append(d0[1:], 1.0)
    for mechanism in (SmoothSensitivityMedian(1.0), SmoothSensitivityMedian(1.0, noise="laplace", delta=1e-6)):
        scales = [mechanism.scale(data) for data in (d0, d1)]
        assert min(scales) > 0.0
        assert abs(math.log(scales[1] / scales[0])) <= mechanism.beta * (1.0 + 1e-9)
        outputs = mechanism.release(d0, 200, np.random.default_rng(0))
        losses = mechanism.log_density(outputs, d0) - mechanism.log_density(outputs, d1)
        assert np.abs(losses).max() <= 1.0 + 1e-9
    tested = ProposeTestRelease(1.0, 1e-3)
    assert tested.distance(d0) == 50_000  # x_m+t is the upper bound for m + t > n, m = n / 2, with t <= k + 1
    outputs = tested.release(d0, 200, np.random.default_rng(0))
    assert np.isfinite(tested.log_density(outputs, d0)).all()
    assert tested.log_density(Outputs(np.zeros((1, 2))), d0)[0] == pytest.approx(
        (tested.threshold - 50_000) / 2.0 - math.log(2.0)
    )


def test_quantiles_of_values_as_near_as_floats_can_be_are_numbers():
    data = np.repeat([0.0, 5e-324], [500, 500])
    mechanism = Quantile(50.0)
    outputs = mechanism.release(data, 100, np.random.default_rng(0))
    assert np.isfinite(outputs.values).all()
    assert np.isfinite(mechanism.log_density(outputs, data)).all()
