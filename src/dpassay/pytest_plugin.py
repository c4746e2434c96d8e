"""A pytest plugin: privacy claims as tests that fail on a real leak and not on bad luck.

    @pytest.mark.dp(epsilon=1.0, d0=[1, 2, 3], d1=[1, 2, 3, 4], relation="add_remove")
    def test_noisy_count_is_private(dp_audit):
        dp_audit(noisy_count)          # noisy_count(dataset, rng), or any dpassay mechanism

`dp_audit` runs the mechanism many times on both datasets, attacks the outputs, and raises `PrivacyViolation` when the
lower bound on epsilon lies above the claim. The marker holds the defaults of the calls in its test, class or module; a
call takes the same options and overrides them.

**False alarms.** A session has a budget a (`--dp-false-alarm`, 1e-6). If n selected tests use `dp_audit`, call j in any
of them runs at significance s_j = (a / n) * 6 / (pi^2 j^2). A call on a mechanism that keeps its claim then fails with
probability at most s_j, whatever happened before it, because its random stream is its own. Since 1 + 1/4 + 1/9 + ...
= pi^2 / 6, the calls of one test fail wrongly with probability at most a / n, however many they are, and the session
with probability at most a (union bound: tests may depend on each other, and run in any order and in any process).

**The same numbers every time.** The seed of a call is a digest of `--dp-seed`, the test's id and j. A test that passed
goes on passing until something changes: the code, its id, numpy, or, through n, which tests are selected.

Nothing but the standard library and pytest is imported before a test asks for `dp_audit`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .audit import AuditResult
    from .audit.bounds.base import LedgerEntry

OPTIONS = {
    "epsilon": "the claimed epsilon; with delta > 0 the claim is (epsilon, delta)-DP",
    "delta": "the delta of the claim, at which it is tested",
    "claim": "a guarantee, such as GaussianDP(mu=1), in place of epsilon",
    "d0": "the dataset without the record",
    "d1": "the dataset with it",
    "relation": "how d0 and d1 differ: 'add_remove', 'replace_one' or 'zero_out'",
    "neighbours": "a Neighbours, in place of d0, d1 and relation",
    "trials": "runs per side, those that train the attack included",
    "attack": "name of an attack, or an attack",
    "bound": "name of a bound, or a bound, or a list of them",
    "stop": "'anytime', to stop as soon as the claim is refuted; None, to run all trials",
}
ALTERNATIVES = (({"claim"}, {"epsilon"}), ({"neighbours"}, {"d0", "d1", "relation"}))
FALSE_ALARM = 1e-6
LEAST_SHARE = 1e-14
PROPERTY = "dp_check"
COLOURS = {"violation": {"red": True}, "underpowered": {"yellow": True}, "dependent": {"yellow": True}}


@dataclasses.dataclass
class Plan:
    """What the checks of a session share.

    Args:
        false_alarm: probability that any check of the session fails although every claim is kept; at most.
        seed: what every stream of the session derives from, besides the test's id.
        trials: overrides the trials of every check; None leaves them as they are.
        strict: whether a check that could not have failed fails.
        stop: "anytime" for the checks that do not say; None leaves them as they are.
        n_tests: selected tests that use `dp_audit`; known after collection.
    """

    false_alarm: float
    seed: int
    trials: int | None
    strict: bool
    stop: str | None = None
    n_tests: int = 0


PLAN = pytest.StashKey[Plan]()
CALLS = pytest.StashKey[int]()
"""Calls of `dp_audit` so far; only tests that were counted have it."""
OUTCOMES = pytest.StashKey[list["Outcome"]]()
"""What became of these calls."""


@dataclasses.dataclass(eq=False)
class Outcome:
    """What became of one call of `dp_audit`.

    Args:
        finished: whether its audit came to a verdict.
        error: what it raised, if anything.
        expected: whether `pytest.raises` caught that.
    """

    finished: bool = False
    error: BaseException | None = None
    expected: bool = False


# --- the budget -------------------------------------------------------------------------------------------------------


def share(false_alarm: float, n_tests: int, call: int) -> float:
    """Significance of call number `call` (from 1) of a test: false_alarm / n_tests * 6 / (pi^2 call^2)."""
    return false_alarm / n_tests * 6.0 / (math.pi * call) ** 2


def confidence_at(significance: float) -> float:
    """The least float c with 1 - c <= significance: rounding never spends more than the share."""
    if significance < LEAST_SHARE:
        raise _error(
            f"this check's share of the session's false-alarm budget is {significance:.2g}, too little to compute "
            "with. Make fewer calls of dp_audit in one test (pytest.mark.parametrize), or raise --dp-false-alarm."
        )
    confidence = 1.0 - significance
    return confidence if 1.0 - confidence <= significance else math.nextafter(confidence, 2.0)


def seed_of(root: int, test: str, call: int) -> int:
    """Seed of one call, in [0, 2^62): the same in every process, order and version of Python."""
    digest = hashlib.sha256(f"{root}\0{test}\0{call}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 2


def _identity(item: pytest.Item) -> str:
    """The id of a test, the same with and without pytest-xdist (which may add a group to `nodeid`)."""
    return f"{item.parent.nodeid if item.parent else ''}::{item.name}"


# --- the fixture ------------------------------------------------------------------------------------------------------


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> DPAudit:
    """Audits a mechanism and fails the test if it leaks more than it claims. Options: `pytest --markers`."""
    plan, item = request.config.stash[PLAN], request.node
    if CALLS not in item.stash:
        pytest.fail(
            f"{item.nodeid} asks for dp_audit by request.getfixturevalue, too late for a share of the session's "
            "false-alarm budget. Name dp_audit among the arguments of the test, or mark the test with pytest.mark.dp.",
            pytrace=False,
        )
    item.stash[CALLS] = 0  # a test that is run again makes the same checks again, not new ones
    item.stash[OUTCOMES] = []
    return DPAudit(item, plan)


class DPAudit:
    """What the fixture `dp_audit` gives a test: call it with a mechanism, once or several times."""

    def __init__(self, item: pytest.Item, plan: Plan) -> None:
        self._item = item
        self._plan = plan

    def __call__(self, mechanism: Any, **options: Any) -> AuditResult:
        """Audit `mechanism`; returns the result if the claim stands.

        Args:
            mechanism: a mechanism of dpassay, or a function `release(dataset, rng)` or `release(dataset, size, rng)`.
            **options: those of `@pytest.mark.dp`, which they override; `pytest --markers` lists them.

        Raises:
            PrivacyViolation: the lower bound on epsilon lies above the claim; `.result` holds the evidence.
            DependentTrialsError: the runs are not independent, so that there is no verdict.
            DpassayError: the options do not make an audit.
        """
        __tracebackhide__ = True
        from .mechanisms.errors import DpassayError
        from .mechanisms.printable import terminal

        outcome = Outcome()
        self._item.stash[OUTCOMES].append(outcome)
        try:
            return self._checked(mechanism, options, outcome)
        except DpassayError as error:
            outcome.error = error
            error.args = tuple(terminal(part) if isinstance(part, str) else part for part in error.args)
            raise error.with_traceback(None)  # noqa: B904 - the way through the library explains nothing
        except BaseException as error:
            outcome.error = error
            raise

    def _checked(self, mechanism: Any, options: Mapping[str, Any], outcome: Outcome) -> AuditResult:
        """The result of the audit, unless it fails the test."""
        __tracebackhide__ = True
        from .audit.results.text import INDEPENDENT
        from .mechanisms.errors import DependentTrialsError, PrivacyViolation

        result = self._run(mechanism, options)
        outcome.finished = True
        check = _record(result, _identity(self._item), self._item.stash[CALLS])
        self._item.user_properties.append((PROPERTY, json.dumps(check)))
        if check["verdict"] == "violation":
            raise PrivacyViolation(result.evidence(), result)
        if check["verdict"] == "dependent":
            raise DependentTrialsError(result.mechanism, result.dependence or "", INDEPENDENT)
        if check["verdict"] == "underpowered" and self._plan.strict:
            pytest.fail(f"{_underpowered(check)} (--dp-strict)", pytrace=False)
        return result

    def _run(self, mechanism: Any, options: Mapping[str, Any]) -> AuditResult:
        """The audit at this call's share of the budget, which its ledger records."""
        from .audit import audit

        self._item.stash[CALLS] += 1
        plan, test, call = self._plan, _identity(self._item), self._item.stash[CALLS]
        significance = share(plan.false_alarm, plan.n_tests, call)
        arguments = _arguments(mechanism, merge(*_marks(self._item), options))
        if plan.trials is not None:
            arguments["trials"] = plan.trials
        if plan.stop is not None and "bound" not in arguments:
            arguments.setdefault("stop", plan.stop)
        confidence, seed = confidence_at(significance), seed_of(plan.seed, test, call)
        result = audit(mechanism, confidence=confidence, seed=seed, **arguments)
        entry = _ledger_entry(plan, test, call, significance)
        return dataclasses.replace(result, ledger=(*result.ledger, entry))


