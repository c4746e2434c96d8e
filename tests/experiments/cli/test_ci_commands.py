"""`compare`, `badge`, and the files and baselines of `check`, `run` and `judge`: exit codes and what is written."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from dpassay.experiments.ci import comparison
from dpassay.experiments.cli.audit_commands import POWER_LOSS
from dpassay.experiments.cli.commands import app
from dpassay.experiments.plugin import session

NOISE = """
def helper():
    return None


def release(dataset, size, rng):
    return sum(dataset) + rng.laplace(size=size)


def leaking(dataset, size, rng):
    return sum(dataset) + rng.laplace(scale=0.2, size=size)
"""
CONFIG = '[mechanism]\nname = "laplace"\n[audit]\ntrials = 2000\n[sweep]\n"mechanism.epsilon" = [0.5, 1.0]\n'
PAIR = ("--d0", "[1, 0]", "--d1", "[1, 0, 1]", "--trials", "3000", "--attack", "threshold", "--quiet")


@pytest.fixture
def call(tmp_path, monkeypatch, without_pictures, few_chunks):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    Path("noise.py").write_text(NOISE)
    Path("both.toml").write_text(CONFIG)

    def invoke(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


@pytest.fixture
def baseline(call):
    call("check", "noise.py:release", "--epsilon", 1, *PAIR, "--json", "base.json")
    return "base.json"


def test_a_check_against_its_baseline_passes_and_says_so(call, baseline):
    done = call("check", "noise.py:release", "--epsilon", 1, *PAIR, "--seed", 7, "--baseline", baseline)
    assert done.exit_code == 0, done.output
    assert "baseline    unchanged (epsilon >= " in done.stdout


def test_fewer_trials_than_in_the_baseline_exit_with_1(call, baseline):
    words = ("check", "noise.py:release", "--epsilon", 1, *PAIR, "--trials", 800, "--baseline", baseline)
    done = call(*words)
    assert done.exit_code == 1
    assert "baseline    lost power" in done.stdout
    assert "trials: 3,000 -> 800" in done.stdout
    assert call(*words, "--power-loss", 5).exit_code == 0


def test_a_new_violation_exits_with_1_and_a_known_one_with_0(call):
    words = ("check", "noise.py:leaking", "--epsilon", 1, *PAIR)
    assert call(*words, "--json", "known.json").exit_code == 1
    done = call(*words, "--baseline", "known.json", "--sarif", "a.sarif", "--junit", "a.xml", "--markdown", "a.md")
    assert done.exit_code == 0
    assert "known violation" in done.stdout
    (result,) = json.loads(Path("a.sarif").read_text())["runs"][0]["results"]
    assert result["baselineState"] == "unchanged"
    where = result["locations"][0]["physicalLocation"]
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == ("noise.py", 10)
    assert ElementTree.parse("a.xml").getroot().attrib["skipped"] == "1"
    assert "known violation" in Path("a.md").read_text()
    stricter = call("check", "noise.py:leaking", "--epsilon", 2, *PAIR, "--baseline", "known.json")
    assert stricter.exit_code in (0, 1)  # as the bound of the baseline was above 2, or below it


def test_what_is_no_baseline_is_refused_before_anything_runs(call, baseline):
    call("run", "both.toml", "--out", "both", "--quiet")
    for words, said in (
        (("--baseline", "both"), "holds 2 claims of a sweep"),
        (("--baseline", "noise.py"), "not readable as JSON"),
        (("--baseline", "none.json"), "there is no such file"),
        (("--baseline", baseline, "--power-loss", "-1"), "--power-loss must be a number >= 0"),
        (("--junit", "no/such/a.xml"), "there is no folder"),
        (("--sarif", "."), "it is a folder"),
    ):
        done = call("check", "noise.py:release", "--epsilon", 1, *PAIR, *words)
        assert (done.exit_code, done.stdout) == (2, ""), said
        assert said in done.stderr


def test_runs_are_compared_with_their_settings_and_a_table(call):
    for name, trials in (("a", 2000), ("b", 500)):
        call("run", "both.toml", "--out", name, "--set", f"audit.trials={trials}", "--quiet")
    done = call("compare", "a", "b", "--markdown", "c.md")
    assert done.exit_code == 1
    assert "lost power" in done.stdout
    assert "differs: audit.trials: 2000 -> 500" in done.stdout
    assert Path("c.md").read_text().startswith("### dpassay compare: a and b")
    assert call("compare", "b", "a/results.json").exit_code == 0
    assert call("compare", "a", "b", "--power-loss", "inf").exit_code == 0
    assert call("compare", "a", "both.toml").exit_code == 2
    assert call("compare", "a", "nothing").exit_code == 2


def test_a_run_writes_the_files_of_build_servers(call):
    done = call(
        "run", "both.toml", "--out", "a", "--quiet", "--junit", "a.xml", "--sarif", "a.sarif", "--markdown", "a.md"
    )
    assert done.exit_code == 0, done.output
    names = [case.attrib["name"] for case in ElementTree.parse("a.xml").getroot().iter("testcase")]
    assert names == ["epsilon = 0.5", "epsilon = 1"]
    (weak,) = json.loads(Path("a.sarif").read_text())["runs"][0]["results"]
    assert (weak["ruleId"], weak["level"]) == ("weak-audit", "note")
    assert "| 0.5 | 0.5 |" in Path("a.md").read_text()


def test_files_of_claims_are_refused_before_membership_attacks_run(call):
    done = call("run", "membership-table", "--junit", "a.xml")
    assert done.exit_code == 2
    assert "measures membership attacks" in done.stderr
    assert not Path("runs").exists()


def test_the_summary_of_a_github_step_is_written_by_itself_and_once(call, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    words = ("check", "noise.py:release", "--epsilon", 1, *PAIR)
    call(*words, "--json", "a.json")
    call(*words, "--markdown", "step.md")
    call("compare", "a.json", "a.json")
    call("run", "both.toml", "--out", "a", "--quiet")
    headings = [line for line in Path("step.md").read_text().splitlines() if line.startswith("### ")]
    said = (
        "### dpassay check: Consistent: ",
        "### dpassay check: Consistent: ",
        "### dpassay compare: a.json and a.json: 0 new violations",
        "### dpassay run: both: Consistent, weak (",
    )
    assert [line[: len(start)] for line, start in zip(headings, said, strict=True)] == list(said)


def test_an_unwritable_summary_is_reported_and_keeps_the_exit_code(call, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/step.md")
    done = call("check", "noise.py:release", "--epsilon", 1, *PAIR)
    assert done.exit_code == 0
    assert "cannot write no/such/step.md" in done.stderr


def test_a_badge_is_drawn_from_a_saved_result(call, baseline):
    done = call("badge", baseline, "--out", "b.svg", "--label", "privacy")
    assert done.exit_code == 0
    assert done.stdout.startswith("privacy: Consistent: ε ≥ 0.")
    ElementTree.parse("b.svg")
    assert call("badge", baseline, "--out", "no/b.svg").exit_code == 2
    assert call("badge", "noise.py", "--out", "b.svg").exit_code == 2


def test_defaults_of_the_loss_of_power_agree():
    """The command line and the plugin state it without importing the comparison."""
    assert POWER_LOSS == session.POWER_LOSS == comparison.POWER_LOSS
