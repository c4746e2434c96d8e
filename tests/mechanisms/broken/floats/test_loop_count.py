"""A loop that is timed: a slow twin that tosses every coin, and what too few turns prove."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import audit
from dpassay.mechanisms.broken.floats import LoopCountReleased
from dpassay.mechanisms.core.base import Outputs
from dpassay.mechanisms.core.errors import ParameterError
from dpassay.mechanisms.noise.geometric import Geometric

FALSE_ALARM = 1e-6


def toss(epsilon, rng):
    """The loop itself: noise and the number of its turns."""
    turns = 0
    while True:
        negative, size = rng.random() < 0.5, 0
        turns += 1
        while rng.random() < math.exp(-epsilon):
            size += 1
            turns += 1
        if size or not negative:
            return (-size if negative else size), turns


def test_outputs_are_those_of_the_loop():
    rng = np.random.default_rng(0)
    looped = np.array([toss(1.0, rng) for _ in range(10_000)])
    outputs = LoopCountReleased(1.0).release(0, 100_000, rng).values
    keys = [np.clip(found[:, 0] * 100 + found[:, 1], -500, 600) for found in (looped, outputs)]
    names = np.unique(np.concatenate(keys))
    table = np.array([[np.count_nonzero(key == name) for name in names] for key in keys])
    table = table[:, table.sum(axis=0) >= 20]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_too_few_turns_are_impossible():
    mechanism = LoopCountReleased(0.5)
    outputs = Outputs(np.array([[3, 4], [3, 3], [3, 9], [-2, 3], [-2, 2]]))
    assert np.isneginf(mechanism.log_density(outputs, 0)).tolist() == [False, True, False, False, True]
    assert np.isneginf(mechanism.log_density(outputs, 1)).tolist() == [False, False, False, True, True]


def test_probabilities_add_up():
    y, turns = np.meshgrid(np.arange(-80, 81), np.arange(1, 200))
    stated = LoopCountReleased(0.7).log_density(Outputs(np.column_stack([y.ravel(), turns.ravel()])), 3)
    assert np.exp(stated).sum() == pytest.approx(1.0, abs=1e-9)


def test_an_audit_refutes_it_and_not_its_twin_without_the_clock(without_power):
    broken = audit(LoopCountReleased(0.1), trials=5000, confidence=1 - 1e-6, seed=1)
    assert broken.verdict.value == "violation"
    assert broken.bound.epsilon > 3.0
    assert audit(Geometric(0.1), trials=5000, confidence=1 - 1e-6, seed=1).verdict.value == "consistent"


def test_bad_epsilon_is_refused():
    with pytest.raises(ParameterError, match="epsilon must be"):
        LoopCountReleased(-1.0)
