"""RAPPOR: the hash, the filters, the law of a report, estimates, refusals."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.utils import murmurhash3_32

from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.literature.local import RAPPOR, OneTimeRAPPOR

FALSE_ALARM = 1e-6


@pytest.mark.parametrize(
    ("data", "seed", "expected"),  # test vectors of the reference implementation, SMHasher; see Appleby 2011
    [
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"", 0xFFFFFFFF, 0x81F16F39),
        (b"\x00\x00\x00\x00", 0, 0x2362F9DE),
        (b"\xff\xff\xff\xff", 0, 0x76293B50),
        (b"aaaa", 0x9747B28C, 0x5A97808A),
        (b"aaa", 0x9747B28C, 0x283E0130),
        (b"aa", 0x9747B28C, 0x5D211726),
        (b"a", 0x9747B28C, 0x7FA09EA6),
        (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD),
    ],
)
def test_murmur_hash_has_the_values_of_its_reference_implementation(data, seed, expected):
    """That of scikit-learn, which sets the bits; it is signed."""
    assert murmurhash3_32(data, seed=seed) % 2**32 == expected
    assert -(2**31) <= murmurhash3_32(data, seed=seed) < 2**31


def test_filters_of_the_first_three_numbers_are_the_known_ones():
    # the bits that the evaluation of DP-Sniper (Bichsel et al. 2021) has
    for mechanism in (OneTimeRAPPOR(), RAPPOR()):
        bits = [np.flatnonzero(code).tolist() for code in mechanism.codes]
        assert bits == [[0, 11, 18], [3, 10, 13], [7, 10, 11, 19]]
        pair = mechanism.worst_case()
        assert (pair.d0, pair.d1) == (0, 1)


@pytest.mark.parametrize(("mechanism", "epsilon", "claim"), [(OneTimeRAPPOR(), 0.6005, 0.8), (RAPPOR(), 0.3001, 0.4)])
def test_true_epsilon_is_that_of_six_bits_and_the_claim_that_of_eight(mechanism, epsilon, claim):
    assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(epsilon, abs=5e-5)
    assert mechanism.guarantee().epsilon(0.0) == pytest.approx(claim, abs=1e-3)
    assert mechanism.exact_guarantee().epsilon(0.0) / 6 == pytest.approx(mechanism.guarantee().epsilon(0.0) / 8)


def test_rappor_of_a_certain_report_is_one_time_rappor():
    """q near 1 and p near 0 report the permanent bits as they are."""
    permanent, reported = OneTimeRAPPOR(f=0.6), RAPPOR(f=0.6, p=1e-12, q=1 - 1e-12)
    assert reported.p_one == pytest.approx(permanent.p_one, abs=1e-11)
    assert reported.q_one == pytest.approx(permanent.q_one, abs=1e-11)


def test_reports_have_their_law_when_drawn_in_two_steps():
    """The published procedure, bit after bit: a permanent response, then an instantaneous one."""
    mechanism, rng, n = RAPPOR(f=0.5, p=0.2, q=0.7, n_bits=4), np.random.default_rng(1), 200_000
    permanent = np.where(rng.random((n, 4)) < 0.5, rng.random((n, 4)) < 0.5, mechanism.codes[1])
    reports = rng.random((n, 4)) < np.where(permanent, 0.7, 0.2)
    expected = mechanism.channel()[1] * n
    for drawn in (reports, mechanism.release(1, n, rng).values):
        counts = np.bincount(drawn @ [8, 4, 2, 1], minlength=16)
        assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_claim_holds_for_all_pairs_and_is_attained_by_disjoint_filters():
    mechanism = OneTimeRAPPOR(k=300)
    sizes = {int(np.sum(mechanism.codes[a] != mechanism.codes[b])) for a, b in itertools.combinations(range(300), 2)}
    assert max(sizes) == 8
    assert mechanism.exact_guarantee().epsilon(0.0) == pytest.approx(mechanism.guarantee().epsilon(0.0), rel=1e-12)


def test_exact_curve_is_the_one_of_all_messages():
    mechanism = OneTimeRAPPOR(f=0.8, n_bits=10, n_hashes=3)
    pair, channel = mechanism.worst_case(), mechanism.channel()
    assert channel.sum(axis=1) == pytest.approx([1.0, 1.0, 1.0], abs=1e-12)
    p0, p1 = channel[pair.d0], channel[pair.d1]
    for t in (0.0, 0.4, 1.5):
        expected = max(np.maximum(p1 - math.exp(t) * p0, 0).sum(), np.maximum(p0 - math.exp(t) * p1, 0).sum())
        assert mechanism.exact_guarantee().delta(t) == pytest.approx(expected, rel=1e-9)


def test_reports_of_users_are_separate_and_log_probabilities_add_up():
    mechanism = RAPPOR(n_bits=7)
    users = np.array([2, 0])
    outputs = mechanism.release(users, 7, np.random.default_rng(2))
    assert outputs.values.shape == (7, 2, 7)
    each = [mechanism.log_density(Outputs(outputs.values[:, i]), users[i]) for i in range(2)]
    np.testing.assert_allclose(mechanism.log_density(outputs, users), each[0] + each[1], rtol=1e-12)


def test_estimates_are_unbiased_and_have_their_covariance():
    mechanism, rounds = RAPPOR(f=0.2, p=0.2, q=0.8), 20_000
    users = np.array([0] * 5 + [1] * 3 + [2] * 2)
    estimates = mechanism.estimate_frequencies(mechanism.release(users, rounds, np.random.default_rng(3)).values)
    assert estimates.shape == (rounds, 3)
    expected = mechanism.frequency_covariance([0.5, 0.3, 0.2], len(users))
    limit = stats.norm.isf(FALSE_ALARM / 6)
    error = np.sqrt(np.diag(expected) / rounds)
    assert np.all(np.abs(estimates.mean(axis=0) - [0.5, 0.3, 0.2]) < limit * error)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.all(np.abs(np.cov(estimates.T) - expected) < limit * 2 * scale / math.sqrt(rounds))


def test_estimates_are_refused_if_the_filters_are_dependent():
    mechanism = OneTimeRAPPOR(k=25)
    reports = mechanism.release(np.arange(25), 1, np.random.default_rng(0)).values
    with pytest.raises(ParameterError, match="linearly dependent"):
        mechanism.estimate_frequencies(reports)


def test_options_without_information_and_tables_too_large_are_refused():
    with pytest.raises(ParameterError, match="p below q"):
        RAPPOR(p=0.6, q=0.5)
    with pytest.raises(ParameterError, match="f must be below 1"):
        RAPPOR(f=1.0)
    with pytest.raises(ParameterError, match="too many for a table"):
        OneTimeRAPPOR().channel()
    with pytest.raises(ParameterError, match=r"messages must be whole numbers of shape \(..., n_users, 20\)"):
        OneTimeRAPPOR().estimate_frequencies([[0, 1]])
