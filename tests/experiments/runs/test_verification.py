"""Verification of a run: each single change is found, and a forgery without a contradiction by running it again."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from dpassay.experiments.cli.commands import app
from dpassay.experiments.config.command_table import task_of_line
from dpassay.experiments.runs.again import card, report
from dpassay.experiments.runs.runner import run
from dpassay.experiments.runs.verification import verify
from dpassay.mechanisms.core import DpassayError, ParameterError, StoreError

CONFIG = """\
[mechanism]
name = "laplace"
epsilon = 1.0
[audit]
trials = 300
"""
NAMES = ["files", "versions", "pages", "verdict", "trials"]
CHUNK = "trials/audit/chunks/pilot-1-000000.npz"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, which no test changes."""
    folder = tmp_path_factory.mktemp("verification")
    config = folder / "noise.toml"
    config.write_text(CONFIG)
    run(config, out=folder / "run")
    return folder / "run"


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def agreeing(directory, **options):
    return {check.name: check.agrees for check in verify(directory, **options).checks}


def test_a_run_that_nobody_has_changed_agrees(finished):
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    done = CliRunner().invoke(app, ["card", str(finished), "--verify", "--rerun"])
    assert done.exit_code == 0, done.output
    *lines, last = done.output.splitlines()
    assert [line.split()[:2] for line in lines] == [["✓", name] for name in NAMES]
    assert last.startswith("Verified. Consistent, weak: ")
    assert last.endswith("Without a signature, nothing shows who made this run.")
    assert before == {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}


def replaced(old: bytes, new: bytes):
    def change(path):
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new, 1))

    return change


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def linked(path):
    moved = path.rename(path.parent.parent / path.name)
    path.symlink_to(moved)


CHANGES = {
    "the seed": ("config.toml", replaced(b"seed = 0", b"seed = 1")),
    "a space in the configuration": ("config.toml", replaced(b"seed = 0", b"seed =  0")),
    "the bound": ("results.json", replaced(b'"consistent"', b'"underpowered"')),
    "a space in the numbers": ("results.json", lambda path: path.write_text(path.read_text() + " ")),
    "the table": ("results.csv", replaced(b"consistent", b"violation!")),
    "the report": ("report.html", replaced(b"Consistent", b"Very consistent")),
    "the report as text": ("report.md", flipped),
    "the card": ("card.json", replaced(b'"verdict": "consistent"', b'"verdict": "proved"')),
    "the printed card": ("card.md", flipped),
    "the page of the card": ("card.html", flipped),
    "the record of the registry": ("registry.yaml", replaced(b"Draft", b"Published")),
    "the table for a paper": ("results.tex", flipped),
    "a figure": ("figures/bound-claim.svg", flipped),
    "a picture": ("figures/bound-claim.png", flipped),
    "a version": ("environment.json", replaced(b'"numpy": "', b'"numpy": "9')),
    "the time of the run": ("environment.json", replaced(b'"wall_seconds": ', b'"wall_seconds": 9')),
    "the duration of an audit": ("times.json", replaced(b": ", b": 9")),
    "the description of the trials": ("trials/audit/manifest.json", replaced(b'"seed": 0', b'"seed": 1')),
    "a line of the journal": ("trials/audit/journal.jsonl", replaced(b'"bytes": ', b'"bytes": 9')),
    "a trial": (CHUNK, flipped),
    "no trial": (CHUNK, lambda path: path.unlink()),
    "no report": ("report.html", lambda path: path.unlink()),
    "a link": ("results.csv", linked),
    "another file": ("results.json", lambda path: (path.parent / "notes.txt").write_text("true")),
    "another chunk": (CHUNK, lambda path: shutil.copy(path, path.parent / "pilot-1-000009.npz")),
    "a digest of the statement": ("statement.json", replaced(b'"sha256": "', b'"sha256": "0')),
    "the claim of the statement": ("statement.json", replaced(b'"verdict": "consistent"', b'"verdict": "proved"')),
    "a space in the statement": ("statement.json", lambda path: path.write_text(path.read_text() + " ")),
    "no JSON": ("statement.json", lambda path: path.write_text("[" * 100_000)),
}


