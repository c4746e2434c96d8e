"""Small training loops through Coins: true claims stand, and false ones are caught."""

import numpy as np
import pytest
from scipy import stats
from tests.audit.games.training_loops import TRUE, WRONG, N, records

from dpassay.audit.games.coins import Coins

RUNS = -(-2_000 // len(TRUE))


def verdict_of(loop, claim, run, stream):
    """Return whether one run of a loop is reported as a violation."""
    rng = np.random.default_rng([stream, run])
    X, y = records(rng)
    coins = Coins.toss(range(N), seed=1_000 * stream + run)
    losses = loop(X, y, coins.included, rng)
    result = coins.audit(losses=dict(enumerate(losses)), claim=claim, delta=1e-5, confidence=0.95)
    return result.verdict.value == "violation"


@pytest.mark.slow
def test_true_claims_of_training_loops_are_rarely_refuted(without_power):
    """Each true claim may be refuted in 5 % of its runs, and all of them in 5 % of 2,000; limits of 1e-6 together."""
    wrong = {name: sum(verdict_of(*case, run, 1) for run in range(RUNS)) for name, case in TRUE.items()}
    assert sum(wrong.values()) <= stats.binom.isf(0.5e-6, RUNS * len(TRUE), 0.05), wrong
    assert max(wrong.values()) <= stats.binom.isf(0.5e-6 / len(TRUE), RUNS, 0.05), wrong


@pytest.mark.parametrize("name", WRONG)
def test_wrong_training_loops_are_caught(name, without_power):
    """Power is about 98 %: coins of 120 canaries are sometimes far from half and half."""
    assert sum(verdict_of(*WRONG[name], run, 2) for run in range(20)) >= 15


def test_the_loops_do_learn_from_included_records():
    """Losses that did not depend on the coins would show nothing: pooled over loops, included records are lower."""
    lower = []
    for stream, (loop, _) in enumerate(TRUE.values()):
        for run in range(10):
            rng = np.random.default_rng([3, stream, run])
            X, y = records(rng)
            inside = rng.random(N) < 0.5
            ranks = stats.rankdata(loop(X, y, inside, rng))
            lower.append(ranks[inside].mean() < ranks[~inside].mean())
    assert stats.binomtest(sum(lower), len(lower), alternative="greater").pvalue < 1e-6
