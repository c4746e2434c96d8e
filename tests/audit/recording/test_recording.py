"""Programs whose noise is compared on two sides: faults of real libraries are seen, and their correct twins pass."""

import math
import os
import random
import secrets

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import record
from dpassay.mechanisms import ApproximateDP, GaussianDP, Neighbours, PureDP, compose
from dpassay.mechanisms.core import PrivacyViolation

ONE_MORE = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")
CLASSES = Neighbours([0, 1, 0], [0, 1, 2, 0], "add_remove")
LOST = Neighbours([1.0, 2.0], [1.0, math.nan], "replace_one")
OUTLIER = Neighbours([1.0, -2.0, 3.0], [1.0, -2.0, 100.0], "replace_one")


def kinds(function, pair, claim):
    return {finding.kind for finding in record(function, pair).findings(claim)}


def histogram(d, rng):
    return [d.count(value) + rng.laplace(scale=1.0) for value in range(3)]


def histogram_of_what_occurs(d, rng):
    return [d.count(value) + rng.laplace(scale=1.0) for value in sorted(set(d))]


def mean_of_n(d, rng):
    return (sum(d) + rng.laplace(scale=1.0)) / len(d)


def mean_of_public_n(d, rng):
    return (sum(d) + rng.laplace(scale=1.0)) / 3


def clipped_sum(d, rng):
    return np.nansum(np.clip(d, -5, 5)) + rng.laplace(scale=10.0)


def sum_with_the_clipped_copy_unused(d, rng):
    np.clip(d, -5, 5)
    return np.sum(d) + rng.laplace(scale=10.0)


def sum_with_nan(d, rng):
    return np.sum(np.clip(d, -5, 5)) + rng.laplace(scale=10.0)


def scale_of_n(d, rng):
    return sum(d) / len(d) + rng.laplace(scale=1 / len(d))


def stop_at_data(d, rng):
    return sum(rng.laplace() for _ in d)


def raw_besides(d, rng):
    return [sum(d) + rng.laplace(), sum(d)]


def one_noise_for_two(d, rng):
    noise = rng.laplace()
    return [sum(d) + noise, 2 * len(d) + noise]


def laplace_and_entropy(d, rng):
    return sum(d) + rng.laplace() + int.from_bytes(os.urandom(6), "big")


FAULTS = [
    (histogram_of_what_occurs, CLASSES, PureDP(1.0), "control flow"),
    (mean_of_n, ONE_MORE, PureDP(1.0), "parameters"),
    (scale_of_n, ONE_MORE, PureDP(1.0), "parameters"),
    (stop_at_data, ONE_MORE, PureDP(1.0), "control flow"),
    (sum_with_the_clipped_copy_unused, OUTLIER, PureDP(1.0), "spent"),
    (sum_with_nan, LOST, PureDP(1.0), "distance"),
    (raw_besides, ONE_MORE, PureDP(1.0), "no noise"),
    (one_noise_for_two, ONE_MORE, PureDP(5.0), "no noise"),
    (lambda d, rng: sum(d), ONE_MORE, PureDP(1.0), "no noise"),
    (lambda d, rng: sum(d) + rng.laplace(scale=0.5), ONE_MORE, PureDP(1.0), "spent"),
    (lambda d, rng: [sum(d) + rng.laplace(), len(d) + rng.laplace()], ONE_MORE, PureDP(1.0), "spent"),
    (lambda d, rng: sum(d) + rng.normal(), ONE_MORE, GaussianDP(0.5), "spent"),
    (
        lambda d, rng: sum(d) + rng.laplace() + int.from_bytes(os.urandom(6), "big"),
        ONE_MORE,
        PureDP(1.0),
        "hidden randomness",
    ),
]


@pytest.mark.parametrize(("function", "pair", "claim", "kind"), FAULTS)
def test_faults_are_seen_and_named(function, pair, claim, kind):
    assert kinds(function, pair, claim) == {kind}
    with pytest.raises(PrivacyViolation, match=kind):
        record(function, pair).require(claim)


RIGHT = [
    (histogram, CLASSES, PureDP(1.0)),
    (mean_of_public_n, ONE_MORE, PureDP(1.0)),
    (clipped_sum, OUTLIER, PureDP(1.0)),
    (clipped_sum, LOST, PureDP(1.0)),
    (lambda d, rng: rng.laplace(sum(d), 1.0), ONE_MORE, PureDP(1.0)),
    (lambda d, size, rng: sum(d) + rng.laplace(size=size), ONE_MORE, PureDP(1.0)),
    (lambda d, rng: np.array([d.count(v) for v in range(3)]) + rng.laplace(size=3), CLASSES, PureDP(1.0)),
    (lambda d, rng: {"n": len(d) + rng.laplace(scale=2), "sum": sum(d) + rng.laplace(scale=2)}, ONE_MORE, PureDP(1.0)),
    (lambda d, rng: sum(d) + rng.normal(scale=2.0), ONE_MORE, GaussianDP(0.5)),
    (lambda d: sum(d) + stats.laplace.rvs(scale=1.0), ONE_MORE, PureDP(1.0)),
    (lambda d: stats.norm.rvs(loc=sum(d)), ONE_MORE, GaussianDP(1.0)),
    (lambda d: sum(d) + random.gauss(0.0, 1.0), ONE_MORE, GaussianDP(1.0)),
    (lambda d: sum(d) + secrets.SystemRandom().gauss(0.0, 1.0), ONE_MORE, GaussianDP(1.0)),
    (lambda d: sum(d) + np.random.laplace(), ONE_MORE, PureDP(1.0)),  # noqa: NPY002 - what other people write
    (lambda d: sum(d) + np.random.default_rng().laplace(), ONE_MORE, PureDP(1.0)),
]


