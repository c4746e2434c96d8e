"""Examples from gradients."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import binom

from dpassay.attacks.literature.training import (
    GradientMatching,
    Imprint,
    expected_alone,
    invert_gradient,
    matched_errors,
)
from dpassay.attacks.literature.training.gradient_matching import _descend, _hessian_vector_product
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.models import (
    LinearRegression,
    LogisticRegression,
    MultiLayerPerceptron,
    SoftmaxRegression,
)
from dpassay.mechanisms.learning.models.trained import TrainedModels

FALSE_ALARM = 1e-6
RELU = MultiLayerPerceptron(12, 4, hidden=(20,), activation="relu")
MODELS = {
    "two layers of ReLUs": RELU,
    "three layers of tanh": MultiLayerPerceptron(12, 4, hidden=(9, 7)),
    "softmax": SoftmaxRegression(12, 4),
    "logistic": LogisticRegression(12),
    "least squares": LinearRegression(12),
}


def gradients_of(model, parameters, X, y):
    return TrainedModels(model, parameters).gradients(X, y)[0]


def example(model, n, seed=0):
    """Parameters, examples and labels."""
    rng = np.random.default_rng(seed)
    parameters = model.random_parameters(1, rng) + 0.1 * rng.normal(size=(1, model.n_parameters))
    y = rng.normal(size=n) if model.loss.name == "squared" else rng.integers(0, model.n_labels, size=n)
    return parameters, rng.normal(size=(n, model.n_features)), y


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_one_example_is_exact_and_so_is_its_label(model):
    parameters, X, y = example(model, 30)
    recovered = invert_gradient(model, gradients_of(model, parameters, X, y), parameters=parameters)
    np.testing.assert_allclose(recovered.x, X, atol=1e-12)
    np.testing.assert_allclose(recovered.y, y, atol=1e-12)


def test_clipping_hides_neither_the_example_nor_its_label():
    """As DP-SGD clips; noise does, as much as the bare prior mean does once it is large enough."""
    parameters, X, y = example(RELU, 1)
    learner = DPSGD(RELU, steps=1, noise_multiplier=1.0, clip_norm=1e-3, sampling_probability=0.5, batch_size=1)
    clipped = learner.clipped_gradients(TrainingData(X, y), parameters)[0]
    assert np.linalg.norm(clipped) == pytest.approx(1e-3)
    recovered = invert_gradient(RELU, clipped)
    np.testing.assert_allclose(recovered.x, X, atol=1e-12)
    assert recovered.y == y


def test_a_prior_limits_the_error_to_that_of_the_prior_mean():
    """Error against noise, beside the closed form, and beside the prior mean: exact without noise, blind with much."""
    model = MultiLayerPerceptron(8, 3, hidden=(16,))
    rng = np.random.default_rng(3)
    parameters, X, y = example(model, 40)
    clean = gradients_of(model, parameters, X, y)
    clean *= (1.0 / np.maximum(1.0, np.linalg.norm(clean, axis=1)))[:, None]
    blind = float(np.sqrt(np.mean(X**2)))
    errors = {}
    for noise in (1e-4, 1e-2, 1.0):
        seen = clean + noise * rng.normal(size=clean.shape)
        probable = GradientMatching(model, noise_sd=noise, clip_norm=1.0, restarts=1, iterations=100)
        x = probable.recover(parameters[0], seen, y[:, None], rng).x[:, 0]
        errors[noise] = [float(np.sqrt(np.mean((a - X) ** 2))) for a in (x, invert_gradient(model, seen).x)]
    assert errors[1e-4][0] < 0.01
    assert errors[1e-4][0] <= errors[1e-2][0] < 0.5 * blind
    assert all(probable <= 1.05 * min(closed, blind) for probable, closed in errors.values())
    assert errors[1.0][0] > 0.9 * blind


def test_dead_units_and_wrong_shapes_are_reported():
    dead = np.zeros((1, RELU.n_parameters))
    RELU.layers[0].of(dead)[:, :, -1] = -1.0
    _, X, y = example(RELU, 1)
    with pytest.raises(AttackError, match="all ReLUs are dead"):
        invert_gradient(RELU, gradients_of(RELU, dead, X, y))
    mixed = np.vstack([gradients_of(RELU, dead, X, y), gradients_of(RELU, example(RELU, 1)[0], X, y)])
    assert np.isnan(invert_gradient(RELU, mixed).x).all(axis=1).tolist() == [True, False]
    with pytest.raises(ParameterError, match=f"length {RELU.n_parameters}") as error:
        invert_gradient(RELU, np.zeros(7))
    assert error.value.argument == "gradients"
    with pytest.raises(ParameterError, match="only the direction of the example"):
        invert_gradient(LogisticRegression(3, bias=False), np.ones(3))
    assert np.isnan(invert_gradient(LinearRegression(2), [1.0, 2.0, 0.5]).y).all()  # no parameters, no target


# --- batches ----------------------------------------------------------------------------------------------------------


def test_an_imprint_recovers_examples_alone_in_their_bin():
    model = MultiLayerPerceptron(12, 4, hidden=(200,), activation="relu")
    rng = np.random.default_rng(5)
    trap = Imprint.from_public(model, rng.normal(size=(20_000, 12)))
    n, batches, exact = 32, 40, 0
    for _ in range(batches):
        X, y = rng.normal(size=(n, 12)), rng.integers(0, 4, size=n)
        total = gradients_of(model, trap.parameters()[None], X, y).sum(axis=0)
        errors = matched_errors(trap.recover(total)[0], X)
        bins = np.searchsorted(trap.cuts, X @ trap.measurement)
        alone = (np.bincount(bins, minlength=201)[bins] == 1) & (bins > 0)
        assert (errors[alone] < 1e-6).all()
        exact += int(np.sum(errors < 1e-6))
    expected = expected_alone(n, 200)
    assert binom.cdf(exact, n * batches, expected - 0.02) > FALSE_ALARM  # public quantiles are not quite the bins
    assert binom.sf(exact - 1, n * batches, expected + 0.02) > FALSE_ALARM


def test_an_imprint_needs_a_layer_of_relus_and_increasing_cuts():
    tanh = MultiLayerPerceptron(3, 2, hidden=(4,))
    relu = MultiLayerPerceptron(3, 2, hidden=(4,), activation="relu")
    for call, argument in [
        (lambda: Imprint(tanh, np.ones(3), np.arange(4)), "model"),
        (lambda: Imprint(relu, np.zeros(3), np.arange(4)), "measurement"),
        (lambda: Imprint(relu, np.ones(3), np.zeros(4)), "cuts"),
        (lambda: Imprint(relu, np.ones(3), np.arange(5)), "cuts"),
        (lambda: Imprint.from_public(relu, np.ones((9, 3))), "X"),
    ]:
        with pytest.raises(ParameterError) as error:
            call()
        assert error.value.argument == argument


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_hessian_vector_product_is_the_difference_quotient(model):
    parameters, X, y = example(model, 1, seed=8)
    along = np.random.default_rng(9).normal(size=(1, model.n_parameters))

    def product(x):
        return float(gradients_of(model, parameters, x[None], y)[0] @ along[0])

    assert (
        check_grad(product, lambda x: _hessian_vector_product(model, parameters[0], x[None], y, along)[0], X[0]) < 1e-5
    )


@pytest.mark.parametrize("clip_norm", [None, 0.5])
def test_the_slope_of_the_objective_is_its_difference_quotient(clip_norm):
    model = MultiLayerPerceptron(4, 3, hidden=(5,))
    parameters, X, y = example(model, 2)
    seen = gradients_of(model, parameters, X, y).sum(axis=0)[None]
    for options in ({"distance": "cosine"}, {"noise_sd": 0.3}, {}):
        objective = GradientMatching(model, clip_norm=clip_norm, **options)._objective(parameters[0], seen, y[None])
        start = np.random.default_rng(4).normal(size=8)
        wrong = check_grad(lambda x: objective(x[None])[0][0], lambda x: objective(x[None])[1][0], start)  # noqa: B023
        assert wrong < 1e-5


@pytest.mark.parametrize(("distance", "tolerance"), [("squared", 1e-6), ("cosine", 1e-4)])
def test_matching_finds_small_batches_and_their_order_is_free(distance, tolerance):
    model = MultiLayerPerceptron(6, 3, hidden=(24,))
    parameters, *_ = example(model, 1)
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(2, 2, 6)), rng.integers(0, 3, size=(2, 2))
    seen = np.stack([gradients_of(model, parameters, x, labels).sum(axis=0) for x, labels in zip(X, y, strict=True)])
    recovered = GradientMatching(model, distance=distance).recover(parameters[0], seen, y, rng)
    assert (recovered.mismatch < tolerance).all()
    assert max(matched_errors(a, b).max() for a, b in zip(recovered.x, X, strict=True)) < tolerance


def test_descent_minimises_many_functions_each_by_itself():
    """A valley (Rosenbrock), a bowl, and a start that is a minimum already."""

    def objective(points):
        x, y = points[:, 0], points[:, 1]
        valley = (1 - x) ** 2 + 100 * (y - x**2) ** 2
        slope = np.stack([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)], axis=1)
        bowl = np.sum(points**2, axis=1)
        first = np.arange(3) == 0
        return np.where(first, valley, bowl), np.where(first[:, None], slope, 2 * points)

    points, values = _descend(objective, np.array([[-1.2, 1.0], [3.0, -4.0], [0.0, 0.0]]), 200, floor=1e-28)
    np.testing.assert_allclose(points, [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]], atol=1e-8)
    assert (values < 1e-15).all()


def test_guesses_are_assigned_so_that_the_errors_are_least():
    truths = np.array([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(matched_errors([[2.1], [0.9], [np.nan], [0.2]], truths), [0.2, 0.1, 0.1])
    assert np.isinf(matched_errors(np.full((3, 1), np.nan), truths)).all()
    with pytest.raises(ParameterError, match="rows of equal length"):
        matched_errors([[1.0, 2.0]], truths)


def test_matching_refuses_invalid_gradients_and_options():
    model = MultiLayerPerceptron(4, 3, hidden=(5,))
    parameters, rng = np.zeros(model.n_parameters), np.random.default_rng(0)
    for call, argument in [
        (lambda: GradientMatching(model).recover(parameters, np.zeros((1, len(parameters))), [[0]], rng), "seen"),
        (
            lambda: GradientMatching(model).recover(parameters[:-1], np.ones((1, len(parameters))), [[0]], rng),
            "parameters",
        ),
        (lambda: GradientMatching(model).recover(parameters, np.ones((1, len(parameters))), [[7]], rng), "y"),
        (lambda: GradientMatching(model, distance="cosine", noise_sd=1.0), "noise_sd"),
        (lambda: GradientMatching(model, sd=0.0), "sd"),
    ]:
        with pytest.raises(ParameterError) as error:
            call()
        assert error.value.argument == argument
