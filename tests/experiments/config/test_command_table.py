"""Tables of commands in a configuration: they ask the question of the command, and errors have the line of the key."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dpassay.experiments.cli import app
from dpassay.experiments.config.command_table import TYPES, command_of, commands, located, task_of
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import Source
from dpassay.mechanisms.core import ConfigError, ParameterError

JUDGE = '[judge]\nfile = "scores.csv"\nepsilon = 0.5\n'


@pytest.fixture
def scores(tmp_path, monkeypatch, without_pictures, without_power):
    monkeypatch.chdir(tmp_path)
    side = np.repeat([0, 1], 1_000)
    shifted = np.random.default_rng(0).normal(3.0 * side)
    rows = [f"{score:.4f},{of}" for score, of in zip(shifted, side, strict=True)]
    Path("scores.csv").write_text("\n".join(["score,side", *rows]) + "\n")
    return tmp_path


def source(text):
    return Source("mine", "mine.toml", text)


def test_table_gives_the_files_and_the_exit_code_of_the_command(scores):
    Path("mine.toml").write_text(JUDGE)
    done = CliRunner().invoke(app, ["run", "mine.toml", "--quiet"])
    again = CliRunner().invoke(app, ["judge", "scores.csv", "--epsilon", "0.5", "--out", "by-command"])
    assert done.exit_code == again.exit_code == 1, done.output + again.output
    assert "results: runs/mine" in done.stdout
    made = {path.relative_to("by-command") for path in Path("by-command").rglob("*") if path.is_file()}
    assert made == {path.relative_to("runs/mine") for path in Path("runs/mine").rglob("*") if path.is_file()}
    assert len(made) > 5
    for path in made - {Path("environment.json"), Path("statement.json")}:
        assert (Path("runs/mine") / path).read_bytes() == (Path("by-command") / path).read_bytes(), path


@pytest.mark.parametrize("name", list(commands))
def test_every_field_of_a_command_has_a_type_in_tables(name):
    assert {field.type.removesuffix(" | None") for field in fields(commands.get(name))} <= TYPES.keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (JUDGE.replace("0.5", "'1'"), "mine.toml:3: judge.epsilon must be a number, but is '1' (str)."),
        (JUDGE + "bounds = []\n", "mine.toml:4: unknown key of [judge] 'bounds'. Did you mean 'bound'"),
        (JUDGE + "[audit]\ntrials = 5\n", "mine.toml:4: audit is not used with [judge], which stands alone."),
        ("[risk]\nreal = 'a.csv'\n", "mine.toml:1: risk.synthetic is missing: add the name of a file, in quotes."),
        ("risk = 5\n", "mine.toml:1: [risk] must be a table, but is 5."),
        (JUDGE + "seed = 1979-05-27\n", "mine.toml:4: judge.seed is a date or a time"),
    ],
)
def test_mistakes_in_a_table_have_their_line(text, message):
    table = source(text)
    with pytest.raises(ConfigError) as error:
        task_of(command_of(table), table)
    assert str(error.value).startswith(message)


def test_error_of_a_task_names_keys_and_their_line():
    table = source(JUDGE + "looks = 2\n")
    with pytest.raises(ConfigError) as error, located("judge", table):
        task_of("judge", table)
    assert str(error.value) == "mine.toml:4: [judge] looks is for coins: it counts the audits with the same coins."


def test_values_of_a_table_become_those_of_the_task():
    table = source("[calibrate]\nbound = ['betting']\nrepeats = 1e2\nfull = true\n")
    task = task_of("calibrate", table)
    assert (task.bound, task.repeats, task.full, task.seed) == (("betting",), 100, True, 0)
    table = Source("mine", "mine.toml", JUDGE, settings={"judge.delta": 1e-5})
    assert (task_of("judge", table).file, task_of("judge", table).delta) == (Path("scores.csv"), 1e-5)


def test_experiments_and_options_for_trials_are_told_apart(scores):
    Path("mine.toml").write_text(JUDGE)
    assert command_of(source("[mechanism]\nname = 'laplace'\n")) is None
    with pytest.raises(ConfigError, match="has no trials of its own"):
        Config.load("mine.toml")
    done = CliRunner().invoke(app, ["run", "mine.toml", "--allow", "scores.csv"])
    assert done.exit_code == 2
    assert "--allow is for trials, and [judge] has none" in done.stderr


def test_other_errors_pass_unchanged():
    with pytest.raises(ConfigError, match=r"mine.toml:1: \[judge\] wrong"), located("judge", source(JUDGE)):
        raise ParameterError("wrong.", argument="nothing")
    with pytest.raises(OSError, match="disk"), located("judge", source(JUDGE)):
        raise OSError("disk")
