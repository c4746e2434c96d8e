"""Shuffled messages: law, exact curve, refusals; and the sample sizes of the trust models."""

import math
import re
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.accounting.amplification import local_epsilon_for
from dpassay.mechanisms.core import Neighbours, NeighboursError, Outputs, ParameterError, RelationError
from dpassay.mechanisms.literature.local import HadamardResponse, LocalHashing, SubsetSelection
from dpassay.mechanisms.literature.shuffle import Shuffled, learning_samples, uniformity_samples
from dpassay.mechanisms.local import KAryRandomizedResponse, RandomizedResponse, UnaryEncoding
from dpassay.mechanisms.noise.geometric import Geometric

FALSE_ALARM = 1e-6


@pytest.mark.parametrize(  # exact binomial sums for one 1 among zeros, at delta = 1e-6
    ("local_epsilon", "n", "epsilon"),
    [
        (0.5, 10_000, 0.01618),
        (1.0, 10_000, 0.0356588),
        (2.0, 10_000, 0.08702),
        (math.log(3.0), 10_000, 0.03988),
        (1.0, 1000, 0.12661),
    ],
)
def test_exact_epsilon_of_shuffled_randomized_response_is_known(local_epsilon, n, epsilon):
    mechanism = Shuffled(RandomizedResponse(local_epsilon), n)
    assert mechanism.exact_guarantee().epsilon(1e-6) == pytest.approx(epsilon, abs=5e-6)
    assert mechanism.guarantee().epsilon(1e-6) > epsilon


@pytest.mark.parametrize(
    ("mechanism", "users"),
    [
        (Shuffled(RandomizedResponse(1.0), 7), [0, 0, 1, 1, 1, 0, 1]),
        (Shuffled(KAryRandomizedResponse(1.0, 3), 4), [2, 2, 0, 2]),
        (Shuffled(HadamardResponse(0.7, 3), 3), [1, 1, 1]),
    ],
)
def test_counts_are_those_of_the_messages_of_all_users(mechanism, users):
    """Against messages of the local mechanism, counted; and both against the stated law."""
    n, rng = 40_000, np.random.default_rng(1)
    counts = mechanism.release(users, n, rng).values
    sent = mechanism.randomizer.release(users, n, rng).values
    tallied = (sent[:, :, None] == np.arange(mechanism.randomizer.n_messages)).sum(axis=1)
    for result in (counts, tallied):
        seen, times = np.unique(result, axis=0, return_counts=True)
        expected = np.exp(mechanism.log_density(Outputs(seen), users)) * n
        often = np.argsort(-expected)[: np.sum(expected >= 5) - 1]  # the least of these goes with all that are rare
        pooled = (np.append(part[often], n - part[often].sum()) for part in (times, expected))
        assert stats.chisquare(*pooled).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "randomizer",
    [
        RandomizedResponse(0.9),
        KAryRandomizedResponse(1.3, 3),
        KAryRandomizedResponse(0.4, 4),
        HadamardResponse(0.7, 3),
        UnaryEncoding(0.8, 3),
        SubsetSelection(1.1, 4),
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_law_is_the_sum_over_who_sent_what_whatever_the_users_hold(randomizer, n):
    """Against all messages that n users can send, for all values that the law is known for."""
    mechanism, channel = Shuffled(randomizer, n), randomizer.channel()
    kinds = channel.shape[1]
    held = [users for users in product(range(min(3, randomizer.n_categories)), repeat=n) if kinds**n <= 5000]
    checked = 0
    for users in held:
        most = max(users.count(value) for value in users)
        if kinds > 2 and most < n - 1:
            continue
        law = {}
        for messages in product(range(kinds), repeat=n):
            counts = tuple(np.bincount(messages, minlength=kinds).tolist())
            law[counts] = law.get(counts, 0.0) + math.prod(channel[u, m] for u, m in zip(users, messages, strict=True))
        result = np.exp(mechanism.log_density(Outputs(np.array(list(law))), users))
        np.testing.assert_allclose(result, list(law.values()), rtol=1e-9)
        checked += len(set(users)) > 1
    assert checked or kinds**n > 5000


def test_messages_of_many_users_are_counted_in_blocks():
    mechanism = Shuffled(RandomizedResponse(1.0), 10**5)
    counts = mechanism.release(np.zeros(10**5), 5, np.random.default_rng(0)).values
    assert counts.sum(axis=1).tolist() == [10**5] * 5
    assert np.isfinite(mechanism.log_density(Outputs(counts), np.zeros(10**5))).all()


@pytest.mark.parametrize(
    "randomizer",
    [
        RandomizedResponse(1.0),
        UnaryEncoding(1.0, 3),
        SubsetSelection(1.0, 5, subset_size=2),
        LocalHashing(1.0, 3, n_buckets=3, prime=5),
    ],
)
def test_what_is_released_is_a_count_of_what_the_randomizer_sends(randomizer):
    mechanism, users = Shuffled(randomizer, 4), [1, 0, 1, 1]
    counts = mechanism.release(users, 50, np.random.default_rng(3)).values
    sent = randomizer.release(users, 50, np.random.default_rng(3)).values
    same = (sent[:, :, None] == randomizer.messages()).reshape(50, 4, randomizer.n_messages, -1).all(axis=3)
    np.testing.assert_array_equal(counts, same.sum(axis=1))


def test_a_randomizer_that_sends_what_is_no_message_is_refused():
    class Strange(RandomizedResponse):
        def _randomize(self, values, shape, rng):
            return super()._randomize(values, shape, rng) + np.int8(1)

    with pytest.raises(ParameterError, match="none of its 2 messages") as caught:
        Shuffled(Strange(1.0), 3).release([0, 1, 1], 9, np.random.default_rng(0))
    assert caught.value.argument == "randomizer"


def test_counts_that_cannot_be_have_no_probability():
    mechanism = Shuffled(RandomizedResponse(1.0), 3)
    result = mechanism.log_density(Outputs(np.array([[3, 0], [4, -1], [1, 1], [0, 0]])), [0, 0, 1])
    assert np.isneginf(result).tolist() == [False, True, True, True]
    three = Shuffled(KAryRandomizedResponse(1.0, 3), 3)
    result = three.log_density(Outputs(np.array([[1, 1, 1], [4, -1, 0], [1, 1, 0]])), [0, 0, 1])
    assert np.isneginf(result).tolist() == [False, True, True]


def test_law_is_refused_where_it_is_not_computed_and_the_curve_is_none():
    mechanism = Shuffled(KAryRandomizedResponse(1.0, 5), 200)
    users = np.arange(200) % 3
    outputs = mechanism.release(users, 2, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="all users but one hold the same value"):
        mechanism.log_density(outputs, users)
    assert mechanism.exact_guarantee() is None
    assert mechanism.guarantee().epsilon(1e-6) < 0.5


def test_pairs_are_those_of_one_user():
    mechanism = Shuffled(RandomizedResponse(1.0), 3)
    mechanism.bind(Neighbours([0, 1, 1], [0, 1, 0], "replace_one"))
    with pytest.raises(NeighboursError, match="at least 2 do"):
        mechanism.bind(Neighbours([1, 1, 1], [0, 1, 0], "replace_one"))
    with pytest.raises(RelationError):
        mechanism.bind(Neighbours([0, 1, 1], [0, 1, 0], "add_remove"))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Shuffled("rr", 3), "randomizer must be a local mechanism"),
        (lambda: Shuffled(LocalHashing(1.0, 4), 3), "too many to count each"),
        (lambda: Shuffled(RandomizedResponse(1.0), 1), "n_users must be a whole number >= 2"),
        (
            lambda: Shuffled(RandomizedResponse(1.0), 3).release([0, 1], 1, np.random.default_rng(0)),
            "n_users = 3 users",
        ),
    ],
)
def test_bad_options_are_refused_with_the_reason(make, problem):
    with pytest.raises(ParameterError, match=re.escape(problem)):
        make()


