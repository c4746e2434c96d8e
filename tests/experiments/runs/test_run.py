"""Runs: the same bytes however they are run, directories that hold something else, disks that are full."""

import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from tests.experiments.made_results import elsewhere_result, laplace_result

from dpassay.audit.evidence.verdict import Verdict
from dpassay.experiments.present.results import provenance
from dpassay.experiments.present.results.sweep import SweepResult
from dpassay.experiments.runs import runner as run_module
from dpassay.experiments.runs.again import report
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms.core import ConfigError, FingerprintError, ParameterError, ReleaseError, StoreError

ROOT = Path(__file__).parents[3]
CONFIG = """\
title = "Laplace"
description = "A test."
seed = 20
[mechanism]
name = "laplace"
epsilon = 1.0
[audit]
trials = 2_000
delta = 0.0
[sweep]
"mechanism.epsilon" = [0.5, 1.0]
"""


@pytest.fixture
def config(tmp_path, monkeypatch, few_chunks):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(CONFIG)
    return tmp_path / "mine.toml"


def numbers(directory) -> bytes:
    return (Path(directory) / "results.json").read_bytes()


def test_the_line_of_each_audit_names_the_point_of_the_sweep(config, without_pictures):
    lines = []
    run(config, report_line=lines.append)
    assert [line.partition(": epsilon >= ")[0] for line in lines] == ["[1/2] epsilon = 0.5", "[2/2] epsilon = 1"]
    cases = CONFIG.partition("[sweep]")[0] + "".join(
        f'[[sweep.case]]\nname = "{name}"\nmechanism = {{ epsilon = {e} }}\n'
        for name, e in (("weak", 0.5), ("strong", 2))
    )
    config.write_text(cases)
    run(config, report_line=lines.append, out="cases")
    assert [line.partition(": ")[0] for line in lines[2:]] == ["[1/2] weak", "[2/2] strong"]
    run(config, settings={"mechanism.epsilon": 3, "sweep": {}}, report_line=lines.append, out="alone")
    assert lines[-1].startswith("[1/1] Laplace(epsilon=3): epsilon >= ")


def test_the_line_says_where_a_claim_is_refuted_if_not_there():
    result = run_module.outcome(elsewhere_result())
    assert result.startswith("epsilon >= 0.5, claimed 1; refuted at another delta: at epsilon = 0.3 the claim promises")
    assert "refuted" not in run_module.outcome(laplace_result())


def test_a_run_directory_holds_everything(config, one_picture):
    done = run(config)
    assert done.directory == Path("runs/mine")
    result = {path.name for path in done.directory.iterdir()}
    assert result == {
        "config.toml", "results.json", "results.csv", "environment.json",
        "figures", "report.html", "report.md", "times.json", "trials",
        "card.json", "card.md", "card.html", "registry.yaml", "results.tex", "statement.json",
    }  # fmt: skip
    assert len(list((done.directory / "trials").iterdir())) == 2
    assert {path.suffix for path in (done.directory / "figures").iterdir()} == {".svg", ".png"}
    assert done.directory / "report.html" in done.files
    assert SweepResult.from_json(numbers(done.directory).decode()).to_json() == done.result.to_json()
    table = pd.read_csv(done.directory / "results.csv")
    assert list(table["mechanism.epsilon"]) == [0.5, 1.0]
    environment = json.loads((done.directory / "environment.json").read_text())
    assert environment["seed"] == 20
    assert environment["versions"]["numpy"]
    assert [session["finished"] for session in environment["sessions"]] == [True]
    times = json.loads((done.directory / "times.json").read_text())
    assert times.keys() == {path.name for path in (done.directory / "trials").iterdir()}
    assert all(seconds > 0 for seconds in times.values())


def test_what_was_run_is_in_the_directory_and_runs_again_from_there(config, without_pictures):
    run(config, settings={"audit.trials": 500}, out="first")
    run("first/config.toml", out="second")
    first, second = (json.loads(numbers(name)) | {"name": "", "sha256": ""} for name in ("first", "second"))
    assert first == second


@pytest.mark.usefixtures("without_pictures")
def test_serial_parallel_and_repeated_runs_give_the_same_bytes(config):
    run(config, out="serial")
    run(config, out="parallel", n_jobs=2)
    before = numbers("serial")
    run(config, out="serial")
    assert numbers("serial") == before == numbers("parallel")
    assert (Path("serial") / "results.csv").read_bytes() == (Path("parallel") / "results.csv").read_bytes()


