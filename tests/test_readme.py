"""Every snippet of the README runs and prints what it says."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_the_python_snippets_run_and_print_what_they_say(tmp_path):
    snippets = [code for language, code in BLOCKS if language == "python" and not code.startswith("# test_")]
    assert len(snippets) >= 3
    said = [line.removeprefix("#> ") for code in snippets for line in code.splitlines() if line.startswith("#> ")]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("\n".join(snippets), {})
    assert printed.getvalue().splitlines() == said


@pytest.mark.skipif(os.name == "nt", reason="the README's shell is a POSIX shell")
def test_the_shell_snippets_run(tmp_path):
    scripts = [code for language, code in BLOCKS if language == "sh" and not code.startswith("make ")]
    assert len(scripts) == 2
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for script in scripts:
        command = ["sh", "-e", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "runs" / "count" / "report.html").exists()


def test_the_make_targets_exist():
    targets = re.findall(r"^make ([\w-]+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)
