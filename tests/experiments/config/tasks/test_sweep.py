"""Sweeps: which points, which seeds, which folders, and one verdict over all of them."""

import dataclasses
import json
import re

import numpy as np
import pytest

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.audit.results.audit_result import AuditResult
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import Source
from dpassay.experiments.config.sweep import combinations, folder_name, point_seed, published, settings
from dpassay.experiments.present.results.sweep import SweepResult, corrected
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.core import ConfigError, ResultError

SWEEP = {"mechanism.epsilon": [0.5, 1.0], "audit.delta": [0.0, 1e-5, 1e-3]}


@pytest.fixture(scope="module")
def one_result():
    return audit(Laplace(epsilon=1.0), trials=500, seed=1)


def with_p(result: AuditResult, p: float, verdict: Verdict = Verdict.CONSISTENT) -> AuditResult:
    return dataclasses.replace(result, p_value=p, verdict=verdict)


def test_the_points_are_the_cartesian_product_with_the_last_key_fastest():
    points = combinations(SWEEP)
    assert len(points) == 6
    assert points[0] == {"mechanism.epsilon": 0.5, "audit.delta": 0.0}
    assert points[1] == {"mechanism.epsilon": 0.5, "audit.delta": 1e-5}
    assert combinations({}) == [{}]


def test_joined_keys_get_the_same_value():
    (point,) = combinations({"mechanism.delta, claim.delta": [1e-5]})
    assert settings(point) == {"mechanism.delta": 1e-5, "claim.delta": 1e-5}


def test_the_seed_of_a_point_does_not_depend_on_the_other_points():
    few = {json.dumps(point): point_seed(3, point) for point in combinations(SWEEP)}
    more = {json.dumps(p): point_seed(3, p) for p in combinations(SWEEP | {"audit.delta": [1e-5, 0.0, 1e-3, 1e-2]})}
    assert few.items() <= more.items()
    assert len(set(more.values())) == len(more)


def test_seeds_differ_between_experiments_and_are_json_numbers():
    points = combinations(SWEEP)
    seeds = [point_seed(seed, point) for seed in range(50) for point in points]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_without_a_sweep_the_seed_is_that_of_the_experiment():
    assert point_seed(20, {}) == 20


def test_folders_are_readable_safe_and_distinct():
    points = [
        *combinations(SWEEP),
        {"mechanism.query": {"name": "count", "above": 1.0}},
        {"mechanism.query": {"name": "count", "above": 2.0}},
        {"mechanism.name": "../../etc"},
        {"data.column": "mean radius / " + "x" * 300},
        {},
    ]
    names = [folder_name(point) for point in points]
    assert names[0].startswith("epsilon=0.5,delta=0.0-")
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9=._,-]{1,80}", name) and not name.startswith(".") for name in names)


def test_a_claim_refuted_alone_is_not_refuted_among_many(one_result):
    results = [with_p(one_result, 0.03, Verdict.VIOLATION)] + [with_p(one_result, 0.5)] * 4
    points, verdict, entry = corrected([{}] * 5, results, confidence=0.95)
    assert points[0].p_adjusted == pytest.approx(0.15)
    assert points[0].verdict is Verdict.CONSISTENT
    assert verdict is Verdict.CONSISTENT
    assert "Holm over 5" in entry.correction


def test_claims_refuted_after_correction_make_the_sweep_a_violation(one_result):
    results = [with_p(one_result, p, Verdict.VIOLATION) for p in (0.012, 0.001, 0.04)] + [with_p(one_result, 0.9)]
    points, verdict, _ = corrected([{}] * 4, results, confidence=0.95)
    assert [p.verdict.value for p in points] == ["violation", "violation", "consistent", "consistent"]
    assert verdict is Verdict.VIOLATION


def test_a_single_audit_keeps_its_own_verdict(one_result):
    points, verdict, entry = corrected([{}], [with_p(one_result, 0.0501, Verdict.VIOLATION)], confidence=0.95)
    assert points[0].verdict is verdict is Verdict.VIOLATION
    assert entry.correction == "no correction needed"


def test_one_underpowered_audit_makes_a_clean_sweep_underpowered(one_result):
    weak = with_p(one_result, 1.0, Verdict.UNDERPOWERED)
    fine, bad = with_p(one_result, 0.9), with_p(one_result, 1e-9, Verdict.VIOLATION)
    assert corrected([{}] * 2, [weak, fine], confidence=0.95)[1] is Verdict.UNDERPOWERED
    assert corrected([{}] * 2, [weak, bad], confidence=0.95)[1] is Verdict.VIOLATION


def test_true_claims_are_refuted_at_most_as_often_as_the_significance(one_result):
    rng = np.random.default_rng(0)
    sweeps = rng.random((400, 8))
    wrong = sum(
        corrected([{}] * 8, [with_p(one_result, p) for p in row], confidence=0.8)[1] is Verdict.VIOLATION
        for row in sweeps
    )
    assert wrong <= 123  # binomial(400, 0.2): more has probability below 1e-6
    assert wrong >= 40  # Holm is nearly exact for independent p-values: 1 - (1 - 0.2 / 8)^8 = 0.183


