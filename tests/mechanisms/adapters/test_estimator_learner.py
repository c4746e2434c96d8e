"""scikit-learn classifiers as learners."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from dpassay.mechanisms.adapters.estimator import EstimatorLearner
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.base import Learner, TrainingData

RNG = np.random.default_rng(0)
DATA = TrainingData(RNG.normal(size=(40, 3)), RNG.integers(0, 3, 40))
INCLUSION = RNG.random((5, 40)) < 0.5


def fit(estimator, inclusion=INCLUSION, data=DATA, seed=1):
    return EstimatorLearner(estimator).fit_subsets(data, inclusion, np.random.default_rng(seed))


def test_probabilities_are_those_of_a_clone_fitted_on_the_subset():
    models = fit(LogisticRegression())
    assert isinstance(EstimatorLearner(LogisticRegression()), Learner)
    result = models.log_probabilities(DATA.X)
    assert result.shape == (5, 40, 3)
    assert len(models) == 5
    for rows, log_p in zip(INCLUSION, result, strict=True):
        alone = LogisticRegression().fit(DATA.X[rows], DATA.y[rows])
        np.testing.assert_allclose(log_p, alone.predict_log_proba(DATA.X))


def test_the_estimator_itself_is_not_fitted():
    estimator = LogisticRegression()
    fit(estimator)
    assert not hasattr(estimator, "coef_")


def test_each_model_has_its_own_random_state_from_the_generator():
    everyone = np.ones((2, 40), dtype=bool)
    tree = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1, max_depth=2))
    a, again, b = (fit(tree, everyone, seed=seed).log_probabilities(DATA.X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, again)
    assert (a[0] != a[1]).any()
    assert (a != b).any()


def test_a_class_that_a_subset_lacks_has_probability_zero():
    lacking = (DATA.y != 1)[None]
    log_p = fit(LogisticRegression(), lacking).log_probabilities(DATA.X)[0]
    assert np.isneginf(log_p[:, 1]).all()
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0)


@pytest.mark.parametrize("estimator", [LogisticRegression(), KNeighborsClassifier(1)])
def test_a_subset_of_one_class_always_predicts_it(estimator):
    log_p = fit(estimator, (DATA.y == 2)[None]).log_probabilities(DATA.X)[0]
    np.testing.assert_array_equal(np.exp(log_p), np.eye(3)[[2]].repeat(40, axis=0))


def test_training_that_has_not_converged_is_no_warning():
    fit(MLPClassifier((5,), max_iter=2))


@pytest.mark.parametrize("estimator", [RidgeClassifier(), SVC()])
def test_estimators_without_probabilities_are_refused_with_a_way_out(estimator):
    with pytest.raises(ParameterError, match="CalibratedClassifierCV"):
        EstimatorLearner(estimator)


def test_a_class_in_place_of_an_estimator_is_refused():
    with pytest.raises(ParameterError, match="LogisticRegression\\(\\)"):
        EstimatorLearner(LogisticRegression)


@pytest.mark.parametrize(
    ("data", "inclusion", "message"),
    [
        (DATA, np.zeros((1, 40), dtype=bool), "without any record"),
        (DATA, np.ones((1, 39), dtype=bool), "one column per record"),
        (TrainingData(DATA.X, DATA.y + 0.5), INCLUSION, "Number the classes"),
        (TrainingData(DATA.X, DATA.y, np.ones((1, 2))), np.ones((1, 41), dtype=bool), "gradient records need DPSGD"),
    ],
)
def test_subsets_that_cannot_be_learned_are_refused(data, inclusion, message):
    with pytest.raises(ParameterError, match=message):
        fit(LogisticRegression(), inclusion, data)
