"""`dpassay check --history`: exit codes, files, and the commands that read a history."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpassay.audit import audit
from dpassay.experiments.ci.history import History
from dpassay.experiments.cli.commands import app
from dpassay.mechanisms import Laplace, PureDP

MINE = "from dpassay.mechanisms import Laplace\nright, wrong = Laplace(epsilon=1.0), Laplace(epsilon=1.4)\n"
OPTIONS = ("--epsilon", 1, "--trials", 400, "--history", "audits.jsonl", "--quiet")


@pytest.fixture(scope="module")
def alarmed(tmp_path_factory):
    """A history that the next build of `wrong` makes alarm, which alone would not."""
    file, wrong, before = tmp_path_factory.mktemp("history") / "audits.jsonl", Laplace(epsilon=1.4), b""
    for _ in range(20):
        with History.opened(file, level=1.0 - (1.0 - 1e-6)) as builds:
            options = {"claim": PureDP(1.0), "trials": 400, "confidence": 1.0 - 1e-6}
            result = audit(wrong, seed=builds.seed, history=builds, **options)
            before = file.read_bytes()
            if builds.add(result).verdict.value == "violation":
                break
    assert result.verdict.value == "consistent"
    file.write_bytes(before)
    return file


@pytest.fixture
def call(tmp_path, monkeypatch, without_power):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    Path("mine.py").write_text(MINE)

    def invoke(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


def test_a_build_that_completes_the_evidence_exits_with_1_in_all_files(call, alarmed):
    shutil.copy(alarmed, "audits.jsonl")
    before = call("compare", "audits.jsonl", "audits.jsonl")
    shutil.copy("audits.jsonl", "before.jsonl")
    files = ("--junit", "a.xml", "--sarif", "a.sarif", "--markdown", "a.md", "--json", "a.json")
    done = call("check", "mine.py:wrong", *OPTIONS, *files)
    assert (before.exit_code, done.exit_code) == (0, 1), done.output
    assert "refute the claim for at least one of them" in done.output
    assert "<failure" in Path("a.xml").read_text()
    assert '"level": "error"' in Path("a.sarif").read_text()
    assert "history of builds" in Path("a.md").read_text()
    shown = call("report", "audits.jsonl")
    assert shown.exit_code == 1
    assert "Violation" in shown.output
    assert Path("audits.png").stat().st_size > 1_000
    assert call("compare", "before.jsonl", "audits.jsonl").exit_code == 1


def test_a_consistent_build_exits_with_0_and_prints_the_evidence(call):
    done = call("check", "mine.py:right", *OPTIONS)
    assert done.exit_code == 0, done.output
    assert "build 1 of audits.jsonl" in done.output
    assert "alarm at 10^6.5" in done.output


def test_a_damaged_history_exits_with_2_before_any_run(call, alarmed):
    lines = alarmed.read_text().replace('"trials":400', '"trials":401', 1)
    Path("audits.jsonl").write_text(lines)
    for words in (
        ("check", "mine.py:right", *OPTIONS),
        ("report", "audits.jsonl"),
        ("badge", "audits.jsonl", "--out", "b.svg"),
    ):
        done = call(*words)
        assert done.exit_code == 2
        assert "audits.jsonl, line 1: " in done.output
    assert Path("audits.jsonl").read_text() == lines


@pytest.mark.parametrize(
    "others", [("--search", "numbers 0..1"), ("--stress", "--d0", "[1]"), ("--baseline", "base.json")]
)
def test_options_that_do_not_go_with_a_history_are_refused(call, others):
    done = call("check", "mine.py:right", *OPTIONS, *others)
    assert done.exit_code == 2
    assert "--history" in done.output
    assert not Path("audits.jsonl").exists()
