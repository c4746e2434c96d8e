"""Settings that every test shares: hypothesis with a fixed profile, so that a red build repeats."""

import functools
import gc
import os
import runpy
import signal
import sys
import threading
from pathlib import Path

import pytest
import typer.testing
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from threadpoolctl import threadpool_limits

for library in ("OPENBLAS", "OMP", "MKL"):
    # the workers share the cores: threads of BLAS on top of them wait for each other, at several times the cost
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
threadpool_limits(limits=1)  # of what a plugin has imported before
os.environ.pop("GITHUB_STEP_SUMMARY", None)  # commands with a verdict append to it

# flushing to the disk protects files from a power cut only, and takes longer than many tests
os.fsync = lambda descriptor: None

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    # as where a shell started the tests in the background: those that interrupt would wait for ever
    signal.signal(signal.SIGINT, signal.default_int_handler)

if hasattr(providers, "_get_local_constants"):
    # numbers that stand in whatever modules are loaded: with them the examples of a test depend on the tests before it
    providers._get_local_constants = providers.Constants
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("fixed")

# typer reads the signatures of all commands for each call: once is enough
typer.testing._get_command = functools.cache(typer.testing._get_command)

pytest_plugins = ["pytester"]


@pytest.fixture
def without_power(monkeypatch):
    """What an audit could have detected takes longer than the audit, and no verdict depends on it."""
    from dpassay.audit.power.power import Detectable

    for search in ("detectable_epsilon", "detectable_in_bits", "detectable_in_successes"):
        monkeypatch.setattr(f"dpassay.audit.power.power.{search}", lambda *given, **options: Detectable(1.0, "any"))


@pytest.fixture
def without_refusals(monkeypatch):
    """`one-run-independent` does not test its assumption: a refused bound is 0, so that it misses no more often."""
    monkeypatch.setattr("dpassay.audit.bounds.bits.independent.first_refusal", lambda *given: None)


@pytest.fixture
def few_chunks(monkeypatch):
    """Trials come in 4 chunks a side, not 32: saving the state of a function around each takes longer than its runs."""
    monkeypatch.setattr("dpassay.audit.trials.plan.CHUNKS_PER_SIDE", 4)


@functools.cache
def _interpreters():
    """Run the file once; where a test is imported by its file name, there is no package `tests`."""
    return runpy.run_path(str(Path(__file__).with_name("started_interpreter.py")))


@pytest.fixture(autouse=True, scope="session")
def started_interpreter():
    """Isolated processes are copies of one interpreter, which starts when the first is wanted."""
    from dpassay.mechanisms.adapters.functions import isolated

    if sys.platform != "linux":  # a socket of messages is missing elsewhere
        yield
        return
    interpreter = _interpreters()["StartedInterpreter"](preload=("dpassay.audit", "dpassay.mechanisms", "pytest"))
    isolated._start = interpreter.start
    yield
    interpreter.close()


@pytest.fixture
def new_interpreters(monkeypatch):
    """Each isolated process is started, where its start, the hashes of texts or addresses are the point."""
    new = _interpreters()["new_interpreter"]
    monkeypatch.setattr("dpassay.mechanisms.adapters.functions.isolated._start", new)


FEW_PROCESSES = 2


@pytest.fixture(autouse=True, scope="session")
def few_processes():
    """A violation of a function is repeated in 2 fresh processes, not in up to 128; fewer doubt less."""
    from dpassay.audit.games import diagnostics
    from dpassay.audit.randomness import experiment

    experiment.N_FEW = experiment.MAX_PROCESSES = diagnostics.N_FEW = FEW_PROCESSES


@pytest.fixture
def many_processes(monkeypatch):
    """It is repeated in as many processes as outside of the tests, however long they take."""
    for name, value in (("MAX_PROCESSES", 128), ("MAX_SECONDS", 600.0)):
        monkeypatch.setattr(f"dpassay.audit.randomness.experiment.{name}", value)
    for module in ("randomness.experiment", "games.diagnostics"):
        monkeypatch.setattr(f"dpassay.audit.{module}.N_FEW", 8)


@pytest.fixture
def without_pictures(monkeypatch):
    """Runs write their numbers, and neither figures nor reports, which take longer than the runs."""
    for draw in ("draw_all", "membership.draw_study"):
        monkeypatch.setattr(f"dpassay.experiments.present.plots.{draw}", lambda *_, **__: [])
    monkeypatch.setattr("dpassay.experiments.present.pages.write", lambda *_, **__: [])


@pytest.fixture
def one_picture(monkeypatch):
    """Runs draw and report the whole sweep, and no figures of its single audits."""
    monkeypatch.setattr("dpassay.experiments.present.plots.draw.shown", lambda points: [])


@pytest.fixture
def without_pixels(monkeypatch):
    """Figures are SVG files; the PNG files next to them are empty."""
    monkeypatch.setattr("dpassay.experiments.present.plots.style._png", lambda figure: b"")


def pytest_addoption(parser):
    parser.addoption("--no-skips", action="store_true", help="A test that would be skipped fails: nothing is missing.")


def pytest_sessionstart():
    gc.set_threshold(20_000, 20, 20)  # imports and thousands of collected tests make no cycles that are worth a search


def pytest_collection_finish():
    gc.freeze()  # those objects stay until the end: no later search goes through them


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.skipped and item.config.getoption("--no-skips") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, with --no-skips: {report.longrepr}"
    return report
