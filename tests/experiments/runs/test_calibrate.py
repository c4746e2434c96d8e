"""`dpassay calibrate`: the written files and the exit code."""

import csv
import hashlib
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from dpassay.audit.bounds.pair.simultaneous import FixedSimultaneousBand, SimultaneousBand
from dpassay.audit.calibration import certificate
from dpassay.audit.calibration.certificate import Certificate, CertificatePlan, CertificateSetting, certify
from dpassay.audit.calibration.laws import all_equal, laplace_ratio, randomized_response
from dpassay.audit.calibration.methods import BoundMethod, uncorrected
from dpassay.audit.calibration.text import place_table, summary_table
from dpassay.experiments.cli.commands import app
from dpassay.experiments.present.plots.certificate import MissRates, Power
from dpassay.experiments.runs import calibration
from dpassay.experiments.runs.calibration import Calibration, full_plan, laws, quick_plan
from dpassay.experiments.runs.certificate import write_certificate
from dpassay.experiments.runs.directory import RunDirectory
from dpassay.experiments.runs.kept import keep
from dpassay.mechanisms.core import FingerprintError

PLAN = CertificatePlan(
    "two laws",
    (
        CertificateSetting(laplace_ratio(1.0), (0.0,), ((20, 20), (100, 100), (20, 200)), 60),
        CertificateSetting(all_equal(), (0.0,), ((20, 20),), 60),
        CertificateSetting(randomized_response(1.0, 0.1), (0.1,), ((50, 50),), 60),
    ),
)
ENDED = textwrap.dedent(
    """
    import os, sys
    from dpassay.audit.trials import store
    from dpassay.experiments.cli import run_app

    fsync, left = os.fsync, [int(sys.argv[1])]

    def end(descriptor):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), int(sys.argv[2]))
        return fsync(descriptor)

    store.os.fsync = end
    run_app(sys.argv[3:])
    """
)
"""Runs a command, and sends a signal to its process instead of the n-th write to the disk."""
WORDS = ["--bound", "simultaneous-band", "--repeats", "3", "--seed", "5"]
VOID = {"meta", "br", "hr", "img", "link", "input"}


class FixedOvershoots(FixedSimultaneousBand):
    def lower_bound(self, evidence):
        result = super().lower_bound(evidence)
        return replace(result, epsilon=result.epsilon + 10.0)


class Overshoots(SimultaneousBand):
    """Ten more than the bound."""

    name: ClassVar[str] = "overshoots"

    def fix(self, statement, pilot, sizes):
        return FixedOvershoots(statement)


