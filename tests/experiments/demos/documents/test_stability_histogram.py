"""A stability-based histogram that lists counts equal to the threshold."""

import math

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("stability-histogram").names


def test_the_demo_reads_well():
    check_demo("stability-histogram")


def test_delta_is_the_probability_that_anna_is_listed(found):
    a = math.exp(-0.5)
    assert found.T == 6 == math.ceil(2 * math.log(1 / 0.05))
    assert found.deltas["lists > T"] == pytest.approx(a**6 / (1 + a))
    assert found.deltas["lists >= T"] == pytest.approx(a**5 / (1 + a))
    assert [round(delta, 4) for delta in found.deltas.values()] == [0.031, 0.0511]


def test_no_epsilon_is_large_enough_for_the_bug(found):
    assert found.at_threshold.exact_guarantee().epsilon(0.05) == math.inf
    assert found.above.exact_guarantee().epsilon(0.05) <= 1.0


def test_the_audit_distinguishes_the_two_programs(found):
    assert found.results["lists > T"].verdict is Verdict.CONSISTENT
    assert found.results["lists > T"].bound.epsilon <= 1.0
    assert found.results["lists >= T"].verdict is Verdict.VIOLATION


def test_rounding_hides_the_bug_at_small_delta(found):
    assert found.by_delta["T"].iloc[-1] == 28
    assert found.by_delta[">= T"].iloc[-1] == pytest.approx(8.53e-7, rel=1e-3)
    assert found.by_delta["> T"].iloc[-1] == pytest.approx(5.176e-7, rel=1e-3)
    assert (found.by_delta["claim of >="] == "broken").tolist() == [True, False, False, False, False, False]
    for claimed, correct in zip(found.by_delta.index.astype(float), found.by_delta["> T"], strict=True):
        assert correct < claimed


def test_the_relation_of_the_exercise_makes_it_worse(found):
    a = math.exp(-1.0)
    assert found.added.unique_probability == pytest.approx(a**2 / (1 + a))
    assert round(found.added.unique_probability, 4) == 0.0989
    assert round(found.added.twin().unique_probability, 4) == 0.0364
    assert found.added_result.verdict is Verdict.VIOLATION