@pytest.mark.parametrize(("function", "pair", "claim"), RIGHT)
def test_correct_programs_spend_exactly_their_claim(function, pair, claim):
    recorded = record(function, pair)
    assert recorded.findings(claim) == ()
    spent, delta = recorded.spent(), 1e-6 if isinstance(claim, GaussianDP) else 0.0
    assert spent.epsilon(1e-6) <= claim.epsilon(1e-6) * (1 + 1e-9)
    if function is not clipped_sum:
        assert spent.epsilon(delta) == pytest.approx(claim.epsilon(delta))


def test_releases_are_composed_by_the_tightest_theorem():
    """30 releases of epsilon 0.1 are (1.481, 1e-3)-DP, but the sum of their epsilons refuted this claim."""
    thirty = lambda d, rng: [len(d) + rng.laplace(scale=10.0) for _ in range(30)]  # noqa: E731
    recorded, claim = record(thirty, ONE_MORE), compose([PureDP(0.1)] * 30, accounting="optimal")
    assert claim.epsilon(1e-3) == pytest.approx(1.481, abs=1e-3)
    assert recorded.findings(claim, delta=1e-3) == ()
    assert recorded.findings(ApproximateDP(1.4, 1e-3), delta=1e-3)[0].kind == "spent"


def test_a_choice_costs_the_ratio_of_its_probabilities():
    def choose(d, rng):
        weights = np.exp(np.array([sum(d), 1.0]) / 2)
        return int(rng.choice(2, p=weights / weights.sum()))

    p0, p1 = 1 / (1 + math.exp((1 - 1) / 2)), 1 / (1 + math.exp((1 - 2) / 2))
    assert record(choose, ONE_MORE).spent().epsilon(0.0) == pytest.approx(math.log((1 - p0) / (1 - p1)))


UNKNOWN = [
    lambda d, rng: int(np.argmax(np.array([sum(d), 1.0]) + rng.gumbel(size=2))),
    lambda d, rng: sum(d) + rng.laplace() + rng.laplace(),
    lambda d, rng: sum(d) + rng.laplace(size=3).sum(),
    lambda d, rng: sum(d) - math.log(rng.random()) + math.log(rng.random()),
    lambda d, rng: next((i for i, x in enumerate([*d, 9]) if x + rng.laplace() > 1.0), -1),
]


@pytest.mark.parametrize("function", UNKNOWN)
def test_what_cannot_be_attributed_is_neither_charged_nor_blamed(function):
    recorded = record(function, ONE_MORE)
    assert recorded.findings(PureDP(1e-6)) == ()
    assert recorded.spent() is None


def test_equal_noise_is_replayed_after_a_branch_on_noisy_values():
    def above_threshold(d, rng):
        threshold = 1.0 + rng.laplace(scale=2.0)
        return [bool(x + rng.laplace(scale=4.0) > threshold) for x in (sum(d), len(d))]

    for run in record(above_threshold, ONE_MORE).runs:
        assert not run.parted
        assert [call.result for call in run.calls[0]] == [call.result for call in run.calls[1]]


def test_what_is_chosen_from_records_is_replayed_by_place():
    def sample(d, rng):
        return float(np.mean(rng.choice(d, 2)) + rng.laplace())

    pair = Neighbours([1.0, 2.0, 3.0], [1.0, 2.0, 4.0], "replace_one")
    run = record(sample, pair).runs[0]
    assert np.array_equal(run.calls[0][0].result, run.calls[1][0].result)


def test_nothing_stays_replaced_afterwards():
    before = [np.random.default_rng, np.random.laplace, random.gauss, random.Random.gauss, secrets.randbelow]
    own = "rvs" in vars(stats.rv_continuous)
    with pytest.raises(ZeroDivisionError):
        record(lambda d: 1 / 0, ONE_MORE)
    after = [np.random.default_rng, np.random.laplace, random.gauss, random.Random.gauss, secrets.randbelow]
    assert before == after
    assert ("rvs" in vars(stats.rv_continuous)) == own


def test_a_pair_and_its_datasets_are_left_alone():
    pair = Neighbours([3.0, 1.0], [3.0, 1.0, 2.0], "add_remove")
    record(lambda d, rng: d.sort() or sum(d) + rng.laplace(), pair)
    assert (pair.d0, pair.d1) == ([3.0, 1.0], [3.0, 1.0, 2.0])