@pytest.mark.parametrize(("name", "change"), CHANGES.values(), ids=CHANGES)
def test_each_single_change_is_found(copied, name, change):
    change(copied / name)
    done = verify(copied)
    assert not done.checks[0].agrees
    assert [check.name for check in done.checks] == ["files", "versions"]  # nothing is made from changed files
    assert done.text == "Not verified: do not rely on this run."


def test_changed_pages_with_their_digests_are_found(copied):
    """Whoever changes a page, and the statement on it, is found: the page is made again from the numbers."""
    from dpassay.experiments.runs.directory import RunDirectory
    from dpassay.experiments.runs.record import state

    replaced(b"Consistent", b"Very consistent")(copied / "report.html")
    state(RunDirectory(copied))
    assert agreeing(copied) == {"files": True, "versions": True, "pages": False, "verdict": True}


def test_forgeries_are_found_as_far_as_they_contradict_themselves(copied, tmp_path):
    """Invented trials, from which everything else follows, are found with `rerun` only; invented numbers always."""
    honest = shutil.copytree(copied / "trials", tmp_path / "honest")
    run(copied / "config.toml", out=tmp_path / "other", settings={"seed": 1})
    shutil.rmtree(copied / "trials")
    shutil.copytree(tmp_path / "other" / "trials", copied / "trials")
    replaced(b'"seed": 1', b'"seed": 0')(copied / "trials/audit/manifest.json")
    (copied / "results.json").unlink()
    run(copied / "config.toml", out=copied)
    assert agreeing(copied, rerun=True) == {name: name != "trials" for name in NAMES}

    shutil.rmtree(copied / "trials")
    shutil.copytree(honest, copied / "trials")
    report(copied)  # card and statement name the honest trials
    assert agreeing(copied) == {name: name != "verdict" for name in NAMES[:4]}


def test_another_version_is_said(copied, monkeypatch):
    monkeypatch.setattr("dpassay.experiments.runs.verification.derived_by", lambda: {"versions": {}, "code": "0"})
    versions = verify(copied).checks[1]
    assert not versions.agrees
    assert "numpy" in versions.text
    assert "(here none)" in versions.text


def test_judged_files_are_judged_again(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [f"{side},{rng.normal(side)!r}" for side in (0, 1) for _ in range(500)]
    (tmp_path / "files").mkdir()
    scores = tmp_path / "files" / "scores.csv"
    scores.write_text("\n".join(["side,score", *rows]))
    monkeypatch.chdir(tmp_path / "files")
    command = ["judge", "scores.csv", "--epsilon", "4", "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(app, command).exit_code == 0
    monkeypatch.chdir(tmp_path)
    assert agreeing(tmp_path / "run", files="files") == dict.fromkeys(NAMES[:4], True)
    scores.write_text("\n".join(["side,score", *rows[:-1], "1,9.0"]))
    assert agreeing(tmp_path / "run", files="files")["verdict"] is False
    scores.unlink()
    with pytest.raises(DpassayError, match=r"scores\.csv cannot be read"):
        task_of_line("dpassay judge scores.csv --epsilon 4.0", tmp_path / "files").run()
    with pytest.raises(ParameterError, match="no trials that can be run again"):
        verify(tmp_path / "run", rerun=True)


@pytest.mark.parametrize("line", ["rm -r x", "dpassay run c.toml", "dpassay judge --no-such", "dpassay judge", "'"])
def test_no_other_command_is_run(tmp_path, line):
    with pytest.raises(ParameterError):
        task_of_line(line, tmp_path)


def test_the_command_exits_with_1_if_something_differs(copied):
    flipped(copied / "card.md")
    done = CliRunner().invoke(app, ["card", str(copied), "--verify"])
    assert done.exit_code == 1
    assert "✗ files" in done.output
    assert "changed: card.md." in done.output


def test_a_run_without_its_trials_is_verified_only_by_running_them_again(copied):
    shutil.rmtree(copied / "trials")
    card(copied)
    *_, verdict = verify(copied).checks
    assert (verdict.name, verdict.agrees) == ("verdict", False)
    assert "run them again with --rerun" in verdict.text


def test_what_is_no_finished_run_is_an_error(copied, tmp_path):
    with pytest.raises(StoreError, match="does not exist"):
        verify(tmp_path / "none")
    (copied / "statement.json").unlink()
    with pytest.raises(StoreError, match=r"has no statement\.json"):
        verify(copied)
    assert CliRunner().invoke(app, ["card", str(copied), "--rerun"]).exit_code == 2
