"""The evidence card: numbers of the result, escaped texts, a registry record that fits the schema, and the hazards."""

import json
import math
import re
import tomllib
from dataclasses import replace

import pytest
import yaml
from tests.experiments.made_results import gaussian_result, laplace_result, sweep_of

from dpassay.experiments import demos
from dpassay.experiments.cli.commands import app
from dpassay.experiments.config.source import CONFIGS, shipped
from dpassay.experiments.present.card import hazards
from dpassay.experiments.present.card.card import Card, Origin, card_of
from dpassay.experiments.present.card.hazards import HAZARDS, coverage
from dpassay.experiments.present.card.registry import TODO, registry_yaml
from dpassay.experiments.present.results.latex import escape, sweep_table

HOSTILE = "a|b `c` <script> [d](e)\n# f"
TEXT, NUMBER, TEXTS = "text", "number", "texts"
RULES = {
    "url_slug!": TEXT,
    "status!": {
        "Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)",
        "Approved (Pending)",
    },
    "tier!": {1, 2, 3},
    "deployment!": {
        "basic!": {
            "name!": TEXT,
            "data_curators!": [
                {"data_curator_name!": TEXT, "data_curator_type!": {"Government", "Industry", "Nonprofit"}}
            ],
            "description!": TEXT,
            "intended_use!": TEXT,
            "data_product_type!": {
                "Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API",
                "SQL queries",
            },
            "data_product_region!": TEXT,
            "data_product_sector": {"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"},
            "publication_date!": re.compile(r"\d{4}-\d{2}-\d{2}"),
        },
        "dp_variant": {
            "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
            "data_domain": TEXT,
            "unprotected_quantities": TEXT,
        },
        "privacy_loss": {
            "privacy_unit": TEXT,
            "privacy_unit_details": TEXT,
            "privacy_parameters": {"epsilon": NUMBER, "delta": NUMBER, "rho": NUMBER},
            "privacy_parameters_details": TEXT,
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": TEXT,
            "mechanisms": TEXT,
            "justification": TEXT,
        },
        "administrative!": {"registry_authors!": TEXTS},
    },
}  # fmt: skip
"""Fields and values that opendp/deployments-registry-data allowed in July 2026, in our words.

"!" is required, a set lists values, and no other field may stand in an object. Source: schemas/deployments-schema.yaml,
read on 2026-11-28 in versions of around that date; records of September 2026 have this form. A later draft
moves `status` and `tier` to `administrative`.
"""


def misfits(value, rule, place="record"):
    """Yield the places at which a value breaks a rule."""
    if isinstance(rule, dict):
        if not isinstance(value, dict):
            yield place
            return
        known = {key.rstrip("!"): inner for key, inner in rule.items()}
        yield from (f"{place}.{key} is unknown" for key in value.keys() - known.keys())
        yield from (f"{place}.{key[:-1]} is missing" for key in rule if key[-1] == "!" and key[:-1] not in value)
        for key in value.keys() & known.keys():
            yield from misfits(value[key], known[key], f"{place}.{key}")
    elif isinstance(rule, list) or rule is TEXTS:
        if not isinstance(value, list) or not value:
            yield place
            return
        for item in value:
            yield from misfits(item, rule[0] if isinstance(rule, list) else TEXT, place)
    elif isinstance(rule, set):
        yield from [] if value in rule else [place]
    elif isinstance(rule, re.Pattern):
        yield from [] if isinstance(value, str) and rule.fullmatch(value) else [place]
    elif not isinstance(value, str if rule is TEXT else (int, float)):
        yield place


def card(*results, title="Test", unit="") -> Card:
    found = results or (laplace_result(),)
    sweep = sweep_of([{"mechanism.epsilon": place} for place in range(len(found))], list(found))
    return card_of(sweep, Origin(title, "dpassay run x", {"versions": {"dpassay": "1"}}, unit, {"results.json": "0"}))


