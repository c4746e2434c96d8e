"""What is said of a configuration that cannot be run: which line and key, or which --set, is to blame."""

import inspect
import re
import time
import tomllib

import numpy as np
import pytest
from tests.experiments.made_configs import line_of, planned, refusal, refused

from dpassay.experiments.config.overrides import apply
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import CONFIGS, Source
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.experiments.config.tasks.point import Point
from dpassay.experiments.config.toml_text import to_toml
from dpassay.mechanisms.core import ConfigError, ParameterError
from dpassay.mechanisms.learning.dp_sgd import DPSGD

LEARNING = """\
[data]
name = "purchase-like"
n_records = 30
[neighbours]
canary = "mislabelled"
[mechanism]
name = "dp-sgd"
model = "softmax-regression"
n_features = 100
n_classes = 20
steps = 3
noise_multiplier = 2.0
sampling = "full-batch"
batch_size = 30
[attack]
name = "canary-loss"
[audit]
trials = 60
delta = 1e-5
"""
NAME = 'name = "dp-sgd"'
WRONG = ['"no"', "-1", "0.5", "[]", "true", "nan", "{}", '{ name = "x" }', '[["a"]]', '[{ name = "poisson" }]']


def with_option(table, key, value):
    """LEARNING with one key of a table set in the line after the header, and the number of that line."""
    before, after = LEARNING.split(f"[{table}]\n")
    body, bracket, rest = after.partition("[")
    kept = "".join(f"{line}\n" for line in body.splitlines() if not line.startswith(f"{key} ="))
    return f"{before}[{table}]\n{key} = {value}\n{kept}{bracket}{rest}", before.count("\n") + 2


# --- wrong values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [name for name in inspect.signature(DPSGD).parameters if name != "_"])
def test_every_wrong_value_of_every_option_of_dp_sgd_points_at_its_line(option):
    place = f"made.toml:{with_option('mechanism', option, 0)[1]}: [mechanism] "
    said = [refusal(with_option("mechanism", option, value)[0]) for value in WRONG]
    assert [text for text in said if text and not text.startswith(place)] == []
    assert sum(text is not None for text in said) >= 7


@pytest.mark.parametrize(
    ("table", "key", "value", "message"),
    [
        ("mechanism", "noise_multiplier", "0", "noise_multiplier is 0: training without noise has no finite epsilon."),
        ("mechanism", "clipping", '"none"', "clipping is 'none'"),
        ("mechanism", "model", '{ name = "softmax-regression", n_features = 100 }', "but n_classes is missing"),
        ("mechanism", "sampling_probability", "0.1", "sampling_probability is not for sampling 'full-batch'"),
        ("mechanism", "sampling", '{ name = "cyclic" }', "sampling 'cyclic' needs batch_size, which is missing"),
        ("neighbours", "canary", '"naturel"', "unknown canary 'naturel'. Did you mean 'natural'"),
        ("neighbours", "canary", '{ name = "natural", record = 30 }', "record must be below 30"),
        ("neighbours", "record", "3", "record cannot be combined with canary"),
        ("data", "target", '"style"', "it has features and labels. Leave target out."),
        ("data", "column", '"style"', "it has features and labels. Leave column out."),
        ("data", "n_records", "3000", "n_records must be at most 2,000"),
        ("data", "dead_features", '"yes"', "must be a whole number >= 1: this many features"),
    ],
)  # fmt: skip
def test_a_mistake_points_at_the_line_of_its_key(table, key, value, message):
    text, line = with_option(table, key, value)
    results = refused(text)
    assert results.startswith(f"made.toml:{line}: ")
    assert message in results


@pytest.mark.parametrize("sampling", ["cyclic", "fixed-size", "shuffled"])
def test_a_claim_that_needs_the_number_of_records_points_at_the_table(sampling):
    text, line = with_option("mechanism", "sampling", f'"{sampling}"')
    assert refused(text).startswith(f"made.toml:{line - 1}: [mechanism] the guarantee of ")
    assert len(planned(text.replace("batch_size = 30", "batch_size = 30\nn_records = 30"))) == 1


def pointed(error, text=LEARNING, table="mechanism", **settings):
    """What is said where building a table raises `error`."""
    source = Source("made", "made.toml", text, settings)
    point = Point(Config.check(apply(tomllib.loads(text), settings), source), source)

    with pytest.raises(ConfigError) as caught, point.section(table):
        raise error
    return str(caught.value)


