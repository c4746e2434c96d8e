"""Mechanisms that choose, on utilities that lie very far apart: no run fails, and no loss exceeds the claim."""

import numpy as np
import pytest

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.selection import (
    GumbelTopK,
    GumbelTopKCounts,
    LaplaceTopK,
    NoisyMaxWithGap,
    PeelingTopK,
)
from dpassay.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax

PAIRS = [
    ([1490.0, 0.0, 0.0], [1491.0, 0.0, 0.0]),
    ([1e6, 0.0, 0.0], [1e6 + 1.0, -1.0, -1.0]),
    ([1e16, 0.0, 0.0], [1e16, 1.0, 0.0]),
    ([1e308, -1e308, 0.0], [1e308, -1e308, 1.0]),
    ([0.0, 5e-324, 0.0], [0.0, 0.0, 1.0]),
    ([1e308, 1e308, -1e308], [1e308, 1e308, -1e308]),
]
KINDS = {
    "exponential": lambda epsilon: Exponential(epsilon, 3),
    "noisy-max-laplace": lambda epsilon: ReportNoisyMax(epsilon, 3),
    "noisy-max-gumbel": lambda epsilon: ReportNoisyMax(epsilon, 3, noise="gumbel"),
    "noisy-max-exponential": lambda epsilon: ReportNoisyMax(epsilon, 3, noise="exponential"),
    "permute-and-flip": lambda epsilon: PermuteAndFlip(epsilon, 3),
    "gap": lambda epsilon: NoisyMaxWithGap(epsilon, 3),
    "peeling": lambda epsilon: PeelingTopK(epsilon, 3, 2),
    "peeling-all": lambda epsilon: PeelingTopK(epsilon, 3, 3),
    "gumbel-top-k": lambda epsilon: GumbelTopK(epsilon, 3, 2),
    "laplace-top-k": lambda epsilon: LaplaceTopK(min(epsilon, 0.15), 3, 2, 1e-4),
    "gumbel-top-k-counts": lambda epsilon: GumbelTopKCounts(epsilon, 3, 2, 1e-4),
}


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("epsilon", [1.0, 50.0])
@pytest.mark.parametrize("name", KINDS)
def test_runs_are_candidates_and_their_losses_stay_within_the_claim(name, epsilon, pair):
    mechanism = KINDS[name](epsilon)
    sides = [np.array(side) for side in pair]
    largest = mechanism.guarantee().epsilon(1e-9)
    for own, other in (sides, sides[::-1]):
        outputs = mechanism.release(own, 300, np.random.default_rng(0))
        assert outputs.events is None
        assert np.isfinite(outputs.values).all()
        assert (outputs.values.reshape(300, -1)[:, 0] < 3).all()
        loss = mechanism.log_density(outputs, own) - mechanism.log_density(outputs, other)
        assert np.isfinite(mechanism.log_density(outputs, own)).all()
        assert loss.max() <= largest + 1e-6


@pytest.mark.parametrize("name", [name for name in KINDS if "top-k" in name or "peeling" in name])
def test_a_distant_leader_does_not_round_away_other_gaps(name):
    """1e16 + 1 is 1e16 in floats: scores that are differences from the leader would lose who is second."""
    mechanism = KINDS[name](1.0)
    chosen = [
        mechanism.release(np.array([leader, 3.0, 0.0]), 500, np.random.default_rng(1)).values[:, :2]
        for leader in (1e5, 1e16)
    ]
    np.testing.assert_array_equal(*chosen)


def test_curve_of_a_pair_keeps_ratios_that_are_too_rare_for_floats():
    """Candidate 1 is about 900 scales behind, and moves by two of them against the leader."""
    mechanism = ReportNoisyMax(2.0, 3)
    pair = Neighbours(np.array([900.0, 1.0, 0.0]), np.array([901.0, 0.0, -1.0]), "add_remove")
    logs = [mechanism.log_probabilities(side) for side in (pair.d0, pair.d1)]
    assert max(logs[0][1], logs[1][1]) < -800.0
    assert mechanism.curve(pair).epsilon(0.0) == pytest.approx(np.abs(logs[1] - logs[0]).max(), rel=1e-9)
    assert 1.9 < mechanism.curve(pair).epsilon(0.0) <= 2.0 + 1e-9


def test_pairs_are_neighbours():
    for d0, d1 in PAIRS[:-1]:
        Exponential(1.0, 3).bind(Neighbours(np.array(d0), np.array(d1), "add_remove"))
