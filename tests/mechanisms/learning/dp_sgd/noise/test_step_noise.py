"""Noise of the steps: every noise of the catalogue, and the factorisations against closed forms and jax-privacy."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.core import AccountingError, ParameterError, Relation
from dpassay.mechanisms.learning.dp_sgd import (
    DPSGD,
    AdaptiveClippingDPSGD,
    BandedNoise,
    BufferedToeplitzNoise,
    IndependentNoise,
    TreeNoise,
)
from dpassay.mechanisms.learning.dp_sgd.accounting import _steps_guarantee, calibrate_noise
from dpassay.mechanisms.learning.dp_sgd.catalogue import build_noise, noises
from dpassay.mechanisms.learning.dp_sgd.noise.banded import _square_root_coefficients
from dpassay.mechanisms.learning.dp_sgd.noise.base import prefix_decoder
from dpassay.mechanisms.learning.dp_sgd.noise.buffered_toeplitz import (
    _decoder_coefficients,
    _scaled_error,
    coefficients,
)
from dpassay.mechanisms.learning.dp_sgd.noise.tree import _dyadic_nodes, _tree_nodes
from dpassay.mechanisms.learning.dp_sgd.sampling import PoissonSampling
from dpassay.mechanisms.literature.query_release.matrix.strategies import _optimal_gaussian_strategy

SAMPLE = {"banded": {"bands": 3}}
"""Name -> required options, for the tests of every noise."""
NOISES = [
    *(noises.build(name, **SAMPLE.get(name, {})) for name in noises),
    TreeNoise(estimate="nodes"),
    TreeNoise(estimate="complete"),
    BandedNoise(1),
    BandedNoise(50),
    BandedNoise(4, entries="square-root"),
    BufferedToeplitzNoise(1, separation=2, error="max"),
    BufferedToeplitzNoise(scales=(0.5, 0.2), decays=(0.3, 0.9)),
]
every = pytest.mark.parametrize("noise", NOISES, ids=repr)


# --- every noise ------------------------------------------------------------------------------------------------------


@every
def test_a_strategy_is_lower_triangular_with_a_largest_column_of_norm_one(noise):
    for steps in (1, 2, 7, 16):
        strategy = noise.strategy(steps)
        assert strategy.shape == (steps, steps)
        assert not np.triu(strategy, 1).any()
        assert np.diag(strategy).min() > 0.0
        assert np.linalg.norm(strategy, axis=0).max() == pytest.approx(1.0, rel=1e-12)


@every
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_noise_of_all_steps_is_the_solution_of_the_strategy(noise, dtype):
    fresh = np.random.default_rng(0).normal(size=(13, 4, 3)).astype(dtype)
    correlate, drawn = noise.correlate(13), fresh.copy()
    for step in drawn:
        correlate(step)
    tolerance = 1e-10 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(np.tensordot(noise.strategy(13), drawn, axes=1), fresh, atol=tolerance)


@every
def test_the_error_of_prefix_sums_is_that_of_the_noise_added_up(noise):
    """Impulses through `correlate` give C^-1 column by column."""
    correlate, impulses = noise.correlate(13), np.eye(13)[:, None, :].copy()
    for step in impulses:
        correlate(step)
    variances = np.sum(np.cumsum(impulses[:, 0], axis=0) ** 2, axis=1)
    assert noise.prefix_error(13) == pytest.approx(math.sqrt(variances.mean()), rel=1e-10)
    assert noise.prefix_error(13, error="max") == pytest.approx(math.sqrt(variances.max()), rel=1e-10)


@every
def test_correlated_noise_has_less_error_than_independent_noise(noise):
    independent = IndependentNoise().prefix_error(64)
    if np.count_nonzero(noise.strategy(64)) > 64:
        assert noise.prefix_error(64) < independent
    else:
        assert noise.prefix_error(64) == pytest.approx(independent, rel=1e-12)


# --- trees ------------------------------------------------------------------------------------------------------------


def test_nodes_of_a_prefix_are_the_bits_of_its_length():
    for steps in range(1, 40):
        nodes = _tree_nodes(steps)
        assert len(set(nodes)) == len(nodes) == sum(steps >> h for h in range(steps.bit_length()))
        covered = [step for node in _dyadic_nodes(steps) for step in range(*node)]
        assert covered == list(range(steps))
        assert set(_dyadic_nodes(steps)) <= set(nodes)
        assert len(_dyadic_nodes(steps)) == steps.bit_count()


@pytest.mark.parametrize("height", [1, 3, 5])
def test_tree_errors_have_their_closed_forms(height):
    """Times the norm of a column before scaling, the root of the variance of the nodes of the worst prefix.

    2^h steps: prefix 2^h - 1 has h nodes of variance 1, or for the online estimate of variances v_0, ..., v_(h-1) with
    v_h = 1 / (1 + 1 / (2 v_(h-1))) = 2^h / (2^(h+1) - 1) (Honaker 2015).
    """
    steps = 2**height
    own = TreeNoise(estimate="nodes")
    assert own.prefix_error(steps, error="max") == pytest.approx(math.sqrt(height * (height + 1)), rel=1e-9)
    online = TreeNoise(estimate="online")
    variance = sum(2**h / (2 ** (h + 1) - 1) for h in range(height))
    scale = np.linalg.norm(online.matrix(steps), axis=0).max()
    assert online.prefix_error(steps, error="max") == pytest.approx(math.sqrt(variance) * scale, rel=1e-9)


def test_the_complete_estimate_is_least_squares_of_all_nodes():
    for steps in (5, 8, 13):
        inside = np.array([[first <= step < end for step in range(steps)] for first, end in _tree_nodes(steps)], float)
        matrix = TreeNoise(estimate="complete").matrix(steps)
        np.testing.assert_allclose(matrix.T @ matrix, inside.T @ inside, atol=1e-9)


def test_better_estimates_have_smaller_errors():
    for steps in (4, 15, 16, 100):
        errors = [TreeNoise(estimate=name).prefix_error(steps) for name in ("complete", "online", "nodes")]
        assert errors == sorted(errors)


# --- banded matrices --------------------------------------------------------------------------------------------------


def test_the_square_root_of_prefix_sums_multiplies_to_prefix_sums():
    """Error and sensitivity are both |f|^2 (Fichtenberger, Henzinger, Upadhyay 2023), about (log n + 3.35) / pi."""
    n = 1000
    f = _square_root_coefficients(n)
    np.testing.assert_allclose(np.convolve(f, f)[:n], 1.0, rtol=1e-12)
    error = BandedNoise(n, entries="square-root").prefix_error(n, error="max")
    assert error == pytest.approx(np.sum(f**2), rel=1e-10)
    assert error == pytest.approx((math.log(n) + np.euler_gamma + 4 * math.log(2)) / math.pi, abs=1e-3)


@pytest.mark.parametrize("bands", [1, 2, 5, 16])
def test_optimised_bands_have_columns_of_norm_one_and_no_entry_outside(bands):
    strategy = BandedNoise(bands).strategy(16)
    rows, columns = np.nonzero(strategy)
    assert (rows - columns).max() == bands - 1
    np.testing.assert_allclose(np.linalg.norm(strategy, axis=0), 1.0, rtol=1e-12)


JAX_BANDED = {(64, 16): 2.292617848, (64, 64): 2.099856472, (256, 16): 3.586968165}
"""(steps, bands) -> root of the mean of banded.per_query_error(banded.optimize(n, bands=b, max_optimizer_steps=500)),
by jax-privacy 2.0.0 in double precision."""


@pytest.mark.parametrize(("steps", "bands"), JAX_BANDED)
def test_optimised_bands_have_the_error_of_jax_privacy(steps, bands):
    assert BandedNoise(bands).prefix_error(steps) == pytest.approx(JAX_BANDED[steps, bands], rel=1e-6)


def test_all_bands_have_the_least_error_of_any_strategy():
    """Another algorithm, with a bound on its gap: prices on the diagonal of C^T C."""
    workload = np.tri(32)
    strategy, gap = _optimal_gaussian_strategy(workload)
    least = math.sqrt(np.sum((workload @ np.linalg.pinv(strategy)) ** 2) / 32)
    assert least / math.sqrt(1 + gap) * (1 - 1e-9) <= BandedNoise(32).prefix_error(32) <= least * (1 + 1e-6)


def test_optimised_bands_are_a_minimum_that_other_matrices_do_not_reach():
    """Random changes within the bands, with columns of norm 1 again."""
    best, rng = BandedNoise(4).strategy(12), np.random.default_rng(0)
    error = np.sum(prefix_decoder(best) ** 2)
    for scale in (1e-3, 1e-2, 0.1):
        for _ in range(50):
            other = np.where(best != 0.0, best + scale * rng.normal(size=best.shape), 0.0)
            other /= np.linalg.norm(other, axis=0)
            assert np.sum(prefix_decoder(other) ** 2) >= error * (1 - 1e-9)


# --- buffered Toeplitz ------------------------------------------------------------------------------------------------


def test_series_and_their_inverse_multiply_to_prefix_sums():
    scales, decays = np.array([0.4, 0.3]), np.array([0.5, 0.95])
    c, b = coefficients(scales, decays, 60), _decoder_coefficients(scales, decays, 60)
    np.testing.assert_allclose(c[:4], [1.0, 0.7, 0.485, 0.37075], rtol=1e-12)
    np.testing.assert_allclose(np.convolve(b, c)[:60], 1.0, rtol=1e-9)


JAX_SERIES = {
    (1, 64, 64, "rms"): 2.216193785,
    (2, 64, 64, "rms"): 2.179914158,
    (1, 64, 64, "max"): 2.479864985,
    (2, 64, 64, "max"): 2.391338266,
    (3, 64, 64, "max"): 2.388894893,
    (1, 1000, 1000, "max"): 3.850204991,
    (2, 1000, 1000, "max"): 3.321261738,
    (3, 1000, 1000, "max"): 3.269917806,
    (1, 1000, 100, "max"): 15.261557617,
    (2, 1000, 100, "max"): 14.952974919,
    (3, 1000, 100, "max"): 14.884258153,
    (2, 1000, 100, "rms"): 12.193851566,
}
"""(buffers, steps, separation, error) -> root of the loss of buffered_toeplitz.optimize_loss by jax-privacy 2.0.0, with
LossFn.build_min_sep(n, error, min_sep, max_participations=ceil(n / min_sep)); for one participation and "max"
build_closed_form_single_participation."""


@pytest.mark.parametrize(("buffers", "steps", "separation", "error"), JAX_SERIES)
def test_optimised_series_have_the_error_of_jax_privacy(buffers, steps, separation, error):
    noise = BufferedToeplitzNoise(buffers, separation=separation, error=error)
    reached = math.sqrt(_scaled_error(*noise.series(steps), steps, separation, error))
    assert reached == pytest.approx(JAX_SERIES[buffers, steps, separation, error], rel=1e-4)


def test_the_scaled_error_is_error_times_sensitivity():
    noise = BufferedToeplitzNoise(2, separation=5)
    claim = _steps_guarantee(1.0, sampling="cyclic", batches_per_epoch=5, steps=23, relation="zero_out", noise=noise)
    for error in ("rms", "max"):
        expected = _scaled_error(*noise.series(23), 23, 5, error)
        assert (claim.mu * noise.prefix_error(23, error=error)) ** 2 == pytest.approx(expected, rel=1e-9)


# --- options and claims -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scales": (0.5,)}, "Give both"),
        ({"scales": (0.5,), "decays": (0.5, 0.6)}, "one number for each series"),
        ({"scales": (), "decays": ()}, "one number for each series"),
        ({"scales": (-0.5,), "decays": (0.5,)}, "must be > 0"),
        ({"scales": (0.5,), "decays": (1.0,)}, "between 0 and 1"),
        ({"scales": (math.nan,), "decays": (0.5,)}, "must be > 0"),
    ],
)
def test_series_that_are_no_series_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        BufferedToeplitzNoise(**options)


def test_noise_is_built_by_name_if_its_options_have_defaults():
    assert build_noise("independent") == IndependentNoise()
    assert build_noise("tree") == TreeNoise()
    assert build_noise(BandedNoise(3)) == BandedNoise(3)
    with pytest.raises(ParameterError, match="bands"):
        build_noise("banded")
    for unknown in ("pink", 1.0):
        with pytest.raises(ParameterError, match="noise"):
            build_noise(unknown)


def test_too_many_steps_for_an_optimised_matrix_are_refused():
    with pytest.raises(ParameterError, match="at most 1,024 steps"):
        BandedNoise(2).strategy(1025)


SAMPLINGS = {
    "full-batch": {"batch_size": 1},
    "cyclic": {"batch_size": 1, "n_records": 4},
    "shuffled": {"batch_size": 1, "n_records": 4},
    "poisson": {"batch_size": 1, "sampling_probability": 0.5},
    "fixed-size": {"batch_size": 1, "n_records": 4},
    "random-allocation": {"batch_size": 1, "batches_per_epoch": 4},
}


@every
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_claims_are_those_of_the_sensitivity_and_never_amplified(noise, sampling):
    """One band is independent noise; otherwise at least the shift of a record in the first batch of each epoch."""
    options = {"sampling": sampling, "steps": 8, "noise_multiplier": 2.0, "noise": noise} | SAMPLINGS[sampling]
    mechanism = DPSGD("linear-regression", n_features=1, view="noisy_gradients", **options)
    claim = mechanism.guarantee()
    strategy = noise.strategy(8)
    if np.count_nonzero(strategy) == 8:
        plain = DPSGD("linear-regression", n_features=1, **options | {"noise": "independent"}).guarantee()
        assert claim.epsilon(1e-3) == pytest.approx(plain.epsilon(1e-3), rel=1e-9)
        return
    every_steps = 4 if sampling in ("cyclic", "shuffled", "random-allocation") else 1
    shift = np.linalg.norm(strategy[:, ::every_steps].sum(axis=1))
    assert claim.mu >= shift / 2.0 * (1 - 1e-9)
    if sampling in ("full-batch", "poisson", "fixed-size"):
        assert claim.mu == pytest.approx(shift / 2.0, rel=1e-9)
    assert claim.exact == (sampling in ("full-batch", "cyclic"))
    assert (mechanism.output_law() is not None) == (sampling in ("full-batch", "cyclic"))


def test_relations_that_move_other_records_have_no_claim():
    for sampling in ("cyclic", "shuffled", "fixed-size"):
        options = {"sampling": sampling, "noise_multiplier": 1.0, "steps": 4, "relation": "add_remove"}
        mechanism = DPSGD("linear-regression", n_features=1, noise="tree", **options, **SAMPLINGS[sampling])
        with pytest.raises(AccountingError):
            mechanism.guarantee()


def test_batches_without_a_theorem_are_refused_correlated_noise():
    """Cut samples, in which another record may push one out, and several steps of an epoch at random."""
    for sampling, options in {
        "truncated-poisson": {"sampling_probability": 0.5, "largest_batch": 2, "n_records": 4},
        "random-allocation": {"batches_per_epoch": 4, "participations": 2},
    }.items():
        mechanism = DPSGD(
            "linear-regression", n_features=1, steps=4, noise_multiplier=1.0, noise="tree", sampling=sampling,
            batch_size=1, **options,
        )  # fmt: skip
        with pytest.raises(AccountingError, match="no guarantee is known for correlated noise"):
            mechanism.guarantee()


def test_adaptive_clipping_is_refused_correlated_noise():
    options = {"steps": 4, "noise_multiplier": 1.0, "count_noise": 2.0, "sampling": "full-batch", "batch_size": 1}
    AdaptiveClippingDPSGD("linear-regression", n_features=1, **options)
    with pytest.raises(ParameterError, match="noise must be 'independent'"):
        AdaptiveClippingDPSGD("linear-regression", n_features=1, noise="tree", **options)


def test_a_scheme_that_extends_poisson_sampling_states_its_own_participation():
    class Cut(PoissonSampling):
        """In which another record may push one out of the batch."""

    options = {"steps": 4, "noise_multiplier": 1.0, "noise": "tree"}
    for kind in (PoissonSampling, Cut):
        scheme = kind(sampling_probability=0.5, expected_batch_size=1.0)
        mechanism = DPSGD("linear-regression", n_features=1, sampling=scheme, **options)
        if kind is PoissonSampling:
            assert not mechanism.guarantee().exact
        else:
            with pytest.raises(AccountingError, match="no guarantee is known for correlated noise"):
                mechanism.guarantee()


def test_replaced_records_have_twice_the_sensitivity():
    options = {"sampling": "full-batch", "steps": 8, "noise": TreeNoise()}
    added, replaced = (
        _steps_guarantee(3.0, relation=relation, **options) for relation in ("add_remove", "replace_one")
    )
    assert replaced.mu == pytest.approx(2.0 * added.mu)
    assert replaced.relation is Relation.REPLACE_ONE


def test_calibrated_noise_reaches_the_target_for_every_matrix():
    setting = {"sampling": "cyclic", "batches_per_epoch": 8, "steps": 32, "relation": "zero_out"}
    for noise in (TreeNoise(), BandedNoise(8), BufferedToeplitzNoise(2, separation=8)):
        multiplier = calibrate_noise(epsilon=2.0, delta=1e-5, noise=noise, **setting)
        assert 1.99 < _steps_guarantee(multiplier, noise=noise, **setting).epsilon(1e-5) <= 2.0


def test_the_worst_record_of_cyclic_batches_is_in_the_batch_that_shows_most():
    """The first columns of the online tree are not the largest."""
    noise = TreeNoise()
    mechanism = DPSGD(
        "linear-regression", n_features=1, sampling="cyclic", batch_size=2, n_records=16, steps=8, noise=noise,
        noise_multiplier=1.0, view="noisy_gradients",
    )  # fmt: skip
    place = int(np.linalg.norm(noise.strategy(8), axis=0).argmax())
    assert place > 0
    sides = [mechanism.worst_case().side(side).gradients for side in (0, 1)]
    assert np.flatnonzero((sides[0] != sides[1]).any(axis=1)).tolist() == [2 * place]
    mechanism.bind(mechanism.worst_case())
