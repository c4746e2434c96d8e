"""Unlearning: certificates are distances that no data exceed, and the exact methods leave no difference."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import Verdict, audit
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.core import Neighbours, NeighboursError, ParameterError
from dpassay.mechanisms.literature.unlearning import CertifiedUnlearning, Unlearning
from dpassay.mechanisms.literature.unlearning.broken import NoiseForOneRecord

CLAIM = ApproximateDP(1.0, 1e-5)
FEW = {"trials": 200, "confidence": 1 - 1e-6, "claim": CLAIM, "seed": 1}
SMALL = {"n_records": 60, "n_forget": 12, "steps": 60}


def data(seed, n, k, d=3):
    """Records of one kind, and forgotten ones that contradict them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (X[:, 0] > 0).astype(int)
    y[n - k :] = 1 - y[n - k :]
    return Neighbours((X[: n - k], y[: n - k]), (X, y), "add_remove")


@pytest.mark.parametrize("method", ["newton", "descent", "nothing"])
def test_updated_models_lie_within_the_distance_of_the_retrained_ones_and_not_far_below(method):
    largest = 0.0
    for seed, strength, k in product(range(3), (0.01, 0.1, 1.0, 4.0), (1, 10)):
        mechanism = CertifiedUnlearning(n_records=80, n_forget=k, regularisation=strength, method=method)
        for pair in (data(seed, 80, k), mechanism.worst_case()):
            out, in_ = (mechanism._centre(mechanism._rows(pair.side(side))) for side in (0, 1))
            largest = max(largest, float(np.linalg.norm(in_ - out)) / mechanism.distance)
    assert {"newton": 0.03, "descent": 0.3, "nothing": 0.4}[method] < largest <= 1.0


def test_newton_needs_noise_that_falls_with_the_square_of_the_number_of_records():
    one, two = (CertifiedUnlearning(n_records=n, method="newton").distance for n in (1000, 2000))
    assert one / two == pytest.approx(4.0, rel=1e-4)
    one, two = (CertifiedUnlearning(n_records=n, method="nothing").distance for n in (1000, 2000))
    assert one / two == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("method", ["retraining", "sisa"])
def test_exact_methods_give_both_sides_one_distribution(method):
    """Two-sample tests of each parameter; the untouched model differs in all of them."""
    pair = data(0, 60, 12)
    for name, same in ((method, True), ("nothing", False)):
        mechanism = Unlearning(**SMALL, method=name)
        out, in_ = (
            mechanism.release(pair.side(side), 4_000, np.random.default_rng([3, side])).values for side in (0, 1)
        )
        p_values = [stats.ks_2samp(out[:, column], in_[:, column]).pvalue for column in range(out.shape[1])]
        assert (min(p_values) > 1e-6 / 3) == same


def test_sisa_has_one_model_of_each_shard_and_trains_only_those_with_forgotten_records_again():
    """With one shard per record on average, shards without records keep a start of zero."""
    mechanism = Unlearning(**SMALL, method="sisa", n_shards=600, start_deviation=0.0, regularisation=1e-6)
    out = mechanism.release(mechanism.worst_case().d0, 50, np.random.default_rng(0)).values
    filled = 600 * (1 - (1 - 1 / 600) ** 48)
    one = Unlearning(**SMALL, start_deviation=0.0, regularisation=1e-6)
    alone = one.release(one.worst_case().d0, 1, np.random.default_rng(0)).values[0, 0]
    assert out.mean() == pytest.approx(alone * filled / 600, rel=0.05)


@pytest.mark.parametrize("method", ["retraining", "sisa"])
def test_audits_of_exact_methods_find_nothing(method, without_power):
    for seed in range(5):
        result = audit(Unlearning(**SMALL, method=method), **FEW | {"seed": seed})
        assert result.verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("method", ["nothing", "gradient-ascent"])
def test_a_model_that_forgets_nothing_or_too_much_is_found_with_200_models_a_side(method, without_power):
    mechanism = Unlearning(**SMALL, method=method)
    assert audit(mechanism, **FEW).verdict is Verdict.VIOLATION


def test_update_methods_come_nearer_to_the_retrained_models_than_nothing():
    pair = data(1, 60, 12)
    centre = Unlearning(**SMALL).release(pair.d0, 2_000, np.random.default_rng(0)).values.mean(axis=0)
    distances = {
        method: np.linalg.norm(
            Unlearning(**SMALL, method=method, update_steps=10)
            .release(pair.d1, 2_000, np.random.default_rng(1))
            .values.mean(axis=0)
            - centre
        )
        for method in ("nothing", "newton", "fine-tuning")
    }
    assert distances["newton"] < 0.3 * distances["nothing"]
    assert distances["fine-tuning"] < 0.8 * distances["nothing"]


@pytest.mark.parametrize("method", ["newton", "descent", "nothing"])
def test_noise_for_one_record_is_found_and_the_certificate_is_not(method, without_power):
    options = {"n_records": 100, "n_forget": 10, "regularisation": 1.0, "method": method}
    limits = {"trials": 4_000, "confidence": 1 - 1e-6, "delta": 1e-5, "seed": 2}
    assert audit(NoiseForOneRecord(**options), **limits).verdict is Verdict.VIOLATION
    assert audit(CertifiedUnlearning(**options), **limits).verdict is not Verdict.VIOLATION


def test_what_cannot_be_a_request_is_refused():
    with pytest.raises(ParameterError, match="n_forget must be smaller than n_records = 5"):
        Unlearning(n_records=5, n_forget=5)
    mechanism, pair = Unlearning(n_records=20, n_forget=4), data(0, 20, 4)
    with pytest.raises(ParameterError, match="n_records = 20 records, of which the last 4"):
        mechanism.release((pair.d1[0][:19], pair.d1[1][:19]), 1, np.random.default_rng(0))
    shuffled = (pair.d0[0][::-1], pair.d0[1][::-1])
    for wrong in (Neighbours(pair.d1, pair.d0, "add_remove"), Neighbours(shuffled, pair.d1, "add_remove")):
        with pytest.raises(NeighboursError, match="Put the records to forget at the end"):
            mechanism.bind(wrong)