def test_the_card_has_the_numbers_of_the_result():
    result = laplace_result()
    (audit,) = json.loads(card(result).to_json())["audits"]
    assert audit["claim"] == {"guarantee": result.claim_name, "epsilon": result.claim, "delta": result.delta}
    assert audit["bound"]["epsilon"] == result.bound.epsilon
    assert audit["bound"]["confidence"] == result.confidence
    assert audit["bound"]["confidence_alone"] == result.bound.confidence
    assert audit["power"]["ceiling"] == result.ceiling
    assert audit["trials"]["evaluation"] == result.trials.evaluation
    assert audit["fingerprint"] == result.fingerprint
    assert [entry["what"] for entry in audit["ledger"]][: len(result.ledger)] == [e.what for e in result.ledger]


def test_a_card_has_the_confidence_of_the_report_also_where_bounds_share_the_significance():
    """A bound that has half of the significance is stated at the level of the audit, as in the report."""
    halved = replace(laplace_result().bound, confidence=0.975)
    made = card(replace(laplace_result(), bounds=(halved, replace(halved, epsilon=0.1))))
    (audit,) = json.loads(made.to_json())["audits"]
    assert (audit["bound"]["confidence"], audit["bound"]["confidence_alone"]) == (0.95, 0.975)
    assert "97.5 %" not in made.to_markdown()
    assert "| 95 % |" in made.to_markdown()
    assert "jointly with 95 % confidence" in made.to_markdown()


def test_a_weak_verdict_is_said_in_card_table_and_paper():
    weak = laplace_result(detectable=3.0)
    content = json.loads(card(weak, laplace_result()).to_json())
    assert (content["verdict"], content["tone"]) == ("consistent", "weak")
    assert [(a["verdict"], a["tone"], a["weak"]) for a in content["audits"]] == [
        ("consistent", "weak", True),
        ("consistent", "consistent", False),
    ]
    page = card(weak, laplace_result()).to_markdown()
    assert "\n~ Consistent, weak (1 of 2 claims)" in page
    assert "~ consistent, weak |" in page
    table = sweep_table(sweep_of([{"k": 1}, {"k": 2}], [weak, laplace_result()]))
    assert table.count("consistent, weak") == 1


def test_infinite_numbers_of_a_card_are_text():
    text = card(laplace_result(detectable=math.inf)).to_json()
    assert json.loads(text)["audits"][0]["power"]["detectable"] == "inf"


def test_a_card_shows_hostile_texts_literally():
    page = card(title=HOSTILE, unit=HOSTILE).to_markdown()
    assert "<script>" not in page
    assert "[d](e)" not in page
    assert "\n# f" not in page


def test_the_registry_record_fits_the_schema():
    for made in (card(title=HOSTILE), card(title="***"), card(gaussian_result(delta=1e-5), unit="a person")):
        record = yaml.safe_load(registry_yaml(made))
        assert not list(misfits(record, RULES))
        assert record["status"] == "Draft"
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", record["url_slug"])
    assert yaml.safe_load(registry_yaml(card()))["deployment"]["privacy_loss"]["privacy_unit"] == TODO


def test_a_registry_record_without_audits_fits_the_schema():
    made = replace(card(), audits=())
    record = yaml.safe_load(registry_yaml(made))
    assert not list(misfits(record, RULES))
    assert "privacy_loss" not in record["deployment"]


def test_the_rules_of_the_registry_refuse_what_its_schema_refuses():
    """Eight errors: an earlier form of the record; see `RULES`."""
    earlier = {
        "approved": False,
        "registry_author": TODO,
        "deployment": {
            "short_name": "Test",
            "dp_flavor": {"name": "Pure DP"},
            "privacy_loss": {"privacy_unit_description": "a person"},
            "implementation": {"pre_processing_eda_hyperparameter_tuning": TODO},
        },
    }
    assert {"record.url_slug is missing", "record.deployment.basic is missing"} <= set(misfits(earlier, RULES))
    assert len(list(misfits(earlier, RULES))) >= 8
    record = yaml.safe_load(registry_yaml(card()))
    record["deployment"]["basic"] |= {"publication_date": TODO, "data_product_type": TODO}
    record["deployment"]["dp_variant"]["variant_name"] = "other"
    assert len(list(misfits(record, RULES))) == 3


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("ConcentratedDP(0.1)", "Zero-concentrated DP"),
        ("RenyiDP(...)", "Renyi DP"),
        ("ApproximateDP(1, 1e-5)", "Approximate DP"),
        ("PureDP(1)", "Pure DP"),
    ],
)
def test_the_registry_record_names_the_variant_of_the_claim(name, variant):
    made = card()
    (audit,) = made.audits
    made = replace(made, audits=(replace(audit, claim=audit.claim | {"guarantee": name}),))
    assert yaml.safe_load(registry_yaml(made))["deployment"]["dp_variant"]["variant_name"] == variant