def test_trust_models_of_one_epsilon_have_errors_that_lie_far_apart():
    """A count of 10,000 bits at epsilon = 1/2, delta = 1e-6: noise of a curator, of shuffled users, of users alone."""
    n, epsilon, delta = 10_000, 0.5, 1e-6
    central = Geometric(epsilon, relation="replace_one")
    local = RandomizedResponse(epsilon)
    shuffled = Shuffled(RandomizedResponse(local_epsilon_for(epsilon, delta, n)), n)
    claims = [mechanism.guarantee().epsilon(delta) for mechanism in (central, local, shuffled)]
    assert claims == pytest.approx([epsilon] * 3, rel=1e-4)

    def deviation_of_count(response):
        r = response.lying_probability
        return math.sqrt(n * r * (1 - r)) / (1 - 2 * r)

    curator = math.sqrt(2 * math.exp(-epsilon)) / -math.expm1(-epsilon)
    without_names, alone = deviation_of_count(shuffled.randomizer), deviation_of_count(local)
    assert alone == pytest.approx(math.sqrt(n) * math.exp(epsilon / 2) / math.expm1(epsilon))
    assert 5 * curator < without_names < alone / 10
    audited = [mechanism.exact_guarantee().epsilon(delta) for mechanism in (central, local, shuffled)]
    assert audited[:2] == pytest.approx(claims[:2])
    assert audited[2] < claims[2]


def test_taking_names_off_is_no_privacy_by_itself():
    truthful = Shuffled(RandomizedResponse(25.0), 1000)
    assert truthful.exact_guarantee().delta(5.0) > 0.999


# --- sample sizes -----------------------------------------------------------------------------------------------------


def slope(function, name, start, factor=10.0, **options):
    """The power of an argument that a rate grows with, far out."""
    low, high = (function(**options | {name: value}) for value in (start, start * factor))
    return math.log(high / low, factor)


