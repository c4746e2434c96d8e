"""The GitHub action, the hooks and the page on builds: their shell runs as it is written."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from dpassay.experiments.cli.commands import app

ROOT = Path(__file__).parents[3]
ACTION = (ROOT / "action.yml").read_text()
STEPS = yaml.safe_load(ACTION)["runs"]["steps"]
PAGE = (ROOT / "docs" / "how-to" / "ci.md").read_text()
NOISE = "def release(dataset, size, rng):\n    return sum(dataset) + rng.laplace(size=size)\n"


def audit_step():
    """Shell of the step that runs the audit."""
    (script,) = (step["run"] for step in STEPS if step.get("id") == "audit")
    return script


@pytest.fixture
def step(tmp_path):
    """Runs the step with a command `dpassay` that writes its words and exits with a code."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python").symlink_to(sys.executable)
    command = tools / "dpassay"
    command.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done > words\nexit "${CODE:-0}"\n')
    command.chmod(0o755)

    def run(**inputs):
        names = ("COMMAND", "CONFIG", "BASELINE", "JUNIT", "SARIF")
        given = {f"DPASSAY_{name}": inputs.get(name.lower(), "") for name in names}
        places = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output")}
        path = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "CODE": str(inputs.get("code", 0))}
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", audit_step()]
        done = subprocess.run(shell, cwd=tmp_path, env=given | places | path, capture_output=True, text=True)
        words = (tmp_path / "words").read_text().splitlines() if (tmp_path / "words").exists() else None
        return done, words

    return run


def test_the_action_passes_words_as_they_are_quoted_and_expands_nothing(step, tmp_path):
    done, words = step(
        command="check a.py:f --d0 '[1, 0]' --d1 \"[1]\" $(touch x) `touch x` $HOME *", sarif="a b.sarif"
    )
    assert done.returncode == 0, done.stderr
    end = ["$(touch", "x)", "`touch", "x`", "$HOME", "*", "--sarif", "a b.sarif"]
    assert words == ["check", "a.py:f", "--d0", "[1, 0]", "--d1", "[1]", *end]
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_the_action_ends_with_the_code_of_the_command_and_outputs_it(step, tmp_path, code):
    done, words = step(config="privacy.toml", junit="j.xml", baseline="b.json", code=code)
    assert done.returncode == code
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"
    assert words == ["run", "privacy.toml", "--quiet", "--baseline", "b.json", "--junit", "j.xml"]


@pytest.mark.parametrize("inputs", [{}, {"command": "list", "config": "a.toml"}, {"command": "check 'open"}])
def test_wrong_inputs_of_the_action_end_in_2_and_run_nothing(step, inputs):
    done, words = step(**inputs)
    assert (done.returncode, words) == (2, None)
    assert "::error::dpassay: " in done.stdout


def test_every_input_of_the_action_is_used_and_has_words():
    declared = yaml.safe_load(ACTION)["inputs"]
    assert len(declared) == 7
    assert all(declared[name]["description"] for name in declared)
    assert set(re.findall(r"inputs\.([\w-]+)", ACTION)) == set(declared)
    assert set(re.findall(r"^          (command|[\w-]+): \S", PAGE, flags=re.MULTILINE)) <= {*declared, "sarif_file"}


def test_hooks_run_commands_that_exist_and_pass_no_file_names():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["dpassay-check", "dpassay-run"]
    for name, hook in zip(("check", "run"), hooks, strict=True):
        assert hook["entry"] == f"dpassay {name} --quiet"
        assert hook["pass_filenames"] is False
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


def commands_on_the_page():
    """Lines of the page that run dpassay, in shell and in the recipes."""
    lines = re.findall(r"^(?:    - )?dpassay (.*)$", PAGE, flags=re.MULTILINE)
    return [shlex.split(line) for line in lines]


def test_the_commands_on_the_page_run_in_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("noise.py").write_text(NOISE)
    found = commands_on_the_page()
    assert [words[0] for words in found] == ["check", "check", "compare", "check", "badge"]
    for words in found:
        few = ["--trials", "2000", "--attack", "threshold"] if words[0] == "check" else []
        done = CliRunner().invoke(app, [*words, *few])
        assert done.exit_code == 0, done.output
    assert {"baseline.json", "junit.xml", "dpassay.sarif", "badge.svg"} <= {path.name for path in tmp_path.iterdir()}
