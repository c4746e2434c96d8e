"""What CI leaves out it leaves out for a reason: `.ci/changed` says yes unless it knows that nothing changed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from dpassay.mechanisms.core import root_finding

ROOT = Path(__file__).parents[1]
DAY = 24 * 3600
pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name == "nt", reason="needs git and bash")


class Checkout:
    """A repository with `.ci/changed` in it."""

    def __init__(self, folder):
        self.folder = folder
        (folder / ".ci").mkdir(parents=True)
        shutil.copy(ROOT / ".ci" / "changed", folder / ".ci" / "changed")
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments, days=0):
        when = f"{1_700_000_000 + days * DAY} +0000"
        people = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", *arguments], cwd=self.folder, check=True, env=os.environ | people | dates)

    def commit(self, name, days=0):
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(f"{days}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", name, days=days)

    def changed(self, **environment):
        command = ["bash", str(self.folder / ".ci" / "changed"), "adapters", "base.py"]
        clean = {key: value for key, value in os.environ.items() if key != "CI_BASE"}
        done = subprocess.run(command, capture_output=True, text=True, env=clean | environment)
        assert not done.stderr
        return {0: True, 1: False}[done.returncode]


def test_on_a_branch_what_counts_is_what_changed_since_it_left_main(tmp_path):
    checkout = Checkout(tmp_path / "work")
    checkout.commit("adapters/opacus.py")
    checkout.git("checkout", "--quiet", "-b", "branch")
    checkout.commit("other.py", days=1)
    assert not checkout.changed()
    checkout.commit("base.py", days=2)
    checkout.commit("other.py", days=90)
    assert checkout.changed()


def test_on_main_what_counts_is_a_week_of_commits(tmp_path):
    checkout = Checkout(tmp_path / "work")
    checkout.commit("adapters/opacus.py", days=0)
    checkout.commit("other.py", days=1)
    assert checkout.changed()  # nothing is older than a week
    checkout.commit("other.py", days=10)
    assert not checkout.changed()
    checkout.commit("adapters/opacus.py", days=20)
    checkout.commit("other.py", days=26)
    assert checkout.changed()
    clone = Checkout(tmp_path / "clone")
    shutil.rmtree(clone.folder)
    subprocess.run(["git", "clone", "--quiet", str(checkout.folder), str(clone.folder)], check=True)
    assert clone.changed()


def test_what_cannot_be_known_is_a_change(tmp_path):
    checkout = Checkout(tmp_path / "work")
    assert checkout.changed()  # no commit yet
    checkout.commit("other.py")
    checkout.commit("other.py", days=30)
    assert not checkout.changed()
    assert checkout.changed(CI_BASE="0" * 40)
    shallow = Checkout(tmp_path / "shallow")
    shutil.rmtree(shallow.folder)
    source = f"file://{checkout.folder}"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", source, str(shallow.folder)], check=True)
    assert shallow.changed()
    shutil.rmtree(checkout.folder / ".git")
    assert checkout.changed()


def test_what_is_not_committed_is_a_change(tmp_path):
    checkout = Checkout(tmp_path / "work")
    checkout.commit("base.py")
    checkout.commit("other.py", days=30)
    (checkout.folder / "other.py").write_text("else")
    assert not checkout.changed()
    (checkout.folder / "base.py").write_text("else")
    assert checkout.changed()


def test_the_paths_that_the_adapters_stand_on_exist():
    listed = (ROOT / "tests" / "adapters" / "paths.txt").read_text().splitlines()
    assert [path for path in listed if not (ROOT / path).exists()] == []
    assert {"mechanisms/adapters", "tests/adapters", "pyproject.toml"} <= set(listed)
    assert "tests/adapters/paths.txt" in (ROOT / ".ci" / "run").read_text()


def test_examples_of_hypothesis_do_not_depend_on_the_modules_loaded_before():
    """Else a build that was red is green with other tests around it: it also draws numbers that stand in the code."""
    drawn = set()

    @settings(max_examples=2000)
    @given(st.floats(0.0, 1.0))
    def draw(value):
        drawn.add(value)

    draw()
    assert root_finding._GOLDEN not in drawn