def test_what_a_person_has_to_fill_in_is_marked():
    text = registry_yaml(card())
    for key in ("url_slug", "tier", "data_curator_type", "data_product_type", "publication_date"):
        assert re.search(rf"\b{key}: .*  # TODO: ", text)


def test_the_registry_record_answers_how_the_process_was_verified():
    made = card(unit="a person")
    deployment = yaml.safe_load(registry_yaml(made))["deployment"]
    text = deployment["implementation"]["justification"]
    assert text.startswith("Was the process validated and verified? By a statistical audit")
    assert f"epsilon at least {made.audits[0].bound['epsilon']:.4g}"[:24] in text
    assert "replaces none" in text
    assert deployment["privacy_loss"]["privacy_unit"] == "a person"


def test_a_small_delta_of_the_record_is_a_number_in_every_yaml():
    """YAML 1.1 takes "1e-05" for text."""
    assert "delta: 1.0e-05\n" in registry_yaml(card(gaussian_result(delta=1e-5)))


# --- hazards ----------------------------------------------------------------------------------------------------------


def test_there_are_24_hazards_in_order():
    assert [hazard.number for hazard in HAZARDS] == list(range(1, 25))
    assert [hazard.number for hazard in HAZARDS if not hazard.in_scope] == [11, 22, 23, 24]
    assert all(hazard.cure.startswith("out of scope: ") for hazard in HAZARDS if not hazard.in_scope)


COMMANDS = {
    command
    for hazard in HAZARDS
    for command in (hazard.command, *re.findall(r"`(dpassay [^`]+)`", hazard.cure))
    if command
}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_each_command_of_a_hazard_exists(command):
    program, name, argument = command.split()
    assert program == "dpassay"
    assert name in {registered.name for registered in app.registered_commands}
    known = {"run": shipped(), "demo": demos.names(), "check": ["FILE.py:release"]}
    assert argument in known[name]


def test_each_row_that_a_hazard_names_is_in_its_experiment():
    for hazard in HAZARDS:
        rows = re.findall(r"`([^`]+)`", hazard.see)
        if not rows:
            continue
        config = tomllib.loads((CONFIGS / f"{hazard.command.split()[-1]}.toml").read_text())
        names = {case["name"].partition(" / ")[0] for case in config["sweep"]["case"]}
        assert set(rows) <= names


def test_a_failure_that_is_seen_nine_times_in_ten_has_that_probability():
    for n in (10, 1_800, 10**6):
        p = hazards._rarest(n)
        assert 1.0 - (1.0 - p) ** n == pytest.approx(0.9, rel=1e-6)


def test_a_run_states_its_unit_only_if_it_is_given():
    results = [laplace_result()]
    assert coverage(results)[3].status == "not covered"
    assert coverage(results, unit="a person")[3].status == "stated"
    found = {covered.number: covered.status for covered in coverage(results)}
    assert (found[9], found[15], found[22]) == ("tested", "not covered", "out of scope")
    assert len(found) == 24


# --- LaTeX ------------------------------------------------------------------------------------------------------------


def test_the_latex_table_has_one_row_per_audit_and_no_raw_command():
    sweep = sweep_of([{"mechanism.name": r"\input{x}_&%"}], [laplace_result()])
    table = sweep_table(sweep)
    body = table.partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == 1
    assert body[0].startswith(escape(r"\input{x}_&%"))
    assert r"\input" not in table
    columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", table)[1]
    assert len(columns) == len(re.split(r"(?<!\\)&", body[0]))
