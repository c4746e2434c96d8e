"""Local mechanisms that tell how often each value is held: laws, supports, estimates, variances, refusals."""

import itertools
import math
import re

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.literature.local import CountMeanSketch, HadamardResponse, LocalHashing, SubsetSelection
from dpassay.mechanisms.local import KAryRandomizedResponse, UnaryEncoding

FALSE_ALARM = 1e-6
SMALL = [
    KAryRandomizedResponse(1.0, 4),
    UnaryEncoding(0.8, 4),
    UnaryEncoding(1.5, 3, kind="symmetric"),
    CountMeanSketch(1.0, 4, prime=5, n_buckets=3),
    CountMeanSketch(2.0, 5, prime=7, n_buckets=5),
    LocalHashing(1.0, 4, prime=7),
    LocalHashing(2.0, 5, prime=5, n_buckets=2),
    LocalHashing(0.5, 3, prime=5, n_buckets=5),
    SubsetSelection(1.0, 5),
    SubsetSelection(0.3, 5, subset_size=4),
    HadamardResponse(1.0, 3),
    HadamardResponse(0.7, 5),
]
small = pytest.mark.parametrize("mechanism", SMALL, ids=str)


@small
def test_channel_has_a_law_per_value_and_largest_ratio_e_to_the_epsilon(mechanism):
    channel = mechanism.channel()
    assert channel.shape == (mechanism.k, mechanism.n_messages)
    np.testing.assert_allclose(channel.sum(axis=1), 1.0, rtol=1e-12)
    assert math.log((channel.max(axis=0) / channel.min(axis=0)).max()) == pytest.approx(mechanism.epsilon, rel=1e-9)


@small
def test_claim_is_the_exact_curve_of_every_pair_of_values(mechanism):
    channel = mechanism.channel()
    for p, q in itertools.permutations(channel, 2):
        for t in (0.0, 0.2, 0.6):
            assert mechanism.guarantee().delta(t) == pytest.approx(np.maximum(p - math.exp(t) * q, 0).sum(), abs=1e-12)


@small
def test_messages_have_their_law(mechanism):
    n, table = 30_000, mechanism.messages()
    sent = mechanism.release(1, n, np.random.default_rng(1)).values
    columns = {tuple(np.atleast_1d(message)): i for i, message in enumerate(table.tolist())}
    distinct, counts = np.unique(sent.reshape(n, -1), axis=0, return_counts=True)
    seen = np.zeros(len(table))
    seen[[columns[tuple(message)] for message in distinct.tolist()]] = counts
    assert stats.chisquare(seen, mechanism.channel()[1] * n).pvalue > FALSE_ALARM


@small
def test_a_message_supports_values_with_the_stated_probabilities(mechanism):
    """Summed over the table of messages; that makes estimates unbiased, whoever holds what."""
    support = np.array([mechanism._support(message[None]) for message in mechanism.messages()])
    expected = np.full((mechanism.k, mechanism.k), mechanism.q_support)
    np.fill_diagonal(expected, mechanism.p_support)
    np.testing.assert_allclose(mechanism.channel() @ support, expected, rtol=1e-12)


@small
def test_estimates_are_unbiased_and_have_their_variance(mechanism):
    users, rounds = np.array([0] * 6 + [2] * 4), 4000
    estimates = mechanism.estimate_frequencies(mechanism.release(users, rounds, np.random.default_rng(2)).values)
    assert estimates.shape == (rounds, mechanism.k)
    limit = stats.norm.isf(FALSE_ALARM / 6)
    for value, share in ((0, 0.6), (1, 0.0), (2, 0.4)):
        variance = mechanism.frequency_variance(share, len(users))
        assert abs(estimates[:, value].mean() - share) < limit * math.sqrt(variance / rounds)
        kurtosis = stats.kurtosis(estimates[:, value], fisher=False)
        assert estimates[:, value].var() == pytest.approx(variance, rel=limit * math.sqrt((kurtosis - 1) / rounds))


@pytest.mark.parametrize("epsilon", [0.3, math.log(3.0), 4.0])
def test_variances_for_rare_values_are_the_published_ones(epsilon):
    # Wang, Blocki, Li and Jha (2017), Table 1; Hadamard response as binary local hashing
    e, k = math.exp(epsilon), 16
    binary = ((e + 1) / (e - 1)) ** 2
    published = [
        (KAryRandomizedResponse(epsilon, k), (e + k - 2) / (e - 1) ** 2),
        (UnaryEncoding(epsilon, k, kind="symmetric"), math.sqrt(e) / (math.sqrt(e) - 1) ** 2),
        (UnaryEncoding(epsilon, k), 4 * e / (e - 1) ** 2),
        (LocalHashing.binary(epsilon, k), binary),
        (HadamardResponse(epsilon, k), binary),
    ]
    for mechanism, variance in published:
        assert mechanism.frequency_variance(0.0, 1) == pytest.approx(variance, rel=1e-9)
    with_whole_buckets = LocalHashing(math.log(3.0), k)  # g = 4 = e^epsilon + 1
    assert with_whole_buckets.frequency_variance(0.0, 1) == pytest.approx(4 * 3 / (3 - 1) ** 2, rel=1e-6)


