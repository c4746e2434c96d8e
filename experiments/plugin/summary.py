"""The table of checks at the end of a session, gathered from the reports of tests in all processes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from .session import Plan

if TYPE_CHECKING:
    from ...audit import AuditResult

PROPERTY = "dp_check"
"""Name under which a check is kept in the report of its test."""
COLOURS = {"violation": {"red": True}, "underpowered": {"yellow": True}, "dependent": {"yellow": True}}


def record(result: AuditResult, test: str, call: int) -> dict[str, Any]:
    """One check, as it travels from an xdist worker and into a JUnit file."""
    from ...audit.results.text import what_to_change

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
        "to_change": what_to_change(result),
    }


def underpowered(check: Mapping[str, Any]) -> str:
    """Why a pass of this check says nothing, and what would help."""
    return (
        f"underpowered: {check['trials']:,} runs a side show at most epsilon {check['ceiling']:.4g} and can never "
        f"refute a claim of {check['claim']:.4g}. Passing means nothing. {check['to_change']}"
    )


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
        """The table of checks: "detects" is the true epsilon that a check's trials detect 9 times in 10."""
        if not self.checks:
            return
        terminalreporter.section("privacy checks (dpassay)")
        terminalreporter.write_line(self._headline())
        terminalreporter.write_line(
            f"{'verdict':<13} {'claim':>8} {'bound':>8} {'detects':>8} {'false alarm':>11}  test"
        )
        alike = Counter(warning for check in self.checks.values() for warning in set(check["warnings"]))
        for _, check in sorted(self.checks.items()):
            colours = COLOURS.get(check["verdict"], {})
            terminalreporter.write_line(_row(check), **colours)
            if check["verdict"] == "underpowered":
                terminalreporter.write_line(f"    {underpowered(check)}", **colours)
            for warning in check["warnings"]:
                if n := alike.pop(warning, 0):  # once a session, such as that of a library which draws from the system
                    more = f" (so in {n} checks)" if n > 1 else ""
                    terminalreporter.write_line(f"    warning: {warning}{more}", yellow=True)

    def _headline(self) -> str:
        from ...mechanisms.errors import plural

        spent = math.fsum(check["significance"] for check in self.checks.values())
        return (
            f"{plural(len(self.checks), 'check')}, seed {self.plan.seed}. False alarm in any of them: probability at "
            f"most {spent:.2g}, of a budget of {self.plan.false_alarm:g} for the session."
        )


def _row(check: Mapping[str, Any]) -> str:
    shown = f"{check['claim']:>8.4g} {check['bound']:>8.4g} {check['detectable']:>8.4g}"
    again = f" (check {check['call']})" if check["call"] > 1 else ""
    return f"{check['verdict']:<13} {shown} {check['significance']:>11.2g}  {check['test']}{again}"
