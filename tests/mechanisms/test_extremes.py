"""Options far out, and laws that are not known: a number in little time and memory, or an error that names them."""

import tracemalloc

import numpy as np
import pytest

from dpassay.mechanisms import Outputs
from dpassay.mechanisms.catalogue import build
from dpassay.mechanisms.combinators import Parallel, PostProcessed, Subsampled, UserLevel
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.pate import GNMax
from dpassay.mechanisms.literature.pate.winners import _by_common_nodes, _by_nodes_of_each, log_gaussian_winner
from dpassay.mechanisms.literature.query_release.matrix import GaussianMatrixMechanism, LaplaceMatrixMechanism
from dpassay.mechanisms.literature.query_release.matrix.strategies import IdentityStrategy
from dpassay.mechanisms.literature.query_release.multiplicative_weights import (
    MWEM,
    GaussianMWEM,
    PrivateMultiplicativeWeights,
    SmallDatabase,
)
from dpassay.mechanisms.literature.query_release.top_down import GaussianTopDown
from dpassay.mechanisms.literature.statistics.median_sensitivity import BoundedMedian
from dpassay.mechanisms.literature.tuning import BestOfRepetitions, FirstGoodEnough, RandomMechanism
from dpassay.mechanisms.noise import DiscreteGaussian
from dpassay.mechanisms.noise.geometric import Geometric
from dpassay.mechanisms.noise.laplace import Laplace
from dpassay.mechanisms.noise.queries import Workload

ALL_RECORDS = Workload({"age": 3}, [[1, 1, 1]])


@pytest.mark.parametrize("epsilon", [1e-19, 1e-12])
def test_geometric_noise_that_does_not_fit_is_refused(epsilon):
    with pytest.raises(ParameterError, match="scale of the noise, must be at most 2") as caught:
        Geometric(epsilon)
    assert caught.value.argument == "epsilon"


def test_the_widest_geometric_noise_is_drawn_around_its_answer():
    values = Geometric(2.0**-30).release(7, 20_000, np.random.default_rng(0)).values
    assert abs(np.median(values) - 7.0) < 6.0 * 2.0**30 / np.sqrt(20_000)
    assert np.abs(values).max() < 2**53


def test_curves_of_discrete_noise_are_listed_only_where_they_are_short():
    wide = Geometric(1.0, sensitivity=100_000_000).guarantee()
    assert (wide.epsilon(0.0), wide.exact) == (1.0, False)
    with pytest.raises(ParameterError, match="sensitivity must be at most 10,000,000"):
        DiscreteGaussian(1e-6, sensitivity=10**9)


@pytest.mark.parametrize(
    ("name", "options", "argument"),
    [
        ("stability-histogram", {"epsilon": 1e-12}, "epsilon"),
        ("propose-test-release", {"epsilon": 1e-12}, "epsilon"),
        ("quantile", {"epsilon": 1.0, "q": 1e-12}, "q"),
        ("output-perturbation", {"epsilon": 1.0, "regularisation": 1e-9}, "regularisation"),
        ("objective-perturbation", {"epsilon": 1.0, "regularisation": 1e-9}, "regularisation"),
    ],
)
def test_worst_cases_of_too_many_records_are_refused_by_their_option(name, options, argument):
    with pytest.raises(ParameterError, match="the worst case has") as caught:
        build(name, **options).worst_case()
    assert caught.value.argument == argument


def test_noise_of_a_geography_that_is_too_wide_is_refused_by_its_rho():
    with pytest.raises(ParameterError, match="rho = 1e-19 needs noise") as caught:
        GaussianTopDown(1e-19)
    assert caught.value.argument == "rho"


@pytest.mark.parametrize("standard_deviation", [1e-3, 1e-9, 1e-100])
def test_votes_with_next_to_no_noise_have_finite_log_probabilities(standard_deviation):
    mechanism = GNMax(standard_deviation, n_teachers=25, n_classes=4)
    pair = mechanism.worst_case()
    for side in (pair.d0, pair.d1):
        table = mechanism.log_labels(side)[:, :-1]
        assert np.isfinite(table).all()
        assert np.exp(table).sum() == pytest.approx(1.0, abs=1e-12)
    lead = (pair.d1[0, 1] - pair.d1[0, 0]) / standard_deviation
    assert mechanism.log_labels(pair.d1)[0, 0] == pytest.approx(-(lead**2) / 4.0, rel=1e-4)  # ln Phi(-lead / sqrt(2))


