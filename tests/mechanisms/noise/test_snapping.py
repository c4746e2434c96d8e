"""Snapping: its uniform numbers, its cells against the law, no output that one neighbour each can give, refusals."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.noise.frequencies import p_value_of

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.accounting.numerics.laplace import log_laplace_mass
from dpassay.mechanisms.core import Outputs, ParameterError
from dpassay.mechanisms.noise.snapping import Snapping, full_precision_uniform

FALSE_ALARM = 1e-6
EVERY = np.append(np.arange(-96.0, 97.0, 16.0), [-100.0, 100.0])
"""The outputs of epsilon 0.1 and bound 100."""


def test_uniform_numbers_have_all_their_bits_at_every_size():
    u = full_precision_uniform((200_000,), np.random.default_rng(0))
    assert stats.kstest(u, stats.uniform.cdf).pvalue > FALSE_ALARM
    fraction, exponent = np.frexp(u)
    expected = 0.5 ** np.arange(1, 13)
    counts = np.bincount(-exponent, minlength=12)
    rest = len(u) - counts[:12].sum()
    chi = stats.chisquare(np.append(counts[:12], rest), np.append(expected, 2.0**-12) * len(u))
    assert chi.pvalue > FALSE_ALARM
    small = fraction[u < 2.0**-6] * 2.0**53
    assert stats.binomtest(int(np.count_nonzero(small % 2)), len(small), 0.5).pvalue > FALSE_ALARM  # the last bit too


def test_scale_and_granularity_are_those_of_the_definition():
    mechanism = Snapping(0.1)
    assert mechanism.scale == (1.0 + 100.0 * 2.0**-49) / 0.1
    assert mechanism.granularity == 16.0
    assert Snapping(1.0, sensitivity=4.0, bound=300.0).granularity == 8.0  # just above 4
    assert Snapping(0.3, sensitivity=1.5).granularity == 8.0


@pytest.mark.parametrize("answer", [0.0, 8.0, -3.3, 97.0, 250.0])
def test_outputs_have_their_law(answer):
    """The cells by hand: masses between odd multiples of 8, everything above 104 and below -104 in the bounds."""
    mechanism = Snapping(0.1)
    noise = stats.laplace(loc=np.clip(answer, -100, 100), scale=10.0)
    low, high = EVERY[:-2] - 8.0, EVERY[:-2] + 8.0
    masses = np.append(noise.cdf(high) - noise.cdf(low), [noise.cdf(-104.0), noise.sf(104.0)])
    assert masses.sum() == pytest.approx(1.0)
    stated = np.exp(mechanism.log_density(Outputs(EVERY), answer))
    np.testing.assert_allclose(stated, masses, rtol=1e-9, atol=1e-16)
    values = mechanism.release(answer, 100_000, np.random.default_rng(1)).values
    assert np.isin(values, EVERY).all()
    assert p_value_of(values, EVERY, masses) > FALSE_ALARM


def test_every_answer_reaches_the_same_outputs_and_no_others():
    mechanism = Snapping(0.1)
    others = Outputs(np.array([0.5, 8.0, 15.999999999, 112.0, -104.0, 101.0]))
    for answer in (0.0, 1.0, 0.1, 99.9, -1e9):
        assert np.isfinite(mechanism.log_density(Outputs(EVERY), answer)).all()
        assert np.isneginf(mechanism.log_density(others, answer)).all()


def test_vectors_are_snapped_one_by_one():
    mechanism = Snapping(0.5, n_queries=2, sensitivity=2.0)
    values = mechanism.release([0.0, 5.0], 6, np.random.default_rng(2)).values
    each = [Snapping(0.5, sensitivity=2.0).log_density(Outputs(values[:, j]), [0.0, 5.0][j]) for j in (0, 1)]
    np.testing.assert_allclose(mechanism.log_density(Outputs(values), [0.0, 5.0]), each[0] + each[1], rtol=1e-12)


def test_masses_keep_their_accuracy_in_the_tails():
    assert np.exp(log_laplace_mass(np.array(50.0), np.array(51.0), 1.0)) == pytest.approx(
        0.5 * (math.exp(-50) - math.exp(-51))
    )
    assert np.exp(log_laplace_mass(np.array(-51.0), np.array(-50.0), 1.0)) == np.exp(
        log_laplace_mass(np.array(50.0), np.array(51.0), 1.0)
    )
    assert np.exp(log_laplace_mass(np.array(-np.inf), np.array(np.inf), 3.0)) == 1.0
    assert np.exp(log_laplace_mass(np.array(-1.0), np.array(2.0), 1.0)) == pytest.approx(
        1 - 0.5 * (math.exp(-1) + math.exp(-2))
    )


@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, 0.0)])
def test_an_audit_does_not_flag_it(pair, without_power):
    result = audit(Snapping(0.1), Neighbours(*pair, "add_remove"), trials=50_000, confidence=1 - 1e-6, seed=3)
    assert result.verdict.value == "consistent"
    assert 0.03 < result.bound.epsilon <= 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.1, "bound": 11.0}, "bound must lie above scale \\+ sensitivity = 11 .*Set bound=110"),
        ({"epsilon": 1.0, "bound": 2.0**46}, "below 2\\^46 scale"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Snapping(**options)
