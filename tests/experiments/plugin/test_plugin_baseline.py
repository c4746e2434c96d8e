"""Sessions that save their checks, and sessions that compare theirs with a saved file."""

import json
import re
import shutil

import pytest
from tests.experiments.plugin.plugin_project import Project

TESTS = """
    import pytest
    from dpassay.mechanisms.core.errors import PrivacyViolation

    SCALE = 1.0

    def count(dataset, size, rng):
        return len(dataset) + rng.laplace(scale=SCALE, size=size)

    def broken(dataset, size, rng):
        return len(dataset) + rng.laplace(scale=0.2, size=size)

    pytestmark = pytest.mark.dp(
        epsilon=1.0, d0=[1, 2], d1=[1, 2, 3], relation="add_remove", attack="threshold", trials=4_000
    )

    def test_count(dp_audit):
        dp_audit(count)

    def test_twice(dp_audit):
        dp_audit(count)
        dp_audit(count)

    def test_broken_is_detected(dp_audit):
        with pytest.raises(PrivacyViolation):
            dp_audit(broken)
"""
NAMES = [
    "test_mine.py::test_broken_is_detected",
    "test_mine.py::test_count",
    "test_mine.py::test_twice",
    "test_mine.py::test_twice (check 2)",
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Folder of a session that saved four checks, as a step of GitHub."""
    made = Project(tmp_path_factory.mktemp("saved")).write(test_mine=TESTS)
    done = made.run("--dp-save", "base.json", "-p", "no:randomly", GITHUB_STEP_SUMMARY=str(made.folder / "step.md"))
    assert done.code == 0, done.output
    return made.folder


@pytest.fixture
def project(tmp_path, saved):
    """The project with its baseline."""
    shutil.copy(saved / "base.json", tmp_path)
    return Project(tmp_path).write(test_mine=TESTS)


def rewritten(project, old, new):
    file = project.folder / "test_mine.py"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return project


def compared(project, *arguments):
    return project.run("--dp-baseline", "base.json", *arguments)


def test_a_session_saves_its_checks_and_passes_against_them(saved, project):
    content = json.loads((saved / "base.json").read_text())
    assert (content["format"], content["source"]) == ("dpassay.checked-claims", "session")
    assert [claim["name"] for claim in content["claims"]] == NAMES
    assert [claim["expected"] for claim in content["claims"]] == [True, False, False, False]
    done = compared(project, "--dp-seed=5")
    assert done.code == 0, done.output
    assert "baseline:" not in done.output


def test_a_session_writes_the_summary_of_a_github_step(saved):
    text = (saved / "step.md").read_text()
    assert text.startswith("### privacy checks: Consistent (3 of 3 claims)")
    assert "| test\\_mine.py::test\\_count |" in text


def test_a_new_violation_fails_and_a_known_one_passes(project):
    rewritten(project, "SCALE = 1.0", "SCALE = 0.3")
    done = compared(project, "--dp-save", "base.json")
    assert done.code == 1
    assert "2 failed, 1 passed" in done.output
    assert "baseline: new violation" in done.output
    known = compared(project, "-k", "test_count")
    assert known.code == 0, known.output
    assert "baseline: known violation" in known.output


def test_a_violation_that_was_expected_is_not_known(project):
    rewritten(project, "with pytest.raises(PrivacyViolation):", "if True:")
    done = compared(project, "-k", "detected")
    assert done.code == 1
    assert "baseline: new violation" in done.output


def test_fewer_trials_fail_as_lost_power_unless_allowed(project):
    done = compared(project, "--dp-trials=1500", "-k", "test_count")
    assert done.code == 1
    assert re.search(r"lost power: The smallest epsilon detected in 9 of 10 audits is now .*--dp-baseline", done.output)
    assert compared(project, "--dp-trials=1500", "-k", "test_count", "--dp-power-loss=9").code == 0


def test_a_check_that_is_gone_fails_the_session_that_selected_it(project):
    rewritten(project, "def test_count(dp_audit)", "def test_renamed(dp_audit)")
    rewritten(project, "    dp_audit(count)\n    dp_audit(count)", "    dp_audit(count)")
    done = compared(project)
    assert done.code == 1
    assert "3 passed" in done.output
    assert "lost power       test_mine.py::test_count: This claim is no longer tested." in done.output
    assert "lost power       test_mine.py::test_twice (check 2): This claim is no longer tested." in done.output
    assert compared(project, "test_mine.py::test_renamed").code == 0
    (project.folder / "other").mkdir()
    (project.folder / "other" / "test_other.py").write_text("def test_other(): pass\n")
    assert compared(project, "other").code == 0
    of_its_test = compared(project, "-k", "twice")
    assert of_its_test.code == 1
    assert "test_count: This" not in of_its_test.output


@pytest.mark.slow
def test_workers_compare_too(project):
    rewritten(project, "SCALE = 1.0", "SCALE = 0.3")
    done = compared(project, "-p", "xdist.plugin", "-n", "2", "--dp-save", "again.json")
    assert done.code == 1
    assert "2 failed, 1 passed" in done.output
    content = json.loads((project.folder / "again.json").read_text())
    assert [claim["name"] for claim in content["claims"]] == [name for name in NAMES if "check 2" not in name]
    assert content["claims"][0]["expected"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dp-baseline", "test_mine.py"), "not readable as JSON"),
        (("--dp-save", "no/such/a.json"), "there is no folder"),
        (("--dp-save", "/dev/zero"), "is a folder, a pipe or a device"),
        (("--dp-power-loss", "much"), "--dp-power-loss must be a number >= 0"),
    ],
)
def test_wrong_options_are_refused_before_any_test(project, arguments, said):
    done = project.run(*arguments)
    assert done.code == pytest.ExitCode.USAGE_ERROR
    assert said in done.output
