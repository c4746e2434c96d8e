"""Every snippet of the README runs and prints what it says."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpassay.experiments.cli.commands import app

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_the_python_snippets_run_and_print_what_they_say(tmp_path):
    snippets = [code for language, code in BLOCKS if language == "python" and not code.startswith("# test_")]
    assert len(snippets) >= 3
    said = [line.removeprefix("#> ") for code in snippets for line in code.splitlines() if line.startswith("#> ")]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("\n".join(snippets), {})
    assert printed.getvalue().splitlines() == said


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/adapters.md"])
def test_versions_of_other_libraries_are_those_that_were_audited(page):
    """The versions in docs/results/libraries.json, with their date, and those that `make test-adapters` installs."""
    audited = json.loads((ROOT / "docs/results/libraries.json").read_text())
    versions = {one["library"].replace("-", "_"): one["version"] for one in audited}
    pinned = dict(
        re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / "tests/adapters/requirements.txt").read_text(), re.MULTILINE)
    )
    assert all(versions.get(name, version) == version for name, version in pinned.items())
    text = (ROOT / page).read_text()
    stated = re.findall(r"\b(opendp|diffprivlib|opacus|jax_privacy) (\d+(?:\.\d+)*)", text, re.IGNORECASE)
    assert stated or page != "README.md"
    assert [(name, version) for name, version in stated if version != versions[name.lower()]] == []
    if page == "README.md":
        (measured,) = {one["date"] for one in audited if one["library"] in ("opacus", "jax-privacy")}
        day = date.fromisoformat(measured)
        assert f"{day.day} {day:%B %Y}" in text


@pytest.mark.skipif(os.name == "nt", reason="the README's shell is a POSIX shell")
def test_the_shell_snippets_run(tmp_path, monkeypatch, one_picture, without_pixels):
    """In a shell, except for our command, which is asked for in this process."""
    scripts = [code for language, code in BLOCKS if language == "sh" and not code.startswith("make ")]
    assert len(scripts) == 2
    monkeypatch.chdir(tmp_path)
    ran = 0
    for line in "".join(scripts).splitlines():
        if line.startswith("dpassay "):
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
            ran += 1
        else:
            shell = subprocess.run(["sh", "-e", "-c", line], capture_output=True, text=True)
            assert shell.returncode == 0, shell.stdout + shell.stderr
    assert ran == 3
    assert (tmp_path / "runs" / "count" / "report.html").exists()


def test_the_make_targets_exist():
    targets = re.findall(r"^make ([\w-]+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)