@pytest.mark.usefixtures("without_pictures")
def test_an_interrupted_run_continues_and_gives_the_same_bytes(config, monkeypatch):
    run(config, out="whole")

    def interrupt(_line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, out="broken", report_line=interrupt)
    assert not (Path("broken") / "results.json").exists()
    assert len(list((Path("broken") / "trials").iterdir())) == 1
    run(config, out="broken")
    assert numbers("broken") == numbers("whole")
    sessions = json.loads((Path("broken") / "environment.json").read_text())["sessions"]
    assert [session["finished"] for session in sessions] == [False, True]


@pytest.mark.usefixtures("without_pictures")
def test_points_that_were_there_keep_their_numbers_when_a_sweep_grows(config):
    run(config, out="few")
    run(config, settings={"sweep.mechanism.epsilon": [2.0, 1.0, 0.5]}, out="more")
    few, more = (SweepResult.from_json(numbers(name).decode()) for name in ("few", "more"))
    of_more = {point.parameters["mechanism.epsilon"]: point.result for point in more.points}
    for point in few.points:
        again = of_more[point.parameters["mechanism.epsilon"]]
        assert again.bounds == point.result.bounds
        assert again.p_value == point.result.p_value
        assert again.detectable >= point.result.detectable, "more audits leave each with less power, never more"


@pytest.mark.slow
def test_a_run_killed_at_any_time_continues_to_the_same_bytes(config):
    command = [sys.executable, "-m", "dpassay", "run", str(config), "--set", "audit.trials=300_000", "-q", "--out"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([*command, "whole"], env=environment, check=True, stdout=subprocess.DEVNULL)
    command.append("killed")
    for delay in (0.8, 1.2, 1.6, 2.0, 2.4):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    assert numbers("killed") == numbers("whole")


@pytest.mark.usefixtures("without_pictures")
def test_a_directory_of_another_experiment_is_refused_with_each_difference(config):
    run(config, out="here", settings={"audit.trials": 500})
    before = {path: path.read_bytes() for path in Path("here").rglob("*") if path.is_file()}
    with pytest.raises(FingerprintError) as caught:
        run(config, out="here", settings={"audit.trials": 600, "mechanism.sensitivity": 2.0})
    message = str(caught.value)
    assert message.startswith("here has another experiment. It differs in\n")
    assert "audit.trials: " in message
    assert "500" in message
    assert "600" in message
    assert "mechanism.sensitivity: " in message
    assert "Choose another directory with --out" in message
    assert {path: path.read_bytes() for path in Path("here").rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("without_pictures")
def test_a_directory_without_finished_work_is_taken_over(config, monkeypatch):
    def refuse(*_, **__):
        raise ReleaseError("refused")

    with monkeypatch.context() as patched:
        patched.setattr(run_module, "_run_tasks", refuse)
        with pytest.raises(ReleaseError, match="refused"):
            run(config, out="here", settings={"audit.trials": 500})
    assert (Path("here") / "config.toml").is_file()
    fresh = run(config, out="fresh", settings={"audit.trials": 600})
    assert run(config, out="here", settings={"audit.trials": 600}).result == fresh.result
    sessions = json.loads((Path("here") / "environment.json").read_text())["sessions"]
    assert [session["finished"] for session in sessions] == [True]


@pytest.mark.usefixtures("without_pictures")
def test_other_words_are_no_other_experiment(config):
    run(config, out="here", settings={"audit.trials": 500})
    done = run(config, out="here", settings={"audit.trials": 500, "title": "New words"})
    assert done.result.title == "New words"


def test_a_folder_with_other_files_is_refused_and_left_alone(config):
    Path("mine").mkdir()
    (Path("mine") / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match=r"mine is not a run directory and not empty \(found thesis\.tex\)"):
        run(config, out="mine")
    assert [path.name for path in Path("mine").iterdir()] == ["thesis.tex"]


def test_a_file_in_place_of_the_directory_is_refused(config):
    Path("taken").write_text("")
    with pytest.raises(StoreError, match="taken is a file, but a run directory must be a folder"):
        run(config, out="taken")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder in which nobody may make files, not even root")
def test_an_unwritable_directory_is_refused(config):
    with pytest.raises(StoreError, match=r"cannot write to /proc/here: .* fix the permissions .* or choose another"):
        run(config, out="/proc/here")


@pytest.mark.usefixtures("without_pictures")
def test_a_full_disk_ends_with_a_clear_error_and_what_was_written_stays(config, monkeypatch):
    run(config, out="whole")
    written = run_module.RunDirectory.write

    def full(self, name, text):
        if name == "results.json":
            with self.disk():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path / name))
        written(self, name, text)

    with monkeypatch.context() as patch:
        patch.setattr(run_module.RunDirectory, "write", full)
        with pytest.raises(StoreError) as caught:
            run(config, out="full")
    assert str(caught.value).startswith(
        "cannot write to full/results.json: No space left on device. Finished work in full"
    )
    assert "run the same command again" in str(caught.value)
    run(config, out="full")
    assert numbers("full") == numbers("whole")


