"""The survey on taxes: what one answer leaks, and an audit of a biased coin."""

import math

import numpy as np
import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict

LOG_3 = math.log(3.0)


@pytest.fixture(scope="module")
def found():
    return played("randomized-response").names


def test_the_demo_reads_well():
    check_demo("randomized-response")


def test_the_investigator_moves_from_2_percent_to_3_in_52(found):
    assert found.after[0.02][1] == pytest.approx(3 / 52, rel=1e-12)
    assert round(found.after[0.02][1], 3) == 0.058  # Grosse, CSC 2515 lecture 11, slide 14


def test_an_answer_changes_every_odds_by_a_factor_of_three(found):
    for prior, (no, yes) in found.after.items():
        odds = prior / (1 - prior)
        assert yes / (1 - yes) == pytest.approx(3 * odds, rel=1e-9)
        assert no / (1 - no) == pytest.approx(odds / 3, rel=1e-9)


def test_two_coins_say_yes_in_three_quarters_and_one_quarter_of_cases(found):
    limit = 5.0 * math.sqrt(3 / 16 / 1_000_000)  # 5 standard deviations: false alarm 6e-7
    for dodges, probability in ((True, 0.75), (False, 0.25)):
        assert found.two_coins(np.full(1_000_000, dodges)).mean() == pytest.approx(probability, abs=limit)


def test_the_estimator_varies_as_the_formula_says(found):
    # N Var = 3/4 + m (1 - m): 0.7696, 0.84, 1.0 for m = 0.02, 0.1, 0.5
    assert found.formula == pytest.approx([0.7696, 0.84, 1.0], rel=1e-12)
    # A sample variance of 20,000 nearly normal estimates has relative deviation sqrt(2 / 20,000) = 1 %.
    assert found.simulated == pytest.approx(found.formula, rel=5.2 * math.sqrt(2 / 20_000))


def test_a_curator_loses_almost_nothing(found):
    assert found.local[10_000] == pytest.approx(1e-4, rel=1e-12)
    assert found.central[10_000] == pytest.approx(2.5e-5 + 2 / LOG_3**2 * 1e-8, rel=1e-12)


def test_the_bound_stays_below_log_3_and_comes_close(found):
    bounds = [result.bound.epsilon for result in found.fair.values()]
    assert bounds[-1] > 0.985 * LOG_3
    assert max(bounds) <= LOG_3
    assert {result.verdict for result in found.fair.values()} == {Verdict.CONSISTENT}


def test_the_biased_coin_is_detected_with_a_million_runs(found):
    truth = math.log(1 + 0.52 / 0.48**2)
    assert found.true_epsilon == pytest.approx(truth)
    assert f"{truth:.2f} {math.exp(truth):.2f}" == "1.18 3.26"  # as the text says
    assert found.biased[1_000].verdict is Verdict.CONSISTENT
    assert found.biased[1_000_000].verdict is Verdict.VIOLATION
    assert LOG_3 < found.biased[1_000_000].bound.epsilon <= truth


def test_the_coin_of_the_exercise_keeps_the_claim(found):
    exact = found.shy_survey.exact_guarantee().epsilon(0.0)
    assert math.exp(exact) == pytest.approx(1 + 1 / 0.52)
    assert found.shy.verdict is Verdict.CONSISTENT
    assert 0.985 * exact < found.shy.bound.epsilon <= exact
