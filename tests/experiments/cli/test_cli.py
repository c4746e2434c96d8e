"""The command line: exit codes, messages without tracebacks, and how fast it starts."""

# ruff: noqa: E501 - a case is a line

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from dpassay.experiments.cli.commands import app
from dpassay.experiments.cli.terminal import ONLY_IN_REPORT
from dpassay.experiments.present.results.sweep import SweepResult

ROOT = Path(__file__).parents[3]
COUNTING = """
def release(dataset, size, rng):
    return sum(dataset) + rng.laplace(size=size)

def short(dataset, size, rng):
    return [0.0]

def raising(dataset, rng):
    raise ValueError("no such column")

class Thing:
    pass

def score(outputs):
    return outputs

class Measurement:
    pass

Measurement.__module__ = "opendp.mod"
measurement = Measurement()

from dpassay.mechanisms import Laplace
mechanism = Laplace(epsilon=0.5)
lying = Laplace(epsilon=3.0)
"""
CONFIG = """\
[mechanism]
name = "laplace"
epsilon = 1.0
[audit]
trials = 500
delta = 0.0
"""


@pytest.fixture
def call(tmp_path, monkeypatch, one_picture, without_pixels, without_power, few_chunks):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "counting.py").write_text(COUNTING)
    (tmp_path / "mine.toml").write_text(CONFIG)

    def invoke(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


PAIR = ("--d0", "[1, 0]", "--d1", "[1, 0, 1]")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--delta", "2"), "dpassay: --delta must lie in [0, 1), but is 2.0."),
        (("--attack", "likelihood-ratio"), "Use --attack classifier, which learns from pilot runs"),
        (("--stop", "anytime", "--bound", "clopper-pearson"), "With --stop anytime use --bound betting"),
        (("--attack", "Clasifier"), "Did you mean 'classifier'?\n  `dpassay list attacks` lists them."),
    ],
)
def test_messages_name_options_of_the_command_line_not_arguments(call, arguments, said):
    done = call("check", "counting.py:release", "--epsilon", 1, *PAIR, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_claim_that_is_kept_exits_with_0(call):
    done = call("check", "counting.py:release", "--epsilon", 1, *PAIR, "--trials", 2000)
    assert done.exit_code == 0
    assert "CONSISTENT" in done.stdout
    assert "99.9999 % confidence" in done.stdout


def test_a_check_records_what_a_function_does_with_its_noise(call, tmp_path):
    (tmp_path / "means.py").write_text("def release(d, rng):\n    return (sum(d) + rng.laplace()) / len(d)\n")
    done = call("check", "means.py:release", "--epsilon", 9, *PAIR, "--trials", 500, "--record")
    assert done.exit_code == 0
    assert "recorded: parameters: the noise of primitive 1 (numpy laplace) is multiplied by 0.5" in done.stdout
    refused = call("check", "--command", "cat", "--epsilon", 1, *PAIR, "--record")
    assert refused.exit_code == 2
    assert "--record needs a Python function" in refused.stderr
    alone = call("check", "means.py:release", "--epsilon", 9, "--record")
    assert (alone.exit_code, "--record needs a pair" in alone.stderr) == (2, True)


def test_a_check_may_stop_as_soon_as_the_claim_is_refuted(call):
    done = call(
        "check", "counting.py:release", "--epsilon", 0.1, *PAIR, "--stop", "anytime", "--confidence", 0.95, "-v"
    )
    assert done.exit_code == 1
    assert "of 99,500 trials a side; no correction needed" in done.stdout
    refused = call("check", "counting.py:release", "--epsilon", 0.1, *PAIR, "--stop", "soon")
    assert refused.exit_code == 2
    assert 'stop must be None or "anytime"' in refused.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("counting.py:release", "--python", "nowhere"), "--python must be the interpreter of an environment"),
        (("counting.py:release", "--python", sys.executable, "--record"), "--python is for a TARGET without --record"),
        (("--command", "cat", "--python", sys.executable), "--python is for a TARGET without --record"),
        (("counting.py:mechanism", "--python", sys.executable), "--python needs a function, but counting.py:mechanism"),
    ],
)
def test_another_interpreter_runs_functions_only(call, given, message):
    refused = call("check", *given, "--epsilon", 1, *PAIR)
    assert (refused.exit_code, refused.stderr[9 : 9 + len(message)]) == (2, message)


