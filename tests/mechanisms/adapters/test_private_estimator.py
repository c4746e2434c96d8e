"""Estimators that say they are private: fakes, right and wrong, and those of diffprivlib where it is installed."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import ApproximateDP, Neighbours, PureDP, Relation
from dpassay.mechanisms.adapters.private_estimator import PrivateEstimator
from dpassay.mechanisms.core.base import Workers
from dpassay.mechanisms.core.errors import AccountingError, ParameterError, RelationError, ReleaseError
from dpassay.mechanisms.core.records import remove_record, replace_record

X = np.zeros((20, 1))
Y = np.arange(20) % 2
PAIR = replace_record((np.concatenate([X[:-1], [[1.0]]]), Y), 19, (np.zeros(1), 1))


class NoisyMeans(BaseEstimator):
    """Mean of the clipped features with Laplace noise for replacing a record; noise is `wrong` times less than that."""

    def __init__(self, epsilon=1.0, wrong=1.0, random_state=None):
        self.epsilon = epsilon
        self.wrong = wrong
        self.random_state = random_state

    def fit(self, X, y):
        scale = 1.0 / (len(X) * self.epsilon * self.wrong)
        self.classes_ = np.unique(y)
        self.coef_ = np.clip(X, 0, 1).mean(axis=0) + np.random.RandomState(self.random_state).laplace(scale=scale)
        self.intercept_ = 0.0
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-(X @ self.coef_)))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (X @ self.coef_ > 0.5 / 20).astype(int)


def draw(mechanism, side=1, size=5, seed=0):
    return mechanism.release(mechanism.neighbours.side(side), size, np.random.default_rng(seed))


@pytest.mark.usefixtures("without_power")
def test_a_right_estimator_passes_and_a_wrong_one_fails():
    verdicts = [
        audit(PrivateEstimator(NoisyMeans(wrong=wrong), PAIR, relation="replace_one"), trials=300, seed=0).verdict
        for wrong in (1.0, 4.0)
    ]
    assert verdicts == [Verdict.CONSISTENT, Verdict.VIOLATION]


@pytest.mark.usefixtures("without_power")
@pytest.mark.parametrize("view", ["probabilities", "labels"])
def test_predictions_show_what_coefficients_show(view):
    mechanism = PrivateEstimator(NoisyMeans(wrong=6.0), PAIR, relation="replace_one", view=view, queries=[[1.0]])
    assert audit(mechanism, trials=300, seed=0).verdict is Verdict.VIOLATION


def test_parameters_are_laid_out_in_the_order_of_the_attributes():
    shown = draw(
        PrivateEstimator(NoisyMeans(), PAIR, relation="replace_one", attributes=["intercept_", "coef_", "classes_"])
    ).values
    assert shown.shape == (5, 4)
    np.testing.assert_array_equal(shown[:, [0, 2, 3]], [[0.0, 0.0, 1.0]] * 5)
    assert len(set(shown[:, 1])) == 5


def test_queries_default_to_the_records_that_only_one_side_has():
    mechanism = PrivateEstimator(NoisyMeans(), PAIR, relation="replace_one", view="labels")
    np.testing.assert_array_equal(np.asarray(mechanism.queries), [[1.0]])


def test_runs_repeat_with_the_generator_and_leave_the_estimator_alone():
    estimator = NoisyMeans()
    mechanism = PrivateEstimator(estimator, PAIR, relation="replace_one")
    np.testing.assert_array_equal(draw(mechanism).values, draw(mechanism).values)
    assert (draw(mechanism).values != draw(mechanism, seed=1).values).any()
    assert not hasattr(estimator, "coef_")
    assert estimator.random_state is None
    assert mechanism.workers is Workers.PROCESSES


def test_an_estimator_without_a_random_state_runs_on_one_worker():
    class Unseeded:
        epsilon = 1.0

        def fit(self, X, y):
            self.coef_ = X.mean() + np.random.default_rng().laplace()
            return self

    mechanism = PrivateEstimator(Unseeded(), PAIR, relation="replace_one", attributes=["coef_"])
    assert mechanism.workers is Workers.THIS_PROCESS
    assert (draw(mechanism).values != draw(mechanism).values).all()


def test_a_fit_that_raises_on_one_side_is_a_leak():
    class Choosy(NoisyMeans):
        def fit(self, X, y):
            if X.max() == 0:
                raise ValueError("nothing varies")
            return super().fit(X, y)

    mechanism = PrivateEstimator(Choosy(), PAIR, relation="replace_one")
    assert draw(mechanism, side=0).events.tolist() == ["raised ValueError: nothing varies"] * 5
    assert audit(mechanism, trials=300, seed=0).verdict is Verdict.VIOLATION


def test_a_missing_class_that_changes_the_shape_is_a_leak():
    class PerClass(NoisyMeans):
        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = np.random.RandomState(self.random_state).laplace(size=len(self.classes_))
            return self

    y = np.append(np.zeros(19, dtype=int), 1)
    pair = Neighbours((X, y), (X, np.zeros(20, dtype=int)), "replace_one")
    assert (
        audit(PrivateEstimator(PerClass(), pair, relation="replace_one"), trials=300, seed=0).verdict
        is Verdict.VIOLATION
    )


def test_the_claim_is_read_from_the_estimator():
    assert PrivateEstimator(NoisyMeans(epsilon=0.3), PAIR, relation="replace_one").guarantee() == PureDP(
        0.3, "replace_one"
    )
    assert PrivateEstimator(
        NoisyMeans(epsilon=0.3), PAIR, relation="replace_one", claim=PureDP(2.0)
    ).guarantee() == PureDP(2.0)
    with pytest.raises(RelationError, match="replace_one"):
        PrivateEstimator(NoisyMeans(), PAIR, relation="replace_one", claim=PureDP(1.0, "add_remove"))

    class WithDelta(NoisyMeans):
        def __init__(self, epsilon=1.0, delta=1e-6, wrong=1.0, random_state=None):
            super().__init__(epsilon, wrong, random_state)
            self.delta = delta

    assert PrivateEstimator(WithDelta(), PAIR, relation="replace_one").guarantee() == ApproximateDP(
        1.0, 1e-6, "replace_one"
    )


def test_a_pair_under_another_relation_than_the_promise_is_refused():
    """Right noise for replacing a record; adding one moves the mean of few records further than that."""
    data = (np.concatenate([X[:-1], [[1.0]]]), Y)
    added = remove_record(data, 19)
    with pytest.raises(RelationError, match=r"'replace_one', but the pair has 'add_remove'"):
        PrivateEstimator(NoisyMeans(), added, relation="replace_one")
    mechanism = PrivateEstimator(NoisyMeans(), PAIR, relation="replace_one")
    with pytest.raises(RelationError, match="replace_one"):
        audit(mechanism, added, trials=100)
    assert PrivateEstimator(NoisyMeans(), added, relation="add_remove").relation is Relation.ADD_REMOVE


def test_the_relation_of_the_promise_must_be_stated():
    with pytest.raises(ParameterError, match=r"relation is needed: what the epsilon of NoisyMeans holds for"):
        PrivateEstimator(NoisyMeans(), PAIR)
    with pytest.raises(ParameterError, match="Did you mean 'replace_one'"):
        PrivateEstimator(NoisyMeans(), PAIR, relation="replace-one")
    with pytest.raises(RelationError, match="Give both the same"):
        PrivateEstimator(NoisyMeans(), PAIR, relation="replace_one", claim=PureDP(1.0, "add_remove"))
    assert PrivateEstimator(NoisyMeans(), PAIR, claim=PureDP(1.0, "replace_one")).relation is Relation.REPLACE_ONE


def test_what_an_estimator_says_of_its_privacy_is_passed_on_once():
    class PrivacyLeakWarning(RuntimeWarning):
        pass

    class Confessing(NoisyMeans):
        def fit(self, X, y):
            import warnings

            warnings.warn("bounds were read from the data", PrivacyLeakWarning, stacklevel=2)
            return super().fit(X, y)

    with pytest.warns(PrivacyLeakWarning, match=r"Confessing warns: bounds were read") as caught:
        mechanism = PrivateEstimator(Confessing(), PAIR, relation="replace_one")
    assert len(caught) == 1
    draw(mechanism)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimator": NoisyMeans}, ParameterError, r"estimator must be an object with fit"),
        ({"view": "coef"}, ParameterError, r"view .*parameters"),
        ({"view": "probabilities", "queries": [1.0]}, ParameterError, r"queries must have shape \(n, n_features\)"),
        ({"attributes": "coef_"}, ParameterError, r"Try \['coef_'\]"),
        ({"attributes": ["weights_"]}, ReleaseError, r"has no weights_\. Name what it releases"),
    ],
)
def test_bad_options_are_refused_with_what_to_do(change, error, message):
    options = {"estimator": NoisyMeans(), "neighbours": PAIR, "relation": "replace_one"} | change
    with pytest.raises(error, match=message):
        PrivateEstimator(**options)


def test_an_estimator_that_promises_nothing_needs_a_claim():
    class Silent:
        def fit(self, X, y):
            return self

    with pytest.raises(AccountingError, match=r"Silent has no epsilon .* Give claim="):
        PrivateEstimator(Silent(), PAIR, relation="replace_one")