class Nesting(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open = []
        self.links = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module", autouse=True)
def _without_pixels():
    """The PNG files of the figures are empty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpassay.experiments.present.plots.style._png", lambda figure: b"")
        yield


@pytest.fixture(scope="module")
def good():
    return certify(PLAN, [BoundMethod(SimultaneousBand()), *uncorrected()], seed=0)


@pytest.fixture(scope="module")
def bad():
    return certify(PLAN, [BoundMethod(Overshoots()), BoundMethod(SimultaneousBand())], seed=0)


def written_in(place, certificate):
    """The directory of a certificate."""
    write_certificate(certificate, RunDirectory(place), "dpassay calibrate")
    return place


@pytest.fixture(scope="module")
def written(good, bad, tmp_path_factory):
    """Both certificates, each with its figures and its page."""
    return {
        name: written_in(tmp_path_factory.mktemp(name), certificate)
        for name, certificate in (("good", good), ("bad", bad))
    }


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibration, "quick_plan", lambda repeats=60: PLAN)
    return lambda *arguments: CliRunner().invoke(app, ["calibrate", "--quiet", *arguments])


def test_command_writes_numbers_figures_and_page_and_ends_with_0(call, tmp_path):
    results = call("--bound", "simultaneous-band", "--out", "here")
    assert results.exit_code == 0, results.output
    assert "✓ Every bound keeps its significance level" in results.stdout
    home = tmp_path / "here"
    names = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    assert {"certificate.csv", "certificate.json", "environment.json", "report.html"} <= names
    assert {"figures/misses-95.svg", "figures/misses-95.png", "figures/misses-80.svg", "figures/power-01.png"} <= names
    assert Certificate.from_json((home / "certificate.json").read_text()).holds
    assert "dpassay calibrate --bound simultaneous-band --seed 0" in (home / "report.html").read_text()


def test_published_rules_stand_beside_the_bounds_and_fail_nothing(call, tmp_path):
    results = call("--published", "--repeats", "3", "--bound", "simultaneous-band", "--out", "here")
    assert results.exit_code == 0, results.output
    page = (tmp_path / "here" / "report.html").read_text()
    assert "dpassay calibrate --published --bound simultaneous-band --repeats 3 --seed 0" in page
    assert page.count("published rule") >= 7
    assert "6 simulated, 1 to 3 in a setting" in page
    both = call("--published", "--full")
    assert both.exit_code == 2
    assert "two plans" in both.stderr


def test_bound_that_misses_too_often_ends_with_1(call, monkeypatch):
    monkeypatch.setattr(calibration, "catalogue_methods", lambda names: [BoundMethod(Overshoots())])
    results = call("--out", "here")
    assert results.exit_code == 1
    assert "✖ A bound misses too often" in results.stdout


def test_mistakes_end_with_2_and_say_what_to_do(call, monkeypatch):
    assert call("--bound", "simultaneous-bond").exit_code == 2
    monkeypatch.setitem(sys.modules, "jax_privacy", None)
    results = call("--peers", "--bound", "simultaneous-band")
    assert results.exit_code == 2
    assert "pip install '.[jax]'" in results.stderr
    monkeypatch.undo()
    assert CliRunner().invoke(app, ["calibrate", "--seed", "-1", "-q", "--bound", "simultaneous-band"]).exit_code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs", "0"], "--jobs must be a whole number >= 1"),
        (["--published", "--repeats", "0"], "--repeats must be a whole number >= 1"),
        (
            ["--bound", "simultaneous-band", "--bound", "reconstruction"],
            "bound reconstruction reads no scores of pairs",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(call, tmp_path, words, message):
    results = call(*words, "--out", "here")
    assert results.exit_code == 2
    assert message in results.stderr
    assert not (tmp_path / "here").exists()


def test_bound_named_twice_is_measured_once(call, tmp_path):
    assert call(*["--bound", "simultaneous-band"] * 2, "--out", "here").exit_code == 0
    certificate = Certificate.from_json((tmp_path / "here" / "certificate.json").read_text())
    assert len(certificate.of("simultaneous-band")) == 10


def test_too_few_audits_decide_nothing(call, monkeypatch):
    setting = CertificateSetting(all_equal(), (0.0,), ((20, 20),), 2)
    monkeypatch.setattr(calibration, "quick_plan", lambda repeats: CertificatePlan("few", (setting,)))
    monkeypatch.setattr(calibration, "catalogue_methods", lambda names: [BoundMethod(Overshoots())])
    results = call("--repeats", "2", "--out", "here")
    assert results.exit_code == 0
    assert "keeps its" not in results.stdout
    assert "? Too few audits to judge a bound" in results.stdout
    assert "2 of 2 measurements had too few audits" in results.stdout
    page = Path("here", "report.html").read_text()
    assert "?&nbsp;Too few audits to judge a bound" in page
    assert "–\u00a0too few audits" in page


@pytest.fixture(scope="module")
def through(tmp_path_factory):
    """A certificate of 12 jobs in one go."""
    home = tmp_path_factory.mktemp("through")
    assert CliRunner().invoke(app, ["calibrate", "-q", *WORDS, "--out", str(home)]).exit_code == 0
    return home


def journal(home):
    return (home / "trials" / "certificate" / "journal.jsonl").read_text().splitlines()


def numbers(home):
    return [(home / name).read_bytes() for name in ("certificate.json", "certificate.csv", "report.html")]


def test_certificate_that_was_killed_and_interrupted_continues_with_the_same_bytes(through, tmp_path, monkeypatch):
    home, n_jobs = tmp_path / "here", len(journal(through))
    for fuse, number, code in ((12, signal.SIGKILL, -9), (14, signal.SIGINT, 130), (21, signal.SIGKILL, -9)):
        words = [
            sys.executable,
            "-c",
            ENDED,
            str(fuse),
            str(int(number)),
            "calibrate",
            "-q",
            *WORDS,
            "--out",
            str(home),
        ]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stderr
        said = "interrupted. Finished simulations are saved: the same command continues from there." in done.stderr
        assert said == (number == signal.SIGINT)
        assert not (home / "certificate.json").exists()
    finished = journal(home)
    assert 8 <= len(finished) < n_jobs
    simulated, simulate = [], certificate._simulate
    monkeypatch.setattr(certificate, "_simulate", lambda job, *given: simulated.append(job) or simulate(job, *given))
    assert CliRunner().invoke(app, ["calibrate", "-q", *WORDS, "--out", str(home)]).exit_code == 0
    assert len(simulated) == n_jobs - len(finished)
    assert numbers(home) == numbers(through)


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        (["--seed", "6"], "seed: the store has 5, this run has 6"),
        (["--repeats", "4"], "repeats: the store has 3, this run has 4"),
        (["--bound", "clopper-pearson"], "methods.1 clopper-pearson: not in the store"),
        (["--published"], 'this run has "dpassay calibrate --published --bound simultaneous-band'),
    ],
)
def test_directory_of_another_certificate_is_refused(through, changes, difference):
    before = numbers(through), journal(through)
    done = CliRunner().invoke(app, ["calibrate", "-q", *WORDS, *changes, "--out", str(through)])
    assert done.exit_code == 2
    assert difference in done.stderr
    assert "trials/certificate holds the trials of another experiment" in done.stderr
    assert "Choose another directory, or remove this one to start over." in done.stderr
    assert before == (numbers(through), journal(through))


@pytest.mark.parametrize(
    ("name", "difference"),
    [("digest_of", "made_by.code: the store has"), ("versions", "made_by.versions: the store has")],
)
def test_simulations_of_other_code_are_refused(through, monkeypatch, name, difference):
    monkeypatch.setattr(calibration, name, lambda *given: "another")
    done = CliRunner().invoke(app, ["calibrate", "-q", *WORDS, "--out", str(through)])
    assert (done.exit_code, difference in done.stderr) == (2, True)


def test_order_of_the_bounds_is_part_of_the_store(tmp_path):
    """The arrays of a job have a row for each method, in this order."""
    plan = CertificatePlan("one law", (CertificateSetting(laplace_ratio(1.0), (0.0,), ((20, 20),), 5),))
    methods = [BoundMethod(SimultaneousBand()), *uncorrected()]
    certify(plan, methods, seed=0, store=tmp_path)
    with pytest.raises(FingerprintError, match="uncorrected katz-log"):
        certify(plan, methods[::-1], seed=0, store=tmp_path)


def test_damaged_simulations_are_run_again_and_other_arrays_refused(through, tmp_path):
    home = tmp_path / "copy"
    shutil.copytree(through, home)
    store = home / "trials" / "certificate"
    first, second = (json.loads(line)["chunk"] for line in journal(home)[:2])
    (store / "chunks" / f"{first}.npz").write_bytes(b"damaged")
    done = CliRunner().invoke(app, ["calibrate", "-q", *WORDS, "--out", str(home)])
    assert done.exit_code == 0, done.output
    assert numbers(home) == numbers(through)
    other = (store / "chunks" / f"{first}.npz").read_bytes()
    np.savez(store / "chunks" / f"{second}.npz", numbers=np.zeros((1, 1, 1)), above=np.zeros((1, 1, 1), np.int8))
    content = (store / "chunks" / f"{second}.npz").read_bytes()
    lines = [json.loads(line) for line in journal(home)]
    digest = hashlib.sha256(content).hexdigest()
    lines = [line | ({"sha256": digest} if line["chunk"] == second else {}) for line in lines]
    (store / "journal.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = CliRunner().invoke(app, ["calibrate", "-q", *WORDS, "--out", str(home)])
    assert (done.exit_code, f"chunk {second}" in done.stderr, other != content) == (2, True, True)


@pytest.mark.parametrize("repeats", [1, 4, 200])
def test_quick_plan_measures_slow_bounds_with_any_number_of_repeats(repeats):
    assert any(setting.audits(slow=True) for setting in quick_plan(repeats).settings)


def test_same_seed_gives_the_same_bytes(written, tmp_path):
    again = certify(PLAN, [BoundMethod(SimultaneousBand()), *uncorrected()], seed=0)
    one, two = written["good"], written_in(tmp_path, again)
    files = [path for path in one.rglob("*") if path.is_file()]
    assert len(files) > 5
    for path in files:
        assert path.read_bytes() == (two / path.relative_to(one)).read_bytes(), path


def test_csv_has_a_row_for_each_cell_and_reads_back(good, written):
    rows = list(csv.DictReader((written["good"] / "certificate.csv").read_text().splitlines()))
    assert len(rows) == len(good.cells) == 5 * 2 * 3
    for row, cell in zip(rows, good.cells, strict=True):
        assert (row["method"], int(row["misses"]), float(row["mean"])) == (cell.method, cell.misses, cell.mean)
        assert float(row["interval_low"]) <= float(row["miss_rate"]) <= float(row["interval_high"])


@pytest.mark.parametrize("which", ["good", "bad"])
def test_page_stands_alone_and_says_the_verdict(which, written, good, bad):
    page = (written[which] / "report.html").read_text(encoding="utf-8")
    assert all(link.startswith("#") for link in Nesting(page).links)
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    headline = "Every bound keeps its significance level" if which == "good" else "A bound misses too often"
    assert headline in page
    assert ("The settings in which a bound missed too often" in page) == (which == "bad")
    assert page.count("<svg") == 2 * (2 + 1)  # two confidences; one law has several equal sizes and an epsilon above 0
    assert page.count('class="drawing narrow"') == 2 + 1
    for method in {"good": good, "bad": bad}[which].methods:
        assert method in page


def test_summary_names_the_worst_place_of_each_method(good, bad):
    assert summary_table(good).rows[0][1][0] == "simultaneous-band"  # bounds come first
    rows = {cells[0]: (verdict, cells) for verdict, cells in summary_table(good).rows}
    assert rows["simultaneous-band"][0] == "consistent"
    assert rows["simultaneous-band"][1][-2:] == ("10 of 10", "✓ keeps its level")
    worst = max(cell.miss_rate for cell in good.of("uncorrected katz-log") if cell.confidence == 0.8)
    assert rows["uncorrected katz-log"][1][3].startswith(f"{100 * worst:.1f} % (")
    broken = {cells[0]: (verdict, cells) for verdict, cells in summary_table(bad).rows}
    assert broken["overshoots"][0] == "violation"
    assert broken["overshoots"][1][-2:] == ("0 of 10", "✖ misses too often")


def test_misses_within_the_limit_are_not_called_absent():
    setting = CertificateSetting(all_equal(), (0.0,), ((20, 20),), 60)
    certificate = certify(CertificatePlan("one law", (setting,)), uncorrected(), seed=0)
    some = [replace(cell, misses=1) for cell in certificate.cells]
    rows = summary_table(replace(certificate, cells=tuple(some))).rows
    assert {cells[-1] for _, cells in rows} == {"- within the limit"}


def test_places_table_marks_what_exceeds_the_limit(bad):
    table = place_table(bad, 0.95)
    assert len(table.rows) == 5
    assert all(verdict == "violation" and cells[4] == "✖ 100 %" for verdict, cells in table.rows)
    assert {cells[3] for _, cells in table.rows} == {"20", "50", "100", "20 / 200"}


def test_figures_hold_the_numbers_of_the_cells(good):
    rates = MissRates.from_certificate(good, 0.8)
    assert [row.name for row in rates.rows] == list(good.methods)
    assert all(len(row.cells) == 5 for row in rates.rows)
    assert rates.significance == 0.2
    assert rates.rows[0].limit == max(c.allowed / c.repeats for c in good.bounds if c.confidence == 0.8)
    balanced = [c for c in good.cells if c.law.startswith("laplace") and c.n_out == c.n_in and c.confidence == 0.8]
    power = Power.from_cells(balanced)
    assert [name for name, *_ in power.lines] == [
        "simultaneous-band",
        "uncorrected clopper-pearson",
        "uncorrected katz-log",
    ]
    assert power.exact_epsilon == pytest.approx(1.0)
    assert power.title.endswith("\u00a0of\u00a01")  # no line holds "of 1" alone
    assert all(len(means) == len(trials) for *_, trials, means in power.lines)


def test_plans_reach_from_20_to_100_000_and_hold_unequal_sizes():
    sizes = {size for setting in full_plan().settings for size in setting.sizes}
    assert {(n, n) for n in (20, 100, 1_000, 10_000, 100_000)} < sizes
    assert any(max(size) >= 100 * min(size) for size in sizes)
    assert {setting.repeats for setting in full_plan().settings if (1_000, 1_000) in setting.sizes} == {2_000}
    assert max(max(size) for setting in quick_plan().settings for size in setting.sizes) <= 2_000
    names = [law.name for law, _ in laws()]
    assert len(set(names)) == len(names)
    for law, deltas in laws():
        assert all(math.isfinite(law.curve.epsilon(delta)) for delta in deltas)


@pytest.mark.slow
def test_quick_certificate_of_all_bounds_holds(tmp_path):
    certificate = keep(Calibration(seed=0), tmp_path).result
    assert certificate.holds, certificate.failures
