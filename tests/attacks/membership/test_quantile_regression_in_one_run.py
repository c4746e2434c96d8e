"""Quantile regression on the canaries of one run: the level of the bound holds, and difficulty is corrected for."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.audit.one_run_laws import BitLaw, bit_misses

from dpassay.attacks.membership.learned import QuantileRegression
from dpassay.attacks.membership.shadows import Shadows
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.bounds.bits.one_run import OneRun
from dpassay.audit.games import membership_game, one_run
from dpassay.mechanisms.accounting import PureDP
from dpassay.mechanisms.adapters.estimator import EstimatorLearner

N_CANARIES = 240
X = np.column_stack([np.arange(N_CANARIES) % 2, np.linspace(-1.0, 1.0, N_CANARIES)])
DIFFICULTY = 6.0 * X[:, 0] + 3.0 * X[:, 1]
"""Of the canaries, a function of their features: the noise has scale 1 / epsilon."""


def shadows_of_runs(bits, rng, epsilon):
    """Runs with Laplace noise on each bit, moved by the difficulty of the canary and by a swing of the whole run."""
    swing = rng.normal(scale=3.0, size=(len(bits), 1))
    signal = bits + rng.laplace(scale=1.0 / epsilon, size=bits.shape) + DIFFICULTY + swing
    return Shadows(np.zeros_like(bits), np.zeros(N_CANARIES), {"loss": signal}, X=X)  # the bits are hidden


def law(attack, epsilon):
    """One run for each row: the exact epsilon of a bit is that of the Laplace noise, whatever the attack does."""

    def channel(bits, rng):
        return attack.score(shadows_of_runs(bits[:, 0], rng, epsilon))[:, None, :]

    return BitLaw(f"{attack} {epsilon}", channel, PureDP(epsilon))


def coverage_of(attack, epsilon, repeats=300):
    return bit_misses(OneRun(), law(attack, epsilon), shape=(1, N_CANARIES), repeats=repeats, confidence=0.8)


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_bounds_exceed_the_true_epsilon_no_more_often_than_they_may(epsilon):
    coverage = coverage_of(QuantileRegression(signal="loss"), epsilon)
    assert coverage.holds, coverage


@pytest.mark.slow
@pytest.mark.parametrize("regressor", ["linear", "boosting"])
@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_bounds_of_quantiles_exceed_the_true_epsilon_no_more_often_than_they_may(regressor, quantile):
    coverage = coverage_of(QuantileRegression(regressor, signal="loss", quantile=quantile), 2.0, repeats=200)
    assert coverage.holds, coverage


def test_guesses_from_the_bits_of_other_folds_would_exceed_it_more_often():
    """The run leaks nothing, and each fold guesses the bits of the other: right guesses come in pairs.

    Their number has twice the variance: P[N(0, 2) > 2.33] is .05 where .01 is allowed.
    """

    def channel(bits, rng):
        first, second = np.split(bits, 2, axis=2)
        return np.where(np.concatenate([second, first], axis=2), 1.0, -1.0) + 1e-9 * rng.random(bits.shape)

    each_other = BitLaw("bits of the other fold", channel, PureDP(0.0))
    coverage = bit_misses(OneRun(guesses=N_CANARIES), each_other, shape=(1, N_CANARIES), repeats=4_000, confidence=0.99)
    assert not coverage.holds, coverage


def test_bounds_are_larger_than_those_of_one_threshold():
    with_difficulty = coverage_of(LossThreshold(), 2.0, repeats=60)
    without = coverage_of(QuantileRegression(signal="loss"), 2.0, repeats=60)
    assert with_difficulty.mean < 0.25
    assert without.mean > with_difficulty.mean + 0.4


def test_scores_of_a_run_do_not_read_its_bits():
    rng = np.random.default_rng(0)
    bits = rng.random((1, N_CANARIES)) < 0.5
    run = shadows_of_runs(bits, rng, 2.0)
    scores = [
        one_run(Shadows(member, run.y, run.signals, X=X, fair=True), QuantileRegression(signal="loss")).scores
        for member in (bits, ~bits)
    ]
    np.testing.assert_array_equal(*scores)


def test_the_game_scores_canaries_of_one_trained_model():
    rng = np.random.default_rng(0)
    canaries = rng.normal(size=(300, 150)), rng.integers(0, 2, 300)
    learner = EstimatorLearner(LogisticRegression(C=100.0, max_iter=500))
    game = membership_game(learner, canaries, attack="quantile-regression", seed=0)
    assert game.scores[game.bits].mean() > game.scores[~game.bits].mean() + 0.3