def test_the_estimate_of_a_count_mean_sketch_is_the_published_one():
    """Apple (2017), algorithms 4 and 5: c = (e^(eps/2) + 1) / (e^(eps/2) - 1), bits of -1 and 1, m = prime buckets.

    For a value without users, v = -1 or 1 has the mean (2 / m - 1) / c, and the estimate m / (m - 1) times c v / 2.
    """
    mechanism, c = CountMeanSketch(2.0, 3, prime=7, n_buckets=7), (math.e + 1) / (math.e - 1)
    sent = mechanism.release(np.array([0, 0, 1, 2] * 5), 1, np.random.default_rng(0)).values[0]
    unbiased = 0.5 * c * (2.0 * sent[:, 2:] - 1.0) + 0.5
    for value, estimate in enumerate(mechanism.estimate_frequencies(sent)):
        buckets = (sent[:, 0] * value + sent[:, 1]) % 7
        mean = unbiased[np.arange(20), buckets].mean()
        assert estimate == pytest.approx(7 / 6 * (mean - 1 / 7), rel=1e-12)
    rare = (7 / 6) ** 2 * (c**2 - (1 - 2 / 7) ** 2) / 4
    assert mechanism.frequency_variance(0.0, 1) == pytest.approx(rare, rel=1e-12)


def test_no_other_number_of_buckets_has_less_variance_than_the_default():
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        best = LocalHashing(epsilon, 10).frequency_variance(0.0, 1)
        others = [LocalHashing(epsilon, 10, n_buckets=g).frequency_variance(0.0, 1) for g in range(2, 40)]
        assert best <= min(others) * 1.01  # the whole number next to the best real one


def test_sets_of_one_value_are_k_ary_randomized_response():
    assert SubsetSelection(3.0, 5).d == 1
    np.testing.assert_allclose(SubsetSelection(3.0, 5).channel(), KAryRandomizedResponse(3.0, 5).channel(), rtol=1e-12)


def test_default_size_of_the_sets_has_the_least_variance():
    for epsilon, k in ((0.5, 10), (1.0, 12), (2.0, 30)):
        best = SubsetSelection(epsilon, k).frequency_variance(1 / k, 1)
        others = [SubsetSelection(epsilon, k, subset_size=d).frequency_variance(1 / k, 1) for d in range(1, k)]
        assert best == pytest.approx(min(others), rel=0.02)


def test_values_collide_as_often_as_stated():
    for prime, g in ((5, 2), (7, 3), (11, 11)):
        places = np.arange(prime) % g
        assert LocalHashing(1.0, 2, prime=prime, n_buckets=g).collision == pytest.approx(
            np.mean(places[:, None] == places), rel=1e-12
        )
    assert LocalHashing(1.0, 2, n_buckets=3).collision == pytest.approx(1 / 3, abs=1e-15)


@pytest.mark.parametrize(
    "mechanism",
    [
        LocalHashing(1.0, 10**6),
        CountMeanSketch(1.0, 10**6, n_buckets=8),
        HadamardResponse(1.0, 900),
        SubsetSelection(1.0, 40),
    ],
)
def test_many_values_are_distinguished_too(mechanism):
    value = mechanism.k - 1
    sent = mechanism.release(value, 20_000, np.random.default_rng(3))
    losses = mechanism.log_density(sent, value) - mechanism.log_density(sent, 0)
    expected = mechanism.guarantee().delta(0.0)  # total variation, the difference of Pr[loss > 0]
    result = np.mean(losses > 0) - np.mean(losses < 0)
    assert abs(result - expected) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(20_000)


@pytest.mark.parametrize(
    ("mechanism", "messages"),
    [
        (LocalHashing(1.0, 3, prime=5), [[5, 0, 0], [0, -1, 0], [0, 0, 4], [1, 2, 3]]),
        (CountMeanSketch(1.0, 3, prime=5, n_buckets=2), [[5, 0, 0, 0], [0, -1, 0, 1], [0, 0, 2, 0], [4, 4, 1, 1]]),
        (SubsetSelection(1.0, 4, subset_size=2), [[1, 1, 1, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0]]),
        (HadamardResponse(1.0, 3), [-1, 4, 100, 3]),
        (UnaryEncoding(1.0, 2), [[2, 0], [-1, 0], [3, 3], [1, 1]]),
    ],
)
def test_impossible_messages_have_no_probability_and_no_estimate(mechanism, messages):
    result = mechanism.log_density(Outputs(np.array(messages)), 0)
    assert np.isneginf(result).tolist() == [True, True, True, False]
    with pytest.raises(ParameterError, match="some of them are impossible"):
        mechanism.estimate_frequencies(messages)
    assert mechanism.estimate_frequencies(messages[3:]).shape == (mechanism.k,)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: LocalHashing(1.0, 10, prime=7), "prime must be a prime from max(k, n_buckets) = 10"),
        (lambda: LocalHashing(1.0, 3, prime=9), "prime must be a prime"),
        (lambda: LocalHashing(1.0, 3).channel(), "too many for a table"),
        (lambda: SubsetSelection(1.0, 3, subset_size=3), "subset_size must be below k = 3"),
        (lambda: SubsetSelection(0.1, 40).channel(), "too many for a table"),
    ],
)
def test_bad_options_are_refused_with_the_reason(make, problem):
    with pytest.raises(ParameterError, match=re.escape(problem)):
        make()