@pytest.mark.parametrize(  # the leading terms of the rates collected by Canonne (2022)
    ("function", "options", "powers"),
    [
        (learning_samples, {"model": "central", "epsilon": 1e-6}, {"k": 1, "epsilon": -1, "alpha": -1}),
        (learning_samples, {"model": "local", "epsilon": 1e-6}, {"k": 2, "epsilon": -2, "alpha": -2}),
        (learning_samples, {"model": "shuffle", "epsilon": 1e-6, "delta": 1e-9}, {"k": 1, "epsilon": -1, "alpha": -1}),
        (uniformity_samples, {"model": "central", "epsilon": 1e-16}, {"k": 0, "epsilon": -1, "alpha": -1}),
        (
            uniformity_samples,
            {"model": "local", "epsilon": 1e-6, "coins": "private"},
            {"k": 1.5, "epsilon": -2, "alpha": -2},
        ),
        (
            uniformity_samples,
            {"model": "local", "epsilon": 1e-6, "coins": "public"},
            {"k": 1, "epsilon": -2, "alpha": -2},
        ),
        (
            uniformity_samples,
            {"model": "shuffle", "epsilon": 1e-6, "delta": 1e-9, "coins": "private"},
            {"k": 0.75, "epsilon": -1, "alpha": -1},
        ),
    ],
)
def test_rates_grow_with_the_stated_powers_at_high_privacy(function, options, powers):
    start = {"k": 10**6, "alpha": 0.01} | options
    for name, power in powers.items():
        result = slope(function, name, start[name], factor=10 if name == "k" else 1.1, **start)
        assert result == pytest.approx(power, abs=0.01), name


def test_known_answers_of_the_rates():
    """By hand: k = 100, alpha = 1/10, epsilon = ln 2, delta = 1/e."""
    given = {"k": 100, "alpha": 0.1, "epsilon": math.log(2.0)}
    assert learning_samples(100, 0.1, model="non-private") == pytest.approx(10_000)
    assert learning_samples(**given, model="local") == pytest.approx(10**6 + 10**6 / 2 + 10**4)
    assert learning_samples(**given, model="central") == pytest.approx(10**4 + 1000 / math.log(2))
    shuffle = {**given, "model": "shuffle", "delta": math.exp(-1)}
    assert learning_samples(**shuffle) == pytest.approx(10**4 + 1000 / math.log(2))
    assert uniformity_samples(100, 0.1, model="non-private") == pytest.approx(1000)
    assert uniformity_samples(**given, model="local", coins="private") == pytest.approx(1000 + 10**5 + 10**5 / 2)
    assert uniformity_samples(**given, model="local", coins="public") == pytest.approx(1000 + 10**4 * (1 + 0.5**0.5))
    root = 10**1.5 / (0.1 * math.log(2))
    assert uniformity_samples(**shuffle, coins="private") == pytest.approx(1000 + root)
    public = 1000 + 100 ** (2 / 3) / (0.1 ** (4 / 3) * math.log(2) ** (2 / 3)) + 10 / (0.1 * math.log(2))
    assert uniformity_samples(**shuffle, coins="public") == pytest.approx(public)
    central = 1000 + 100 / math.log(2) ** 0.5 + 100 ** (1 / 3) / (0.1 ** (4 / 3) * math.log(2) ** (2 / 3))
    assert uniformity_samples(**given, model="central") == pytest.approx(central + 10 / math.log(2))


def test_learning_error_of_randomized_response_falls_at_the_local_rate():
    """n ~ k^2 / (alpha epsilon)^2: four times the users halve the error, twice the values double it."""
    rng = np.random.default_rng(2)

    def error(n, k, rounds=60):
        mechanism = Shuffled(KAryRandomizedResponse(0.5, k), n)
        users = np.arange(n) % k
        shares = mechanism.release(users, rounds, rng).values / n
        local = mechanism.randomizer
        estimates = (shares - local.q_support) / (local.p_support - local.q_support)
        return 0.5 * np.abs(estimates - 1 / k).sum(axis=1).mean()

    assert error(4000, 8) / error(16_000, 8) == pytest.approx(2.0, rel=0.15)
    grow = error(40_000, 64) / error(40_000, 16)
    assert 4.0 * 0.85 < grow < 8.0  # k-ary response pays k^(3/2), more than the best, which pays k


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: learning_samples(10, 0.1, model="local"), "needs one"),
        (lambda: learning_samples(10, 0.1, model="central", epsilon=1.0, delta=1e-6), "has none"),
        (lambda: learning_samples(10, 1.0, model="non-private"), "alpha"),
        (lambda: uniformity_samples(10, 0.1, model="local", epsilon=1.0), "coins is None"),
        (lambda: uniformity_samples(10, 0.1, model="non-private", coins="public"), "coins is 'public'"),
    ],
)
def test_rates_are_refused_without_what_they_need(call, problem):
    with pytest.raises(ParameterError, match=re.escape(problem)):
        call()
