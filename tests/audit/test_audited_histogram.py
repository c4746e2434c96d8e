"""A histogram with noise on every bin: a record that moves changes two bins, one that comes or goes changes one."""

import numpy as np
import pytest

from dpassay.audit import Verdict, audit
from dpassay.mechanisms import Geometric, Laplace, Neighbours, PureDP
from dpassay.mechanisms.noise.queries import Histogram

pytestmark = pytest.mark.usefixtures("without_power")

BINS = Histogram(edges=(0, 1, 2, 3))
RECORDS = np.array([0.5, 0.5, 1.5, 2.5])
MOVED = Neighbours(RECORDS, np.array([1.5, 0.5, 1.5, 2.5]), "replace_one")
REMOVED = Neighbours(RECORDS[1:], RECORDS, "add_remove")


@pytest.mark.parametrize("noise", [Laplace, Geometric])
def test_a_moved_record_costs_epsilon_and_a_removed_one_half_of_it(noise):
    moved = noise(1.0, query=BINS, n_queries=3, sensitivity=2, relation="replace_one")
    removed = noise(0.5, query=BINS, n_queries=3, sensitivity=1, relation="add_remove")
    for mechanism, pair, epsilon in ((moved, MOVED, 1.0), (removed, REMOVED, 0.5)):
        result = audit(mechanism, pair, trials=40_000, confidence=1 - 1e-6, seed=1)
        assert result.verdict is Verdict.CONSISTENT
        assert 0.8 * epsilon < result.bound.epsilon <= epsilon


def test_noise_for_added_records_does_not_hide_a_moved_one():
    """Scale 1 / epsilon is enough under add_remove, and half of what replace_one needs."""
    noise = Laplace(2.0, query=BINS, n_queries=3, sensitivity=2, relation="replace_one")
    result = audit(noise, MOVED, claim=PureDP(1.0), trials=40_000, seed=1)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon > 1.7
