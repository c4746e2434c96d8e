"""Private fine-tuning: what the representation reads, what canaries and attacks see, and the one that saw too much."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from dpassay.attacks.canaries import Mislabelled
from dpassay.attacks.distinguishing.canary_attacks import CanaryLoss
from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.broken.fine_tuning import EncoderOfPrivateRecords
from dpassay.mechanisms.learning.dp_sgd.fine_tuning import FineTuning
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.dp_sgd.sampling import FullBatch
from dpassay.mechanisms.learning.models.architectures import LogisticRegression, SoftmaxRegression
from dpassay.mechanisms.noise.laplace import Laplace

X, y = load_digits(return_X_y=True)
HEAD = DPSGD(
    SoftmaxRegression(12, 10),
    steps=10,
    noise_multiplier=10.6,
    sampling="full-batch",
    batch_size=150,
    learning_rate=4.0,
)
DIGITS = FineTuning(HEAD, public=X[800:])


def test_features_are_normalised_principal_components():
    features = DIGITS.encoded((X[:50], y[:50])).X
    expected = PCA(12, svd_solver="full").fit(X[800:]).transform(X[:50])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(features), np.abs(expected), atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 50, 399, 400])
def test_features_have_the_same_bytes_whatever_the_other_records(n):
    tuned = FineTuning(replace(HEAD, model=SoftmaxRegression(20, 10)), public=X[800:])
    whole = tuned.encoded((X[:400], y[:400])).X
    for first in (0, 1, 7):
        some = tuned.encoded((X[first:n], y[first:n])).X if first < n else whole[:0]
        np.testing.assert_array_equal(some, whole[first:n][: len(some)])


def test_no_private_record_moves_the_features_of_another():
    one = DIGITS.encoded((X[:50], y[:50])).X
    moved = X[:50].copy()
    moved[0] = 1e6 * X[60]
    np.testing.assert_array_equal(DIGITS.encoded((moved, y[:50])).X[1:], one[1:])
    broken = EncoderOfPrivateRecords()
    pair = broken.worst_case()
    assert np.abs(broken.encoded(pair.d0).X - broken.encoded(pair.d1).X[:10]).max() == pytest.approx(2.0)


def test_the_head_is_that_of_dp_sgd_on_features():
    data = DIGITS.encoded((X[:50], y[:50]))
    one, other = (m.release(d, 3, np.random.default_rng(1)) for m, d in ((DIGITS, (X[:50], y[:50])), (HEAD, data)))
    np.testing.assert_array_equal(one.values, other.values)


def test_a_mislabelled_digit_shows_in_the_loss_of_the_head(without_power):
    stage, pair = Mislabelled().stage((X[:150], y[:150]), DIGITS)
    result = audit(stage, pair, attack=CanaryLoss(), trials=300, delta=1e-5, bound="accountant-family", seed=0)
    assert 0.1 < result.bound.epsilon < result.claim


def test_components_of_private_records_are_caught_and_public_ones_are_not(without_power):
    broken = EncoderOfPrivateRecords()
    options = {"trials": 1_000, "delta": 1e-5, "confidence": 0.9999, "seed": 0}
    assert audit(broken, **options).verdict is Verdict.VIOLATION
    twin = audit(broken.twin(), broken.worst_case(), attack=CanaryLoss(), **options)
    assert twin.verdict is not Verdict.VIOLATION


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: FineTuning(Laplace(1.0)), "base"),
        (lambda: FineTuning(DPSGD(LogisticRegression(2), steps=1, noise_multiplier=1.0, sampling="full-batch",
                                  relation="zero_out")), "base"),
        (lambda: FineTuning(HEAD, public=X[:12]), "public"),
        (lambda: FineTuning(HEAD, public=[["a"]]), "public must be rows of numbers, but is"),
        (lambda: FineTuning(HEAD, public=[[0.0, np.nan]]), "1 of its 2 numbers are not.*nan, in row 0, column 1"),
        (lambda: FineTuning(HEAD), "public"),
        (lambda: EncoderOfPrivateRecords(HEAD, public=X), "base"),
        (lambda: EncoderOfPrivateRecords(DPSGD(LogisticRegression(1), steps=1, noise_multiplier=1.0, projection=1.0,
                                               sampling=FullBatch(expected_batch_size=1))), "base"),
        (lambda: FineTuning().encoded(TrainingData(np.zeros((2, 3)), np.zeros(2))), "features"),
    ],
)  # fmt: skip
def test_wrong_options_are_named(make, argument):
    with pytest.raises(ParameterError, match=argument):
        make()
