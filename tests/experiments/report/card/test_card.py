"""The evidence card: numbers of the result, escaped texts, a registry record that fits the schema, and the hazards."""

import json
import math
import re
import tomllib

import pytest
from tests.experiments.made_results import gaussian_result, laplace_result, sweep_of

from dpassay.experiments import demos
from dpassay.experiments.cli.commands import app
from dpassay.experiments.config.source import CONFIGS, shipped
from dpassay.experiments.report.card import hazards
from dpassay.experiments.report.card.card import Card, Origin, card_of
from dpassay.experiments.report.card.hazards import HAZARDS, coverage
from dpassay.experiments.report.card.registry import TODO, registry_yaml
from dpassay.experiments.report.results.latex import escape, sweep_table

HOSTILE = "a|b `c` <script> [d](e)\n# f"
REQUIRED = {  # opendp/deployments-registry-data, schemas/deployments-schema.yaml at 02f6334
    "": {"approved", "registry_author", "deployment"},
    "deployment": {
        "short_name", "data_curator", "intended_use", "data_product_type", "data_product_description",
        "publication_date",
    },
    "dp_flavor": {"name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_parameters"},
    "implementation": {"pre_processing_eda_hyperparameter_tuning", "mechanisms", "justification"},
}  # fmt: skip
OPTIONAL = {
    "deployment": {"dp_flavor", "privacy_loss", "implementation"},
    "privacy_loss": {"privacy_unit_description", "privacy_parameters_description"},
}
FLAVOURS = {"Pure DP", "Approximate DP", "Zero Concentrated DP", "other"}


def card(*results, title="Test", unit="") -> Card:
    found = results or (laplace_result(),)
    sweep = sweep_of([{"mechanism.epsilon": place} for place in range(len(found))], list(found))
    return card_of(sweep, Origin(title, "dpassay run x", {"versions": {"dpassay": "1"}}, unit, {"results.json": "0"}))


def block_yaml(text):
    """Nested mappings with JSON scalars, of which `registry_yaml` consists."""
    root: dict = {}
    stack = [(-1, root)]
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        depth = len(line) - len(line.lstrip())
        key, _, value = line.strip().partition(":")
        while stack[-1][0] >= depth:
            stack.pop()
        inside: dict = {}
        stack[-1][1][key] = json.loads(value) if value.strip() else inside
        if not value.strip():
            stack.append((depth, inside))
    return root


def test_the_card_has_the_numbers_of_the_result():
    result = laplace_result()
    (audit,) = json.loads(card(result).to_json())["audits"]
    assert audit["claim"] == {"guarantee": result.claim_name, "epsilon": result.claim, "delta": result.delta}
    assert audit["bound"]["epsilon"] == result.bound.epsilon
    assert audit["bound"]["confidence"] == result.bound.confidence
    assert audit["power"]["ceiling"] == result.ceiling
    assert audit["trials"]["evaluation"] == result.trials.evaluation
    assert audit["fingerprint"] == result.fingerprint
    assert [entry["what"] for entry in audit["ledger"]][: len(result.ledger)] == [e.what for e in result.ledger]


def test_infinite_numbers_of_a_card_are_text():
    text = card(laplace_result(detectable=math.inf)).to_json()
    assert json.loads(text)["audits"][0]["power"]["detectable"] == "inf"


def test_a_card_shows_hostile_texts_literally():
    page = card(title=HOSTILE, unit=HOSTILE).to_markdown()
    assert "<script>" not in page
    assert "[d](e)" not in page
    assert "\n# f" not in page


def test_the_registry_record_fits_the_schema():
    record = block_yaml(registry_yaml(card(title=HOSTILE)))
    assert set(record) == REQUIRED[""]
    assert record["approved"] is False
    deployment = record["deployment"]
    assert set(deployment) == REQUIRED["deployment"] | OPTIONAL["deployment"]
    for part in OPTIONAL["deployment"]:
        assert REQUIRED[part] <= set(deployment[part]) <= REQUIRED[part] | OPTIONAL.get(part, set())
    assert deployment["dp_flavor"]["name"] in FLAVOURS
    assert set(deployment["privacy_loss"]["privacy_parameters"]) <= {"epsilon", "delta", "rho"}
    assert deployment["privacy_loss"]["privacy_unit"] == TODO


def test_the_registry_record_answers_how_the_process_was_verified():
    made = card(unit="a person")
    deployment = block_yaml(registry_yaml(made))["deployment"]
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
