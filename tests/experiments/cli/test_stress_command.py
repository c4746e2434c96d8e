"""`dpassay check --stress`: exit codes, files, and options that exclude each other."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpassay.audit import StressResult
from dpassay.audit.search.hostile import FAMILIES
from dpassay.experiments.cli.commands import app

SUMS = """
import numpy as np


def noisy_sum(dataset, size, rng):
    return np.clip(dataset, 0, 1).sum() + rng.laplace(size=size)


def right_sum(dataset, size, rng):
    return np.nan_to_num(dataset, nan=0.5).clip(0, 1).sum() + rng.laplace(size=size)
"""
EXAMPLE = (
    "--stress",
    "--d0",
    "[0.2, 0.7531]",
    "--bounds",
    "[0, 1]",
    "--relation",
    "add_remove",
    "--trials",
    120,
    "--attack",
    "threshold",
    "--quiet",
)
KINDS = [word for name in FAMILIES if name not in ("nan", "order") for word in ("--without", name)]


@pytest.fixture
def call(tmp_path, monkeypatch, without_power, few_chunks):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    Path("sums.py").write_text(SUMS)

    def invoke(*words):
        return CliRunner().invoke(app, ["check", *(str(word) for word in words)])

    return invoke


def test_a_violation_exits_with_1_and_all_files_say_so(call):
    files = ("--json", "s.json", "--junit", "s.xml", "--sarif", "s.sarif", "--markdown", "s.md", "--out", "report")
    done = call("sums.py:noisy_sum", "--epsilon", 1, *EXAMPLE, *KINDS, *files)
    assert done.exit_code == 1, done.output
    result = StressResult.from_json(Path("s.json").read_text())
    headline = result.text().headline
    assert headline.startswith("Violation: 1 kind of data of 2 refutes")
    assert "dpassay check sums.py:noisy_sum --epsilon 1.0 --d0 '[0.2, 0.7531]' --d1 '[0.2, 0.7531, NaN]'" in done.output
    for name in ("s.xml", "s.md", "report/report.html", "report/report.md"):
        assert headline in Path(name).read_text(), name
    for name in ("s.xml", "s.md", "s.sarif"):
        assert "0.7531" not in Path(name).read_text(), name
    assert json.loads(Path("s.sarif").read_text())["runs"][0]["results"]


def test_a_right_function_exits_with_0(call):
    done = call("sums.py:right_sum", "--epsilon", 1, *EXAMPLE, *KINDS)
    assert done.exit_code == 0, done.output
    assert "CONSISTENT" in done.output


def test_a_saved_result_is_a_baseline(call):
    words = ("sums.py:noisy_sum", "--epsilon", 1, *EXAMPLE, *KINDS)
    call(*words, "--json", "base.json")
    assert call(*words, "--baseline", "base.json").exit_code == 0  # a known violation


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--stress", "--epsilon", 1), "--d0"),
        (("--stress", "--d0", "[1, 2]"), "--epsilon is missing"),
        (("--stress", "--epsilon", 1, "--d0", "[1]", "--d1", "[1, 2]"), "leave out|one example dataset"),
        (("--stress", "--epsilon", 1, "--d0", "[1]", "--search", "numbers 0..1"), "--search cannot be combined"),
        (("--stress", "--epsilon", 1, "--d0", "[1]", "--record"), "--record cannot be combined"),
        (("--stress", "--epsilon", 1, "--d0", "[1]", "--stop", "anytime"), "leave out --stop"),
        (("--stress", "--epsilon", 1, "--d0", "[1]", "--without", "nans"), "--without must name kinds of data"),
        (("--stress", "--epsilon", 1, "--d0", "[1]", "--bounds", "[1, 0]"), "--bounds of numbers must be (low, high)"),
        (("--stress", "--epsilon", 1, "--d0", "[1]", "--bounds", "[1"), "--bounds must be"),
        (("--epsilon", 1, "--d0", "[1]", "--d1", "[1, 2]", "--bounds", "[0, 1]"), "--bounds is for --stress"),
        (("--epsilon", 1, "--d0", "[1]", "--d1", "[1, 2]", "--out", "x"), "--out is for --stress"),
    ],
)
def test_options_that_do_not_fit_are_refused(call, words, said):
    done = call("sums.py:noisy_sum", *words)
    assert done.exit_code == 2
    assert any(part in done.output for part in said.split("|")), done.output
