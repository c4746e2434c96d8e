"""Training functions of any framework as learners."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpassay.audit.games import train_shadows
from dpassay.mechanisms.adapters import EstimatorLearner, FunctionLearner, TorchLearner
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.base import Learner, TrainingData

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 3)), RNG.integers(0, 3, 80)


def fit(X, y, rng):
    return LogisticRegression().fit(X, y)


def noisy_means(X, y, rng):
    means = np.stack([X[y == label].mean(axis=0) for label in range(3)])
    return means + 0.01 * rng.normal(size=means.shape)


def distances(means, X):
    return -((X[:, None] - means) ** 2).sum(axis=2)


def cross_entropy(means, X, y):
    logits = distances(means, X)
    return np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(y)), y]


BY_LOGITS = FunctionLearner(noisy_means, logits=distances)


def test_a_function_around_an_estimator_gives_the_models_of_its_adapter():
    assert isinstance(FunctionLearner(fit), Learner)
    ours, theirs = (
        train_shadows(learner, (X, Y), 4, seed=0)
        for learner in (FunctionLearner(fit), EstimatorLearner(LogisticRegression()))
    )
    np.testing.assert_allclose(ours.log_probabilities, theirs.log_probabilities)


def test_losses_and_logits_of_one_model_have_the_same_signals():
    by_logits, by_losses = (
        train_shadows(learner, (X, Y), 4, seed=0)
        for learner in (BY_LOGITS, FunctionLearner(noisy_means, losses=cross_entropy))
    )
    for name in ("loss", "confidence", "rescaled-logit"):
        np.testing.assert_allclose(by_losses.signal(name), by_logits.signal(name), atol=1e-9)


def test_parallel_and_resumed_training_gives_the_same_models(tmp_path):
    once = train_shadows(BY_LOGITS, (X, Y), 6, seed=0).signal("loss")
    for options in ({"n_jobs": 2}, {"store": tmp_path / "store"}, {"store": tmp_path / "store"}):
        np.testing.assert_array_equal(train_shadows(BY_LOGITS, (X, Y), 6, seed=0, **options).signal("loss"), once)


def test_a_store_is_not_shared_with_another_function(tmp_path):
    train_shadows(BY_LOGITS, (X, Y), 2, seed=0, store=tmp_path)
    with pytest.raises(Exception, match="store"):
        train_shadows(FunctionLearner(fit), (X, Y), 2, seed=0, store=tmp_path)


def test_losses_that_are_exactly_zero_are_repaired():
    learner = FunctionLearner(noisy_means, losses=lambda model, X, y: np.maximum(cross_entropy(model, X, y) - 1.0, 0.0))
    signals = train_shadows(learner, (X, Y), 4, seed=0)
    assert signals.signal("loss").max() < 0.0
    assert np.isfinite(signals.signal("rescaled-logit")).all()


def test_records_are_given_in_their_shape():
    seen = []

    def train(X, y, rng):
        seen.append(X.shape[1:])
        return noisy_means(X.reshape(len(X), -1), y, rng)

    def logits(model, X):
        seen.append(X.shape[1:])
        return distances(model, X.reshape(len(X), -1))

    train_shadows(FunctionLearner(train, logits=logits, shape=(1, 3)), (X, Y), 2, seed=0)
    assert set(seen) == {(1, 3)}


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        ({}, "predict_proba, but returns ndarray"),
        ({"logits": lambda model, X: X[:, :2]}, r"\(n_records, n_classes\) = \(80, 3\)"),
        ({"logits": lambda model, X: X * np.nan}, "diverged"),
        ({"logits": lambda model, X: X * np.inf}, "finite"),
        ({"probabilities": lambda model, X: X}, "give them as logits"),
        ({"losses": lambda model, X, y: -np.ones(len(y))}, "change the sign"),
        ({"losses": lambda model, X, y: 1.0}, r"\(n_records,\) = \(80,\)"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(outputs, problem):
    with pytest.raises(ParameterError, match=problem):
        train_shadows(FunctionLearner(noisy_means, **outputs), (X, Y), 2, seed=0)


@pytest.mark.parametrize(
    "arguments",
    [{"train": 3}, {"train": fit, "logits": 3}, {"train": fit, "logits": distances, "losses": cross_entropy}],
)
def test_functions_that_are_none_or_too_many_are_refused(arguments):
    with pytest.raises(ParameterError):
        FunctionLearner(**arguments)


def test_a_function_that_returns_nothing_is_refused():
    with pytest.raises(ParameterError, match="returns None"):
        train_shadows(FunctionLearner(lambda X, y, rng: None), (X, Y), 2, seed=0)


def test_a_shape_of_another_size_is_refused():
    with pytest.raises(ParameterError, match="as many entries"):
        FunctionLearner(fit, shape=(2, 2)).check_data(TrainingData(X, Y))


def test_pytorch_is_imported_only_when_it_trains(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    learner = TorchLearner(fit)
    with pytest.raises(ImportError, match="torch"):
        train_shadows(learner, (X, Y), 2, seed=0)
