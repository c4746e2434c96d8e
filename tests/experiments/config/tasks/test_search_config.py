"""[search] in a configuration, and --search on the command line: the same search as in Python."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.experiments.made_configs import ConfigError, plan_tasks
from typer.testing import CliRunner

from dpassay.audit import search
from dpassay.audit.search import domain_from
from dpassay.experiments.cli.commands import app
from dpassay.experiments.config.schema import Config
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms import PureDP
from dpassay.mechanisms.noise.broken import LaplaceUnitSensitivity

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")
CONFIG = """\
seed = 3
[search]
domain = "answers x 3; sensitivity 2; norm 1"
explore = 200
budget = 1_000
[mechanism]
name = "broken-laplace-sensitivity"
epsilon = 1.0
n_queries = 3
[audit]
trials = 2_000
"""
NEWCOMERS = '''\
"""Means of ages, privately: fifteen lines of someone who has never heard of the library."""
import numpy as np

LOW, HIGH, EPSILON = 0, 100, 1.0


def clip(ages):
    return np.clip(np.asarray(ages, dtype=float), LOW, HIGH)


def release(ages, rng):
    ages = clip(ages)
    if len(ages) == 0:
        return 0.0
    return ages.mean() + rng.laplace(scale=(HIGH - LOW) / 100 / EPSILON)
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(here, monkeypatch):
    monkeypatch.syspath_prepend(str(here))
    (here / "ages.py").write_text(NEWCOMERS)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def planned(here, text):
    (here / "mine.toml").write_text(text)
    return plan_tasks(*Config.load("mine.toml"))


def test_a_config_searches_as_python_does(here, without_pictures):
    (task,) = planned(here, CONFIG)
    done = run("mine.toml", out="out")
    result = done.result.points[0].result
    assert result.verdict.value == "violation"
    options = {
        "domain": task.domain,
        "explore": 200,
        "budget": 1_000,
        "trials": 2_000,
        "seed": task.seed,
        "confidence": 0.9999,
    }
    observed = search(LaplaceUnitSensitivity(1.0, n_queries=3), **options)
    assert observed.confirmed == result
    assert sorted(path.name for path in next(Path("out/trials").iterdir()).iterdir()) == [
        "confirmation",
        *(f"look-{i:04d}" for i in range(5)),
    ]
    assert run("mine.toml", out="out").result.points[0].result == result


def test_a_domain_may_be_a_table_and_is_written_back(here):
    text = CONFIG.replace('"answers x 3; sensitivity 2; norm 1"', '{ kind = "answers", length = 3, norm = 1 }')
    (task,) = planned(here, text)
    assert str(task.domain) == "answers x 3; sensitivity 1; norm 1"
    config, _ = Config.load("mine.toml")
    Path("again.toml").write_text(config.to_toml())
    assert Config.load("again.toml")[0] == config


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"answers x 3; sensitivity 2; norm 1"', '"answer"', "mine.toml:3: .*Did you mean 'answers'"),
        ('"answers x 3; sensitivity 2; norm 1"', '"answers x 4"', "accepts no pattern of the domain answers x 4"),
        ('"answers x 3; sensitivity 2; norm 1"', "3", "search.domain must be a line such as 'numbers 0..1'"),
        ("budget = 1_000", "budget = 100", "budget must be a whole number >= 200, but is 100"),
        ("[search]", '[data]\nname = "digits"\n[search]', r"\[data\] cannot be combined with \[search\]"),
        ("[search]", "[neighbours]\nrecord = 3\n[search]", r"\[neighbours\] cannot be combined with \[search\]"),
        ("explore = 200", "explore = 1", "search.explore must be a whole number >= 10"),
        ("explore", "explor", "unknown key of .search. 'explor'. Did you mean 'explore'"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_its_place(here, old, new, message):
    with pytest.raises(ConfigError, match=message):
        planned(here, CONFIG.replace(old, new, 1))


# --- the command line ------------------------------------------------------------------------------------------------


def test_a_function_without_imports_of_the_library_is_searched(call):
    options = ("--search", "integers 0..100", "--attack", "threshold", "--trials", 1000, "--budget", 4000)
    done = call("check", "ages.py:release", "--epsilon", 1, *options)
    assert done.exit_code == 1
    assert "VIOLATION" in done.stdout
    assert "d0 = [], d1 = [100]" in done.stdout
    assert len(NEWCOMERS.splitlines()) == 15


def test_the_command_line_searches_as_python_does(call):
    options = ("--epsilon", 1, "--search", "integers 0..100; 1..4 records", "--trials", 500, "--budget", 2000)
    options += ("--attack", "threshold")
    done = call("check", "ages.py:release", *options, "--relation", "replace_one", "--json", "r.json", "--seed", 2)
    assert done.exit_code == 1
    result = search(
        _release(),
        domain="integers 0..100; 1..4 records",
        relation="replace_one",
        attacks=["threshold"],
        budget=2000,
        trials=500,
        claim=PureDP(1.0),
        confidence=1 - 1e-6,
        seed=2,
    )
    data = json.loads(Path("r.json").read_text())
    assert (data["seed"], data["p_value"]) == (result.confirmed.seed, result.confirmed.p_value)


def _release():
    from dpassay.mechanisms.adapters.functions.target import load_target

    return load_target("ages.py:release")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--search", "ages"), "unknown kind of domain: 'ages'"),
        (("--search", "numbers", "--d0", "[]", "--d1", "[1]"), "give either --search, which finds the pair, or --d0"),
        (("--d0", "[]", "--d1", "[1]", "--budget", 5000), "--budget is for --search DOMAIN"),
        ((), "Give them, or --search DOMAIN"),
    ],
)
def test_mistakes_are_named(call, arguments, message):
    done = call("check", "ages.py:release", "--epsilon", 1, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_search_needs_a_claim(call):
    assert "--epsilon is missing" in call("check", "ages.py:release", "--search", "numbers").stderr


# --- the page in the docs ---------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[4] / "docs" / "how-to" / "search.md").read_text()


def block(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_on_searching_says_what_happens(here, call, without_pictures, capsys):
    (code,) = block("python")
    exec(code, {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^#> (.*)$", code, flags=re.MULTILINE)
    (config,) = block("toml")
    Path("mine.toml").write_text(config)
    assert run("mine.toml", out="out").verdict.value == "violation"
    searched, plain = block("sh")
    script, command = searched.splitlines()
    subprocess.run(script, shell=True, check=True)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert (done.exit_code, "d0 = [], d1 = [100]" in done.stdout) == (1, True)
    assert CliRunner().invoke(app, shlex.split(plain)[1:]).exit_code == 1


def test_every_domain_of_the_page_is_one():
    shown = re.findall(r"^\| `([^`@]+)`", PAGE, flags=re.MULTILINE)
    assert len(shown) == 6
    assert all(domain_from(domain) for domain in shown)