@pytest.fixture(scope="module")
def sweep_result(one_result):
    points, verdict, entry = corrected(
        [
            {"mechanism.epsilon": 1.0, "mechanism.query": {"name": "count"}},
            {"mechanism.epsilon": 2.0, "mechanism.query": "x"},
        ],
        [one_result, with_p(one_result, 0.2)],
        confidence=0.95,
    )
    return SweepResult("mine", "Title", "Words", "f" * 64, 3, 0.95, points, verdict, (entry,))


def test_the_json_form_reads_back_and_writes_the_same_bytes(sweep_result):
    text = sweep_result.to_json()
    again = SweepResult.from_json(text)
    assert again.to_json() == text
    assert again.points[1].parameters == sweep_result.points[1].parameters
    assert again.verdict is sweep_result.verdict
    assert json.loads(text)["version"] == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not readable as JSON"),
        ("[]", "results must be a JSON object, but are a JSON list"),
        ('{"format": "else"}', 'format must be .*, but is "else"'),
        ('{"format": "dpassay.sweep-result", "version": 99}', "version must be 3, but is 99: a newer dpassay"),
        ('{"format": "dpassay.sweep-result", "version": 1}', "version must be 3, but is 1: another release"),
    ],
)
def test_other_json_is_refused(text, message):
    with pytest.raises(ResultError, match=message):
        SweepResult.from_json(text)


def test_the_table_has_one_row_an_audit_and_one_cell_a_parameter(sweep_result):
    frame = sweep_result.to_frame()
    assert list(frame["mechanism.query"]) == ["count", "x"]
    assert list(frame["p_adjusted"]) == [point.p_adjusted for point in sweep_result.points]
    assert {"epsilon_lower", "claim", "exact_epsilon", "ceiling", "verdict", "seed"} <= set(frame.columns)


BARE = {"name": "a", "mechanism": {"epsilon": 0.5}}
CASE = BARE | {"published": {"StatDP": 0.1, "DP-Sniper": 0.09}, "expected": {"verdict": "consistent"}}
OTHER = {"name": "b", "mechanism": {"epsilon": 1.0}}


def config_of(*cases):
    return Config.check({"mechanism": {"name": "laplace"}, "sweep": {"case": list(cases)}}, Source("made", "made.toml"))


def test_published_numbers_and_expected_verdicts_change_no_number():
    assert point_seed(3, {"case": CASE}) == point_seed(3, {"case": BARE})
    assert folder_name({"case": CASE}) == folder_name({"case": BARE})
    assert config_of(CASE, OTHER).fingerprint == config_of(BARE, OTHER).fingerprint
    assert config_of(CASE, OTHER).fingerprint != config_of(CASE, OTHER | {"name": "c"}).fingerprint


def test_published_numbers_are_kept_and_set_nothing():
    assert published({"case": CASE}) == {"StatDP": 0.1, "DP-Sniper": 0.09}
    assert published({"case": BARE}) == published({"mechanism.epsilon": 1.0}) == {}
    assert settings({"case": CASE}) == {"mechanism.epsilon": 0.5}
    assert config_of(CASE, OTHER).to_toml().count("StatDP") == 1


@pytest.mark.parametrize("wrong", ["Violation", True, ["violation"], {"is": "violation"}])
def test_what_is_no_verdict_is_refused(wrong):
    with pytest.raises(ConfigError, match="verdict in expected of the case 'a' must be one of violation, consistent"):
        config_of(BARE | {"expected": {"verdict": wrong}}, OTHER)
    with pytest.raises(ConfigError, match="verdict in expected must be one of violation, consistent"):
        Config.check({"mechanism": {"name": "laplace"}, "expected": {"verdict": wrong}}, Source("made", "made.toml"))


def test_a_verdict_outside_expected_is_refused():
    with pytest.raises(ConfigError, match="a case of the sweep must be a table with a name, and tables"):
        config_of(BARE | {"verdict": "violation"}, OTHER)


def test_what_is_expected_of_all_audits_is_no_part_of_the_question():
    table = {"mechanism": {"name": "laplace"}}
    plain, stating = (
        Config.check(table | more, Source("made", "made.toml")) for more in ({}, {"expected": {"claim": 1.0}})
    )
    assert plain.fingerprint == stating.fingerprint
    assert "[expected]\nclaim = 1.0" in stating.to_toml()
    with pytest.raises(ConfigError, match=r"expected\.claim cannot be swept"):
        Config.check(table | {"sweep": {"expected.claim": [0.1, 0.2]}}, Source("made", "made.toml"))


@pytest.mark.parametrize("wrong", [0.1, {"StatDP": "0.1"}, {"StatDP": True}, {"StatDP": float("inf")}])
def test_what_is_no_table_of_numbers_is_refused(wrong):
    with pytest.raises(ConfigError, match="published of the case 'a' must be a table from the name of a tool"):
        config_of(BARE | {"published": wrong}, OTHER)
