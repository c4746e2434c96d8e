"""A claim tested with one table: the null, its level, its power, and what it refuses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from tests.audit.metrics.table_risk import made_tables as made

from dpassay.audit.games.coins import Coins
from dpassay.audit.metrics import RiskResult, risk, toss_table
from dpassay.audit.metrics.table_risk.claim import ATTACKS, _pooled, _unit_scores, audit_claim
from dpassay.audit.metrics.table_risk.successes import AttackedRecords
from dpassay.audit.metrics.table_risk.tables import read_tables
from dpassay.mechanisms.accounting import ApproximateDP, PureDP
from dpassay.mechanisms.core import ParameterError, UnknownNameError


def rng_of(seed):
    return np.random.default_rng(seed)


def universe(n):
    """Return records that all differ, in two columns."""
    return pd.DataFrame({"a": np.arange(n) % 40, "b": np.arange(n) // 40})


def accounts(rng, n_units, size):
    return made.people(rng, n_units * size).assign(account=np.repeat(np.arange(n_units), size))


def verdict(tossed, synthetic, claim, **options):
    return audit_claim(tossed.real, synthetic, tossed.holdout, coins=tossed.coins, claim=claim, **options)


def randomised_presence(tossed, rng, epsilon):
    """Return the records of a public universe whose presence is a randomised response: (epsilon, 0)-DP, tight."""
    everyone = pd.concat([tossed.real, tossed.holdout])
    present = np.arange(len(everyone)) < len(tossed.real)
    kept = rng.random(len(everyone)) < np.where(present, 1.0, np.exp(-epsilon)) / (1.0 + np.exp(-epsilon))
    return everyone[kept]


def p_values(n_runs, n, claim, epsilon):
    """Return the p-values of a claim on tables of the tight mechanism."""
    found = []
    for seed in range(n_runs):
        tossed = toss_table(universe(n), seed=seed)
        synthetic = randomised_presence(tossed, rng_of([1, seed]), epsilon)
        found.append(verdict(tossed, synthetic, claim, attacks=("copies",)).p_value)
    return np.array(found)


@pytest.mark.parametrize("unit", [None, "account"])
def test_no_score_depends_on_which_table_a_record_stands_in(unit):
    table = accounts(rng_of(0), 60, 3)
    table = table.drop(columns="account") if unit is None else table
    tossed = toss_table(table, unit=unit, seed=0)
    synthetic = pd.concat([tossed.real[:20], made.people(rng_of(1), 60)]).drop(columns="account", errors="ignore")
    flipped = Coins(tossed.coins.ids, ~tossed.coins.included)
    shuffled = [part.sample(frac=1.0, random_state=0) for part in (tossed.real, tossed.holdout)]
    calls = (
        (tossed.real, tossed.holdout, tossed.coins),
        (tossed.holdout, tossed.real, flipped),
        (*shuffled, tossed.coins),
    )
    for attack in ATTACKS:
        scores = []
        for real, holdout, coins in calls:
            tables = read_tables(_pooled(real, holdout, coins, unit), synthetic, None, (), (), unit or "")
            scores.append(_unit_scores(AttackedRecords(tables, np.arange(len(table))), attack).tolist())
        assert scores[0] == scores[1] == scores[2], attack
        assert len(set(scores[0])) > 1


@pytest.mark.parametrize("n_runs", [20, pytest.param(2_000, marks=pytest.mark.slow)])
def test_a_true_and_tight_claim_is_refuted_within_the_level(n_runs):
    found = p_values(n_runs, 400, PureDP(1.0), 1.0)
    for level in (0.05, 0.2):
        assert binom.sf((found <= level).sum() - 1, n_runs, level) > 1e-6


def test_half_of_a_tight_claim_is_refuted():
    """50 guesses, each right with probability .88, exceed .73 by 2.4 deviations: of 10 runs 9 are found.

    Fewer than 6 would be found in 1 of 600 cases.
    """
    assert (p_values(10, 400, PureDP(1.0), 2.0) <= 0.2).sum() >= 6


@pytest.mark.parametrize("attack", list(ATTACKS))
@pytest.mark.parametrize("n_runs", [10, pytest.param(500, marks=pytest.mark.slow)])
def test_a_generator_that_ignores_its_input_is_refuted_within_the_level(attack, n_runs):
    refuted = 0
    for seed in range(n_runs):
        tossed = toss_table(made.people(rng_of([2, seed]), 200), seed=seed)
        synthetic = made.people(rng_of([3, seed]), 100)
        refuted += verdict(tossed, synthetic, PureDP(0.01), confidence=0.8, attacks=(attack,)).verdict == "violation"
    assert binom.sf(refuted - 1, n_runs, 0.2) > 1e-6


@pytest.mark.parametrize(("n_tables", "fewest"), [(1, 1), pytest.param(20, 10, marks=pytest.mark.slow)])
def test_a_table_with_five_percent_copies_refutes_a_claim_of_2(n_tables, fewest):
    """The measured power is 3 in 4: fewer than 10 of 20 are found in 1 of 70 cases."""
    refuted = 0
    for seed in range(n_tables):
        tossed = toss_table(made.people(rng_of([4, seed]), 2_000), seed=seed)
        copied = tossed.real[: round(0.05 * len(tossed.real))]
        synthetic = pd.concat([copied, made.people(rng_of([5, seed]), 950)])
        refuted += verdict(tossed, synthetic, PureDP(2.0)).verdict == "violation"
    assert refuted >= fewest


def test_a_unit_is_found_by_its_most_extreme_record():
    tossed = toss_table(accounts(rng_of(0), 300, 3), unit="account", seed=0)
    one_each = tossed.real[2::3].drop(columns="account")
    synthetic = pd.concat([one_each[:60], made.people(rng_of(1), 300)])
    result = verdict(tossed, synthetic, PureDP(1.5), unit="account")
    assert result.verdict == "violation"
    assert result.bound.n_trials == 300


def test_several_attacks_share_the_level_and_the_best_one_is_reported():
    tossed = toss_table(made.people(rng_of(0), 600), seed=0)
    synthetic = pd.concat([tossed.real[:60], made.people(rng_of(1), 240)])
    alone = verdict(tossed, synthetic, PureDP(1.0), attacks=("copies",))
    assert alone.confidence == pytest.approx(0.95)
    names, fresh = ("distance", "membership"), lambda: Coins(tossed.coins.ids, tossed.coins.included)
    each = {
        name: verdict(replace(tossed, coins=fresh()), synthetic, PureDP(1.0), attacks=(name,), looks=2)
        for name in names
    }
    again = replace(tossed, coins=fresh())
    both = verdict(again, synthetic, PureDP(1.0), attacks=names)
    assert both.confidence == pytest.approx(0.975)
    best = max(names, key=lambda name: each[name].bound.epsilon)
    assert both.attack == f"{best} of the table"
    assert both.bound.epsilon == each[best].bound.epsilon
    assert not both.warnings
    assert verdict(again, synthetic, PureDP(1.0), attacks=names) == both


def test_the_verdict_of_risk_is_that_of_the_claim_and_is_saved():
    tossed = toss_table(made.people(rng_of(0), 400), seed=0)
    synthetic = pd.concat([tossed.real[:15], made.people(rng_of(1), 185)])
    result = risk(tossed.real, synthetic, tossed.holdout, coins=tossed.coins, claim=ApproximateDP(3.0, 1e-5))
    assert result.leaks
    assert result.verdict == result.audit.verdict == "consistent"
    assert RiskResult.from_json(result.to_json()) == result
    assert "The table leaks records" in result.summary()
    assert not any("No epsilon" in text for part in result.text().details for text in part.paragraphs)
    swapped = replace(result, audit=replace(result.audit, verdict=type(result.verdict)("violation")))
    with pytest.raises(ValueError, match="audit"):
        RiskResult.from_json(swapped.to_json())


def tossed_by(unit):
    table = accounts(rng_of(0), 20, 2)
    return toss_table(table if unit else table.drop(columns="account"), unit=unit, seed=0)


def changed(part):
    return part.assign(bmi=part["bmi"] + 1.0)


@pytest.mark.parametrize(
    ("unit", "stated", "change", "problem"),
    [
        (None, "account", lambda real, holdout: (real, holdout), "tossed for single rows"),
        ("account", None, lambda real, holdout: (real, holdout), "unit must name the column"),
        ("account", "person", lambda real, holdout: (real, holdout), "unit, in real"),
        ("account", "account", lambda real, holdout: (holdout, real), "real must have .* is none of them"),
        ("account", "account", lambda real, holdout: (real, holdout[2:]), "holdout must have .* 1 unit of them"),
        (None, None, lambda real, holdout: (holdout, real), "real must have .* row 1 is none of them"),
        (None, None, lambda real, holdout: (real, changed(holdout)), "holdout must have .* row 1 is none of them"),
        (None, None, lambda real, holdout: (real[1:], holdout), "real must have .* 1 unit of them, such as row"),
        (None, None, lambda real, holdout: (pd.concat([real, real[:1]]), holdout), "real must have .* none of them"),
    ],
)
def test_tables_that_are_not_those_of_the_coins_are_refused(unit, stated, change, problem):
    tossed, synthetic = tossed_by(unit), made.people(rng_of(1), 20)
    real, holdout = change(tossed.real, tossed.holdout)
    with pytest.raises(ParameterError, match=problem):
        risk(real, synthetic, holdout, unit=stated, coins=tossed.coins, claim=PureDP(1.0))


def test_coins_claim_and_holdout_are_used_together():
    tossed, synthetic = tossed_by(None), made.people(rng_of(1), 20)
    with pytest.raises(ParameterError, match="claim must be given"):
        risk(tossed.real, synthetic, tossed.holdout, coins=tossed.coins)
    with pytest.raises(ParameterError, match="coins must be given"):
        risk(tossed.real, synthetic, tossed.holdout, claim=PureDP(1.0))
    with pytest.raises(ParameterError, match="holdout must be given"):
        risk(tossed.real, synthetic, coins=tossed.coins, claim=PureDP(1.0))
    with pytest.raises(UnknownNameError, match="attack"):
        verdict(tossed, synthetic, PureDP(1.0), attacks=("copied",))
    with pytest.raises(ParameterError, match="attacks"):
        verdict(tossed, synthetic, PureDP(1.0), attacks=())


def test_equal_rows_are_matched_with_as_many_coins():
    table = pd.DataFrame({"a": [1, 1, 1, 2, 2, 3] * 10, "b": list("xyxyxy") * 10})
    tossed = toss_table(table, seed=0)
    pooled = _pooled(tossed.real, tossed.holdout, tossed.coins, None)
    assert pooled.equals(table)
