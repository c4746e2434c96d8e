"""The precision of a sum: what its last bits tell, the order of floats, and a law that adds up."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.broken.floats import RoundedSum
from dpassay.mechanisms.broken.floats.ladder import LADDERS
from dpassay.mechanisms.core.base import Outputs
from dpassay.mechanisms.core.errors import ParameterError

FALSE_ALARM = 1e-6


def test_share_of_outputs_with_finer_bits_than_the_other_answer_allows():
    """Published for scale 1: not a multiple of 2^-53, 0.2718 of 0 + noise (2^-54: 0.15) and none of 1 + noise."""
    mechanism, n = RoundedSum(1.0), 100_000
    finer = sum(
        (math.exp(-(2.0 ** -(k + 1))) - math.exp(-(2.0**-k))) * (1 - 2.0**-k) for k in range(1, 60)
    )  # |noise| in [2^-(k + 1), 2^-k), and not one of the 2^-k of its floats
    assert finer == pytest.approx(0.2718, abs=5e-5)
    values = mechanism.release(0.0, n, np.random.default_rng(0)).values
    for bits, share in ((53, finer), (54, 0.1502)):
        seen = np.count_nonzero(values * 2.0**bits % 1.0)
        assert abs(seen / n - share) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(share / n)
    values = mechanism.release(1.0, n, np.random.default_rng(1)).values
    assert not np.any(values * 2.0**53 % 1.0)


def test_outputs_too_fine_for_an_answer_are_impossible_and_others_are_not():
    mechanism = RoundedSum(1.0)
    outputs = mechanism.release(0.0, 20_000, np.random.default_rng(2))
    fine = outputs.values * 2.0**53 % 1.0 != 0.0
    assert np.isneginf(mechanism.log_density(outputs, 1.0))[fine].all()
    assert not np.isneginf(mechanism.log_density(outputs, 0.0)).any()


@pytest.mark.parametrize("dtype", LADDERS)
@pytest.mark.parametrize("answer", [0.0, 1.0, -0.1, 1000.0])
def test_no_output_of_its_own_is_called_impossible(dtype, answer):
    for epsilon in (0.1, 1.0, 20.0):
        mechanism = RoundedSum(epsilon, dtype=dtype)
        outputs = mechanism.release(answer, 5000, np.random.default_rng(3))
        assert outputs.values.dtype == dtype
        assert np.isfinite(mechanism.log_density(outputs, answer)).all()


@pytest.mark.parametrize("answer", [0.0, 1.0, 0.3])
def test_probabilities_of_all_small_floats_add_up_and_are_those_of_the_noise(answer):
    mechanism = RoundedSum(1.0, dtype="float16")
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    every = np.unique(every[np.isfinite(every)])
    stated = np.exp(mechanism.log_density(Outputs(every), answer))
    assert stated.sum() == pytest.approx(1.0, abs=1e-9)
    values = mechanism.release(answer, 200_000, np.random.default_rng(4)).values
    common = stated * 200_000 > 10
    seen = dict(zip(*np.unique(values, return_counts=True), strict=True))
    counts = np.array([seen.get(y, 0) for y in every[common][::7]])
    expected = stated[common][::7] * 200_000
    counts, expected = np.append(counts, 200_000 - counts.sum()), np.append(expected, 200_000 - expected.sum())
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_where_floats_are_fine_the_law_is_that_of_real_numbers():
    """Around 1,000 the gaps between sums are 2^-43 wide, and hold hundreds of floats of noise each."""
    mechanism = RoundedSum(1.0)
    outputs = mechanism.release(1000.0, 2000, np.random.default_rng(5))
    gap = np.spacing(outputs.values)
    real = stats.laplace(loc=1000.0).logpdf(outputs.values) + np.log(gap)
    near = np.abs(outputs.values - 1000.0) < 0.5
    np.testing.assert_allclose(mechanism.log_density(outputs, 1000.0)[near], real[near], atol=2e-2)


@pytest.mark.parametrize("dtype", LADDERS)
def test_places_count_floats(dtype):
    floats, one = LADDERS[dtype], np.ones(1, dtype=dtype)
    for value in (one, -one, 0 * one, np.nextafter(0 * one, one), 7 * one / 3):
        place = floats.place(value)
        assert floats.at(place) == value
        assert floats.at(place + 1) == np.nextafter(value, np.inf * one)
        assert floats.at(place - 1) == np.nextafter(value, -np.inf * one)
    assert np.isinf(floats.at(np.array([floats.n_below_infinity]))).all()


def test_an_audit_refutes_the_claim_by_far(without_power):
    pair = Neighbours(0.0, 1.0, "add_remove")
    result = audit(RoundedSum(0.1), pair, trials=20_000, confidence=1 - 1e-6, seed=6)
    assert result.verdict.value == "violation"
    assert result.bound.epsilon > 2.0


def test_bad_options_are_refused():
    with pytest.raises(ParameterError, match="dtype"):
        RoundedSum(1.0, dtype="float128")
    with pytest.raises(ParameterError, match="epsilon must be"):
        RoundedSum(0.0)
    assert RoundedSum(1.0).exact_guarantee() is None
