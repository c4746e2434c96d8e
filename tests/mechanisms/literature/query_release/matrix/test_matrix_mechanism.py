"""The matrix mechanism: its predicted error, what strategies are worth, and what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpassay.mechanisms.core import Neighbours, NeighboursError, ParameterError, Relation
from dpassay.mechanisms.literature.query_release.error_bounds import singular_value_bound, squared_error
from dpassay.mechanisms.literature.query_release.matrix import (
    ExplicitStrategy,
    GaussianMatrixMechanism,
    HierarchicalStrategy,
    IdentityStrategy,
    LaplaceMatrixMechanism,
    OptimisedStrategy,
    TotalStrategy,
    WaveletStrategy,
    WorkloadStrategy,
)
from dpassay.mechanisms.literature.query_release.matrix.strategies import _error_and_slope, _optimal_gaussian_strategy
from dpassay.mechanisms.noise.queries import Domain, Workload

FALSE_ALARM = 1e-6
STRATEGIES = (
    IdentityStrategy(),
    HierarchicalStrategy(),
    HierarchicalStrategy(3),
    WaveletStrategy(),
    WorkloadStrategy(),
    OptimisedStrategy(),
)
TWO = Domain({"sex": 2, "age": 5})
WORKLOADS = (
    Workload.prefixes({"age": 12}),
    Workload.ranges({"age": 7}),
    Workload.marginals(TWO, 1),
    Workload.random(TWO, 6),
    Workload.parities({"a": 2, "b": 2, "c": 2}, 2),
    Workload(TWO, np.arange(20.0).reshape(2, 10) - 3.0),
    Workload({"age": 3}, [[0.0, 1.0, 2.0]]),
)


def error(workload, strategy, norm, relation=Relation.ADD_REMOVE):
    return squared_error(workload, strategy.queries(workload, norm=norm), norm=norm, relation=relation)


@pytest.mark.parametrize("kind", [LaplaceMatrixMechanism, GaussianMatrixMechanism])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("strategy", STRATEGIES[:4], ids=repr)
def test_squared_errors_are_those_predicted_and_answers_are_unbiased(kind, relation, strategy):
    options = {"epsilon": 0.7} if kind is LaplaceMatrixMechanism else {"noise_multiplier": 1.3}
    mechanism = kind(**options, workload=Workload.ranges({"age": 5}), strategy=strategy, relation=relation)
    records = np.random.default_rng(0).integers(0, 5, size=(40, 1))
    errors = mechanism.release(records, 20_000, np.random.default_rng(1)).values - mechanism.workload(records)
    limit = stats.norm.isf(FALSE_ALARM / 30) / math.sqrt(len(errors))
    assert np.all(np.abs(errors.mean(axis=0)) <= limit * errors.std(axis=0))
    squares = errors**2
    assert np.all(np.abs(squares.mean(axis=0) - mechanism.query_errors) <= limit * squares.std(axis=0))
    assert mechanism.squared_error == pytest.approx(mechanism.query_errors.sum())


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_optimised_strategy_lies_between_the_bound_and_all_others(workload):
    for norm in (1.0, 2.0):
        best = error(workload, OptimisedStrategy(), norm)
        assert best <= min(error(workload, other, norm) for other in STRATEGIES[:2] + STRATEGIES[3:5]) * (1 + 1e-9)
        for relation in Relation:
            bound = singular_value_bound(workload, relation=relation) * (1 - 1e-9)
            assert all(error(workload, strategy, norm, relation) >= bound for strategy in STRATEGIES)


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_no_changed_strategy_beats_the_optimum_by_more_than_its_gap(workload):
    """Random changes of the optimum, and the gap that the dual problem certifies."""
    optimum, gap = _optimal_gaussian_strategy(workload.matrix)
    assert gap <= 1e-3
    assert np.linalg.norm(optimum, axis=0).max() == pytest.approx(1.0)
    least = squared_error(workload, Workload(workload.domain, optimum), norm=2.0)
    rng = np.random.default_rng(3)
    for size in (0.01, 0.1, 1.0):
        changed = optimum @ (np.eye(optimum.shape[1]) + size * rng.normal(size=2 * optimum.shape[1:]) / 10)
        try:
            other = squared_error(workload, Workload(workload.domain, changed), norm=2.0)
        except ParameterError:
            continue  # it does not span the workload
        assert least <= other * (1 + gap)


def test_errors_of_strategies_whose_errors_are_known():
    ranges, n = Workload.ranges({"age": 16}), 16
    assert error(ranges, IdentityStrategy(), 1.0) == pytest.approx(
        n * (n + 1) * (n + 2) / 6
    )  # a range of length k: k cells
    prefixes = Workload.prefixes({"age": n})
    assert error(prefixes, WorkloadStrategy(), 1.0) == pytest.approx(n**3)  # n prefixes of variance n^2
    assert error(prefixes, WorkloadStrategy(), 2.0) == pytest.approx(n**2)
    singular = 1.0 / (2.0 * np.sin((2 * np.arange(1, n + 1) - 1) * np.pi / (4 * n + 2)))
    assert singular_value_bound(prefixes) == pytest.approx(singular.sum() ** 2 / n)
    total = Workload.total({"age": n})
    assert error(total, OptimisedStrategy(), 2.0) == pytest.approx(1.0)
    assert error(total, OptimisedStrategy(), 1.0) == pytest.approx(1.0)
    assert error(Workload.identity({"age": n}), OptimisedStrategy(), 1.0) == pytest.approx(n)


def test_haar_wavelet_over_a_power_of_two_is_the_textbooks():
    wavelet = WaveletStrategy().queries(Workload.total({"age": 4}), norm=1.0).matrix
    assert wavelet.tolist() == [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]
    tree = HierarchicalStrategy(3).queries(Workload.total({"age": 4}), norm=1.0).matrix
    assert tree.tolist() == [
        [1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1]
    ]  # fmt: skip


def test_trees_and_wavelets_have_polylogarithmic_error_on_ranges():
    """Of a range on average: T / 3 from cells, at most a multiple of (log T)^2 from trees under Gaussian noise."""
    errors = {}
    for n in (16, 64, 128):
        ranges = Workload.ranges({"age": n})
        errors[n] = [
            error(ranges, s, 2.0) / ranges.n_answers
            for s in (IdentityStrategy(), HierarchicalStrategy(), WaveletStrategy())
        ]
        assert errors[n][0] == pytest.approx((n + 2) / 3)
        assert max(errors[n][1:]) <= (1 + math.log2(n)) ** 2
    ratios = [errors[n][0] / max(errors[n][1:]) for n in errors]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1.5
    assert ratios[-1] > 3.0


def test_p_identity_error_and_slope_agree_with_plain_formulas():
    workload, rng = Workload.ranges({"age": 6}), np.random.default_rng(0)
    gram, flat = workload.matrix.T @ workload.matrix, rng.random(12)
    value, slope = _error_and_slope(flat, gram, (2, 6))
    sums = flat.reshape(2, 6)
    strategy = Workload({"age": 6}, np.vstack([np.eye(6), sums]) / (1 + sums.sum(axis=0)))
    assert value == pytest.approx(squared_error(workload, strategy, norm=1.0))
    steps = 1e-6 * np.eye(12)
    nearby = [
        (_error_and_slope(flat + h, gram, (2, 6))[0] - _error_and_slope(flat - h, gram, (2, 6))[0]) for h in steps
    ]
    np.testing.assert_allclose(slope, np.array(nearby) / 2e-6, rtol=1e-5)


def test_optimised_sums_beat_fixed_strategies_under_laplace_noise():
    ranges = Workload.ranges({"age": 64})
    fixed = min(
        error(ranges, strategy, 1.0) for strategy in (IdentityStrategy(), HierarchicalStrategy(), WaveletStrategy())
    )
    assert error(ranges, OptimisedStrategy(), 1.0) < 0.75 * fixed


def test_answers_of_a_table_and_of_rows_are_the_same():
    mechanism = GaussianMatrixMechanism(noise_multiplier=1.0, workload=Workload.marginals(TWO, 2))
    rows = np.random.default_rng(0).integers(0, TWO.shape, size=(9, 2))
    table = pd.DataFrame(rows, columns=TWO.names)[["age", "sex"]]
    one, other = (mechanism.release(data, 3, np.random.default_rng(1)).values for data in (rows, table))
    np.testing.assert_array_equal(one, other)


def test_total_of_noisy_cells_reveals_less_than_the_cells():
    """A total from noisy cells: the noise of T cells, on an answer that moves by 1."""
    mechanism = GaussianMatrixMechanism(
        noise_multiplier=2.0, workload=Workload.total({"age": 9}), strategy=IdentityStrategy()
    )
    assert mechanism.guarantee().mu == 0.5
    assert mechanism.exact_guarantee().mu == pytest.approx(0.5 / 3.0)
    measured = GaussianMatrixMechanism(
        noise_multiplier=2.0, workload=Workload.total({"age": 9}), strategy=IdentityStrategy(), view="measurements"
    )
    assert measured.exact_guarantee().mu == pytest.approx(0.5)


def test_law_of_laplace_answers_that_determine_measurements_is_known():
    ranges = Workload.ranges({"age": 8})
    assert LaplaceMatrixMechanism(1.0, workload=ranges, strategy=WaveletStrategy()).output_law() is not None
    tree = LaplaceMatrixMechanism(1.0, workload=ranges, strategy=HierarchicalStrategy())
    assert tree.output_law() is None
    assert tree.exact_guarantee() is None


OTHER_DOMAIN = ExplicitStrategy(Workload.identity({"age": 3}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LaplaceMatrixMechanism(1.0, strategy=TotalStrategy()), "span the workload, but 15 of its 16"),
        (lambda: GaussianMatrixMechanism(noise_multiplier=1.0, strategy=TotalStrategy()), "must span the workload"),
        (lambda: LaplaceMatrixMechanism(1.0, strategy=OTHER_DOMAIN), "over the same domain"),
        (lambda: GaussianMatrixMechanism(), "give epsilon and delta"),
        (lambda: LaplaceMatrixMechanism(1.0, workload=Workload.total({"a": 3000})), "at most 2,048 cells"),
        (
            lambda: LaplaceMatrixMechanism(1.0, workload=Workload.total({"a": 20_000}), strategy=WaveletStrategy()),
            "the wavelet as a matrix of 400,000,000 numbers would take 3.2 GB",
        ),
    ],
)  # fmt: skip
def test_impossible_matrix_mechanisms_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_non_neighbours_and_records_outside_the_domain_are_refused():
    mechanism = LaplaceMatrixMechanism(1.0, workload=Workload.identity({"age": 3}), strategy=IdentityStrategy())
    with pytest.raises(NeighboursError):
        mechanism.bind(Neighbours([[0]], [[0], [1], [2]], "add_remove"))
    with pytest.raises(ParameterError, match="is 3 in row 0"):
        mechanism.bind(Neighbours([], [[3]], "add_remove"))
