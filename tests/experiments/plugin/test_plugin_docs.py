"""The tests in README and docs/pytest.md run as they are printed, and print what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_project import Project

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "pytest.md").read_text()


def test_files(page):
    """Name and text of each block of Python that opens with the name of its file."""
    return dict(re.findall(r"```python\n# (test_\w+\.py)\n(.*?)```", page, flags=re.DOTALL))


test_files.__test__ = False
README, PRINTED = test_files((ROOT / "README.md").read_text()), test_files(PAGE)


def session(folder, *arguments):
    """What one session of pytest in the folder printed, and its exit code; plugins as they are installed."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", "--tb=short", *arguments]
    done = subprocess.run(command, cwd=folder, env=clean | {"COLUMNS": "80"}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def write(folder, name, text):
    (folder / name).write_text(f"# {name}\n{text}")


def lines(text):
    """The lines of a transcript, less what depends on versions, and on the width of the terminal."""
    kept = [re.sub(r", fingerprint \w+", "", line) for line in text.splitlines()]
    return [line for line in kept if line.strip() and not line.startswith(("=", "_"))]


def test_every_block_of_python_is_a_whole_file():
    blocks = re.findall(r"```python\n", PAGE)
    assert (len(README), len(PRINTED)) == (1, len(blocks))
    assert len(PRINTED) == 4


def test_a_file_passes_and_prints_what_the_page_says(tmp_path):
    write(tmp_path, "test_release.py", PRINTED["test_release.py"])
    code, output = session(tmp_path)
    assert code == 0, output
    assert "consistent" in output
    summary = next(block for block in re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL) if "detects" in block)
    assert set(lines(summary)) <= set(lines(output))


def test_the_other_files_pass_as_printed(tmp_path):
    """In one session."""
    others = README | {name: text for name, text in PRINTED.items() if name not in ("test_release.py", "test_mean.py")}
    assert len(others) == 3
    for name, text in others.items():
        write(tmp_path, name, text)
    done = Project(tmp_path).write().run("-p", "no:randomly")
    assert done.code == 0, done.output
    for name in others:
        checked = [line for line in lines(done.output) if f"{name}::" in line]
        assert checked, name
        assert all(line.startswith("consistent") for line in checked)


def test_the_recorded_mean_fails_with_the_lines_on_the_page(tmp_path):
    write(tmp_path, "test_mean.py", PRINTED["test_mean.py"])
    code, output = session(tmp_path)
    shown = next(block for block in re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL) if "multiplied" in block)
    assert code == 1
    assert set(lines(shown)) <= set(lines(output))
    write(tmp_path, "test_mean.py", PRINTED["test_mean.py"].replace("len(dataset)", "3"))
    assert session(tmp_path)[0] == 0


@pytest.mark.slow
def test_a_broken_release_fails_with_the_lines_on_the_page(tmp_path):
    text = PRINTED["test_release.py"]
    write(tmp_path, "test_release.py", text.replace("scale=1.0", "scale=0.25"))
    code, output = session(tmp_path)
    shown = next(block for block in re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL) if "VIOLATION" in block)
    assert code == 1
    assert set(lines(shown)) <= set(lines(output))
