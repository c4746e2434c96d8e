"""Membership leakage as a scorer of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from dpassay.audit.metrics.membership import membership_scorer
from dpassay.mechanisms.core import AttackError, ParameterError, UnknownNameError

X, y = load_breast_cancer(return_X_y=True)
NAMES = np.array(["benign", "malign"])[y]


def test_scores_do_not_depend_on_the_fitted_state_and_repeat():
    scorer = membership_scorer(n_models=8, metric="auc", attack="base")
    tree = DecisionTreeClassifier(random_state=0)
    again = pickle.loads(pickle.dumps(scorer))
    assert scorer(tree, X, y) == again(DecisionTreeClassifier(random_state=0).fit(X, y), X, NAMES)
    assert not hasattr(tree, "tree_")


def test_a_search_finds_the_depth_that_leaks_least():
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, None]},
        scoring={"accuracy": "accuracy", "privacy": membership_scorer(n_models=8, metric="auc", attack="base")},
        refit="privacy",
        cv=2,
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_ == {"max_depth": 1}


def test_an_estimator_without_a_leak_scores_its_false_positive_rate():
    """Models that ignore their records: TPR at 10 % FPR is 10 %, AUC one half."""

    class Blind(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            rng = np.random.default_rng(self.random_state)
            return super().fit(rng.normal(size=(60, X.shape[1])), np.arange(60) % 2)

    rate = -membership_scorer(n_models=16, fpr=0.1)(Blind(random_state=0), X, y)
    assert abs(rate - 0.1) < 4.9 * np.sqrt(0.1 * 0.9 / len(X))  # as if the models of a record all agreed
    area = -membership_scorer(n_models=16, metric="auc")(Blind(random_state=0), X, y)
    assert abs(area - 0.5) < 4.9 * np.sqrt(1 / (6 * len(X)))


def test_fixed_records_are_scored_in_each_fold():
    scorer = membership_scorer(n_models=4, metric="auc", attack="base", records=(X, y))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    first, second = cross_val_score(pipeline, X[:200], y[:200], scoring=scorer, cv=2, error_score="raise")
    assert first == second


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"attack": 3}, "attack"),
        ({"metric": "accuracy"}, "metric"),
        ({"fpr": 0.0}, "fpr"),
        ({"n_models": 5}, "even"),
        ({"n_models": 2}, "n_models"),
    ],
)
def test_wrong_options_are_refused_at_once(options, problem):
    with pytest.raises(ParameterError, match=problem):
        membership_scorer(**options)


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(UnknownNameError, match="'lira'"):
        membership_scorer(attack="lyra")
    with pytest.raises(AttackError, match="compares with 4 reference models or more"):
        membership_scorer(attack="lira", n_models=4)
    with pytest.raises(ParameterError, match="at least 10 expected false positives: 125 records"):
        membership_scorer(n_models=16)(DecisionTreeClassifier(), X[:100], y[:100])
    with pytest.raises(ParameterError, match="predict_proba"):
        membership_scorer()(LinearSVC(), X, y)
