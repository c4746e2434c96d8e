"""A mechanism is locally private if and only if its channel contracts the hockey-stick divergence to nothing."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.local import RAPPOR, HadamardResponse, LocalHashing, OneTimeRAPPOR, SubsetSelection
from dpassay.mechanisms.local import KAryRandomizedResponse, RandomizedResponse, UnaryEncoding
from dpassay.mechanisms.local.broken import BiasedCoinResponse
from dpassay.mechanisms.local.contraction import contraction_coefficient, local_epsilon

MECHANISMS = [
    RandomizedResponse.two_coin(),
    KAryRandomizedResponse(1.0, 4),
    UnaryEncoding(0.8, 4),
    UnaryEncoding(0.8, 4, kind="symmetric"),
    LocalHashing(1.0, 4, prime=5),
    SubsetSelection(1.0, 5),
    HadamardResponse(1.0, 5),
    OneTimeRAPPOR(0.8, n_bits=10),
    RAPPOR(0.3, n_bits=10),
]
NOTHING = 1e-12
every = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)


def hockey_stick(p, q, epsilon):
    return np.maximum(0.0, p - math.exp(epsilon) * q).sum()


@every
def test_coefficient_is_zero_at_the_true_epsilon_and_nowhere_below(mechanism):
    channel, epsilon = mechanism.channel(), mechanism.exact_guarantee().epsilon(0.0)
    assert contraction_coefficient(channel, epsilon) < NOTHING
    for share in (0.0, 0.5, 0.99):
        factor = math.exp(share * epsilon)
        largest = max(
            sum(max(0.0, p - factor * q) for p, q in zip(one, two, strict=True)) for one in channel for two in channel
        )
        assert largest > 1e-7
        assert contraction_coefficient(channel, share * epsilon) == pytest.approx(largest, abs=NOTHING)
    assert local_epsilon(channel) == pytest.approx(epsilon, rel=1e-9)


@every
def test_contraction_is_the_largest_and_attained_by_two_inputs(mechanism):
    channel, rng = mechanism.channel(), np.random.default_rng(1)
    k = len(channel)
    for epsilon in (0.0, 0.3, mechanism.exact_guarantee().epsilon(0.0)):
        coefficient = contraction_coefficient(channel, epsilon)
        for _ in range(50):
            p, q = rng.dirichlet(np.full(k, 0.3), size=2)
            assert (
                hockey_stick(p @ channel, q @ channel, epsilon) <= coefficient * hockey_stick(p, q, epsilon) + NOTHING
            )
        points = [hockey_stick(channel[x], channel[y], epsilon) for x in range(k) for y in range(k)]
        assert coefficient == pytest.approx(max(points), abs=NOTHING)


def test_a_biased_coin_does_not_contract_at_its_claim():
    broken = BiasedCoinResponse(0.6)
    claim, truth = (guarantee.epsilon(0.0) for guarantee in (broken.guarantee(), broken.exact_guarantee()))
    assert contraction_coefficient(broken.channel(), claim) > 0.1
    assert contraction_coefficient(broken.channel(), truth) < NOTHING


def test_coefficient_at_zero_is_the_total_variation():
    assert contraction_coefficient([[0.9, 0.1], [0.2, 0.8]], 0.0) == pytest.approx(0.7)
    assert contraction_coefficient(np.eye(3), 5.0) == 1.0
    assert local_epsilon([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]) == math.inf


@pytest.mark.parametrize("channel", [[0.5, 0.5], [[0.5, 0.6]], [[-0.5, 1.5]], np.zeros((0, 2))])
def test_what_is_no_channel_is_refused(channel):
    for function in (local_epsilon, lambda c: contraction_coefficient(c, 1.0)):
        with pytest.raises(ParameterError, match="channel must be a matrix"):
            function(channel)


@pytest.mark.parametrize("epsilon", [709.0, 710.0, 745.0, 1e6])
def test_nothing_is_left_where_e_to_the_epsilon_is_no_float(epsilon):
    channel = KAryRandomizedResponse(epsilon=10.0, k=3).channel()
    assert contraction_coefficient(channel, epsilon) == 0.0
    assert contraction_coefficient([[1.0, 0.0], [0.0, 1.0]], epsilon) == 1.0