def test_votes_far_apart_are_integrated_as_votes_close_together():
    rng = np.random.default_rng(0)
    for scale in (1.0, 30.0, 600.0):
        votes = rng.normal(scale=scale, size=5)
        np.testing.assert_allclose(_by_nodes_of_each(votes), _by_common_nodes(votes[None])[0], rtol=1e-12, atol=1e-12)
    mixed = np.array([[5, 3, 2], [10_000, 0, 0]])
    one_by_one = [log_gaussian_winner(mixed[i : i + 1], 1.0)[0] for i in (0, 1)]
    np.testing.assert_allclose(log_gaussian_winner(mixed, 1.0), one_by_one, rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MWEM(ALL_RECORDS, 20, epsilon=1.0),
        lambda: GaussianMWEM(ALL_RECORDS, 20, rho=1.0),
        lambda: PrivateMultiplicativeWeights(ALL_RECORDS, 20, epsilon=1.0, threshold=1.0),
        lambda: SmallDatabase(ALL_RECORDS, 20, epsilon=1.0),
    ],
)
def test_a_workload_that_no_neighbour_moves_is_refused(make):
    with pytest.raises(ParameterError, match="public under 'replace_one'") as caught:
        make()
    assert caught.value.argument == "workload"


@pytest.mark.parametrize("kind", [LaplaceMatrixMechanism, GaussianMatrixMechanism])
@pytest.mark.parametrize("strategy", [IdentityStrategy(), None])
def test_a_matrix_mechanism_with_public_answers_is_refused(kind, strategy):
    options = {"epsilon": 1.0} if kind is LaplaceMatrixMechanism else {"noise_multiplier": 1.0}
    options |= {} if strategy is None else {"strategy": strategy}
    with pytest.raises(ParameterError, match="is public under 'replace_one'"):
        kind(workload=ALL_RECORDS, relation="replace_one", **options)


def closeness(values):
    return -np.abs(values)


UNKNOWN = PostProcessed(Laplace(1.0), np.abs)
RUN = RandomMechanism((UNKNOWN,), closeness)


@pytest.mark.parametrize(
    ("mechanism", "data", "values"),
    [
        (BestOfRepetitions(RUN), 0.0, np.ones((2, 3))),
        (FirstGoodEnough(RUN, threshold=-1.0), 0.0, np.ones((2, 3))),
        (UserLevel(UNKNOWN), ([0], [1.0]), np.ones(2)),
        (Subsampled(UNKNOWN), np.array([1.0, 0.0]), np.ones(2)),
        (Parallel((UNKNOWN,)), np.array([[0, 1.0]]), np.ones((2, 1))),
        (
            LaplaceMatrixMechanism(
                1.0, workload=Workload({"a": 4}, [[1, 1, 0, 0], [0, 0, 1, 1]]), strategy=IdentityStrategy()
            ),
            [0, 1],
            np.ones((2, 2)),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_densities_without_a_known_law_are_refused_by_name(mechanism, data, values):
    assert mechanism.output_law() is None
    with pytest.raises(ParameterError, match=r"the law of the outputs of .* is not known"):
        mechanism.log_density(Outputs(values), data)


def test_chances_of_a_score_among_many_candidates_need_little_memory():
    mechanism = BestOfRepetitions(epsilon=0.5, n_candidates=50_000)
    tracemalloc.start()
    try:
        assert mechanism.exact_guarantee().epsilon(1e-6) <= mechanism.guarantee().epsilon(1e-6)
        assert tracemalloc.get_traced_memory()[1] < 300 * 2**20
    finally:
        tracemalloc.stop()


def within(values, lower, upper):
    """A_0, ..., A_n by their definition."""
    x, n = np.concatenate([np.full(99, lower), np.sort(values), np.full(99, upper)]), len(values)
    m = 99 + (n + 1) // 2 - 1
    return [max(x[m + t] - x[m + t - k - 1] for t in range(k + 2)) for k in range(n + 1)]


def test_sensitivity_of_a_median_is_what_its_definition_says():
    rng, median = np.random.default_rng(0), BoundedMedian(0.0, 1.0)
    for n in (1, 2, 5, 30, 31):
        for values in (rng.random(n), rng.integers(0, 4, n) / 4.0):
            expected = within(values, 0.0, 1.0)
            np.testing.assert_array_equal(median.within(values), expected)
            for bound in (0.0, 0.25, 0.5, 1.0):
                assert median.distance(values, bound) == int(np.append(np.array(expected) > bound, True).argmax())
            for decay in (1e-6, 0.01, 0.3, 3.0):
                smooth = max(np.exp(-decay * k) * a for k, a in enumerate(expected))
                assert median.smooth(values, decay) == pytest.approx(smooth, rel=1e-12)


def test_sensitivity_of_a_median_of_many_records_takes_little_time():
    median, values = BoundedMedian(0.0, 1.0), np.random.default_rng(1).random(200_000)
    assert 15_000 < median.distance(values, 0.1) < 25_000
    assert 0.0 < median.smooth(values, 1e-3) < 0.1