def _ledger_entry(plan: Plan, test: str, call: int, significance: float) -> LedgerEntry:
    from .audit.bounds.base import LedgerEntry

    return LedgerEntry(
        what="test session",
        looked_at=f"check {call} of {test}, one of {plan.n_tests} privacy tests",
        correction=f"union bound over the session: significance {significance:.3g} = {plan.false_alarm:g} / "
        f"{plan.n_tests} * 6 / (pi^2 j^2) with j = {call}",
    )


# --- options ----------------------------------------------------------------------------------------------------------


def _error(message: str) -> Exception:
    from .mechanisms.errors import ParameterError

    return ParameterError(message)


def _marks(item: pytest.Item) -> list[Mapping[str, Any]]:
    """Options of the dp marks on this test, the module's first and the function's own last."""
    marks = list(item.iter_markers("dp"))[::-1]
    for mark in marks:
        if mark.args:
            raise _error(
                f"pytest.mark.dp takes its options by name, but got {mark.args!r}. Known: {', '.join(OPTIONS)}."
            )
    return [mark.kwargs for mark in marks]


def merge(*sources: Mapping[str, Any]) -> dict[str, Any]:
    """The options of all sources, later ones winning; a later `neighbours` also takes the place of d0, d1, relation."""
    merged: dict[str, Any] = {}
    for source in sources:
        _check_names(source)
        for one, other in (*ALTERNATIVES, *(pair[::-1] for pair in ALTERNATIVES)):
            if not one.isdisjoint(source):
                if not other.isdisjoint(source):
                    raise _error(f"give either {' and '.join(sorted(one))} or {' and '.join(sorted(other))}, not both.")
                merged = {name: value for name, value in merged.items() if name not in other}
        merged |= source
    return merged


