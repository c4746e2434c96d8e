"""Shuffled batches with the claim of Poisson samples, and Poisson samples that are no secret."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms.accounting import PrivacyLossDP
from dpassay.mechanisms.accounting.dp_sgd.deterministic_batches import shuffled_epsilon_at_least


@pytest.fixture(scope="module")
def found():
    return played("shuffled-batches").names


def test_the_demo_reads_well():
    check_demo("shuffled-batches")


def test_poisson_samples_keep_the_claim(found):
    result = found.found["Poisson samples"]
    assert result.claim == pytest.approx(0.718, abs=5e-4)
    assert result.verdict is Verdict.CONSISTENT
    assert result.bound.epsilon <= result.claim


def test_shuffled_batches_break_the_same_claim(found):
    result = found.found["shuffled batches"]
    assert result.claim == found.found["Poisson samples"].claim
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon <= found.at_least < found.correct


def test_the_true_epsilon_is_five_times_the_claim(found):
    # Chua et al. (2024), Theorem 4.2; one use of Gaussian noise with noise multiplier 1
    assert 5.0 * found.found["shuffled batches"].claim < found.at_least
    delta = norm.cdf(0.5 - found.correct) - math.exp(found.correct) * norm.cdf(-0.5 - found.correct)
    assert delta == pytest.approx(1e-5, rel=1e-3)
    assert round(found.correct, 2) == 4.38


def test_more_steps_do_not_help():
    claim = PrivacyLossDP.gaussian(1.0, sampling_probability=0.001, steps=1000, relation="zero_out")
    assert round(claim.epsilon(1e-5), 2) == 0.15
    assert round(shuffled_epsilon_at_least(1.0, batches=1000, delta=1e-5), 2) == 2.88


def test_known_steps_break_the_claim_of_poisson_samples(found):
    assert found.listed.verdict is Verdict.VIOLATION
    assert found.listed.bound.epsilon > 1.5
    scores = found.loss_of_known_steps(1)  # E[exp(-loss)] = 1 under the density of side 1
    assert np.exp(-scores).mean() == pytest.approx(1.0, abs=6.0 * np.exp(-scores).std() / math.sqrt(found.RUNS))
