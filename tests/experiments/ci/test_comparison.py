"""Two results compared: what fails, what passes, and that no change of a random bound does."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom
from tests.experiments.made_results import broken_sweep, laplace_result, laplace_sweep

from dpassay.audit.evidence.verdict import Verdict
from dpassay.experiments.ci.checked import SESSION, CheckedClaim, CheckedClaims, claims_of
from dpassay.experiments.ci.comparison import (
    POWER_LOSS,
    Change,
    compare,
    compare_claim,
    false_alarm,
)
from dpassay.mechanisms.core import ParameterError, ResultError

KEPT = CheckedClaim(
    name="count",
    mechanism="count()",
    attack="portfolio",
    claim=1.0,
    claim_name="PureDP(epsilon=1)",
    delta=0.0,
    relation="add_remove",
    confidence=0.999,
    bound=0.9,
    method="joint-exact",
    trials=10_000,
    ceiling=5.0,
    detectable=1.2,
    p_value=0.4,
    verdict=Verdict.CONSISTENT,
)
BROKEN = dataclasses.replace(KEPT, bound=1.5, p_value=1e-9, verdict=Verdict.VIOLATION)


def change(before, after, **options):
    return compare_claim(before, after, **options).change


def with_(claim, /, **fields):
    return dataclasses.replace(claim, **fields)


# --- new and known violations -----------------------------------------------------------------------------------------


def test_a_violation_is_new_unless_the_first_result_refuted_the_same_claim():
    assert change(KEPT, BROKEN) is Change.NEW_VIOLATION
    assert change(None, BROKEN) is Change.NEW_VIOLATION
    assert change(BROKEN, BROKEN) is Change.KNOWN_VIOLATION
    assert change(BROKEN, with_(BROKEN, bound=4.0)) is Change.KNOWN_VIOLATION
    assert change(BROKEN, KEPT) is Change.NOT_REFUTED


@pytest.mark.parametrize(
    "fields",
    [
        {"mechanism": "other()"},
        {"delta": 1e-5},
        {"relation": "zero_out"},
        {"claim": 1.6, "bound": 1.7, "claim_name": "PureDP(epsilon=1.6)"},
    ],
)
def test_a_violation_of_another_claim_is_new(fields):
    assert change(BROKEN, with_(BROKEN, **fields)) is Change.NEW_VIOLATION


def test_a_claim_below_the_earlier_bound_was_refuted_before():
    assert change(BROKEN, with_(BROKEN, claim=1.4, claim_name="PureDP(epsilon=1.4)")) is Change.KNOWN_VIOLATION


def test_a_violation_that_a_test_expects_is_no_known_one():
    assert change(with_(BROKEN, expected=True), BROKEN) is Change.NEW_VIOLATION


# --- power ------------------------------------------------------------------------------------------------------------


def test_power_is_lost_when_the_detectable_excess_grows_too_far():
    limit = 1.0 + (1.0 + POWER_LOSS) * 0.2 + 0.01 * 1.2
    assert change(KEPT, with_(KEPT, detectable=limit - 1e-9)) is Change.UNCHANGED
    assert change(KEPT, with_(KEPT, detectable=limit + 1e-9)) is Change.LOST_POWER
    assert change(KEPT, with_(KEPT, detectable=limit + 1e-9), power_loss=0.3) is Change.UNCHANGED
    assert change(KEPT, with_(KEPT, detectable=math.inf)) is Change.LOST_POWER
    assert change(KEPT, with_(KEPT, detectable=math.inf), power_loss=math.inf) is Change.UNCHANGED
    powerless = with_(KEPT, detectable=math.inf, verdict=Verdict.UNDERPOWERED)
    assert change(powerless, powerless) is Change.UNCHANGED


def test_a_raised_claim_is_lost_power_and_a_lowered_one_is_not():
    raised = compare_claim(KEPT, with_(KEPT, claim=2.0, detectable=2.3, claim_name="PureDP(epsilon=2)"))
    assert raised.change is Change.LOST_POWER
    assert "raised from 1 to 2" in raised.reason
    assert change(KEPT, with_(KEPT, claim=0.5, detectable=0.65)) is Change.UNCHANGED


@pytest.mark.parametrize("verdict", [Verdict.UNDERPOWERED, Verdict.DEPENDENT])
def test_an_audit_that_ends_without_a_verdict_has_lost_power(verdict):
    assert change(KEPT, with_(KEPT, verdict=verdict)) is Change.LOST_POWER
    assert change(with_(KEPT, verdict=verdict), with_(KEPT, verdict=verdict)) is Change.UNCHANGED


@pytest.mark.parametrize("fields", [{"delta": 1e-3}, {"relation": "zero_out"}])
def test_another_delta_or_relation_no_longer_tests_the_claim(fields):
    row = compare_claim(KEPT, with_(KEPT, **fields))
    assert row.change is Change.LOST_POWER
    assert "is no longer tested" in row.reason


def test_an_audit_that_is_gone_has_lost_its_power():
    both, one = laplace_sweep((0.5, 1.0)), laplace_sweep((0.5, 2.0))
    done = compare(claims_of(both), claims_of(one))
    assert [row.change for row in done.claims] == [Change.UNCHANGED, Change.ADDED, Change.LOST_POWER]
    assert done.claims[-1].after is None
    assert compare(claims_of(both), claims_of(one), power_loss=math.inf).failures == ()


@given(
    bounds=st.tuples(*[st.floats(0.0, 1.0)] * 2),
    p_values=st.tuples(*[st.floats(0.0, 1.0)] * 2),
    confidence=st.floats(0.5, 0.999999),
)
def test_no_change_of_a_bound_below_the_claim_fails(bounds, p_values, confidence):
    both = [
        with_(KEPT, bound=bound, p_value=p, confidence=confidence) for bound, p in zip(bounds, p_values, strict=True)
    ]
    assert change(*both) is Change.UNCHANGED


@pytest.mark.parametrize("loss", [-0.1, math.nan])
def test_a_negative_loss_is_refused(loss):
    with pytest.raises(ParameterError, match=r"power_loss must be a number >= 0"):
        compare(claims_of(laplace_sweep()), claims_of(laplace_sweep()), power_loss=loss)


# --- false alarms -----------------------------------------------------------------------------------------------------


def test_comparisons_of_a_true_claim_rarely_fail():
    """400 pairs at 95 %: the limit is binomial; a comparison of the bounds themselves would fail in half of them."""
    n, size = 400, 300
    seeds = np.arange(2 * n).reshape(n, 2)
    pairs = [[claims_of(laplace_result(1.0, n=size, seed=int(seed))) for seed in pair] for pair in seeds]
    limit = binom.isf(1e-6, n, 0.05)
    assert sum(bool(compare(*pair).failures) for pair in pairs) <= limit
    fallen = sum(after.claims[0].bound < before.claims[0].bound for before, after in pairs)
    assert fallen > limit, "the broken twin, which fails where a bound has fallen, must be detected"


def test_a_real_leak_and_a_real_loss_of_trials_fail():
    kept, leaking = claims_of(laplace_result(1.0, n=20_000)), claims_of(laplace_result(3.0, claim=1.0, n=20_000))
    assert compare(kept, leaking).headline() == "1 new violation and 0 audits with less power, of 1 claim."
    fewer = claims_of(laplace_result(1.0, n=5_000, seed=3))
    assert [row.change for row in compare(kept, fewer).failures] == [Change.LOST_POWER]
    assert compare(fewer, kept).failures == ()


def test_levels_of_a_session_add_up_and_those_of_a_sweep_are_corrected():
    sweep = claims_of(laplace_sweep((0.5, 1.0)))
    assert false_alarm(sweep) == pytest.approx(0.05)
    assert false_alarm(dataclasses.replace(sweep, source=SESSION)) == pytest.approx(0.1)
    assert false_alarm(CheckedClaims("none", SESSION, ())) == 0.0


# --- claims of a result -----------------------------------------------------------------------------------------------


def test_claims_of_a_sweep_have_its_corrected_verdicts_and_distinct_names():
    checked = claims_of(broken_sweep())
    assert [claim.verdict for claim in checked.claims] == [point.verdict for point in broken_sweep().points]
    assert len({claim.name for claim in checked.claims}) == 3
    assert checked.verdict is Verdict.VIOLATION


def test_claims_are_saved_and_read_again_and_damage_is_refused():
    checked = claims_of(broken_sweep())
    assert CheckedClaims.from_json(checked.to_json()) == checked
    with pytest.raises(ResultError, match="do not match"):
        CheckedClaims.from_json(checked.to_json().replace("0.95", "0.96"))
    for claims in ((KEPT, KEPT), (with_(KEPT, delta=2.0),), (with_(KEPT, detectable=-1.0),)):
        with pytest.raises(ResultError):
            CheckedClaims.from_json(CheckedClaims("x", SESSION, claims).to_json())


def test_single_audits_are_matched_without_names_and_tests_by_name():
    one, other = (CheckedClaims("a", "audit", (with_(KEPT, name=name),)) for name in "ab")
    assert [row.change for row in compare(one, other).claims] == [Change.UNCHANGED]
    sessions = (dataclasses.replace(checked, source=SESSION) for checked in (one, other))
    assert [row.change for row in compare(*sessions).claims] == [Change.ADDED, Change.LOST_POWER]
