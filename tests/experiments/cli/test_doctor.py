"""`dpassay doctor` and `dpassay --version`: a wrong installation is found, and exits with 2."""

import importlib.metadata
import json
from dataclasses import replace
from email.message import Message

import pytest
from typer.testing import CliRunner

import dpassay
from dpassay.audit import audit
from dpassay.experiments.cli import doctor
from dpassay.experiments.cli.commands import app
from dpassay.experiments.present.results import provenance


class Package:
    """Metadata of an installed package."""

    version = "0.1.0"

    def __init__(self, *requires, python=">=3.11"):
        self.requires, self.metadata = list(requires), Message()
        self.metadata["Requires-Python"] = python
        for extra in ("dev", "gpu"):
            self.metadata["Provides-Extra"] = extra


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Run the command in an empty folder, with given metadata and without the self-check."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(doctor.VARIABLE, raising=False)

    def run(package, *, self_check=()):
        monkeypatch.setattr(doctor, "_self_check", lambda: self_check)
        others = importlib.metadata.distribution
        monkeypatch.setattr(
            "importlib.metadata.distribution", lambda name: package if name == "dpassay" and package else others(name)
        )
        done = CliRunner().invoke(app, ["doctor", "--json"])
        report = json.loads(done.stdout)
        assert report["ok"] is (done.exit_code == 0)
        assert done.exit_code in (0, 2)
        return {check["name"]: check for check in report["checks"]}

    return run


def test_an_installation_in_the_declared_ranges_is_healthy(installed):
    checks = installed(Package("numpy>=1.26", "torch>=999; extra == 'gpu'", "never>=1; extra == 'dev'"))
    assert {name: check["status"] for name, check in checks.items()} == {
        "dpassay": "ok", "python": "ok", "numpy": "ok", "extra gpu": "note", "cores": "ok", "data": "note", "runs": "ok"
    }  # fmt: skip
    assert "torch>=999" in checks["extra gpu"]["found"]


@pytest.mark.parametrize(
    ("package", "name", "said"),
    [
        (Package("numpy>=999"), "numpy", "(declared numpy>=999)"),
        (Package("no-such-package>=1"), "no-such-package", "not installed"),
        (Package(python=">=99"), "python", "3."),
    ],
)
def test_what_is_outside_the_declared_ranges_fails(installed, package, name, said):
    check = installed(package)[name]
    assert check["status"] == "failed"
    assert said in check["found"]
    assert check["advice"]


def test_a_copy_that_is_not_installed_fails(installed, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    check = installed(None)["dpassay"]
    assert check["status"] == "failed"
    assert "pip install -e ." in check["advice"]


def test_the_data_directory_is_listed(installed, monkeypatch, tmp_path):
    monkeypatch.setenv(doctor.VARIABLE, str(tmp_path))
    (tmp_path / "mnist.npz").touch()
    (tmp_path / "adult_coded.csv").touch()  # adult needs two files
    assert installed(Package())["data"]["found"] == f"{tmp_path} holds mnist"
    monkeypatch.setenv(doctor.VARIABLE, str(tmp_path / "absent"))
    assert installed(Package())["data"]["status"] == "note"


def test_a_folder_that_cannot_be_written_fails(installed, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "RUNS", tmp_path / "runs")
    (tmp_path / "runs").mkdir()
    assert installed(Package())["runs"]["found"].startswith(str(tmp_path / "runs"))

    def full(dir):  # noqa: A002 - the name in tempfile
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    check = installed(Package())["runs"]
    assert check["status"] == "failed"
    assert "Permission denied" in check["found"]


def test_the_self_check_knows_both_verdicts(without_power):
    """In this process and in two others."""
    right, broken = doctor._self_check()
    assert (right.status, broken.status) == ("ok", "ok")
    assert right.found.startswith("consistent")
    assert broken.found.startswith("violation")


@pytest.mark.parametrize("broken", ["verdict", "bytes"])
def test_the_self_check_finds_a_wrong_library(monkeypatch, broken):
    from dpassay.audit.evidence.verdict import Verdict

    class Result:
        def __init__(self, n_jobs):
            self.verdict = Verdict.CONSISTENT
            self.bound = type("Bound", (), {"epsilon": 0.5})
            self.text = str(n_jobs) if broken == "bytes" else "0"

        def to_json(self):
            return self.text

    monkeypatch.setattr(doctor, "audit", lambda *given, n_jobs, **options: Result(n_jobs))
    right, wrong = doctor._self_check()
    assert (right.status, wrong.status) == ("failed" if broken == "bytes" else "ok", "failed")
    assert "please report" in wrong.advice


def test_the_version_states_the_commit(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "HOME", tmp_path)
    provenance.commit.cache_clear()
    assert provenance.commit() is None
    provenance.commit.cache_clear()
    (tmp_path / "commit.txt").write_text("0123abc\n")
    shown = CliRunner().invoke(app, ["--version"]).stdout
    provenance.commit.cache_clear()
    assert shown == f"dpassay {dpassay.__version__} (commit 0123abc)\n"


@pytest.mark.parametrize(
    ("warning", "status"),
    [("8 fresh processes were compared, and not 79, as they took long.", "ok"), ("the output never varied.", "failed")],
)
def test_only_a_warning_that_depends_on_the_speed_is_no_difference(warning, status, monkeypatch):
    def audited(*args, n_jobs, **options):
        result = audit(*args, **options)
        return replace(result, warnings=(*result.warnings, warning)) if n_jobs == 2 else result

    monkeypatch.setattr(doctor, "audit", audited)
    assert {check.status for check in doctor._self_check()} == {status}