def test_the_line_follows_from_the_argument_of_an_error_not_its_words():
    wordless = ParameterError("no.", argument="steps")
    assert pointed(wordless) == f"made.toml:{line_of(LEARNING, 'steps')}: [mechanism] no."
    elsewhere = ParameterError("steps, 'steps' and the steps of 'dp-sgd' are fine.")
    assert pointed(elsewhere).startswith(f"made.toml:{line_of(LEARNING, '[mechanism]')}: ")
    option = ParameterError("no.", argument="epsilon", owner="dp-sgd")
    assert pointed(option).startswith(f"made.toml:{line_of(LEARNING, NAME)}: ")
    inside = ParameterError("no.", argument="steps", owner="laplace")
    text = REPEATED % ""
    assert pointed(inside, text).startswith(f"made.toml:{line_of(text, 'base')}: ")
    set_by_hand = ParameterError("no.", argument=("view", "steps"))
    result = pointed(set_by_hand, table="neighbours", **{"mechanism.steps": 5})
    assert result == "--set mechanism.steps: [neighbours] no."


# --- missing options --------------------------------------------------------------------------------------------------


def test_required_options_are_named_with_a_place_to_read_about_them():
    result = refused('seed = 1\n[mechanism]\nname = "dp-sgd"\n')
    assert result.startswith(
        "made.toml:3: [mechanism] mechanism 'dp-sgd' needs model, steps and noise_multiplier, which are missing."
    )
    assert result.endswith("python -m pydoc dpassay.mechanisms.learning.dp_sgd.mechanism.DPSGD")


REPEATED = '[mechanism]\nname = "repeated"\ntimes = 2\nbase = { name = "laplace"%s }\n'
CLAIMED = '[mechanism]\nname = "laplace"\nepsilon = 1\n[claim]\nname = "gaussian"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (REPEATED % "", "4: [mechanism] mechanism 'laplace' needs epsilon, which is missing."),
        (REPEATED % ", epsilon = -1", "4: [mechanism] epsilon must be a finite number > 0"),
        (REPEATED % ", epsilom = 1", "4: [mechanism] unknown option of mechanism 'laplace': 'epsilom'"),
        (CLAIMED, "5: [claim] guarantee 'gaussian' needs mu, which is missing."),
    ],
)
def test_what_a_table_inside_lacks_points_at_its_line(text, message):
    assert refused(text).startswith(f"made.toml:{message}")


# --- what is set on top -----------------------------------------------------------------------------------------------


def test_a_wrong_set_value_is_blamed_on_the_setting_not_on_the_sweep():
    assert refused(LEARNING, **{"mechanism.view": "last"}).startswith("--set mechanism.view: [mechanism] unknown view")
    swept = LEARNING + '[sweep]\n"mechanism.name" = ["dp-sgd"]\n'
    assert refused(swept, **{"mechanism.view": "last"}).startswith("--set mechanism.view: [mechanism] unknown view")


def test_incompatible_parts_are_blamed_on_the_setting_in_the_error():
    assert refused(LEARNING, **{"mechanism.view": "noisy_gradients"}).startswith(
        "--set mechanism.view: [neighbours] d0 and d1 differ in an example, whose gradient changes with the parameters"
    )
    product = LEARNING.replace('"canary-loss"', '"gradient-product"')
    assert refused(product, **{"mechanism.view": "final"}).startswith(
        "--set mechanism.view: [attack] GradientProduct needs view 'trajectory'"
    )
    assert refused(LEARNING, **{"mechanism.n_features": 64}).startswith(
        "--set mechanism.n_features: [neighbours] X has 100 features, but the model takes n_features = 64."
    )


def test_an_error_at_a_line_says_what_was_set_elsewhere():
    text = LEARNING.replace('"canary-loss"', '"likelihood-ratio"')
    result = refused(text, **{"mechanism.view": "trajectory", "audit.trials": 40})
    assert result.startswith(f"made.toml:{line_of(text, '[attack]')}: [attack] the likelihood-ratio attack needs")
    assert result.endswith("\n  with --set mechanism.view=trajectory --set audit.trials=40")


def test_an_error_in_a_case_points_at_the_line_of_that_case():
    cases = '[[sweep.case]]\nname = "a"\n[[sweep.case]]\nname = "b"\nattack = { name = "gradient-product" }\n'
    line = line_of(LEARNING + cases, "attack = ")
    assert refused(LEARNING + cases).startswith(f"made.toml:{line}: [attack] GradientProduct needs view")


# --- a way out --------------------------------------------------------------------------------------------------------


