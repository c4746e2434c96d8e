"""Randomised response with a biased coin: the claim is false, and the stated truth is exact."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.local.broken import BiasedCoinResponse

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("heads", [0.2, 0.5, 0.6, 0.9])
def test_biased_coin_answers_with_the_probabilities_of_its_two_tosses(heads):
    """A slow twin that tosses both coins."""
    rng = np.random.default_rng(3)
    broken = BiasedCoinResponse(heads)
    for bit in (0, 1):
        tells_truth, says_yes = rng.random(100_000) < heads, rng.random(100_000) < heads
        tossed = np.count_nonzero(np.where(tells_truth, bit, says_yes))
        assert stats.binomtest(int(tossed), 100_000, broken.p_yes[bit]).pvalue > FALSE_ALARM
        answered = np.count_nonzero(broken.release(bit, 100_000, rng).values)
        assert stats.binomtest(int(answered), 100_000, broken.p_yes[bit]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("heads", [0.1, 0.3, 0.5, 0.6, 0.9])
def test_biased_coin_has_the_stated_true_epsilon(heads):
    yes, no = math.log((2 - heads) / (1 - heads)), math.log(1 + heads / (1 - heads) ** 2)
    assert BiasedCoinResponse(heads).exact_guarantee().epsilon(0.0) == pytest.approx(max(yes, no), rel=1e-12)


def test_biased_coin_breaks_the_claim_from_one_half_on():
    claim = BiasedCoinResponse(0.5).guarantee().epsilon(0.0)
    assert claim == pytest.approx(math.log(3.0))
    assert BiasedCoinResponse(0.5).exact_guarantee().epsilon(0.0) == pytest.approx(claim)
    assert BiasedCoinResponse(0.51).exact_guarantee().epsilon(0.0) > claim
    assert BiasedCoinResponse(0.49).exact_guarantee().epsilon(0.0) < claim


def test_bad_heads_are_refused():
    with pytest.raises(ParameterError, match="heads must lie strictly between 0 and 1"):
        BiasedCoinResponse(1.0)
