"""Membership attacks on synthetic tables in a configuration: [membership] with a synthesiser."""

import numpy as np
import pytest
from tests.experiments.made_configs import line_of

from dpassay.attacks.literature.synthetic_tables import GroundhogMembership, ShadowTables
from dpassay.attacks.literature.synthetic_tables.shadows import TABLE_SIGNALS
from dpassay.attacks.membership.likelihood_ratios import LiRA
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.games import train_shadows
from dpassay.audit.metrics.membership import evaluate
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.experiments.literature.census import census_blocks
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms.core import ConfigError
from dpassay.mechanisms.literature.synthetic_data import DirectGenerator, FixedMarginals, SelectMeasureGenerate

TABLES = """\
title = "Who was in?"
description = "Some words."
seed = 3
[data]
name = "census-blocks"
n = 60
n_blocks = 1
n_records = 20
[mechanism]
name = "select-measure-generate"
domain = { age = 111, sex = 2, race = 4 }
selection = { name = "fixed", marginals = [["race"], ["sex"]], standard_deviation = 0.5 }
generator = { name = "direct" }
view = "table"
n_rows = 30
[membership]
n_models = 8
population = 30
attacks = ["closest-record", { name = "lira", signal = "density-ratio" }]
by_attribute = "race"
"""


def planned(tmp_path, text):
    path = tmp_path / "tables.toml"
    path.write_text(text)
    (task,) = plan_tasks(*Config.load(path, {}))
    return task


def refused(tmp_path, text):
    with pytest.raises(ConfigError) as error:
        planned(tmp_path, text)
    return str(error.value)


def test_a_configuration_gives_the_numbers_of_the_call_in_python(tmp_path, without_pictures):
    (tmp_path / "tables.toml").write_text(TABLES)
    results = run(tmp_path / "tables.toml", out=tmp_path / "out").result

    people = census_blocks(n=60, n_blocks=1)
    selection = FixedMarginals((("race",), ("sex",)), standard_deviation=0.5)
    synthesiser = SelectMeasureGenerate(
        {"age": 111, "sex": 2, "race": 4}, selection, DirectGenerator(), view="table", n_rows=30
    )
    tables = ShadowTables(synthesiser, public=people[20:50])
    shadows = train_shadows(tables, people[:20], 8, seed=3, population=people[20:50])
    groups = [f"race {race}" for race in people[:20, 2]]
    attacks = [LossThreshold(signal="closest-record"), LiRA(signal="density-ratio")]
    assert results == evaluate(shadows, attacks, groups=groups, claim=synthesiser.guarantee())
    assert planned(tmp_path, TABLES).learner.statistics is None
    assert {row.group for row in results["threshold on closest-record"].groups} <= set(groups)
    assert results.region.claim.startswith("GaussianDP(mu=2.8")


def test_default_attacks_are_groundhog_and_all_likelihood_ratios(tmp_path):
    everything = TABLES.replace('attacks = ["closest-record", { name = "lira", signal = "density-ratio" }]\n', "")
    made = planned(tmp_path, everything)
    assert made.attacks[0] == GroundhogMembership()
    assert [attack.signal for attack in made.attacks[1:]] == list(TABLE_SIGNALS)
    assert made.learner.statistics == "all"
    assert set(made.learner.signals) == set(TABLE_SIGNALS)
    assert set(planned(tmp_path, TABLES).learner.signals) == {"closest-record", "density-ratio"}


def test_where_records_are_replaced_nothing_is_promised_of_being_in(tmp_path):
    replaced = TABLES.replace("standard_deviation = 0.5", 'standard_deviation = 0.5, relation = "replace_one"')
    assert planned(tmp_path, replaced).claim is None
    assert planned(tmp_path, TABLES).claim is not None


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ('view = "table"', 'view = "measurements"', "view", "view must be 'table', since attacks of [membership] use"),
        ("n_models = 8", "n_models = 4", "n_models", "attack 'lira' compares with 4 reference models or more"),
        ("n_rows = 30\n", "", "[mechanism]", "n_rows is missing: under 'add_remove'"),
        ("age = 111", "age = 20", "[data]", "codes, whole numbers from 0 to 19, in column 'age', but is"),
        ("age = 111, ", "", "[data]", "shape (n_records, 2), one column for each of sex, race, but has shape (20, 3)"),
        (
            '"census-blocks"\nn = 60\nn_blocks = 1',
            '"digits"',
            "[data]",
            "a synthetic table has attributes, but no labels",
        ),
        ("n_records = 20", "n_records = 4", "n_records = 4", "must have 10 records or more, since each table"),
        ("population = 30", "population = 50", "population", "population must be at most 40, the records that"),
        ("n_records = 20\n", "", "[membership]", "n_records must leave public records, but uses all 60"),
        (
            '"closest-record"',
            '"rmia"',
            "attacks",
            "attack 'rmia' uses the predictions of a model, but a synthetic table",
        ),
        (
            '"density-ratio"',
            '"densty-ratio"',
            "attacks",
            "unknown signal of tables in 'lira': 'densty-ratio'. Did you mean 'density-ratio'",
        ),
        ('"closest-record"', '"lira"', "attacks", "attack 'lira' uses the predictions of a model"),
        (
            '"closest-record"',
            '"generated-queries"',
            "attacks",
            "'generated-queries', which is for a pair of tables",
        ),
        (
            '"closest-record"',
            '{ name = "density", estimator = "kernel" }',
            "attacks",
            "a signal of tables is a plain name, one of",
        ),
        (
            '"closest-record"',
            '"closest-recrd"',
            "attacks",
            "unknown attack on tables 'closest-recrd'. Did you mean 'closest-record'",
        ),
        ('by_attribute = "race"', "by_label = true", "by_label", "by_label is for models that predict labels"),
        ('by_attribute = "race"', 'by_attribute = "rac"', "by_attribute", "one of age, sex, race, but is 'rac'"),
    ],
)
def test_what_does_not_fit_tables_is_refused_with_its_line(tmp_path, old, new, key, message):
    text = TABLES.replace(old, new)
    said = refused(tmp_path, text)
    assert message in said
    assert said.startswith(f"{tmp_path / 'tables.toml'}:{line_of(text, key)}"), said


def test_a_mechanism_that_makes_neither_models_nor_tables_is_refused(tmp_path):
    laplace = TABLES[: TABLES.index("[mechanism]")] + '[mechanism]\nname = "laplace"\nepsilon = 1.0\n'
    said = refused(tmp_path, laplace + TABLES[TABLES.index("[membership]") :])
    assert "such as select-measure-generate with view = 'table', but 'laplace' is neither" in said


def test_the_worst_record_stands_beside_the_mean():
    from dpassay.attacks.membership.shadows import Shadows

    rng = np.random.default_rng(0)
    inclusion = rng.random((40, 12)) < 0.5
    signal = rng.normal(size=(40, 12)) + 6.0 * inclusion * (np.arange(12) == 7)
    results = evaluate(Shadows(inclusion, np.zeros(12), {"density": signal}), [LossThreshold(signal="density")])
    table = results.attacks[0].records
    assert table.worst == 7 == table.exposed()[0]
    assert f"number 7 (counted from 0), AUC 1.000, compared to {np.mean(table.auc):.3f} on average" in results.summary()