def test_check_ends_after_the_given_time(call):
    claim = ("check", "counting.py:release", "--epsilon", 1, *PAIR)
    assert "the time limit of 0.001 s ended" in call(*claim, "--for", "0.001s", "-v").stdout.replace("\n", " ")
    assert "'5' is not a time. Write it as 90s, 5m or 2h." in call(*claim, "--for", "5").stderr
    for other in (("--search", "numbers 0..1"), ("--stress", "--d0", "[1]")):
        refused = call("check", "counting.py:release", "--epsilon", 1, *other, "--for", "1m")
        assert (refused.exit_code, refused.stderr[:30]) == (2, "dpassay: --for is for one pair")


def test_a_broken_claim_exits_with_1_and_writes_the_requested_files(call):
    done = call(
        "check",
        "counting.py:release",
        "--epsilon",
        0.3,
        *PAIR,
        "--trials",
        3000,
        "--markdown",
        "sum.md",
        "--json",
        "r.json",
    )
    assert done.exit_code == 1
    assert "VIOLATION" in done.stdout
    assert Path("sum.md").read_text().startswith("### dpassay check: Violation: epsilon ≥ ")
    assert json.loads(Path("r.json").read_text())["verdict"] == "violation"


def test_markdown_is_appended_so_that_several_checks_can_share_a_summary(call):
    for _ in range(2):
        call("check", "counting.py:mechanism", "--trials", 100, "--markdown", "sum.md")
    assert Path("sum.md").read_text().count("### dpassay check") == 2


def test_a_claim_that_cannot_be_tested_exits_with_3_only_when_strict(call):
    arguments = ("check", "counting.py:release", "--epsilon", 20, *PAIR, "--trials", 100)
    assert call(*arguments).exit_code == 0
    assert call(*arguments, "--strict").exit_code == 3


def test_outputs_that_no_pilot_run_gave_exit_with_3_only_when_strict(call, tmp_path):
    (tmp_path / "text.py").write_text("def release(d, rng):\n    return f'{sum(d) + rng.laplace():.9f}'\n")
    arguments = ("check", "text.py:release", "--epsilon", 1, *PAIR, "--trials", 500)
    done = call(*arguments)
    assert done.exit_code == 0
    assert (
        "UNDERPOWERED: the attack could not learn from the pilot: 100 % of the evaluation runs gave a text"
        in done.stdout
    )
    assert call(*arguments, "--strict").exit_code == 3


def test_a_function_of_the_user_is_an_attack(call):
    arguments = (
        "check",
        "counting.py:release",
        "--epsilon",
        0.2,
        *PAIR,
        "--trials",
        2000,
        "--attack",
        "counting.py:score",
        "-v",
    )
    done = call(*arguments)
    assert done.exit_code == 1
    assert "attack      score" in done.stdout


def test_a_mechanism_brings_its_own_claim_and_pair(call):
    done = call("check", "counting.py:mechanism", "--trials", 1000)
    assert done.exit_code == 0
    assert "epsilon <= 0.5" in done.stdout


def test_a_mechanism_can_be_held_to_another_claim(call):
    assert call("check", "counting.py:lying", "--epsilon", 1, "--trials", 2000).exit_code == 1
    assert call("check", "counting:lying", "--epsilon", 3, "--trials", 2000).exit_code == 0


def test_a_delta_makes_the_claim_approximate(call):
    done = call("check", "counting.py:release", "--epsilon", 1, "--delta", 0.01, *PAIR, "--trials", 500)
    assert done.exit_code == 0
    assert "ApproximateDP(epsilon=1, delta=0.01)" in done.stdout


