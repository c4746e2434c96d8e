"""Model inversion: against the optimum of a linear model, and beside the public guess."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from dpassay.attacks.literature.attributes import Inversion, closeness
from dpassay.audit.metrics import gain
from dpassay.mechanisms.core import AttackError, ParameterError


def test_ascent_ends_where_a_solver_with_exact_gradients_does():
    rng = np.random.default_rng(0)
    X = rng.random((90, 4))
    model = LogisticRegression(C=10.0).fit(X, rng.integers(0, 3, 90))
    start = np.full(4, 0.5)
    result = Inversion(steps=300, penalty=2.0).invert(model, [0, 1, 2], start=start)

    for label in range(3):

        def less(x, label=label):
            return -model.predict_log_proba(x[None])[0, label] + ((x - start) ** 2).sum()

        best = minimize(less, start, bounds=[(0.0, 1.0)] * 4, tol=1e-12)
        assert less(result[label]) == pytest.approx(best.fun, abs=1e-4)
        np.testing.assert_allclose(result[label], best.x, atol=0.02)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def test_inversion_of_a_trained_class_beats_the_public_guess(digits):
    """Each digit is a person. Without the person, the model's class of that name is another person's."""
    X, y = digits
    means = np.stack([X[y == digit].mean(axis=0) for digit in range(10)])
    public = X[::5].mean(axis=0)
    swapped = (y + 1) % 10
    model, other = (LogisticRegression(C=0.01, max_iter=200).fit(X, labels) for labels in (y, swapped))
    attack = Inversion(steps=40, penalty=0.5)
    near = [closeness(attack.invert(m, range(10), start=public), means) for m in (model, other)]
    blind = closeness(np.broadcast_to(public, means.shape), means)
    result = gain(near[0], without_release=blind, without_person=near[1], of="classes")
    assert (near[0] > blind).all()
    assert (near[0] > near[1]).mean() >= 0.9
    assert result.headline.value > 0.02


def test_inversion_of_a_constant_model_is_the_public_guess():
    model = LogisticRegression().fit(np.zeros((4, 3)), [0, 1, 0, 1])
    start = np.full(3, 0.4)
    np.testing.assert_allclose(Inversion().invert(model, [0, 1], start=start), [start, start], atol=1e-6)


def test_closeness_of_nothing_right_and_all_right():
    assert closeness([[0.0, 0.0]], [[1.0, 1.0]])[0] == 0.0
    assert closeness([[4.0]], [[4.0]], low=0.0, high=8.0)[0] == 1.0


def test_an_empty_box_is_refused():
    with pytest.raises(ParameterError, match="high must be above low") as caught:
        Inversion(low=2.0)
    assert caught.value.argument == "high"


def test_unusable_models_and_starts_are_refused():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    with pytest.raises(ParameterError, match="start"):
        Inversion().invert(LogisticRegression().fit(X, y), [0], start=[3.0])
    with pytest.raises(AttackError, match="no probabilities"):
        Inversion().invert(LinearSVC().fit(X, y), [0], start=[0.5])
    with pytest.raises(AttackError, match="a label is 7"):
        Inversion().invert(LogisticRegression().fit(X, y), [7], start=[0.5])
