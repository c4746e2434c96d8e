"""Untrusted run directories and names: no code runs, no write leaves the folder, and no number changes."""

from __future__ import annotations

import base64
import csv
import hashlib
import random
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.experiments.made_configs import GRADIENTS, STUDY
from typer.testing import CliRunner

from dpassay.audit.power.power import Detectable
from dpassay.experiments.cli.commands import app
from dpassay.experiments.present.pages import SCRIPT, TEMPLATES
from dpassay.experiments.runs.again import report
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms.core import DpassayError

CONFIG = """\
title = "Laplace"
seed = 20
[mechanism]
name = "laplace"
epsilon = 1.0
[audit]
trials = 300
delta = 0.0
bounds = ["clopper-pearson"]
[sweep]
"mechanism.epsilon" = [0.5, 1.0]
"""
EVIL = """\
title = "\\u001b[2J\\u202e|<script>alert(1)</script> $\\\\frac$ [/]"
description = "```\\n\\u001b]0;x\\u0007"
seed = 1
[mechanism]
name = "laplace"
epsilon = 1.0
[audit]
trials = 300
bounds = ["clopper-pearson"]
[[sweep.case]]
name = "=cmd|' /C calc'!A0"
mechanism = { epsilon = 0.5 }
[[sweep.case]]
name = "[red]\\u001b[31m\\n\\n# b $\\\\frac$ <b onload=x>"
mechanism = { epsilon = 1.0 }
claim = { name = "pure", epsilon = 0.05 }
"""
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")
WITHOUT = {"environment.json", "statement.json"}
"""Files that differ between equal runs."""
EVIDENCE = {"card.json", "card.md", "card.html", "registry.yaml", "results.tex", "statement.json"}
"""Files that are written for readers, and never read."""


class Active(HTMLParser):
    """Tags and attributes of a page that run or fetch something."""

    def __init__(self):
        super().__init__()
        self.active = []

    @classmethod
    def parts(cls, page):
        reader = cls()
        reader.feed(page)
        return reader.active

    def handle_starttag(self, tag, attrs):
        if tag in {"script", "img", "link", "iframe", "object", "embed", "base"}:
            self.active.append(tag)
        self.active += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]


def test_active_parts_of_a_page_are_detected():
    assert Active.parts("<p title='a onload=b'><b onload=x><img src=y>") == ["b onload", "img"]


def test_names_are_escaped_in_the_terminal_and_in_every_file(tmp_path, monkeypatch, without_pixels):
    monkeypatch.chdir(tmp_path)
    Path("evil.toml").write_text(EVIL, encoding="utf-8")
    shown = CliRunner().invoke(app, ["run", "evil.toml", "--out", "out"])
    assert shown.exit_code == 1
    assert not RAW.search(shown.output)
    assert "\\x1b[2J\\u202e|<script>" in shown.output
    for path in Path("out").rglob("*"):
        if path.suffix in {".html", ".md", ".csv", ".svg", ".json", ".toml"}:
            assert not RAW.search(path.read_text("utf-8")), path
    rows = list(csv.reader(Path("out/results.csv").read_text("utf-8").splitlines()))
    assert [row[0] for row in rows[1:]] == ["'=cmd|' /C calc'!A0", "[red]\\x1b[31m\\n\\n# b $\\frac$ <b onload=x>"]
    assert all(float(row[rows[0].index("epsilon_lower")]) >= 0 for row in rows[1:])
    page = Path("out/report.html").read_text("utf-8")
    own = (TEMPLATES / SCRIPT).read_text("utf-8")
    assert page.count("<script") == page.count(f"<script>{own}</script>") == 1
    assert "<b onload" not in page
    summary = Path("out/report.md").read_text("utf-8")
    assert "<script" not in summary
    assert summary.startswith("## ✖ ")
    assert "\\|&lt;script&gt;" in summary.partition("\n")[0]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    allowed = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    assert policy[1] == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; base-uri 'none'; "
        "form-action 'none'"
    )
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert not re.search(r"url\((?!#)", page)
    assert not Active.parts(page.replace(f"<script>{own}</script>", ""))


@pytest.mark.parametrize(
    "name", ["figures", "trials", "trials/POINT", "trials/POINT/chunks", "trials/POINT/journal.jsonl"]
)
def test_a_folder_of_a_run_that_is_a_link_is_refused(name, tmp_path, monkeypatch, without_pictures):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(CONFIG)
    done = run("mine.toml", out="out")
    point = next(Path("out/trials").iterdir()).name
    link = Path("out") / name.replace("POINT", point)
    if link.exists():
        link.rename("moved")
    Path("elsewhere").mkdir()
    Path("elsewhere/file").write_bytes(b"mine")
    link.symlink_to(tmp_path / ("elsewhere/file" if link.suffix else "elsewhere"))
    if name != "figures":  # what is finished needs no trials
        assert run("mine.toml", out="out").result == done.result
    Path("out/results.json").unlink()
    with pytest.raises(DpassayError, match="is a symbolic link, and nothing is written or read through it"):
        run("mine.toml", out="out")
    assert [p.name for p in Path("elsewhere").iterdir()] == ["file"]
    assert Path("elsewhere/file").read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["results.json", "results.csv", "config.toml", "environment.json"])