@pytest.mark.usefixtures("without_pictures")
def test_a_damaged_record_of_what_was_run_is_refused(config):
    run(config, out="here", settings={"audit.trials": 500})
    (Path("here") / "config.toml").write_text("[mechanism\n")
    with pytest.raises(StoreError, match=r"here/config\.toml is damaged"):
        run(config, out="here", settings={"audit.trials": 500})


def test_settings_that_are_no_mapping_are_refused(config):
    with pytest.raises(ParameterError, match="settings must map dotted keys to values"):
        run(config, settings=["audit.trials=500"], out="here")


def test_a_mistake_in_the_configuration_leaves_nothing_behind(config):
    with pytest.raises(ConfigError):
        run(config, settings={"mechanism.epsilon": "x", "sweep": {}})
    assert not Path("runs").exists()


def test_an_error_while_running_says_at_which_point(config, without_pictures, monkeypatch):
    def broken(*_, **__):
        raise StoreError("broken")

    monkeypatch.setattr("dpassay.experiments.config.tasks.pair.audit", broken)
    with pytest.raises(StoreError) as caught:
        run(config)
    assert caught.value.__notes__ == ["at mechanism.epsilon = 0.5"]


def test_a_report_is_made_again_from_the_numbers_alone(config, without_pixels):
    done = run(config, settings={"audit.trials": 500, "sweep": {}})
    assert len(done.files) == 2 * 4 + 1 + 2 + 5  # figures, a narrow one, reports, evidence
    before = numbers(done.directory)
    for path in done.files:
        path.unlink()
    again = report(done.directory)
    assert all(path.exists() for path in done.files)
    assert again.result.verdict is done.result.verdict is Verdict.CONSISTENT
    assert numbers(done.directory) == before


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The folder of the run that `finished_run` copies, once there is one."""
    return tmp_path_factory.mktemp("finished") / "mine"


@pytest.fixture
def finished_run(config, kept, one_picture, without_pixels, monkeypatch):
    """A function that runs the experiment again, and says what had to be done: "derive", "draw" or nothing."""
    monkeypatch.setattr("dpassay.experiments.present.results.provenance.code", lambda: "c0de")
    if kept.exists():
        shutil.copytree(kept, "runs/mine")
    first = run(config, settings={"audit.trials": 500})
    if not kept.exists():
        shutil.copytree("runs/mine", kept)
    lines, done, derive = [], [], run_module.plan
    monkeypatch.setattr(run_module, "plan", lambda *given: done.append("derive") or derive(*given))
    drew = run_module.write_results
    monkeypatch.setattr(
        run_module, "write_results", lambda *given, **options: done.append("draw") or drew(*given, **options)
    )

    def again():
        lines.clear(), done.clear()
        result = run(config, settings={"audit.trials": 500}, report_line=lines.append)
        assert (result.result, set(result.files)) == (first.result, set(first.files))
        said = "runs/mine is finished; its results follow. To repeat the run, remove it or choose another --out."
        assert (said in lines) is ("derive" not in done)
        return done[:1]

    return again


def test_a_finished_run_is_read_from_its_files_without_changing_them(finished_run):
    before = {path: path.stat().st_mtime_ns for path in Path("runs/mine").rglob("*")}
    assert finished_run() == []
    assert {path: path.stat().st_mtime_ns for path in Path("runs/mine").rglob("*")} == before


def test_changed_figures_and_reports_are_drawn_again_from_the_numbers(finished_run):
    page, figure = Path("runs/mine/report.html"), next(Path("runs/mine/figures").iterdir())
    whole = page.read_bytes()
    page.unlink()
    assert finished_run() == ["draw"]
    assert page.read_bytes() == whole
    assert finished_run() == []
    figure.write_bytes(b"another figure")
    assert finished_run() == ["draw"]
    assert finished_run() == []


@pytest.mark.parametrize("name", ["results.json", "environment.json", "trials/*/journal.jsonl"])
def test_a_run_whose_numbers_or_trials_changed_is_derived_again(finished_run, name):
    path = sorted(Path("runs/mine").glob(name))[-1]
    text = path.read_text()
    path.write_text(text.replace('"sha256": "', '"sha256": "0', 1) if "results" in name or "trials" in name else "{}")
    assert finished_run() == ["derive"]
    assert finished_run() == []


def test_a_run_by_other_code_or_versions_is_derived_again(finished_run, monkeypatch):
    monkeypatch.setattr("dpassay.experiments.present.results.provenance.code", lambda: "other")
    assert finished_run() == ["derive"]
    assert finished_run() == []
    monkeypatch.setattr("dpassay.experiments.present.results.provenance.versions", lambda: {"numpy": "1.0"})
    assert finished_run() == ["derive"]


def test_a_run_without_its_trials_is_still_answered_from_its_numbers(finished_run):
    shutil.rmtree("runs/mine/trials")
    assert finished_run() == []


def test_a_finished_run_with_other_words_has_them(config, one_picture, without_pixels):
    run(config, settings={"audit.trials": 500})
    config.write_text(CONFIG.replace('title = "Laplace"', 'title = "Pierre-Simon"'))
    assert run(config, settings={"audit.trials": 500}).result.title == "Pierre-Simon"
    assert "<title>" in (page := Path("runs/mine/report.html").read_text())
    assert "Pierre-Simon" in page.partition("</title>")[0]


def test_the_code_that_derives_is_known_by_its_bytes(tmp_path):
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "bound.py").write_text("epsilon = 1\n")
    before = provenance.digest_of(tmp_path)
    assert provenance.digest_of(tmp_path) == before
    (tmp_path / "audit" / "bound.py").write_text("epsilon = 2\n")
    assert provenance.digest_of(tmp_path) != before
    assert provenance.code() == provenance.digest_of(provenance.HOME)
    assert all((provenance.HOME / room).is_dir() for room in provenance.ROOMS)


def test_a_finished_run_is_answered_without_what_plans_and_draws(config, one_picture, without_pixels):
    run(config, settings={"audit.trials": 500}, out="out")
    line = f"run {config} --set audit.trials=500 --out out"
    driver = (
        "import sys\n"
        "from dpassay.experiments.cli.commands import run_app\n"
        f"try: run_app({line.split()!r})\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "late = {'dpassay.experiments.config.tasks', 'dpassay.experiments.present.plots', 'matplotlib', 'jinja2'}\n"
        "print(sorted(late & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.startswith("~ Consistent, weak (2 of 2 claims): ")
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_next_start_removes_what_a_killed_one_left_half_drawn(config, without_pictures):
    run(config)
    half = Path("runs/mine/figures") / f".audit.svg.{'a' * 16}.tmp"
    half.parent.mkdir(exist_ok=True)
    half.write_bytes(b"<svg")
    Path("runs/mine/results.json").unlink()
    run(config)
    assert not half.exists()


def test_a_report_of_nothing_is_refused(tmp_path):
    with pytest.raises(StoreError, match=r"is not a run directory: it has no config\.toml|is not a run directory"):
        report(tmp_path)
    (tmp_path / "config.toml").write_text(CONFIG)
    with pytest.raises(StoreError, match=r"results\.json is missing: the experiment was not finished"):
        report(tmp_path)


@pytest.mark.usefixtures("without_pictures")
def test_a_sweep_without_power_after_correction_is_underpowered(tmp_path):
    config = tmp_path / "blind.toml"
    config.write_text(
        'title = "x"\n[mechanism]\nname = "randomized-response"\nepsilon = 50.0\n'
        '[claim]\nname = "pure"\nepsilon = 5.3\n'
        f"[audit]\ntrials = 1_050\nconfidence = 0.95\nbounds = ['clopper-pearson']\n[sweep]\nseed = {list(range(20))}\n"
    )
    done = run(config, out=tmp_path / "out")
    assert {point.result.verdict.value for point in done.result.points} == {"violation"}
    assert done.result.verdict.value == "underpowered"
    assert all(math.isinf(point.result.detectable) for point in done.result.points)
