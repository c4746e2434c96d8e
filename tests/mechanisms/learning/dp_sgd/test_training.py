"""The trainer against its naive twin: noise, clipping, momentum, schedules, projection, gradient records, subsets."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from tests.mechanisms.sgd_twin import clipped_sum, train

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.base import Learner, TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD, BandedNoise, BufferedToeplitzNoise, TreeNoise, training
from dpassay.mechanisms.learning.dp_sgd.sampling import (
    CyclicBatches,
    FixedSizeSampling,
    FullBatch,
    PoissonSampling,
    ShuffledEpochs,
)
from dpassay.mechanisms.learning.dp_sgd.steps import ConstantSchedule, Cosine, InverseSquareRoot, StepDecay
from dpassay.mechanisms.learning.models import (
    LinearRegression,
    LogisticRegression,
    MultiLayerPerceptron,
    SoftmaxRegression,
)

FALSE_ALARM = 1e-6
SOFTMAX = SoftmaxRegression(3, 3)
SAMPLINGS = [
    PoissonSampling(sampling_probability=0.2, expected_batch_size=3),
    PoissonSampling(sampling_probability=0.5, expected_batch_size=6),
    FixedSizeSampling(batch_size=4),
    ShuffledEpochs(batch_size=5),
    CyclicBatches(batch_size=5),
    FullBatch(expected_batch_size=10),
]


def data_for(model, n=12, n_gradients=0, seed=0):
    rng = np.random.default_rng(seed)
    y = {"softmax": rng.integers(0, 3, n), "logistic": rng.integers(0, 2, n), "squared": rng.normal(size=n)}
    gradients = rng.normal(size=(n_gradients, model.n_parameters)) if n_gradients else None
    return TrainingData(rng.normal(size=(n, 3)), y[model.loss.name], gradients)


def mechanism_for(model=SOFTMAX, **options):
    base = {
        "steps": 7,
        "noise_multiplier": 0.8,
        "clip_norm": 0.7,
        "sampling": SAMPLINGS[0],
        "learning_rate": 0.5,
        "view": "trajectory",
    }
    return DPSGD(model, **(base | options))


def assert_equals_twin(mechanism, data, inclusion=None):
    """One run: parameters at every step."""
    if inclusion is None:
        values = mechanism.release(data, 1, np.random.default_rng(5)).values[0]
    else:
        values = mechanism.release_subsets(data, inclusion[None, :], np.random.default_rng(5)).values[0]
    trajectory, _ = train(mechanism, data, np.random.default_rng(5), inclusion)
    assert np.ptp(trajectory) > 0.01
    np.testing.assert_allclose(values, trajectory, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("clipping", ["flat", "per-layer", "none"])
@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(3),
        LogisticRegression(3, bias=False),
        SOFTMAX,
        MultiLayerPerceptron(3, 3, hidden=(4,)),
        MultiLayerPerceptron(3, 1, hidden=(4, 5), activation="relu"),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_run_equals_the_naive_twin_with_the_same_noise(model, clipping, sampling):
    mechanism = mechanism_for(model, sampling=sampling, clipping=clipping)
    assert_equals_twin(mechanism, data_for(model))


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("clipping", ["flat", "per-layer"])
def test_gradient_records_are_clipped_and_added_like_any_other(sampling, clipping):
    model = MultiLayerPerceptron(3, 3, hidden=(4,))
    mechanism = mechanism_for(model, sampling=sampling, clipping=clipping)
    assert_equals_twin(mechanism, data_for(model, n_gradients=4))


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda s: type(s).__name__)
def test_a_run_on_a_subset_equals_the_naive_twin(sampling):
    data = data_for(SOFTMAX, n_gradients=2)
    inclusion = np.random.default_rng(1).random(len(data)) < 0.6
    assert_equals_twin(mechanism_for(sampling=sampling), data, inclusion)


def test_runs_on_subsets_do_not_depend_on_other_records():
    data = data_for(SOFTMAX, n_gradients=2)
    inclusion = np.random.default_rng(1).random((5, len(data))) < 0.5
    changed = TrainingData(
        np.where(inclusion[0, :12, None], data.X, 1e3), np.where(inclusion[0, :12], data.y, 0), data.gradients
    )
    mechanism = mechanism_for()
    first = [mechanism.release_subsets(d, inclusion, np.random.default_rng(2)).values[0] for d in (data, changed)]
    np.testing.assert_array_equal(first[0], first[1])


@pytest.mark.parametrize(
    "options",
    [
        {"momentum": 0.9},
        {"learning_rate": InverseSquareRoot(0.7)},
        {"learning_rate": StepDecay(0.7, factor=0.5, every=2)},
        {"learning_rate": Cosine(0.7, final=0.1)},
        {"projection": 0.15},
        {"projection": 0.2, "momentum": 0.5, "noise_multiplier": 0.0},
        {"initial": "random"},
        {"initial": np.linspace(-1, 1, 12)},
        {"relation": "zero_out"},
        {"relation": "replace_one"},
        {"noise": "tree"},
        {"noise": TreeNoise(estimate="complete"), "momentum": 0.9},
        {"noise": BandedNoise(3)},
        {"noise": BufferedToeplitzNoise(2)},
    ],
    ids=str,
)
def test_options_equal_the_naive_twin(options):
    data = data_for(SOFTMAX)
    blank = TrainingData(np.vstack([data.X, np.zeros((3, 3))]), np.append(data.y, [0, 1, 0]))
    for sampling in (SAMPLINGS[0], SAMPLINGS[-1]):
        assert_equals_twin(mechanism_for(sampling=sampling, **options), blank)


def test_blank_records_count_for_nothing_under_zero_out_only():
    model = LogisticRegression(3)
    blank, empty = (TrainingData(np.zeros((n, 3)), np.zeros(n)) for n in (4, 0))
    sampling = FullBatch(expected_batch_size=1)
    for relation, moves in (("zero_out", False), ("add_remove", True)):
        mechanism = mechanism_for(model, sampling=sampling, relation=relation)
        runs = [mechanism.release(d, 2, np.random.default_rng(0)).values for d in (blank, empty)]
        assert np.allclose(*runs) is not moves


def test_schedules_give_their_formulas():
    t = np.arange(1, 6)
    np.testing.assert_allclose(ConstantSchedule(0.3).rates(5), 0.3)
    np.testing.assert_allclose(InverseSquareRoot(0.3).rates(5), 0.3 / np.sqrt(t))
    np.testing.assert_allclose(StepDecay(0.8, factor=0.5, every=2).rates(5), [0.8, 0.8, 0.4, 0.4, 0.2])
    np.testing.assert_allclose(Cosine(1.0, final=0.2).rates(4), 0.2 + 0.4 * (1 + np.cos(np.pi * np.arange(4) / 4)))


def test_averages_are_those_of_the_trajectory():
    data = data_for(SOFTMAX)
    for averaging, first in (("last", 7), ("mean", 1), ("second-half", 4)):
        mechanism = mechanism_for(averaging=averaging, view="final")
        trajectory = mechanism_for().release(data, 5, np.random.default_rng(0)).values
        final = mechanism.release(data, 5, np.random.default_rng(0)).values
        np.testing.assert_allclose(final, trajectory[:, first:].mean(axis=1), rtol=1e-12, atol=1e-14)


def test_observations_are_the_noisy_clipped_sums_along_the_directions():
    data = data_for(SOFTMAX, n_gradients=1)
    observed = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 2)))[0].T
    mechanism = mechanism_for(view="noisy_gradients", directions=observed)
    values = mechanism.release(data, 1, np.random.default_rng(3)).values[0]
    _, sums = train(mechanism, data, np.random.default_rng(3))
    np.testing.assert_allclose(values, sums @ observed.T / 0.7, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda s: type(s).__name__)
def test_the_law_of_a_run_does_not_depend_on_blocks(sampling, monkeypatch):
    """Without noise and with everything fixed it is even the same numbers."""
    data = data_for(SOFTMAX, n_gradients=1)
    mechanism = mechanism_for(sampling=sampling, view="final")
    monkeypatch.setattr(training, "SMALLEST_BLOCK", 1)
    monkeypatch.setattr(training, "LARGEST_BLOCK", 1)
    runs = mechanism.release(data, 150, np.random.default_rng(1)).values
    monkeypatch.setattr(training, "LARGEST_BLOCK", 128)
    blocks = mechanism.release(data, 150, np.random.default_rng(2)).values
    for a, b in zip(runs.T, blocks.T, strict=True):
        assert stats.ks_2samp(a, b).pvalue > FALSE_ALARM
    full = mechanism_for(sampling=SAMPLINGS[-1], noise_multiplier=0.0, view="final")
    single = full.release(data, 1, np.random.default_rng(0)).values
    np.testing.assert_allclose(full.release(data, 300, np.random.default_rng(0)).values, single.repeat(300, axis=0))


def test_float32_is_close_to_float64():
    for model in (SOFTMAX, MultiLayerPerceptron(3, 3, hidden=(4,)), LogisticRegression(3)):
        data = data_for(model, n_gradients=1)
        start = np.linspace(-0.5, 0.5, model.n_parameters)
        for sampling in (SAMPLINGS[0], SAMPLINGS[-1], SAMPLINGS[4]):
            runs = [
                mechanism_for(model, sampling=sampling, noise_multiplier=0.0, initial=start, dtype=dtype)
                .release(data, 4, np.random.default_rng(0))
                .values
                for dtype in ("float32", "float64")
            ]
            assert runs[0].dtype == np.float32
            assert runs[1].dtype == np.float64
            np.testing.assert_allclose(runs[0], runs[1], atol=3e-6)


def test_float32_noise_has_its_law():
    mechanism = mechanism_for(
        sampling=FullBatch(expected_batch_size=1), view="noisy_gradients", dtype="float32", steps=2
    )
    empty = TrainingData(np.empty((0, 3)), np.empty(0))
    values = mechanism.release(empty, 20_000, np.random.default_rng(0)).values.ravel()
    assert stats.kstest(values / 0.8, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("bound", [1.0, 0.3, 1e6])
@pytest.mark.parametrize("clipping", ["flat", "per-layer"])
def test_a_record_moves_the_sum_by_at_most_the_clip_norm(bound, clipping):
    model = MultiLayerPerceptron(3, 3, hidden=(4,))
    data = data_for(model)
    start = np.random.default_rng(1).normal(size=model.n_parameters) * 3
    for i in range(data.n_examples):
        norm = np.linalg.norm(clipped_sum(model, start, data, [i], clipping, bound))
        one = TrainingData(data.X[i : i + 1], data.y[i : i + 1])
        mechanism = DPSGD(
            model, steps=1, noise_multiplier=0, clip_norm=bound, clipping=clipping, learning_rate=1.0, initial=start,
            sampling=FullBatch(expected_batch_size=1),
        )  # fmt: skip
        moved = np.linalg.norm(mechanism.release(one, 1, np.random.default_rng(0)).values[0] - start)
        assert moved <= bound * (1 + 1e-12)
        assert moved == pytest.approx(norm, rel=1e-10)


def test_least_squares_follows_the_closed_form_of_gradient_descent():
    """theta_t - theta* = (I - rate A^T A / n)^t (theta_0 - theta*)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.3 + rng.normal(size=50)
    mechanism = DPSGD(
        LinearRegression(3), steps=40, noise_multiplier=0, clipping="none", learning_rate=0.3,
        sampling=FullBatch(), relation="replace_one",
    )  # fmt: skip
    parameters = mechanism.release((X, y), 2, rng).values
    A = np.column_stack([X, np.ones(50)])
    best = np.linalg.lstsq(A, y, rcond=None)[0]
    expected = best + np.linalg.matrix_power(np.eye(4) - 0.3 * A.T @ A / 50, 40) @ (0 - best)
    np.testing.assert_allclose(parameters, np.tile(expected, (2, 1)), rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_descent_converges_to_the_solution_of_scikit_learn(n_classes):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    y = (X @ rng.normal(size=(3, n_classes)) + 1.5 * rng.gumbel(size=(120, n_classes))).argmax(axis=1)
    model = LogisticRegression(3) if n_classes == 2 else SoftmaxRegression(3, n_classes)
    mechanism = DPSGD(
        model, steps=1000, noise_multiplier=0, clipping="none", learning_rate=1.0, momentum=0.5,
        sampling=FullBatch(expected_batch_size=120),
    )  # fmt: skip
    trained = mechanism.fit((X, y), 1, rng)
    theirs = SklearnLogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(trained.log_probabilities(X)[0], theirs.predict_log_proba(X), atol=1e-6)
    if n_classes == 2:
        np.testing.assert_allclose(trained.parameters[0], [*theirs.coef_[0], theirs.intercept_[0]], atol=1e-6)


def test_models_fitted_on_subsets_learn_from_their_own_records():
    rng = np.random.default_rng(0)
    X, y = np.repeat(np.eye(2), 50, axis=0), np.repeat([0, 1], 50)
    inclusion = np.zeros((2, 100), dtype=bool)
    inclusion[0, :50], inclusion[1] = True, True
    mechanism = DPSGD(
        LogisticRegression(2), steps=200, noise_multiplier=0.1, sampling_probability=0.3, batch_size=30,
        learning_rate=2.0,
    )  # fmt: skip
    assert isinstance(mechanism, Learner)
    trained = mechanism.fit_subsets(TrainingData(X, y), inclusion, rng)
    p = np.exp(trained.log_probabilities(np.eye(2))[:, :, 1])
    assert p[0].max() < 0.3
    assert p[1, 0] < 0.3
    assert p[1, 1] > 0.7
    with pytest.raises(ParameterError, match=r"boolean array of shape \(n_runs, 100\)"):
        mechanism.fit_subsets(TrainingData(X, y), inclusion[:, :99], rng)
    with pytest.raises(ParameterError, match="boolean array"):
        mechanism.fit_subsets(TrainingData(X, y), inclusion.astype(int), rng)


def test_divergent_training_raises_no_warning():
    """Warnings are errors here: an overflow must not become one."""
    mechanism = DPSGD(
        LinearRegression(3), steps=300, noise_multiplier=0, clipping="none", learning_rate=1e3, momentum=0.0,
        sampling=FullBatch(expected_batch_size=1),
    )  # fmt: skip
    assert not np.isfinite(mechanism.release(data_for(LinearRegression(3)), 1, np.random.default_rng(0)).values).any()
    assert math.isfinite(mechanism.recipe.rates[0])
