"""Duchi's one-bit mechanism for the mean, and its twin without a range."""

import math

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.mechanisms.broken.local import RangeAssumed
from dpassay.mechanisms.core.base import Neighbours
from dpassay.mechanisms.core.errors import NeighboursError, ParameterError
from dpassay.mechanisms.local.bounded_mean import Duchi

N = 200_000


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_messages_have_the_stated_mean_and_variance(epsilon):
    """Limits of a normal law at a false-alarm rate of 1e-6; with the fair coin of epsilon = 0 the mean fails."""
    mechanism = Duchi(epsilon)
    values = np.array([-1.0, -0.3, 0.0, 0.8, 1.0])
    messages = mechanism.release(values, N, np.random.default_rng(0)).values
    error = 4.9 * mechanism.magnitude / math.sqrt(N)
    np.testing.assert_allclose(messages.mean(axis=0), values, atol=error)
    assert abs(mechanism.estimate_mean(messages).mean() - values.mean()) < error
    np.testing.assert_allclose(
        messages.var(axis=0), mechanism.magnitude**2 - values**2, atol=2 * error * mechanism.magnitude
    )


def test_the_audit_comes_close_to_the_claim_and_refutes_the_broken_twin():
    result = audit(Duchi(1.0), trials=40_000, seed=0)
    assert result.verdict.value == "consistent"
    assert result.bound.epsilon > 0.9
    assert audit(RangeAssumed(1.0), trials=40_000, seed=0).verdict.value == "violation"


def test_numbers_outside_the_range_are_refused():
    for dataset in (1.01, [0.0, -2.0], [], [[0.0]], "0", math.nan):
        with pytest.raises(ParameterError, match=r"\[-1, 1\]"):
            Duchi(1.0).release(dataset, 1, np.random.default_rng(0))


@pytest.mark.parametrize("pair", [([0.0, 1.0], [1.0, 0.0]), ([0.0], [0.0, 1.0])])
def test_pairs_differ_in_one_user(pair):
    with pytest.raises(NeighboursError, match="same users"):
        Duchi(1.0).bind(Neighbours(*pair, "replace_one"))
