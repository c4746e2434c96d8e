"""Noisy projected SGD: the epsilon of strong composition, of better accounts, and of an audit."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict
from dpassay.mechanisms.literature.convex.projected_sgd import NoisyProjectedSGD


@pytest.fixture(scope="module")
def found():
    return played("strong-composition").names


def test_the_demo_reads_well():
    check_demo("strong-composition")


def test_the_noise_is_that_of_the_formula(found):
    assert found.sigma == pytest.approx(8 * 1000 * math.sqrt(math.log(2000 / 1e-5) * math.log(2 / 1e-5)))
    assert round(found.sigma, 2) == 122194.54
    assert round(found.z, 3) == 61.097
    assert found.steps == 1000**2


def test_the_accounts_are_ordered_and_those_of_the_notes(found):
    accounts = found.epsilons
    assert accounts["strong composition"] == pytest.approx(1 + 1 / (4 * math.log(2 / 1e-5)))
    assert accounts["moments accountant"] == pytest.approx(0.0529, abs=5e-5)
    assert accounts["central limit"] == pytest.approx(0.0470, abs=5e-5)


def test_the_audit_shows_most_of_the_central_limit_account(found):
    assert found.audited.verdict is Verdict.CONSISTENT
    assert 0.6 * found.epsilons["central limit"] < found.audited.bound.epsilon <= found.epsilons["central limit"]


def test_the_three_factors_explain_the_slack(found):
    assert found.product == pytest.approx(1.0 / found.epsilons["central limit"])
    assert found.product > 20.0


def test_the_sum_has_the_law_of_the_last_iterate():
    n, runs, rng = 10, 20_000, np.random.default_rng(61)
    mechanism = NoisyProjectedSGD(epsilon=1.0, n_records=n, standard_deviation=5.0, claim="renyi")
    last = -mechanism.release(mechanism.worst_case().d0, runs, rng).values[:, 0]
    sign = 1 if last.mean() > 0 else -1
    sums = sign * n * rng.binomial(n * n, 1 / n, runs) + rng.normal(0.0, 5.0 * n, runs)
    assert ks_2samp(last, sums).pvalue > 1e-6
    assert ks_2samp(last, sums + n).pvalue < 1e-6  # one gradient more would be noticed


def test_a_tenth_of_the_noise_is_still_enough(found):
    assert found.less_noise.verdict is Verdict.CONSISTENT
    assert found.less_noise.bound.epsilon < found.proven < 1.0
    assert found.proven == pytest.approx(0.647, abs=5e-4)