def _check_names(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in OPTIONS:
            from .mechanisms.errors import unknown_name_message

            raise _error(unknown_name_message("option of a privacy check:", name, OPTIONS))


def _arguments(mechanism: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `dpassay.audit.audit`: epsilon becomes a claim, d0 and d1 become neighbours."""
    from .mechanisms.base import Neighbours
    from .mechanisms.guarantees import ApproximateDP, PureDP

    arguments = dict(options)
    if "epsilon" in arguments:
        epsilon, delta = arguments.pop("epsilon"), arguments.get("delta")
        arguments["claim"] = ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
    d0, d1, relation = (arguments.pop(name, None) for name in ("d0", "d1", "relation"))
    if ("d0" in options) != ("d1" in options):
        raise _error("a pair needs both d0 and d1, but only one of them is given.")
    if "d0" in options:
        relation = relation or getattr(mechanism, "relation", None)
        if relation is None:
            raise _error(f"relation is missing, which says {OPTIONS['relation']}.")
        arguments["neighbours"] = Neighbours(d0, d1, relation)
    return arguments


# --- hooks ------------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Command-line options and the ini setting."""
    group = parser.getgroup("dpassay", "privacy checks (dpassay)")
    group.addoption(
        "--dp-false-alarm",
        metavar="P",
        help=f"probability that any privacy check of the session fails on bad luck; at most (default {FALSE_ALARM:g})",
    )
    group.addoption("--dp-trials", metavar="N", type=int, help="runs per side of every privacy check")
    group.addoption(
        "--dp-seed", metavar="N", type=int, default=0, help="another number, other random trials (default 0)"
    )
    group.addoption("--dp-strict", action="store_true", help="a check with too few trials to ever fail is a failure")
    group.addoption(
        "--dp-stop", choices=["anytime"], help="stop each privacy check that names no bound as soon as it fails"
    )
    parser.addini("dp_false_alarm", "default of --dp-false-alarm", default=str(FALSE_ALARM))
    parser.addini("dp_stop", "default of --dp-stop", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Reads the options."""
    listed = "\n".join(f"    {name}: {what}" for name, what in OPTIONS.items())
    config.addinivalue_line("markers", f"dp(**options): defaults of the dp_audit calls in this test.\n{listed}")
    trials = config.getoption("--dp-trials")
    if trials is not None and trials < 1:
        raise pytest.UsageError(f"--dp-trials must be a whole number >= 1, but is {trials}.")
    config.stash[PLAN] = Plan(
        false_alarm=_false_alarm(config),
        seed=config.getoption("--dp-seed"),
        trials=trials,
        strict=config.getoption("--dp-strict"),
        stop=_stop(config),
    )
    if not _is_worker(config):
        config.pluginmanager.register(Summary(config.stash[PLAN]), "dpassay-summary")


def _false_alarm(config: pytest.Config) -> float:
    given = config.getoption("--dp-false-alarm")
    name, text = ("dp_false_alarm", config.getini("dp_false_alarm")) if given is None else ("--dp-false-alarm", given)
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


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")  # pytest-xdist


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Counts the selected tests that use `dp_audit`: each gets an equal share. All xdist workers count the same."""
    users = [item for item in session.items if _uses_dp_audit(item)]
    for item in users:
        item.stash[CALLS] = 0
    session.config.stash[PLAN].n_tests = len(users)


def _uses_dp_audit(item: pytest.Item) -> bool:
    marked = any(mark.name == "dp" for mark in item.own_markers)
    return marked or "dp_audit" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A privacy test that passes without having checked anything fails, and one that hides what a check raised."""
    if CALLS not in item.stash:
        return (yield)
    item.stash.setdefault(OUTCOMES, [])  # a marked test may not take the fixture
    with _noting_expected(item):
        try:
            outcome = yield
        except BaseException as error:
            if isinstance(error, pytest.skip.Exception):  # it hides what was raised before as well as a pass does
                _fail_where_hidden(item)
            raise
    _fail_where_hidden(item)
    if not any(call.finished or call.expected for call in item.stash[OUTCOMES]):
        pytest.fail(
            f"{item.nodeid} is a privacy test, but it checked nothing. Take the fixture dp_audit and call it: "
            "dp_audit(mechanism).",
            pytrace=False,
        )
    return outcome


def _fail_where_hidden(item: pytest.Item) -> None:
    """Raises what a call of `dp_audit` raised, if the test swallowed it; `pytest.raises` expects it instead."""
    hidden = next((c for c in item.stash[OUTCOMES] if c.error is not None and not c.expected), None)
    if hidden is None or hidden.error is None:
        return
    if hidden.finished:
        raise hidden.error
    pytest.fail(
        f"{item.nodeid} swallowed what dp_audit raised, so that nothing was checked:\n"
        f"{type(hidden.error).__name__}: {hidden.error}\nLet it fail the test, or expect it by pytest.raises.",
        pytrace=False,
    )


@contextlib.contextmanager
def _noting_expected(item: pytest.Item) -> Generator[None]:
    """Notes which exceptions `pytest.raises` catches meanwhile: a test expects those."""
    kind: Any = type(pytest.raises(AssertionError))
    leave = kind.__exit__

    def noting(self: Any, *error: Any) -> Any:
        caught = leave(self, *error)
        if caught:
            for call in item.stash[OUTCOMES]:
                call.expected = call.expected or call.error is error[1]
        return caught

    kind.__exit__ = noting
    try:
        yield
    finally:
        kind.__exit__ = leave


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report of a privacy violation: the line of the test, and the evidence. Not the way through the library."""
    report = yield
    if report.failed and CALLS in item.stash and call.excinfo and call.excinfo.typename == "PrivacyViolation":
        call.excinfo.traceback = call.excinfo.traceback.cut(path=item.path)
        report.longrepr = call.excinfo.getrepr(style="short", chain=False)
    return report


# --- the summary ------------------------------------------------------------------------------------------------------


def _record(result: AuditResult, test: str, call: int) -> dict[str, Any]:
    """One check, as it travels from an xdist worker and into a JUnit file."""
    return {
        "test": test,
        "call": call,
        "mechanism": result.mechanism,
        "claim": result.claim,
        "delta": result.delta,
        "bound": result.bound.epsilon,
        "ceiling": result.ceiling,
        "detectable": result.detectable,
        "p_value": result.p_value,
        "significance": 1.0 - result.confidence,
        "trials": result.trials.per_side,
        "seed": result.seed,
        "verdict": result.verdict.value,
        "warnings": list(result.warnings),
    }


def _underpowered(check: Mapping[str, Any]) -> str:
    """Why a pass of this check says nothing, and what would help."""
    return (
        f"underpowered: {check['trials']:,} runs a side show at most epsilon {check['ceiling']:.4g} and can never "
        f"refute a claim of {check['claim']:.4g}. Passing means nothing; try trials={_enough_trials(check):_}."
    )


def _enough_trials(check: Mapping[str, Any]) -> int:
    """Twice the trials that bring the ceiling up to the claim: it grows as log(trials). One digit, rounded up."""
    wanted: float = 2.0 * check["trials"] * math.exp(min(check["claim"] - check["ceiling"], 30.0))
    unit = 10.0 ** math.floor(math.log10(wanted))
    return round(math.ceil(wanted / unit) * unit)


class Summary:
    """Gathers the checks of all processes from the reports of their tests, and prints them at the end."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.checks: dict[tuple[str, int], dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Reads the checks of a finished test; a test that is run again replaces its own."""
        if report.when == "teardown":
            checks = [json.loads(str(value)) for name, value in report.user_properties if name == PROPERTY]
            self.checks |= {(check["test"], check["call"]): check for check in checks}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The table of checks: "catches" is the true epsilon that a check's trials would have caught 9 times in 10."""
        if not self.checks:
            return
        terminalreporter.section("privacy checks (dpassay)")
        terminalreporter.write_line(self._headline())
        terminalreporter.write_line(
            f"{'verdict':<13} {'claim':>8} {'shown':>8} {'catches':>8} {'false alarm':>11}  test"
        )
        for _, check in sorted(self.checks.items()):
            colours = COLOURS.get(check["verdict"], {})
            terminalreporter.write_line(_row(check), **colours)
            if check["verdict"] == "underpowered":
                terminalreporter.write_line(f"    {_underpowered(check)}", **colours)
            for warning in check["warnings"]:
                terminalreporter.write_line(f"    warning: {warning}", yellow=True)

    def _headline(self) -> str:
        spent = math.fsum(check["significance"] for check in self.checks.values())
        n = len(self.checks)
        return (
            f"{n} check{'s' if n > 1 else ''}, seed {self.plan.seed}. False alarm in any of them: probability at most "
            f"{spent:.2g}, of a budget of {self.plan.false_alarm:g} for the session."
        )


def _row(check: Mapping[str, Any]) -> str:
    shown = f"{check['claim']:>8.4g} {check['bound']:>8.4g} {check['detectable']:>8.4g}"
    again = f" (check {check['call']})" if check["call"] > 1 else ""
    return f"{check['verdict']:<13} {shown} {check['significance']:>11.2g}  {check['test']}{again}"
