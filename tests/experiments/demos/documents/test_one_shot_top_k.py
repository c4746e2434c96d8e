"""Top k by Gumbel noise once and by k rounds: one law."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("one-shot-top-k").names


def test_the_demo_reads_well():
    check_demo("one-shot-top-k")


def test_both_ways_have_the_law_of_peeling(found):
    assert found.law.sum() == pytest.approx(1.0)
    assert len(found.law) == 5 * 4 * 3
    assert found.RUNS * found.law.min() > 20.0  # enough for the chi-square distribution
    for seen in found.observed.values():
        assert seen.sum() == found.RUNS
        assert found.p_value(seen) > 1e-6


def test_the_law_is_the_product_of_the_rounds(found):
    weights = np.exp(found.counts)
    by_hand = math.prod(weights[i] / weights[i:].sum() for i in range(3))  # ranking 0, 1, 2
    assert found.law[0] == pytest.approx(by_hand)


def test_the_draws_of_the_text():
    assert sum(1_000 - turn for turn in range(10)) == 9_955


def test_the_audits_of_both_agree_with_one_exact_epsilon(found):
    exact = found.PeelingTopK(**found.options).exact_guarantee().epsilon(0.0)
    assert round(exact, 2) == 1.56  # as the text says
    for result in found.audits.values():
        assert result.verdict is Verdict.CONSISTENT
        assert 0.9 * exact < result.bound.epsilon <= exact


def test_laplace_noise_once_has_another_law_than_three_rounds(found):
    assert found.test.pvalue < 1e-6
