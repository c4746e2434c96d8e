"""Laplace noise on a grid: exact sums, steps between answers, and equal sets of outputs."""

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.core import NeighboursError, Outputs, ParameterError
from dpassay.mechanisms.noise.grid import GridLaplace

FALSE_ALARM = 1e-6


def test_outputs_are_on_the_grid_and_every_answer_reaches_them_all():
    mechanism = GridLaplace(0.5, granularity=2.0**-28)
    for answer in (0.0, 1.0, 0.1, -7.3e5):
        values = mechanism.release(answer, 2000, np.random.default_rng(0)).values
        assert (values * 2.0**28 % 1.0 == 0.0).all()
        for other in (0.0, 1.0, 0.1):
            assert np.isfinite(mechanism.log_density(Outputs(values), other)).all()
    assert np.isneginf(mechanism.log_density(Outputs(np.array([2.0**-29, 1.0 + 2.0**-29])), 0.0)).all()


def test_on_a_fine_grid_the_noise_is_laplace_noise():
    values = GridLaplace(0.5, sensitivity=2.0).release(3.0, 100_000, np.random.default_rng(1)).values
    assert stats.kstest(values, stats.laplace(loc=3.0, scale=4.0).cdf).pvalue > FALSE_ALARM


def test_rounding_takes_a_step_more_where_it_must():
    for sensitivity, steps in ((1.0, 4), (0.6, 3), (0.1, 1)):
        mechanism = GridLaplace(1.0, granularity=0.25, sensitivity=sensitivity)
        assert mechanism.on_grid.sensitivity == steps
        pair = mechanism.worst_case()
        assert pair.d1 - pair.d0 == pytest.approx(sensitivity)
        values = np.floor(np.array([pair.d0, pair.d1]) / 0.25)
        assert values[1] - values[0] == steps
        rng = np.random.default_rng(2)
        start = rng.uniform(-3, 3, size=5000)
        assert (np.floor((start + sensitivity) / 0.25) - np.floor(start / 0.25)).max() == steps


def test_pairs_are_measured_before_they_are_rounded():
    mechanism = GridLaplace(1.0, granularity=4.0)
    with pytest.raises(NeighboursError, match="lie 3 apart"):
        mechanism.bind(Neighbours(0.0, 3.0, "add_remove"))
    assert mechanism.bind(Neighbours(3.5, 4.5, "add_remove")) is mechanism


def test_an_audit_does_not_flag_it(without_power):
    mechanism = GridLaplace(0.1, granularity=2.0**-20)
    result = audit(mechanism, Neighbours(0.0, 1.0, "add_remove"), trials=50_000, confidence=1 - 1e-6, seed=3)
    assert result.verdict.value == "consistent"
    assert 0.03 < result.bound.epsilon <= 0.1


def test_widths_that_are_no_power_of_two_and_answers_too_large_are_refused():
    with pytest.raises(ParameterError, match=r"power of two.*Set granularity=0.125"):
        GridLaplace(1.0, granularity=0.1)
    with pytest.raises(ParameterError, match="within 2\\^53 grid points"):
        GridLaplace(1.0).release(1e15, 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match=r"leave out points. Set granularity=3.7\d*e-09"):
        GridLaplace(0.25, granularity=2.0**-50)
