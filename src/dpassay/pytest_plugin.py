"""Pytest plugin: tests of privacy claims that fail for a leak, with a bounded probability of a false alarm.

    @pytest.mark.dp(epsilon=1.0, d0=[1, 2, 3], d1=[1, 2, 3, 4], relation="add_remove")
    def test_noisy_count_is_private(dp_audit):
        dp_audit(noisy_count)          # noisy_count(dataset, rng), or any dpassay mechanism

`dp_audit` runs the mechanism many times on both datasets, attacks the outputs, and raises `PrivacyViolation` when the
lower bound on epsilon exceeds the claim. The marker sets defaults for the calls in its test, class or module; a
call takes the same options and overrides them.

**False alarms.** A session has an error budget a (`--dp-false-alarm`, 1e-6). If n selected tests use `dp_audit`, call j
of each test has the significance level s_j = (a / n) * 6 / (pi^2 j^2). If the claim is true, the call fails with
probability at most s_j, independently of earlier calls, because each call has a separate random stream. Since
1 + 1/4 + 1/9 + ... = pi^2 / 6, the false-alarm probability of all calls of one test is at most a / n, for any number of
calls, and that of the session is at most a (union bound: tests may depend on each other, and run in any order and in
any process).

**Reproducibility.** The seed of a call is a digest of `--dp-seed`, the test's id and j. A test that passed passes again
until something changes: the code, its id, numpy, or, through n, the selection of tests.

This module contains the hooks; their implementation is in `dpassay.experiments.plugin`. Only the standard library and
pytest are imported before a test calls `dp_audit`.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .experiments.plugin.baseline import read_baseline
from .experiments.plugin.budget import FALSE_ALARM
from .experiments.plugin.check import DPAudit
from .experiments.plugin.options import OPTIONS
from .experiments.plugin.recording import DPRecord
from .experiments.plugin.session import CALLS, OUTCOMES, PLAN, POWER_LOSS, SessionPlan
from .experiments.plugin.summary import Summary, expected_checks
from .experiments.plugin.swallowed import fail_where_swallowed, noting_expected

if TYPE_CHECKING:
    from .experiments.ci.checked import CheckedClaim


VALUES = "values of the evidence (dpassay), on this terminal only"
"""Name of the section of a report that no file for a build server repeats."""


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> DPAudit:
    """Audit a mechanism, and fail the test if it leaks more than claimed. Options: `pytest --markers`."""
    plan, item = request.config.stash[PLAN], request.node
    if CALLS not in item.stash:
        pytest.fail(
            f"{item.nodeid} requests dp_audit by request.getfixturevalue, too late for a share of the session's "
            "false-alarm budget. Add dp_audit to the arguments of the test, or mark the test with pytest.mark.dp.",
            pytrace=False,
        )
    item.stash[CALLS] = 0  # a rerun of a test repeats the same checks
    item.stash[OUTCOMES] = []
    return DPAudit(item, plan)


@pytest.fixture
def dp_record(request: pytest.FixtureRequest) -> DPRecord:
    """Compare how a function uses its noise on two neighbouring datasets; fails the test without statistics."""
    return DPRecord(request.node)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options and the ini settings."""
    group = parser.getgroup("dpassay", "privacy checks (dpassay)")
    group.addoption(
        "--dp-false-alarm",
        metavar="P",
        help=f"upper bound on the probability of a false alarm in the whole session (default {FALSE_ALARM})",
    )
    group.addoption("--dp-trials", metavar="N", type=int, help="trials per side of every privacy check")
    group.addoption("--dp-seed", metavar="N", type=int, default=0, help="seed of the random trials (default 0)")
    group.addoption(
        "--dp-strict", action="store_true", help="underpowered checks, which have too few trials to fail, are failures"
    )
    group.addoption(
        "--dp-stop", choices=["anytime"], help="stop each privacy check without a named bound as soon as it fails"
    )
    group.addoption(
        "--dp-baseline",
        metavar="FILE",
        help="file of --dp-save: only new violations and lost power fail, and known violations pass",
    )
    group.addoption(
        "--dp-power-loss",
        metavar="R",
        default=str(POWER_LOSS),
        help=f"allowed growth of the detectable excess over the claim since the baseline (default {POWER_LOSS})",
    )
    group.addoption("--dp-save", metavar="FILE", help="write the checks of this session, as a baseline of later ones")
    parser.addini("dp_false_alarm", "default of --dp-false-alarm", default=str(FALSE_ALARM))
    parser.addini("dp_stop", "default of --dp-stop", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options."""
    listed = "\n".join(f"    {name}: {what}" for name, what in OPTIONS.items())
    config.addinivalue_line("markers", f"dp(**options): defaults of the dp_audit calls in this test.\n{listed}")
    trials = config.getoption("--dp-trials")
    if trials is not None and trials < 1:
        raise pytest.UsageError(f"--dp-trials must be a whole number >= 1, but is {trials}.")
    config.stash[PLAN] = SessionPlan(
        false_alarm=_false_alarm(config),
        seed=config.getoption("--dp-seed"),
        trials=trials,
        strict=config.getoption("--dp-strict"),
        stop=_stop(config),
        baseline=_baseline(config),
        power_loss=_power_loss(config),
        save=_save(config),
    )
    if not _is_worker(config):
        config.pluginmanager.register(Summary(config.stash[PLAN]), "dpassay-summary")


def _save(config: pytest.Config) -> Path | None:
    """Return the file of --dp-save, which a later session must be able to read."""
    file = _path(config, "--dp-save")
    if file is not None and file.exists() and not file.is_file():
        raise pytest.UsageError(f"--dp-save must be a file, but {file} is a folder, a pipe or a device.")
    return file


def _false_alarm(config: pytest.Config) -> float:
    option = config.getoption("--dp-false-alarm")
    name, text = ("dp_false_alarm", config.getini("dp_false_alarm")) if option is None else ("--dp-false-alarm", option)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < 1.0:
        raise pytest.UsageError(f"{name} must lie strictly between 0 and 1, such as 1e-6, but is {text!r}.")
    return value


def _stop(config: pytest.Config) -> str | None:
    text = config.getoption("--dp-stop") or config.getini("dp_stop") or None
    if text not in (None, "anytime"):
        raise pytest.UsageError(f"dp_stop must be anytime, or left out, but is {text!r}.")
    return text


def _baseline(config: pytest.Config) -> Mapping[str, CheckedClaim] | None:
    file = _path(config, "--dp-baseline")
    return None if file is None else read_baseline(file)


def _path(config: pytest.Config, option: str) -> Path | None:
    """Return the absolute path of an option, also for workers of pytest-xdist, which get it from here."""
    text = config.getoption(option)
    if text is None:
        return None
    path: Path = config.invocation_params.dir / text
    setattr(config.option, option.lstrip("-").replace("-", "_"), str(path))
    if not path.parent.is_dir():
        raise pytest.UsageError(f"{option} is {text!r}, but there is no folder {path.parent}. Choose another file.")
    return path


def _power_loss(config: pytest.Config) -> float:
    text = config.getoption("--dp-power-loss")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= 0.0:
        raise pytest.UsageError(f"--dp-power-loss must be a number >= 0, such as 0.25, or inf, but is {text!r}.")
    return value


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")  # pytest-xdist


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the selected tests that use `dp_audit`, which get equal shares; all xdist workers count the same tests."""
    users = [item for item in session.items if _uses_dp_audit(item)]
    for item in users:
        item.stash[CALLS] = 0
    session.config.stash[PLAN].n_tests = len(users)


def _uses_dp_audit(item: pytest.Item) -> bool:
    marked = any(mark.name == "dp" for mark in item.own_markers)
    return marked or "dp_audit" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a privacy test that passes without a check, or that hides an exception of a check."""
    if CALLS not in item.stash:
        return (yield)
    item.stash.setdefault(OUTCOMES, [])  # a marked test may not take the fixture
    with noting_expected(item):
        try:
            outcome = yield
        except BaseException as error:
            if isinstance(error, pytest.skip.Exception):  # a skip hides an earlier exception, as a pass does
                fail_where_swallowed(item)
            raise
        finally:
            item.user_properties += expected_checks(item)
    fail_where_swallowed(item)
    if not any(call.finished or call.expected for call in item.stash[OUTCOMES]):
        pytest.fail(
            f"{item.nodeid} is a privacy test, but it checked nothing. Use the fixture dp_audit and call it: "
            "dp_audit(mechanism).",
            pytrace=False,
        )
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shorten the report of a privacy test to the lines of the test and the evidence or the cure, without the library.

    The traceback is that of the test: neither frames of the library nor errors that caused another one. Values of
    datasets and outputs are a section of the report, which the terminal shows, and `--junitxml` leaves out.
    """
    report = yield
    if not report.failed or call.excinfo is None or not (headline := _headline(call.excinfo.value)):
        return report
    if not {"dp_audit", "dp_record"}.isdisjoint(getattr(item, "fixturenames", ())) or CALLS in item.stash:
        call.excinfo.traceback = call.excinfo.traceback.cut(path=item.path)
        report.longrepr = call.excinfo.getrepr(style="short", chain=False)
        if values := _values(call.excinfo.value):
            report.sections.append((VALUES, values))
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:  # the line of the short summary, which is truncated on the right
        crash.message = headline
    return report


def _values(error: BaseException) -> str:
    """Return the lines of the evidence that only the terminal shows; "" for other errors."""
    result: Any = getattr(error, "result", None)
    if result is None:
        return ""
    from .audit.results.plain import plain_rows
    from .experiments.ci.findings import text_for_builds
    from .mechanisms.core import terminal

    text, passed_on = result.text(), text_for_builds(result)
    rows, kept = (
        [
            *(("next step", step) for step in each.next_steps),
            *each.evidence,
            *each.examples,
            *(("note", note) for note in each.notes),
        ]
        for each in (text, passed_on)
    )
    return terminal(plain_rows([row for row in rows if row not in kept]))


def _headline(error: BaseException) -> str:
    """Return an error of the library in one line; "" for other errors."""
    kinds = {kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "dpassay.mechanisms.core.errors"}
    if "PrivacyViolation" in kinds:
        result = getattr(error, "result", None)
        text = str(error).partition("\n")[0] if result is None else result.text().headline.partition(": ")[2]
        return f"VIOLATION: {' '.join(text.removeprefix('VIOLATION: ').split())}"
    return " ".join(str(error).split()) if "DpassayError" in kinds else ""
