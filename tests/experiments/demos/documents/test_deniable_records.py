"""Synthetic records that many people could have produced: what is proved, and what the records are worth."""

import math

import pytest
from tests.experiments.demo_runs import check_demo, played

from dpassay.audit import Verdict


@pytest.fixture(scope="module")
def found():
    return played("deniable-records").names


def test_the_demo_reads_well():
    check_demo("deniable-records")


def test_claims_hold_for_the_right_mechanism_alone(found):
    *wrong, right = found.mechanisms
    assert found.audits[right].verdict is Verdict.CONSISTENT
    assert found.rows[right][1] < found.rows[right][0]
    for name in wrong:
        assert found.audits[name].verdict is Verdict.VIOLATION
        claim, exact, bound, _ = found.rows[name]
        assert exact > 10 * claim
        assert claim < bound < exact


def test_the_noisy_test_passes_as_the_text_says(found):
    for missing in (1, 5, 20):
        expected = math.exp(-0.3 * missing) / 2
        assert math.exp(found.pass_log_probability(-float(missing), 0.3)) == pytest.approx(expected)
    claim = found.DeniabilityDP(20, 2.0, 1.0)
    for t in (1, 10, 19):
        assert claim.epsilon(math.exp(-(20 - t)) * (1 + 1e-9)) <= 1.0 + math.log(1 + 2.0 / t) + 1e-9


def test_classifiers_learn_more_from_records_than_from_marginals(found):
    real, marginals, *made = (row[:3] for row in found.utility.values())
    for row in made:
        assert all(m + 0.01 < one < r for m, one, r in zip(marginals, row, real, strict=True))


def test_made_records_are_told_apart_less_than_marginals(found):
    real, marginals, *made = (row[3:5] for row in found.utility.values())
    assert real == pytest.approx([0.5, 0.5], abs=5.0 * math.sqrt(0.25 / 4_000))
    for row in made:
        assert all(0.5 < one < m for one, m in zip(row, marginals, strict=True))


def test_records_without_a_seed_are_about_as_good_and_cost_nothing_more(found):
    from_network, *with_seeds = (row[:3] for name, row in found.utility.items() if name.startswith("omega"))
    for row in with_seeds:
        assert from_network == pytest.approx(row, abs=0.04)
    assert max(found.structure, found.tables_epsilon) < 2.5
    assert found.all_records > 1_000


def test_a_stricter_test_does_not_hide_that_nothing_was_released(found):
    assert found.stricter.verdict is Verdict.VIOLATION
    assert found.stricter.claim < found.audits["noisy k"].claim
