"""Gaussian counters share a budget; one that never moves takes no share, and must not take the noise of the others."""

import math

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import Neighbours
from dpassay.mechanisms.core import NeighboursError, ParameterError
from dpassay.mechanisms.noise.broken import ZeroSensitivityCounters
from dpassay.mechanisms.noise.counters import GaussianCounters


def test_shares_add_up_to_the_claim():
    counters = GaussianCounters(0.7, sensitivities=(1.0, 0.0, 3.0))
    moving = np.array([True, False, True])
    ratio = np.array([1.0, 3.0]) / counters.deviations[moving]
    assert math.sqrt((ratio**2).sum()) == pytest.approx(0.7)
    assert counters.deviations[1] == 0.0


def test_broken_counters_lose_all_noise_to_one_of_sensitivity_zero(without_power):
    broken = ZeroSensitivityCounters(0.5)
    outputs = broken.release([3.0, 4.0], 5, np.random.default_rng(0))
    assert (outputs.values == [3.0, 4.0]).all()
    assert broken.exact_guarantee().epsilon(1e-5) == math.inf
    assert audit(broken, trials=2_000, delta=1e-5, confidence=0.9999, seed=0).verdict is Verdict.VIOLATION
    right = GaussianCounters(0.5, sensitivities=broken.sensitivities)
    assert audit(right, trials=20_000, delta=1e-5, confidence=0.9999, seed=0).verdict is Verdict.CONSISTENT
    assert ZeroSensitivityCounters(0.5, sensitivities=(1.0, 2.0)).exact_guarantee() == right.guarantee()


def test_noise_has_its_deviation():
    counters = GaussianCounters(1.0, sensitivities=(1.0, 2.0))
    values = counters.release([0.0, 0.0], 50_000, np.random.default_rng(1)).values
    assert values.std(axis=0) == pytest.approx(counters.deviations, rel=0.02)


def test_wrong_sensitivities_counters_and_pairs_are_refused():
    with pytest.raises(ParameterError):
        GaussianCounters(1.0, sensitivities=(0.0,))
    with pytest.raises(ParameterError):
        GaussianCounters(1.0).counts([1.0])
    with pytest.raises(NeighboursError):
        GaussianCounters(1.0).bind(Neighbours([0.0, 0.0], [0.0, 2.0], "add_remove"))