def test_a_dead_feature_is_added_by_a_key_of_the_data():
    text = LEARNING.replace('"mislabelled"', '"dirac"').replace('"canary-loss"', '"canary-direction"')
    results = refused(text)
    assert results.startswith("made.toml:5: [neighbours] a Dirac canary needs a dead feature")
    assert "dead_features = 1 in [data]" in results
    assert "n_features = 101" in results
    text = text.replace("n_records = 30\n", "n_records = 30\ndead_features = 1\n", 1).replace("= 100", "= 101")
    (task,) = planned(text)
    (direction,) = np.flatnonzero(task.neighbours.d1.gradients[0])
    assert direction == 100
    assert not task.neighbours.d1.X[:, 100].any()


# --- shapes, types and sizes that no key expects ----------------------------------------------------------------------

LAPLACE = '[mechanism]\nname = "laplace"\nepsilon = 1.0\n'
SECRET = '[mechanism]\nname = "k-ary-randomized-response"\nepsilon = 1.0\nk = 3\n[game]\nname = "reconstruction"\n'
RAGGED = "[[0.0, [0, 1], 2.0], [1.0, [1, 0], 2.0]]"


@pytest.mark.parametrize("attacks", ["[[]]", "[{}]", "[{ name = [] }]", "[{ name = 1 }]", "[1, 'a']", "[[1, 'a']]"])
@pytest.mark.parametrize("made", ["models", "tables"])
def test_lists_of_attacks_of_any_shape_are_refused_on_their_line(attacks, made):
    text = (CONFIGS / f"{'membership-purchase' if made == 'models' else 'membership-table'}.toml").read_text()
    table = tomllib.loads(text)
    table["membership"]["attacks"] = tomllib.loads(f"attacks = {attacks}")["attacks"]
    source = Source("made", "made.toml", to_toml(table))
    with pytest.raises(ConfigError, match=rf"made.toml:{line_of(source.text, 'attacks =')}: .*attacks"):
        plan_tasks(Config.check(table, source), source)


@pytest.mark.parametrize("signal", ["1.5", "[]", "{}"])
def test_signals_of_tables_that_are_no_names_are_refused(signal):
    table = tomllib.loads((CONFIGS / "membership-table.toml").read_text())
    table["membership"]["attacks"] = tomllib.loads(f'attacks = [{{ name = "lira", signal = {signal} }}]')["attacks"]
    source = Source("made", "made.toml", to_toml(table))
    with pytest.raises(ConfigError, match=r"made\.toml:"):
        plan_tasks(Config.check(table, source), source)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("values", f"{SECRET}n_rounds = 100\nsecret = {{ values = {RAGGED} }}\n"),
        ("reference", f"{SECRET}n_rounds = 100\nsecret = {{ values = [0, 1], reference = {RAGGED} }}\n"),
        ("at most 100,000", f"{SECRET.replace('k = 3', 'k = 4611686018427387904')}n_rounds = 100\n"),
        ("matrix", f'{LAPLACE}query = {{ name = "workload", domain = {{ a = 3 }}, matrix = {RAGGED} }}\n'),
    ],
    ids=["values", "reference", "categories", "workload"],
)
def test_lists_of_different_lengths_and_huge_sets_are_refused_on_their_line(name, text):
    said = refusal(text)
    assert said is not None
    assert said.startswith("made.toml:")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAPLACE + "".join(f"[t{i}]\nx = 1\n" for i in range(5_000)), "and 4,980 more errors."),
        (LAPLACE + ".".join("a" * 5_000) + " = 1\n", "made.toml:4: a key has more than 100 parts"),
        (LAPLACE + "[" + ".".join("a" * 50_000) + "]\n", "made.toml:4: a key has more than 100 parts"),
        (LAPLACE + "".join(f"[[sweep.case]]\nname = 'c{i}'\nmechanism = {{ epsilon = {i}.0 }}\n" for i in range(2_000)),
         "epsilon must be"),
        (LAPLACE + "[sweep]\n" + "".join(f"'audit.x{i}' = [1, 2]\n" for i in range(20_000)), "more than 10^15 audits"),
    ],
    ids=["tables", "dots", "more dots", "cases", "product"],
)  # fmt: skip
def test_large_configurations_are_refused_within_seconds(text, said):
    began, source = time.monotonic(), Source("made", "made.toml", text)

    def read():
        source.check_values(source.tables)
        return plan_tasks(Config.check(source.tables, source), source)

    with pytest.raises(ConfigError, match=re.escape(said)):
        read()
    assert time.monotonic() - began < 20.0  # minutes before; a second or two on a free machine