def test_datasets_that_are_no_records_are_taken_as_they_are(call):
    arguments = ("check", "counting.py:release", "--epsilon", 1, "--d0", "[3, 4]", "--d1", "[3, 5]", "--trials", 500)
    refused = call(*arguments)
    assert refused.exit_code == 2
    assert "--no-records" in refused.stderr
    assert "FunctionMechanism" not in refused.stderr
    assert call(*arguments, "--no-records").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check",), "give either a TARGET, such as noise.py:release, or --command."),
        (("check", "counting.py:release", "--command", "x"), "give either a TARGET"),
        (("check", "counting.py:release"), "--epsilon is missing: only a mechanism knows its own claim."),
        (("check", "counting.py:release", "--epsilon", 1), "--d0 and --d1 are missing: only a mechanism knows its worst case."),
        (("check", "counting.py:release", "--epsilon", 1, "--d0", "[]"), "give both --d0 and --d1"),
        (("check", "counting.py:release", "--epsilon", 1, "--d0", "[1", "--d1", "[]"), "--d0 must be JSON, such as '[1, 0, 1]', or @FILE for a file of JSON, but is '[1'"),
        (("check", "counting.py:release", "--epsilon", -1, *PAIR), "epsilon must be a finite number >= 0, but is -1.0."),
        (("check", "counting.py:release", "--epsilon", "nan", *PAIR), "epsilon must be a finite number >= 0, but is NaN."),
        (("check", "counting.py:release", "--epsilon", 1, "--delta", 1.5, *PAIR), "delta must lie in [0, 1), but is 1.5."),
        (("check", "counting.py:release", "--epsilon", 1, *PAIR, "--relation", "swap"), "unknown relation 'swap'."),
        (("check", "counting.py:release", "--epsilon", 1, *PAIR, "--relation", "replace_one"), "one record is added in this pair: its relation is 'add_remove', not 'replace_one'."),
        (("check", "counting.py:release", "--epsilon", 1, "--d0", "[1]", "--d1", "[2]"), "one record is replaced in this pair: its relation is 'replace_one', not 'add_remove'."),
        (("check", "counting.py:release", "--epsilon", 1, "--d0", "counting.py", "--d1", "[]"), "For the file write '@counting.py'."),
        (("check", "counting.py", "--epsilon", 1, *PAIR), "Add the name of the function, as in 'counting.py:release'."),
        (("check", "counting.py:release", "--epsilon", 1, *PAIR, "--trials", 0), "trials must be"),
        (("check", "counting.py:release", "--epsilon", 1, *PAIR, "--trials", 5), "trials must be"),
        (("check", "counting.py:release", "--epsilon", 1, *PAIR, "--confidence", 1), "confidence must lie strictly between 0 and 1, but is 1.0."),
        (("check", "counting.py:release", "--epsilon", 1, *PAIR, "--attack", "counting.py:mechanism"), "--attack 'counting.py:mechanism' must be a function score(outputs)"),
        (("check", "counting.py:release", "--epsilon", 1, *PAIR, "--attack", "missing.py:score"), "--attack names the file 'missing.py', which does not exist"),
        (("check", "counting.py:measurement", "--epsilon", 1, *PAIR), "counting.py:measurement is a Measurement of OpenDP, which knows its own claim"),
        (("check", "counting.py:release", "--epsilon", 1, *PAIR, "--attack", "likelyhood"), "unknown attack 'likelyhood'. Did you mean 'likelihood-ratio'"),
        (("check", "counting.py:releas", "--epsilon", 1, *PAIR), "unknown object of counting.py 'releas'. Did you mean 'release'"),
        (("check", "missing.py:release", "--epsilon", 1, *PAIR), "target names the file 'missing.py', which does not exist"),
        (("check", "nowhere.at.all:release", "--epsilon", 1, *PAIR), "target names the module 'nowhere.at.all'"),
        (("check", "release", "--epsilon", 1, *PAIR), "target must be 'package.module:object' or 'path/to/file.py:object'"),
        (("check", "counting.py:short", "--epsilon", 1, *PAIR), "asked for size=2 runs and returned shape (1,)"),
        (("check", "counting.py:raising", "--epsilon", 1, *PAIR), "raised ValueError in each of 10 first runs, on both sides: no such column"),
        (("check", "counting.py:Laplace",), "counting.py:Laplace is a class: give an instance of it"),
        (("run", "laplace-cuont"), "unknown experiment 'laplace-cuont'. Did you mean 'laplace-count'"),
        (("run", "mine.toml", "--set", "audit.trails=3"), "--set audit.trails: unknown key of [audit] 'trails'. Did you mean 'trials'?"),
        (("run", "mine.toml", "--set", "mechanism.epsilon"), "--set mechanism.epsilon: write KEY=VALUE"),
        (("run", "mine.toml", "--set", "mechanism.epsilon=0"), "--set mechanism.epsilon: [mechanism] epsilon must be a finite number > 0, but is 0."),
        (("run", "mine.toml", "--out", "counting.py"), "counting.py is a file, but a run directory must be a folder"),
        (("list", "mechanism"), "unknown kind 'mechanism'. Did you mean 'mechanisms'"),
        (("demo", "randomised-response"), "unknown demo 'randomised-response'. Did you mean 'randomized-response'"),
        (("report", "."), ". is not a run directory: it"),
    ],
)  # fmt: skip
def test_a_mistake_exits_with_2_and_one_message(call, arguments, message):
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("dpassay: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_check_takes_bounds_and_datasets_from_files(call):
    Path("d0.json").write_text("[1, 0]")
    Path("d1.json").write_text("[1, 0, 1]")
    arguments = ("check", "counting.py:release", "--epsilon", 1, "--trials", 500)
    inline = call(*arguments, *PAIR)
    assert call(*arguments, "--d0", "@d0.json", "--d1", "@d1.json").stdout == inline.stdout
    done = call(*arguments, *PAIR, "--bound", "clopper-pearson", "--bound", "simultaneous-band", "--verbose")
    assert "more        -v adds: power, trials, choices and corrections" in inline.stdout
    assert done.exit_code == 0
    assert "2: clopper-pearson, simultaneous-band; Bonferroni over 2" in done.stdout
    for wrong, message in (("@d2.json", "cannot be read from the file 'd2.json': No such file"),
                           ("@counting.py", "must be a dataset in JSON, but the file 'counting.py' is not JSON (Expecting value"),
                           ("[" * 100_000, "must be JSON")):  # fmt: skip
        refused = call(*arguments, "--d0", wrong, "--d1", "[]")
        assert refused.exit_code == 2
        assert refused.stderr.startswith(f"dpassay: --d0 {message}")
        assert len(refused.stderr) < 600


@pytest.mark.parametrize("option", ["--epsilon", "--delta", "--confidence"])
def test_an_option_that_is_no_number_is_shown(call, option):
    refused = call("check", "counting.py:release", option, "95%")
    assert refused.exit_code == 2
    assert f"Invalid value for '{option}': '95%' is not a number." in refused.stderr


@pytest.mark.parametrize("name", ["run", "check", "list", "report", "calibrate", "demo"])
def test_help_shows_every_word_of_it_brackets_too(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    shown = " ".join(CliRunner().invoke(app, [name, "--help"]).stdout.split())
    (command,) = [result for key, result in typer.main.get_command(app).commands.items() if key == name]
    written = [parameter.help for parameter in command.params if getattr(parameter, "help", None)]
    assert written or name == "list"  # which has only an argument, without a help text in older versions of typer
    assert [text for text in [command.help, *written] if " ".join(text.replace("`", "").split()) not in shown] == []


def test_a_summary_that_cannot_be_written_is_refused_before_anything_runs(call):
    done = call("check", "counting.py:mechanism", "--trials", 100, "--json", "no/where.json")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "cannot write no/where.json: there is no folder no" in done.stderr


@pytest.mark.parametrize(
    ("given", "shown"), [("1e3", "1,000"), ("1_000", "1,000"), ("2.5", "not a whole number"), ("x", "not a whole")]
)
def test_trials_may_be_written_as_in_a_configuration(call, given, shown):
    done = call("check", "counting.py:mechanism", "--trials", given)
    assert shown in done.output


def test_list_without_a_kind_lists_the_kinds(call):
    assert {"mechanisms", "queries", "guarantees", "bounds"} <= set(call("list").stdout.split())


def test_demo_without_a_name_lists_the_demos(call):
    done = call("demo")
    assert (done.exit_code, done.stdout) == (0, call("list", "demos").stdout)


def test_mechanisms_are_listed_with_their_tier_and_by_it(call):
    assert "[proved]" in call("list", "mechanisms").stdout
    provisional = call("list", "mechanisms", "--tier", "provisional").stdout
    assert "post-processed" in provisional
    assert "laplace" not in provisional.split()
    broken = call("list", "broken").stdout.split()
    assert {"broken-laplace-scale", "broken-mst-best-tree", "[broken]"} <= set(broken)
    done = call("list", "bounds", "--tier", "broken")
    assert done.exit_code == 2
    assert "bounds have no trust tier" in done.output


def test_a_usage_error_exits_with_2(call):
    done = call("check", "counting.py:release", "--epsilon", "much")
    assert done.exit_code == 2
    assert "Invalid value for '--epsilon'" in done.stderr
    assert call("runn").exit_code == 2


def test_an_error_that_was_not_foreseen_does_not_look_like_a_violation(call, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("boom")

    monkeypatch.setattr("dpassay.experiments.runs.runner.run", fail)
    done = call("run", "mine.toml")
    assert done.exit_code == 2
    assert "RuntimeError: boom" in done.stderr
    assert "unexpected error" in done.stderr


def test_ctrl_c_exits_with_130_in_every_command(call, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpassay.experiments.cli.check.audit", interrupt)
    done = call("check", "counting.py:mechanism")
    assert done.exit_code == 130
    assert done.stderr == "dpassay: interrupted.\n"


def test_a_run_shows_its_table_and_where_the_report_lies(call):
    done = call("run", "mine.toml", "--set", "sweep.mechanism.epsilon=[0.5, 1.0]", "--set", "seed=4", "--out", "here")
    assert done.exit_code == 0
    table = SweepResult.from_json(Path("here/results.json").read_text()).text().table
    head, *rows = [
        [cell for name, cell in zip(table.head, cells, strict=True) if name not in ONLY_IN_REPORT]
        for cells in (table.head, *(cells for _, cells in table.rows))
    ]
    assert [head[0], head[-1], rows[0][0]] == ["epsilon", "verdict", "0.5"]
    shown = [text.split() for text in done.stdout.splitlines()]
    for cells in (head, *rows):
        assert " ".join(cells).split() in shown
    assert "report:  here/report.html" in done.stdout
    assert "Holm over 2" in Path("here/report.html").read_text()
    assert [line.split()[0] for line in done.stderr.splitlines() if line] == ["[1/2]", "[2/2]"]


def test_a_quiet_run_says_only_the_result(call):
    assert call("run", "mine.toml", "-q").stderr == ""


def test_a_run_that_finds_a_violation_exits_with_1(call):
    settings = ("--set", "mechanism.name=broken-laplace-scale", "--set", "mechanism.epsilon=0.25")
    assert call("run", "mine.toml", "--out", "x", *settings).exit_code == 1
    assert call("report", "x").exit_code == 1


def test_a_run_in_the_directory_of_another_is_refused(call):
    call("run", "mine.toml", "-q")
    done = call("run", "mine.toml", "-q", "--set", "seed=3")
    assert done.exit_code == 2
    assert "runs/mine has another experiment. It differs in\n  seed: " in done.stderr


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("mechanisms", "k-ary-randomized-response"),
        ("strategies", "wavelet"),
        ("selections", "mst"),
        ("generators", "graphical"),
        ("repetitions", "poisson"),
        ("attacks", "likelihood-ratio"),
        ("bounds", "simultaneous-band"),
        ("experiments", "broken-laplace"),
        ("datasets", "tax-survey"),
        ("demos", "randomized-response"),
    ],
)
def test_everything_is_listed_with_a_line_on_each(call, kind, name):
    done = call("list", kind)
    assert done.exit_code == 0
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(name)]
    assert len(line.removeprefix(name).strip()) > 20


def python(*arguments, cwd, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, **options
    )


def test_help_starts_fast_because_it_imports_nothing_heavy(tmp_path):
    code = (
        "import sys, contextlib, dpassay.__main__\n"
        "sys.argv = ['dpassay', '--help']\n"
        "with contextlib.suppress(SystemExit): dpassay.__main__.main()\n"
        "heavy = {'numpy', 'scipy', 'pandas', 'pydantic', 'sklearn', 'matplotlib', 'joblib', 'dpassay.audit'} & set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)\n"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Exit codes: 0 consistent" in done.stdout


def test_ctrl_c_leaves_a_run_that_continues(tmp_path, monkeypatch, without_pictures):
    (tmp_path / "mine.toml").write_text(CONFIG + '[sweep]\n"mechanism.epsilon" = [0.5, 1, 2]\n')
    arguments = ["run", "mine.toml", "--out", "cut", "--set", "audit.trials=5_000"]
    interrupting = (
        "import os, signal, sys\n"
        "from dpassay.experiments.cli import audit_commands, commands\n"
        "tell = audit_commands.print_progress\n"
        "def interrupted(line):\n"
        "    tell(line)\n"
        "    if line.startswith('[1/3]'): os.kill(os.getpid(), signal.SIGINT)\n"
        "audit_commands.print_progress = interrupted\n"
        "commands.run_app(sys.argv[1:])\n"
    )
    done = python("-c", interrupting, *arguments, cwd=tmp_path)
    assert done.returncode == 130
    assert "interrupted. Finished trials are saved: the same command continues from there." in done.stderr
    assert "Traceback" not in done.stderr
    assert "[2/3]" not in done.stderr
    assert not (tmp_path / "cut" / "results.json").exists()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "cut" / "results.json").exists()


def test_a_demo_draws_its_figure_where_it_is_asked_to(call):
    done = call("demo", "add-or-replace", "--out", "figures")
    assert done.exit_code == 0
    assert list(Path("figures").glob("*.svg"))
