"""The same query, repeated: verdicts on the mean, its error, and the optimal guess of one bit."""

import math

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("repeated-answers").names


def test_the_demo_reads_well():
    check_demo("repeated-answers")


def test_only_fresh_noise_breaks_the_claim_and_only_after_one_answer(found):
    assert [result.verdict for result in found.fresh.values()] == [Verdict.CONSISTENT, *[Verdict.VIOLATION] * 3]
    for result in (*found.sticky.values(), *found.budget.values()):
        assert result.verdict is Verdict.CONSISTENT
        assert result.bound.epsilon <= 1.0
    for k, result in found.fresh.items():
        assert result.bound.epsilon <= k
    assert found.sticky[64].bound.epsilon > 0.8
    assert found.budget[64].bound.epsilon < 0.2


def test_the_mean_has_the_error_of_the_formula(found):
    # A sample variance of n Laplace variables (kurtosis 6) has relative deviation sqrt(5 / n), its root half of it.
    limit = 5.2 * math.sqrt(5.0 / 2_000) / 2.0
    for name, formula in (("fresh noise", "√(2 / K)"), ("ε / K each", "√(2 K)")):
        assert found.spread[name] == pytest.approx(found.spread[formula], rel=limit)
    assert found.spread["sticky noise"] == pytest.approx([math.sqrt(2.0)] * 5, rel=limit)


def test_no_rule_beats_the_optimum_that_the_likelihood_ratio_attains(found):
    assert found.optimum[1] == pytest.approx(1.0 - 0.5 * math.exp(-0.5), abs=1e-4)
    limit = 5.0 * math.sqrt(0.25 / found.n_games)  # 5 standard deviations: false alarm 6e-7
    for k, optimum in found.optimum.items():
        assert found.by_mean[k][0] <= optimum + limit
        assert found.by_ratio[k][0] == pytest.approx(optimum, abs=limit)
        share, low, high = found.by_ratio[k]
        assert low <= share <= high
    assert found.by_mean[4][0] < found.optimum[4] - 0.01
    assert round(math.e / (1.0 + math.e), 4) == 0.7311  # as the text says
    assert found.by_mean[16][1] > 0.7311


def test_the_budget_gives_three_answers(found):
    assert found.answered == 3
    assert found.system.spent == 3.0


def test_equivalent_queries_evade_sticky_noise(found):
    assert found.evaded.verdict is Verdict.VIOLATION
    assert found.evaded.bound.epsilon <= 16.0
