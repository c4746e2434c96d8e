"""Configurations: what is read, what is refused, and that every error names file, line and key."""

# ruff: noqa: E501 - a case is a line

import json
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import Source
from dpassay.experiments.config.tasks.build import build_entry
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.mechanisms.core import Catalogue, ConfigError, ParameterError, named_in

GOOD = """\
title = "Laplace"
seed = 20

[mechanism]
name = "laplace"
epsilon = 1.0

[audit]
trials = 1_000
delta = 0.0
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write_config(text, name="mine.toml"):
        (tmp_path / name).write_text(text)
        return name

    return write_config


def refused(text, write, settings=None):
    with pytest.raises(ConfigError) as caught:
        plan_tasks(*Config.load(write(text), settings))
    return str(caught.value)


def test_defaults_are_filled_in(write):
    config, source = Config.load(write(GOOD))
    assert source.name == "mine"
    assert config.attack.name == "auto"
    assert config.audit.bounds == ("auto",)
    assert config.audit.confidence == 0.9999
    assert config.neighbours.record == "worst-case"
    assert config.mechanism.options == {"epsilon": 1.0}


def test_intervals_of_membership_metrics_have_their_own_default_confidence(write):
    study = 'mechanism = { name = "laplace", epsilon = 1.0 }\n[membership]\nn_models = 4\n'
    assert Config.load(write(study))[0].audit.confidence == 0.95
    assert Config.load(write(study + "[audit]\nconfidence = 0.9\n"))[0].audit.confidence == 0.9


def test_the_resolved_configuration_reads_back_as_an_equal_one(write):
    config, _ = Config.load(
        write(GOOD + '[sweep]\n"mechanism.epsilon" = [0.5, 1.0]\n"audit.bounds" = [["a"], ["b"]]\n')
    )
    again, _ = Config.load(write(config.to_toml(), "again.toml"))
    assert again == config
    assert again.fingerprint == config.fingerprint


def test_the_fingerprint_follows_the_question_and_not_its_words(write):
    config, _ = Config.load(write(GOOD))
    renamed, _ = Config.load(write(GOOD.replace("Laplace", "Other words")))
    changed = [Config.load(write(GOOD), {key: 7})[0] for key in ("seed", "mechanism.epsilon", "audit.trials")]
    assert renamed.fingerprint == config.fingerprint
    assert len({config.fingerprint, *(c.fingerprint for c in changed)}) == 4


def test_settings_lie_over_the_file(write):
    config, _ = Config.load(write(GOOD), {"mechanism.epsilon": 2.0, "audit.trials": 1e6})
    assert config.mechanism.options == {"epsilon": 2.0}
    assert config.audit.trials == 1_000_000
    assert isinstance(config.audit.trials, int)


def test_unquoted_sweep_keys_mean_the_same_as_quoted_ones(write):
    quoted, _ = Config.load(write(GOOD + '[sweep]\n"mechanism.epsilon" = [1.0]\n'))
    unquoted, _ = Config.load(write(GOOD + "[sweep]\nmechanism.epsilon = [1.0]\n"))
    assert quoted == unquoted
    assert list(unquoted.sweep) == ["mechanism.epsilon"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = \n", "mine.toml:1: not valid TOML: Invalid value. Text stands in quotes"),
        ("title = 'a'\n\n[mechanism\nname = 1\n", "mine.toml:3: not valid TOML"),
        ("title = 'a'\ntitle = 'b'\n", "mine.toml:2: not valid TOML: Cannot overwrite a value"),
        ("title = 'a'\n[mechanism]\nx = [1,\n2", "mine.toml:4: not valid TOML"),
    ],
)
def test_malformed_toml_is_refused_with_its_line(text, message, write):
    assert refused(text, write).startswith(message)


def test_text_that_is_not_utf8_is_refused_with_its_line(tmp_path):
    (tmp_path / "bad.toml").write_bytes(b"seed = 1\ntitle = '\xff'\n")
    with pytest.raises(ConfigError, match=r"bad\.toml:2: this is not UTF-8 text"):
        Config.load(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("seed = 20", "sead = 20", "mine.toml:2: unknown key 'sead'. Did you mean 'seed'"),
        ("[audit]", "[adit]", "mine.toml:8: unknown key 'adit'. Did you mean 'audit'"),
        ("trials =", "trails =", "mine.toml:9: unknown key of [audit] 'trails'. Did you mean 'trials'?"),
        ("1_000", '"many"', "mine.toml:9: audit.trials must be a whole number >= 1: runs per side, pilot included, but is 'many' (str)."),
        ("1_000", "0", "mine.toml:9: audit.trials must be a whole number >= 1"),
        ("1_000", "true", "mine.toml:9: audit.trials must be a whole number >= 1: runs per side, pilot included, but is True (bool)."),
        ("1_000", "3", "mine.toml:9: [audit] trials must be a whole number >= 10, but is 3."),
        ("delta = 0.0", "delta = 1.0", "mine.toml:10: audit.delta must be a number in [0, 1), but is 1.0 (float)."),
        ("delta = 0.0", "delta = -0.1", "mine.toml:10: audit.delta must be a number in [0, 1)"),
        ("delta = 0.0", "delta = nan", "mine.toml:10: audit.delta must be a number in [0, 1), but is nan"),
        ("delta = 0.0", 'delta = "0"', "mine.toml:10: audit.delta must be a number in [0, 1), but is '0' (str)."),
        ("delta = 0.0", "confidence = 1.0", "mine.toml:10: audit.confidence must be a number strictly between 0 and 1"),
        ("delta = 0.0", "confidence = 0", "mine.toml:10: audit.confidence must be a number strictly between 0 and 1"),
        ("delta = 0.0", "bounds = []", "mine.toml:10: audit.bounds must be a list of names"),
        ("delta = 0.0", 'bounds = "clopper-pearson"', "mine.toml:10: audit.bounds must be a list of names"),
        ("delta = 0.0", 'bounds = ["clopper-person"]', "mine.toml:10: [audit] unknown bound 'clopper-person'. Did you mean 'clopper-pearson'"),
        ("delta = 0.0", "bounds = [3]", "mine.toml:10: [audit] bounds must contain names, or tables with a name, but contain 3."),
        ('"laplace"', '"laplac"', "mine.toml:5: [mechanism] unknown mechanism 'laplac'. Did you mean 'laplace'"),
        ('name = "laplace"\n', "", "mine.toml:4: mechanism.name is missing: add a name, in quotes."),
        ('"laplace"', "3", "mine.toml:5: mechanism.name must be a name, in quotes, but is 3 (int)."),
        ("epsilon = 1.0", "epsilom = 1.0", "mine.toml:6: [mechanism] unknown option of mechanism 'laplace': 'epsilom'. Did you mean 'epsilon'?"),
        ("epsilon = 1.0", "epsilon = 0.0", "mine.toml:6: [mechanism] epsilon must be a finite number > 0, but is 0.0."),
        ("epsilon = 1.0", "epsilon = -1", "mine.toml:6: [mechanism] epsilon must be a finite number > 0, but is -1."),
        ("epsilon = 1.0", "epsilon = inf", "mine.toml:6: [mechanism] epsilon must be a finite number > 0, but is inf."),
        ("epsilon = 1.0", "epsilon = nan", "mine.toml:6: [mechanism] epsilon must be a finite number > 0, but is NaN."),
        ("epsilon = 1.0", 'epsilon = "1"', "mine.toml:6: [mechanism] epsilon must be a finite number > 0, but is '1' (str)."),
        ("[audit]", '[attack]\nname = "likelyhood"\n[audit]', "mine.toml:9: [attack] unknown attack 'likelyhood'. Did you mean 'likelihood-ratio' or 'marginal-likelihood'?"),
        ("[audit]", '[claim]\nname = "pur"\n[audit]', "mine.toml:9: [claim] unknown guarantee 'pur'. Did you mean 'pure'?"),
        ("[audit]", '[data]\nname = "iriss"\n[audit]', "mine.toml:9: [data] unknown dataset 'iriss'. Did you mean 'iris'"),
        ("[audit]", '[neighbours]\nrelation = "swap"\n[audit]', "mine.toml:9: neighbours.relation must be 'add_remove', 'replace_one' or 'zero_out', but is 'swap' (str)."),
        ("[audit]", "[neighbours]\nrecord = -1\n[audit]", "mine.toml:9: neighbours.record must be the position of a record"),
        ("[audit]", '[neighbours]\nrelation = "zero_out"\n[audit]', "[neighbours] relation is 'zero_out', but the guarantee of the mechanism holds for 'add_remove'"),
        ("[audit]", '[claim]\nname = "pure"\nepsilon = 1\nrelation = "zero_out"\n[audit]', "[claim] the claim PureDP(epsilon=1) holds for relation 'zero_out', the evidence is of 'add_remove'"),
        ("[audit]", '[claim]\nname = "approximate"\nepsilon = 1\ndelta = 1e-5\n[audit]', "[audit] delta is 0, where the claim ApproximateDP(epsilon=1, delta=1e-05) is infinite."),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_file_line_key_and_what_is_allowed(before, after, message, write):
    assert before in GOOD
    results = refused(GOOD.replace(before, after, 1), write)
    assert message in results, results


def test_every_mistake_is_named_at_once(write):
    text = GOOD.replace("seed = 20", "seed = -1").replace("trials", "trails").replace("delta = 0.0", "delta = 2")
    assert len(refused(text, write).splitlines()) == 3


def test_a_missing_mechanism_is_named(write):
    assert refused("seed = 1\n", write) == "mine.toml: [mechanism] is missing: add a table [mechanism]."


def test_a_mistake_in_a_setting_points_at_the_setting(write):
    assert refused(GOOD, write, {"audit.trials": "many"}).startswith("--set audit.trials: audit.trials must be")
    assert refused(GOOD, write, {"mechanism.epsilom": 2}).startswith(
        "--set mechanism.epsilom: [mechanism] unknown option"
    )
    assert refused(GOOD, write, {"adit.trials": 2}).startswith("--set adit.trials: unknown key 'adit'")
    for key in ("mechanism.epsilon", "audit.trials"):
        name = key.partition(".")[2]
        assert refused(GOOD, write, {name: 2}) == f"--set {name}: unknown key {name!r}. Did you mean {key!r}?"


def test_a_mistake_at_one_point_of_a_sweep_is_found_before_anything_runs(write):
    result = refused(GOOD + '[sweep]\n"mechanism.epsilon" = [1.0, 2.0, -3.0]\n', write)
    assert result == (
        "mine.toml:12: [mechanism] epsilon must be a finite number > 0, but is -3.0.\n"
        "  at the point mechanism.epsilon = -3.0 of the sweep"
    )


def test_a_mistake_in_a_case_names_the_case_and_not_all_of_its_settings(write):
    result = refused(GOOD + '[[sweep.case]]\nname = "weak"\nmechanism = { epsilon = -3.0, sensitivity = 2.0 }\n', write)
    assert result.endswith('is -3.0.\n  at the point case = "weak" of the sweep')


def test_public_records_of_another_name_are_refused(write):
    text = '[mechanism]\nname = "fine-tuning"\npublic = "most"\nbase = { name = "dp-sgd" }\n'
    assert "[mechanism] public must be 'rest', the records of [data] beyond n_records" in refused(text, write)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '"mechanism.epsilon" = []',
            "mine.toml:12: sweep.mechanism.epsilon must be a list of values that is not empty",
        ),
        (
            '"mechanism.epsilon" = 1.0',
            "mine.toml:12: sweep.mechanism.epsilon must be a list of values that is not empty",
        ),
        ('"mechanism.epsilon" = [1.0, 1.0]', "mine.toml:12: the sweep over mechanism.epsilon has 1.0 twice"),
        (
            '"audit.confidence" = [0.9]',
            "mine.toml:12: audit.confidence cannot be swept: the verdict over a sweep has one",
        ),
        ("title = ['a']", "mine.toml:12: title cannot be swept"),
        ('"audit.trails" = [100]', "mine.toml:12: unknown key of [audit] 'trails'. Did you mean 'trials'?"),
        ('"mechanism.epsilon, mechanism.sensitivty" = [1.0]', "mine.toml:12: [mechanism] unknown option"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(line, message, write):
    assert message in refused(GOOD + f"[sweep]\n{line}\n", write)


def test_a_configuration_is_found_by_name_or_by_path(write):
    assert Config.load("laplace-count")[1].name == "laplace-count"
    assert Config.load("laplace-count.toml")[1].name == "laplace-count"
    assert Config.load(write(GOOD))[1].label == "mine.toml"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("laplace-cuont", "unknown experiment 'laplace-cuont'. Did you mean 'laplace-count'"),
        (
            "nowhere/x.toml",
            "the configuration nowhere/x.toml does not exist. Pass a .toml file, or a name. `dpassay list experiments` lists the names.",
        ),
        ("other.toml", "the configuration other.toml does not exist"),
    ],
)
def test_an_unknown_configuration_lists_the_nearest(name, message, write):
    with pytest.raises(ConfigError) as caught:
        Config.load(name)
    assert message in str(caught.value)


def test_the_default_delta_of_a_config_is_that_of_the_calibration(write):
    gaussian = GOOD.replace('"laplace"', '"gaussian"').replace("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-5")
    (task,) = plan_tasks(*Config.load(write(gaussian.replace("delta = 0.0\n", ""))))
    assert task.mechanism.guarantee().default_delta == 1e-5
    multiplier = gaussian.replace("epsilon = 1.0\ndelta = 1e-5", "noise_multiplier = 4.0").replace("delta = 0.0\n", "")
    assert "delta must be given: the claim GaussianDP(mu=0.25) promises a whole curve" in refused(multiplier, write)


def test_the_resolved_configuration_is_plain_json(write):
    config, _ = Config.load(write(GOOD))
    assert json.loads(json.dumps(config.resolved())) == config.resolved()


def test_without_a_file_the_key_alone_is_named():
    with pytest.raises(ConfigError, match=r"^made: unknown key 'sead'"):
        Config.check({"mechanism": {"name": "laplace"}, "sead": 1}, Source("made", "made"))


PAIR = GOOD.replace("epsilon = 1.0", 'epsilon = 1.0\nquery = { name = "count", above = 15.0 }').replace(
    "[audit]", '[data]\nname = "breast-cancer"\ncolumn = "mean radius"\n[neighbours]\n[audit]'
)


def pair_of(text, write):
    (task,) = plan_tasks(*Config.load(write(text)))
    return task.neighbours


def test_the_worst_record_is_the_first_that_moves_the_answer(write):
    pair = pair_of(PAIR.replace("above = 15.0", "below = 12.0"), write)
    first = int((pair.d1 < 12.0).argmax())
    assert first > 0
    assert (pair.d0 == [*pair.d1[:first], *pair.d1[first + 1 :]]).all()


def test_a_record_can_be_chosen_by_position(write):
    pair = pair_of(PAIR.replace("[neighbours]", "[neighbours]\nrecord = 2"), write)
    assert (pair.d0 == [*pair.d1[:2], *pair.d1[3:]]).all()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[neighbours]", "[neighbours]\nrecord = 569", "index must be a whole number from -569 to 568, but is 569"),
        ("[neighbours]", "[neighbours]\nreplacement = 1.0", "replacement is 1.0, but relation 'add_remove' does not use it"),
        ('query = { name = "count", above = 15.0 }', "", "record is 'worst-case', but this mechanism has no query to search with"),
        ('name = "count"', 'nam = "count"', "query must be a table with a name"),
        ('{ name = "count", above = 15.0 }', '"count"', "not only a name, but is 'count'. Write query = { name = \"count\" }."),
        ('{ name = "count", above = 15.0 }', '"cuont"', "not only a name, but is 'cuont'. Known names: "),
        ('name = "count"', 'name = "cuont"', "unknown query 'cuont'. Did you mean 'count'"),
        ("above = 15.0", "abov = 15.0", "unknown option of query 'count': 'abov'. Did you mean 'above'"),
        ('"mean radius"', '"mean radios"', "unknown column of dataset 'breast-cancer': 'mean radios'. Did you mean 'mean radius'"),
        ('"breast-cancer"', '"digits"', "dataset 'digits' is not a table"),
        ('column = "mean radius"', 'column = "mean radius"\ncolumns = ["target"]', "set either column or columns"),
        ('column = "mean radius"', 'column = "mean radius"\nsize = 3', "unknown option of dataset 'breast-cancer': 'size'"),
        ('[data]\nname = "breast-cancer"\ncolumn = "mean radius"\n[neighbours]', "[neighbours]\nrecord = 1", "record and replacement need a dataset"),
    ],
)  # fmt: skip
def test_a_pair_that_cannot_be_made_is_refused(before, after, message, write):
    assert before in PAIR
    assert message in refused(PAIR.replace(before, after, 1), write)


def test_a_replacement_that_changes_nothing_is_refused(write):
    text = (
        '[mechanism]\nname = "randomized-response"\nepsilon = 1.0\n'
        '[data]\nname = "tax-survey"\nn = 4\nrate = 1.0\n[neighbours]\nrecord = 0\nreplacement = '
    )
    assert pair_of(text + "0\n", write).d0.tolist() == [0, 1, 1, 1]
    assert "d0 and d1 are the same" in refused(text + "1\n", write)


def test_a_key_that_is_set_is_not_swept_as_well():
    config, _ = Config.load("laplace-count", {"mechanism.epsilon": 2})
    assert config.mechanism.options["epsilon"] == 2
    assert config.sweep == {}
    swept, _ = Config.load("laplace-count", {"sweep.mechanism.epsilon": [1, 2]})
    assert swept.sweep == {"mechanism.epsilon": (1, 2)}


GIVEN = GOOD.replace("[audit]", "[neighbours]\nd0 = 0\nd1 = 1\n[audit]", 1)


def test_a_pair_can_stand_in_the_configuration_itself(write):
    pair = pair_of(GIVEN, write)
    assert (pair.d0, pair.d1) == (0.0, 1.0)
    vectors = GIVEN.replace("epsilon = 1.0", "epsilon = 1.0\nn_queries = 3", 1).replace("d0 = 0", "d0 = [1, 1, 1]")
    assert pair_of(vectors.replace("d1 = 1", "d1 = [1, 0.5, 1]"), write).d1.tolist() == [1.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("d1 = 1\n", "", "d1 is missing: a pair needs d0 and d1. Set both"),
        ("d0 = 0\n", "", "d0 is missing"),
        ("d1 = 1\n", "d1 = 1\nrecord = 3\n", "record cannot be combined with d0 and d1"),
        ("d1 = 1\n", "d1 = 3\n", "lie 3 apart"),
        ("d1 = 1\n", 'd1 = "one"\n', "neighbours.d1 must be a number or a list of numbers"),
        ("d1 = 1\n", "d1 = []\n", "neighbours.d1 must be a number or a list of numbers"),
        ("[neighbours]", '[data]\nname = "tax-survey"\n[neighbours]', "d0 is a dataset, and so is [data]"),
    ],
)
def test_a_pair_that_is_no_pair_is_refused(before, after, message, write):
    assert before in GIVEN
    assert message in refused(GIVEN.replace(before, after, 1), write)


def test_tables_in_a_list_of_mechanisms_are_objects(write):
    text = '[mechanism]\nname = "parallel"\nbases = [{ name = "laplace", epsilon = 1.0 }, { name = %s }]\n'
    (task,) = plan_tasks(*Config.load(write(text % '"geometric", epsilon = 2.0')))
    assert [type(base).__name__ for base in task.mechanism.bases] == ["Laplace", "Geometric"]
    with pytest.raises(ConfigError, match=r":3: \[mechanism\] unknown mechanism 'geometri'"):
        plan_tasks(*Config.load(write(text % '"geometri"')))


@pytest.mark.parametrize(
    ("name", "option", "line", "message"),
    [
        ("laplacce", "epsilon = 0.5", 6, "unknown mechanism 'laplacce'"),
        ("laplace", "epsilon = -3", 8, "epsilon must be a finite number > 0, but is -3"),
        ("laplace", "epsilonn = 3", 8, "unknown option of mechanism 'laplace': 'epsilonn'"),
        ("laplace", 'query = "sum"', 8, "query must be a table with a name and options"),
    ],
)
def test_a_mistake_in_a_list_of_tables_points_at_the_line_of_its_table(name, option, line, message, write):
    first = '[[mechanism.bases]]\nname = "laplace"\nepsilon = 1.0\n'
    text = f'[mechanism]\nname = "parallel"\n{first}[[mechanism.bases]]\nname = "{name}"\n{option}\n'
    with pytest.raises(ConfigError, match=rf":{line}: \[mechanism\] {message}"):
        plan_tasks(*Config.load(write(text)))


def test_an_option_of_a_class_of_a_plug_in_may_be_a_table(monkeypatch):
    @named_in("geo.x:kernels")
    class Kernel: ...

    @dataclass(frozen=True)
    class Box(Kernel):
        width: float

    @dataclass(frozen=True)
    class Smoothed:
        kernel: Kernel

    module = SimpleNamespace(Box=Box, Smoothed=Smoothed, kernels=Catalogue("kernel", "geo", {"box": "x:Box"}))
    monkeypatch.setitem(sys.modules, "geo.x", module)
    mechanisms = Catalogue("mechanism", "geo", {"smoothed": "x:Smoothed"})
    built = build_entry(mechanisms, "smoothed", {"kernel": {"name": "box", "width": 2.0}})
    assert built == Smoothed(Box(2.0))
    with pytest.raises(ParameterError, match=r"not only a name, but is 'box'. Write kernel = \{ name = \"box\" \}"):
        build_entry(mechanisms, "smoothed", {"kernel": "box"})
