"""The tests in README and docs/how-to/pytest.md run as they are printed, and print what the page says."""

import re
from pathlib import Path

import pytest
from tests.experiments.plugin.plugin_project import Project

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "pytest.md").read_text()


def test_files(page):
    """Name and text of each block of Python that opens with the name of its file."""
    return dict(re.findall(r"```python\n# (test_\w+\.py)\n(.*?)```", page, flags=re.DOTALL))


test_files.__test__ = False
README, PRINTED = test_files((ROOT / "README.md").read_text()), test_files(PAGE)


def session(folder, files):
    """One session of pytest on these files, in a terminal as wide as the page."""
    for name, text in files.items():
        (folder / name).write_text(f"# {name}\n{text}")
    return Project(folder).write().run("--tb=short", columns=80)


def shown_with(word):
    """Lines of the transcript on the page that holds the word."""
    return set(lines(next(block for block in re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL) if word in block)))


def lines(text):
    """The lines of a transcript, less what depends on versions, and on the width of the terminal."""
    kept = [re.sub(r", fingerprint \w+", "", line) for line in text.splitlines()]
    return [line for line in kept if line.strip() and not line.startswith(("=", "_"))]


def test_every_block_of_python_is_a_whole_file():
    blocks = re.findall(r"```python\n", PAGE)
    assert (len(README), len(PRINTED)) == (1, len(blocks))
    assert len(PRINTED) == 4


def test_whoever_installs_the_library_has_the_plugin(pytestconfig):
    assert pytestconfig.pluginmanager.get_plugin("dpassay").__name__ == "dpassay.pytest_plugin"


def test_a_file_passes_and_prints_what_the_page_says(tmp_path):
    done = session(tmp_path, {"test_release.py": PRINTED["test_release.py"]})
    assert done.code == 0, done.output
    assert shown_with("detects") <= set(lines(done.output))


def test_the_other_files_pass_as_printed(tmp_path):
    """In one session, with a mean that hides the number of records."""
    others = README | {name: text for name, text in PRINTED.items() if name not in ("test_release.py", "test_mean.py")}
    assert len(others) == 3
    done = session(tmp_path, others | {"test_mean.py": PRINTED["test_mean.py"].replace("len(dataset)", "3")})
    assert done.code == 0, done.output
    for name in others:
        checked = [line for line in lines(done.output) if f"{name}::" in line]
        assert checked, name
        assert all(line.startswith("consistent") for line in checked)


def test_the_recorded_mean_fails_with_the_lines_on_the_page(tmp_path):
    done = session(tmp_path, {"test_mean.py": PRINTED["test_mean.py"]})
    assert done.code == 1
    assert shown_with("multiplied") <= set(lines(done.output))


@pytest.mark.slow
def test_a_broken_release_fails_with_the_lines_on_the_page(tmp_path):
    done = session(tmp_path, {"test_release.py": PRINTED["test_release.py"].replace("scale=1.0", "scale=0.25")})
    assert done.code == 1
    assert shown_with("VIOLATION") <= set(lines(done.output))
