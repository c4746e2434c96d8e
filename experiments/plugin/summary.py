"""The table of checks at the end of a session, collected from the reports of tests in all processes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from .baseline import gone, save, write_step_summary
from .session import OUTCOMES, SessionPlan, identity

if TYPE_CHECKING:
    from ...audit import AuditResult, StressResult
    from ..ci.comparison import ComparedClaim

PROPERTY, EXPECTED = "dp_check", "dp_expected"
"""Names of the properties in the report of a test: for a check, and for one whose violation the test expects."""
COLOURS = {
    "violation": {"red": True},
    "consistent, weak": {"yellow": True},
    "underpowered": {"yellow": True},
    "dependent": {"yellow": True},
}


def record(result: AuditResult | StressResult, test: str, call: int) -> dict[str, Any]:
    """Return one check as plain values, for xdist workers and JUnit files.

    Audits on hostile data are one check: that of the reported pair, at the confidence of all pairs together.
    """
    from ...audit.results.text import what_to_change
    from ...audit.search import StressResult

    confidence, n_tests = result.confidence, 1
    if isinstance(result, StressResult):
        n_tests, result = result.n_tests, result.reported
    return {
        "test": test,
        "call": call,
        "mechanism": result.mechanism,
        "attack": result.attack,
        "method": result.bound.method,
        "relation": str(result.relation),
        "claim": result.claim,
        "claim_name": result.claim_name,
        "confidence": confidence,
        "delta": result.delta,
        "bound": result.bound.epsilon,
        "ceiling": result.ceiling,
        "detectable": result.detectable,
        "p_value": min(1.0, n_tests * result.p_value),
        "significance": 1.0 - confidence,
        "trials": result.trials.per_side,
        "seed": result.seed,
        "verdict": result.verdict.value,
        "dependence": result.dependence or "",
        "weak": result.weak,
        "warnings": list(result.warnings),
        "to_change": what_to_change(result),
        "change": "",
        "reason": "",
    }


def underpowered(check: Mapping[str, Any]) -> str:
    """Return the reason why a pass of this check is not informative, and the remedy."""
    from ...mechanisms.core import number

    return (
        f"underpowered: the bound from {check['trials']:,} runs a side is at most {number(check['ceiling'])} and can "
        f"never refute a claim of {number(check['claim'])}. Passing is not informative. {check['to_change']}"
    )


def expected_checks(item: pytest.Item) -> list[tuple[str, str]]:
    """Return a property for each check of a test whose violation the test expects."""
    calls = [outcome.call for outcome in item.stash[OUTCOMES] if outcome.expected and outcome.finished and outcome.call]
    return [(EXPECTED, json.dumps([identity(item), call])) for call in calls]


class Summary:
    """Collector of the checks of all processes from the reports of their tests, printed at the end."""

    def __init__(self, plan: SessionPlan) -> None:
        self.plan = plan
        self.checks: dict[tuple[str, int], dict[str, Any]] = {}
        self.tests: set[str] = set()
        self.deselected: set[str] = set()
        self.gone: list[ComparedClaim] = []
        self.failed_to_save = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Read the checks of a finished test; those of a repeated test are replaced."""
        if report.when == "teardown":
            checks = [json.loads(str(value)) for name, value in report.user_properties if name == PROPERTY]
            self.checks |= {(check["test"], check["call"]): check for check in checks}
            self.tests.add(report.nodeid.partition("@")[0])
            for name, value in report.user_properties:
                if name == EXPECTED:
                    self.checks[tuple(json.loads(str(value)))]["expected"] = True

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note the tests that were left out."""
        self.deselected |= {identity(item) for item in items}

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail for checks of the baseline that were not made, save the claims, and write the summary of a step."""
        if self.plan.baseline is not None:
            self.gone = gone(self.plan, self.checks, self.tests, self.deselected, session.config)
            if self.gone and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.plan.save is not None:
            self.failed_to_save = save(self.plan.save, self.checks)
            if self.failed_to_save and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if self.checks:
            write_step_summary(self.checks, self.gone, self._headline())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of checks; "detects" is the true epsilon that the trials of a check detect 9 times in 10."""
        if self.failed_to_save:
            terminalreporter.write_line(f"dpassay: {self.failed_to_save}", red=True)
        if not self.checks and not self.gone:
            return
        terminalreporter.section("privacy checks (dpassay)")
        terminalreporter.write_line(self._headline())
        terminalreporter.write_line(
            f"{'verdict':<16} {'claim':>8} {'bound':>8} {'detects':>8} {'false alarm':>11}  test"
        )
        n_checks = Counter(warning for check in self.checks.values() for warning in set(check["warnings"]))
        for _, check in sorted(self.checks.items()):
            colours = COLOURS.get(_outcome(check), {})
            terminalreporter.write_line(_row(check), **colours)
            if check["verdict"] == "underpowered":
                terminalreporter.write_line(f"    {underpowered(check)}", **colours)
            if check["change"] not in ("", "unchanged") and not check.get("expected"):
                reason = f": {check['reason']}" if check["reason"] else ""
                terminalreporter.write_line(f"    baseline: {check['change']}{reason}", **colours)
            for warning in check["warnings"]:
                if n := n_checks.pop(warning, 0):  # once per session, such as for a library with system entropy
                    repeats = f" (in {n} checks)" if n > 1 else ""
                    terminalreporter.write_line(f"    warning: {warning}{repeats}", yellow=True)

        for claim in self.gone:
            terminalreporter.write_line(f"lost power       {claim.name}: {claim.reason}", red=True)

    def _headline(self) -> str:
        from ...mechanisms.core import number, plural

        spent = math.fsum(check["significance"] for check in self.checks.values())
        return (
            f"{plural(len(self.checks), 'check')}, seed {self.plan.seed}. False alarm in any of them: probability at "
            f"most {number(spent, 2)}, of a budget of {number(self.plan.false_alarm)} for the session."
        )


def _outcome(check: Mapping[str, Any]) -> str:
    """Return the verdict on a check, and whether it is weak."""
    return f"{check['verdict']}{', weak' if check['weak'] else ''}"


def _row(check: Mapping[str, Any]) -> str:
    from ...mechanisms.core import number

    epsilons = f"{number(check['claim']):>8} {number(check['bound']):>8} {number(check['detectable']):>8}"
    call = f" (check {check['call']})" if check["call"] > 1 else ""
    return f"{_outcome(check):<16} {epsilons} {number(check['significance'], 2):>11}  {check['test']}{call}"
