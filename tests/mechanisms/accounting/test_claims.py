"""Mechanisms whose claim, density and exact curve are inherited."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpassay.mechanisms.accounting.claims import FiniteMechanism, PureMechanism
from dpassay.mechanisms.core import Neighbours, Outputs, Positive, Relation


@dataclass(frozen=True)
class Coin(PureMechanism, FiniteMechanism):
    """Randomized response to the dataset, 0 or 1."""

    epsilon: Positive
    relation: Relation = Relation.REPLACE_ONE

    def log_probabilities(self, dataset):
        odds = np.array([0.0, self.epsilon]) if dataset else np.array([self.epsilon, 0.0])
        return odds - np.logaddexp(*odds)

    def release(self, dataset, size, rng):
        return Outputs((rng.random(size) < self.probabilities(dataset)[1]).astype(np.int64))

    def worst_case(self):
        return Neighbours(0, 1, self.relation)


def test_inherited_claim_and_curve_of_randomized_response_agree():
    coin = Coin(1.5)
    assert (coin.guarantee().epsilon(0.0), coin.guarantee().relation) == (1.5, Relation.REPLACE_ONE)
    for delta in (0.0, 0.1, 0.3):
        assert coin.exact_guarantee().epsilon(delta) == pytest.approx(coin.guarantee().epsilon(delta), rel=1e-12)


def test_inherited_density_is_minus_infinity_for_impossible_outputs():
    coin = Coin(1.0)
    assert coin.output_law() is coin
    density = coin.log_density(Outputs(np.array([0.0, 1.0, 2.0, -1.0, 0.5, np.nan])), 1)
    np.testing.assert_array_equal(density[:2], coin.log_probabilities(1))
    assert np.isneginf(density[2:]).all()
    assert coin.probabilities(1).sum() == pytest.approx(1.0)