def test_a_file_of_a_run_that_is_a_link_is_replaced(name, tmp_path, monkeypatch, without_pictures):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(CONFIG)
    done = run("mine.toml", out="out")
    moved = Path("out", name).rename("moved.toml" if name == "config.toml" else "moved")
    before = moved.read_bytes()
    for taken in (name, f"{name}.tmp", f".{name}.tmp"):
        Path("out", taken).symlink_to(tmp_path / moved.name)
    assert run("mine.toml", out="out").result == done.result
    assert moved.read_bytes() == before
    assert not Path("out", name).is_symlink()


@pytest.mark.parametrize("out", ["x" * 300, "x/" * 3000])
def test_a_run_directory_with_an_impossible_name_is_refused(out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(CONFIG)
    for arguments in (["run", "mine.toml", "--out", out], ["report", out], ["card", out]):
        shown = CliRunner().invoke(app, arguments)
        assert (shown.exit_code, "File name too long" in shown.output) == (2, True)
        assert "Traceback" not in shown.output


# --- corruption ----------------------------------------------------------------------------------------------


def corrupt(home: Path, rng: random.Random) -> str:
    """Corrupt one file of a run directory, and return a description."""
    files = sorted(p for p in home.rglob("*") if p.is_file() and p.name not in EVIDENCE)
    path = rng.choice(files)
    content = bytearray(path.read_bytes())
    at, size = rng.randrange(len(content) + 1), rng.choice((1, 1, 8, 100))
    kind = rng.choice(("flip", "cut", "delete", "empty", "insert", "remove", "repeat", "exchange"))
    if kind == "flip" and content:
        content[min(at, len(content) - 1)] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[at:]
    elif kind == "empty":
        content.clear()
    elif kind == "insert":
        content[at:at] = rng.randbytes(size)
    elif kind == "remove":
        del content[at : at + size]
    elif kind == "repeat":
        content[at:at] = content[max(0, at - size) : at]
    elif kind == "exchange":
        content[:] = rng.choice(
            sorted(p for p in home.rglob("*") if p.is_file() and p.name not in EVIDENCE)
        ).read_bytes()
    path.unlink() if kind == "delete" else path.write_bytes(content)
    return f"{kind} in {path.relative_to(home)}"


def corruptions(count: int, seed: int, config: Path, whole: Path) -> tuple[int, int]:
    """Return how many corrupted run directories give equal results, and how many are refused."""
    rng, same, refused = random.Random(seed), 0, 0
    expected = {path.name: path.read_bytes() for path in whole.iterdir() if path.is_file() and path.name not in WITHOUT}
    for number in range(count):
        home = Path(shutil.copytree(whole, config.parent / f"corrupted-{number}"))
        if number % 2:  # without this file the run is not finished: its numbers are computed from its trials
            (home / "environment.json").unlink()
        description = "; ".join(corrupt(home, rng) for _ in range(rng.choice((1, 1, 2))))
        act = (lambda home=home: run(config, out=home)) if number % 3 else (lambda home=home: report(home))
        try:
            act()
        except DpassayError:
            refused += 1
        else:
            actual = {name: (home / name).read_bytes() for name in expected if (home / name).exists()}
            results = {"results.json", "results.csv"}
            assert {n: actual[n] for n in results} == {n: expected[n] for n in results}, description
            same += 1
        shutil.rmtree(home)
    return same, refused


CORRUPTIBLE = {
    "sweep": CONFIG,
    "membership": STUDY.replace("steps = 60", "steps = 4").replace("n_models = 8", "n_models = 16"),
    "one-run": GRADIENTS.replace("n_canaries = 400", "n_canaries = 40\nn_runs = 8"),
}


@pytest.mark.parametrize("name", CORRUPTIBLE)
@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_corrupted_run_directories_give_equal_results_or_are_refused(
    count, name, tmp_path, monkeypatch, without_pictures
):
    monkeypatch.setattr(
        "dpassay.audit.power.power.detectable_in_bits", lambda *given, **options: Detectable(1.0, None)
    )  # slow
    config = tmp_path / "mine.toml"
    config.write_text(CORRUPTIBLE[name])
    whole = run(config, out=tmp_path / "whole").directory
    same, refused = corruptions(count, 11, config, whole)
    assert same + refused == count
    assert min(same, refused) >= 1
