"""`retrain` and `unlearn` of a user as a mechanism to audit."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from dpassay.audit import Verdict, audit
from dpassay.mechanisms import ApproximateDP
from dpassay.mechanisms.adapters import forgetting
from dpassay.mechanisms.core import ParameterError, ReleaseError

CLAIM = ApproximateDP(1.0, 1e-5)
RECORDS = np.array([0.0, 0.1, 0.2, 5.0, 6.0])


def mean(records, rng):
    return records.mean() + rng.normal(scale=0.1)


def mean_of_rest(records, forget, rng):
    return mean(np.delete(records, forget), rng)


def mean_of_all(records, forget, rng):
    return mean(records, rng)


def test_retraining_is_not_found_and_keeping_the_records_is(without_power):
    limits = {"trials": 200, "confidence": 1 - 1e-6, "seed": 0}
    for unlearn, verdict in ((mean_of_rest, Verdict.CONSISTENT), (mean_of_all, Verdict.VIOLATION)):
        assert audit(forgetting(mean, unlearn, RECORDS, [3, 4], claim=CLAIM), **limits).verdict is verdict


def test_every_collection_of_records_loses_the_forgotten_ones():
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    for records, rest in ((list("abcd"), ["a", "d"]), ((X, y), (X[[0, 3]], y[[0, 3]]))):
        seen = forgetting(lambda r, rng: rng.normal(), lambda r, f, rng: rng.normal(), records, [2, 1], claim=CLAIM)
        d0, d1 = seen.neighbours.d0, seen.neighbours.d1
        np.testing.assert_equal(d0["records"], rest)
        assert d1["records"] is records
        assert (d0["forget"], d1["forget"]) == ([], [2, 1])


def test_models_of_scikit_learn_are_audited(without_power):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    y[:8] = 1 - y[:8]

    def train(records, rng):
        X, y = records
        model = SGDClassifier(loss="log_loss", max_iter=5, tol=None, random_state=int(rng.integers(2**31)))
        return model.fit(X, y).coef_[0]

    question = forgetting(train, lambda records, forget, rng: train(records, rng), (X, y), range(8), claim=CLAIM)
    assert question.release(question.neighbours.d1, 2, rng).values.shape == (2, 3)


@pytest.mark.parametrize("forget", [[], [1, 1], [5], [-1], [0, 1, 2, 3, 4]])
def test_positions_that_are_no_request_are_refused(forget):
    with pytest.raises(ParameterError, match="forget must hold"):
        forgetting(mean, mean_of_rest, RECORDS, forget, claim=CLAIM)


def test_functions_that_change_the_records_are_refused():
    def sorts(records, forget, rng):
        records[:] = records[rng.permutation(len(records))]
        return mean_of_rest(records, forget, rng)

    with pytest.raises(ReleaseError):
        forgetting(mean, sorts, RECORDS.copy(), [3, 4], claim=CLAIM).release(0, 1, np.random.default_rng(0))
