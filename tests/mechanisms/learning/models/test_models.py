"""Models: gradients against finite differences and a naive twin, ghost norms against explicit ones."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.mechanisms.sgd_twin import gradient, layers_of, loss, outputs

from dpassay.mechanisms.core import ParameterError, UnknownNameError
from dpassay.mechanisms.learning.base import SupportsGradients, TrainingData
from dpassay.mechanisms.learning.dp_sgd.catalogue import models
from dpassay.mechanisms.learning.models import (
    LinearRegression,
    LogisticRegression,
    MultiLayerPerceptron,
    SoftmaxRegression,
)
from dpassay.mechanisms.learning.models.passes import Workspace, accumulate, backward, forward, squared_norms
from dpassay.mechanisms.learning.models.trained import TrainedModels

MODELS = [
    LinearRegression(4),
    LogisticRegression(4),
    SoftmaxRegression(4, 3),
    SoftmaxRegression(4, 3, bias=False),
    MultiLayerPerceptron(4, 3, hidden=(5,)),
    MultiLayerPerceptron(4, 3, hidden=(5,), activation="relu"),
    MultiLayerPerceptron(4, 2, hidden=(5, 3, 4), activation="relu", bias=False),
    MultiLayerPerceptron(4, 1, hidden=(3, 3)),
    MultiLayerPerceptron(4, 1, hidden=(6,), objective="squared"),
]
every = pytest.mark.parametrize("model", MODELS, ids=str)


def made(model, n=7, n_models=3, seed=0):
    """Random parameters, examples and labels."""
    rng = np.random.default_rng(seed)
    labels = {
        "softmax": rng.integers(0, model.output_units, n),
        "logistic": rng.integers(0, 2, n),
        "squared": rng.normal(size=n),
    }
    return rng.normal(size=(n_models, model.n_parameters)), rng.normal(size=(n, 4)), labels[model.loss.name]


@every
def test_gradients_equal_finite_differences_of_the_naive_loss(model):
    parameters, X, y = made(model)
    gradients = TrainedModels(model, parameters).gradients(X, y)
    h = 1e-6
    for r, flat in enumerate(parameters):
        for i in range(len(X)):
            steps = h * np.eye(model.n_parameters)
            slopes = [(loss(model, flat + s, X[i], y[i]) - loss(model, flat - s, X[i], y[i])) / (2 * h) for s in steps]
            np.testing.assert_allclose(gradients[r, i], slopes, rtol=1e-6, atol=2e-8)


@every
def test_gradients_outputs_and_losses_equal_the_naive_twin(model):
    parameters, X, y = made(model)
    trained = TrainedModels(model, parameters)
    gradients, losses, z = trained.gradients(X, y), trained.losses(X, y), trained.outputs(X)
    for r, flat in enumerate(parameters):
        for i in range(len(X)):
            np.testing.assert_allclose(gradients[r, i], gradient(model, flat, X[i], y[i]), rtol=1e-10, atol=1e-13)
            np.testing.assert_allclose(z[r, i], outputs(model, flat, X[i])[0], rtol=1e-10, atol=1e-13)
            assert losses[r, i] == pytest.approx(loss(model, flat, X[i], y[i]), rel=1e-10, abs=1e-13)


@every
def test_ghost_norms_equal_the_norms_of_explicit_gradients(model):
    parameters, X, y = made(model)
    trained = TrainedModels(model, parameters)
    explicit = np.linalg.norm(trained.gradients(X, y), axis=2)
    np.testing.assert_allclose(trained.gradient_norms(X, y), explicit, rtol=1e-10, atol=1e-14)


@every
@pytest.mark.parametrize("shared", [True, False])
def test_passes_agree_for_shared_and_for_gathered_inputs(model, shared):
    """Norms by layer and the sum over examples, as training uses them."""
    parameters, X, y = made(model)
    work = Workspace(np.dtype(np.float64))
    inputs, targets = model.inputs(X, work.dtype), model.loss.targets(y, work.dtype)
    rows = np.array([[0, 1, 2, 3], [3, 3, 5, 6], [6, 2, 1, 4]])
    if not shared:
        inputs, targets = inputs[rows], targets[rows]
    activations = forward(model, parameters, inputs, work)
    model.loss.derive(activations[-1], targets)
    deltas = backward(model, parameters, activations, work)
    squared = np.sum(inputs**2, axis=-1)
    norms = squared_norms(model, squared, activations, deltas)
    total = np.empty_like(parameters)
    accumulate(model, inputs, activations, deltas, total, work)
    for r, flat in enumerate(parameters):
        each = np.array([gradient(model, flat, X[i], y[i]) for i in (range(len(X)) if shared else rows[r])])
        np.testing.assert_allclose(total[r], each.sum(axis=0), rtol=1e-10, atol=1e-13)
        for layer, norm in zip(model.layers, norms, strict=True):
            np.testing.assert_allclose(norm[r], np.sum(each[:, layer.span] ** 2, axis=1), rtol=1e-10, atol=1e-14)


@every
def test_layers_cut_the_flat_parameters_as_documented(model):
    flat = np.arange(model.n_parameters, dtype=float)
    for layer, (weights, biases) in zip(model.layers, layers_of(model, flat), strict=True):
        units = layer.of(flat[None, :])[0]
        np.testing.assert_array_equal(units[:, : weights.shape[1]], weights)
        if model.bias:
            np.testing.assert_array_equal(units[:, -1], biases)


@pytest.mark.parametrize("model", [m for m in MODELS if m.loss.name != "squared"], ids=str)
def test_log_probabilities_are_normalised_and_stable(model):
    parameters, X, y = made(model)
    trained = TrainedModels(model, parameters * 1000.0)
    log_p = trained.log_probabilities(X)
    assert log_p.shape == (3, 7, trained.n_classes)
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1.0, rtol=1e-12)
    picked = np.take_along_axis(log_p, np.broadcast_to(y.astype(int), (3, 7))[:, :, None], axis=2)[:, :, 0]
    np.testing.assert_allclose(-picked, trained.losses(X, y), rtol=1e-9, atol=1e-9)


def test_trained_models_pickle_and_offer_gradients():
    trained = TrainedModels(MODELS[2], made(MODELS[2])[0])
    again = pickle.loads(pickle.dumps(trained))
    np.testing.assert_array_equal(again.parameters, trained.parameters)
    assert again.model == trained.model
    assert isinstance(trained, SupportsGradients)
    assert len(trained) == 3


def test_queries_do_not_depend_on_how_models_are_blocked(monkeypatch):
    model = MODELS[4]
    parameters, X, y = made(model, n_models=9)
    before = TrainedModels(model, parameters).gradient_norms(X, y), TrainedModels(model, parameters).losses(X, y)
    monkeypatch.setattr("dpassay.mechanisms.learning.models.trained.QUERY_BYTES", 1)
    after = TrainedModels(model, parameters).gradient_norms(X, y), TrainedModels(model, parameters).losses(X, y)
    np.testing.assert_allclose(before, after, rtol=1e-12)


def test_random_parameters_have_the_documented_law():
    model = MultiLayerPerceptron(50, 4, hidden=(40,), activation="relu")
    flat = model.random_parameters(200, np.random.default_rng(0))
    first, last = (layer.of(flat) for layer in model.layers)
    assert np.all(first[:, :, -1] == 0.0)
    assert np.all(last[:, :, -1] == 0.0)
    for weights, variance in ((first[:, :, :-1], 2 / 50), (last[:, :, :-1], 1 / 40)):
        n = weights.size
        assert abs(weights.mean()) < 5 * math.sqrt(variance / n)
        assert weights.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / n))


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (SoftmaxRegression(2, 3), [0, 1, 3], "whole numbers from 0 to 2, but holds 3"),
        (SoftmaxRegression(2, 3), [0, -1, 1], "from 0 to 2, but holds -1"),
        (SoftmaxRegression(2, 3), [0.0, 1.5, 1.0], r"from 0 to 2, but holds 1\.5"),
        (LogisticRegression(2), [0, 1, 2], "from 0 to 1, but holds 2"),
        (LogisticRegression(2), [-1, 1, 1], "from 0 to 1, but holds -1"),
        (MultiLayerPerceptron(2, 2), [0, 1, 2], "from 0 to 1, but holds 2"),
    ],
)
def test_labels_outside_the_classes_are_refused(model, y, message):
    with pytest.raises(ParameterError, match=message):
        model.check(TrainingData(np.zeros((3, 2)), np.array(y)))


def test_wrong_widths_are_refused():
    model = SoftmaxRegression(2, 3)
    with pytest.raises(ParameterError, match="X has 5 features, but the model takes n_features = 2"):
        model.check(TrainingData(np.zeros((3, 5)), np.zeros(3)))
    with pytest.raises(ParameterError, match="gradients have length 4, but the model has 9 parameters"):
        model.check(TrainingData(np.zeros((3, 2)), np.zeros(3), np.zeros((1, 4))))
    with pytest.raises(ParameterError, match=r"shape \(n_models, 9\)"):
        TrainedModels(model, np.zeros((2, 8)))
    with pytest.raises(ParameterError, match="is a regression and has no classes"):
        _ = TrainedModels(LinearRegression(2), np.zeros((2, 3))).n_classes


def test_options_of_models_are_checked():
    with pytest.raises(ParameterError, match=r"hidden\[1\] must be a whole number >= 1"):
        MultiLayerPerceptron(2, 2, hidden=(3, 0))
    with pytest.raises(ParameterError, match="at least one layer"):
        MultiLayerPerceptron(2, 2, hidden=())
    with pytest.raises(ParameterError, match="softmax needs two outputs"):
        MultiLayerPerceptron(2, 1, objective="softmax")
    with pytest.raises(UnknownNameError, match="softmax-regression"):
        models.build("softmax", n_features=2)
    assert models.build("multilayer-perceptron", n_features=2, hidden=4).hidden == (4,)
    assert replace(MODELS[4], hidden=(2,)).n_parameters == 2 * 5 + 3 * 3
