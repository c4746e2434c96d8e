"""The table of checks at the end of a session, collected from the reports of tests in all processes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from .session import SessionPlan

if TYPE_CHECKING:
    from ...audit import AuditResult

PROPERTY = "dp_check"
"""Name of the property for a check in the report of its test."""
COLOURS = {"violation": {"red": True}, "underpowered": {"yellow": True}, "dependent": {"yellow": True}}


def record(result: AuditResult, test: str, call: int) -> dict[str, Any]:
    """Return one check as plain values, for xdist workers and JUnit files."""
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
    """Return the reason why a pass of this check is not informative, and the remedy."""
    return (
        f"underpowered: the bound from {check['trials']:,} runs a side is at most {check['ceiling']:.4g} and can never "
        f"refute a claim of {check['claim']:.4g}. Passing is not informative. {check['to_change']}"
    )


class Summary:
    """Collector of the checks of all processes from the reports of their tests, printed at the end."""

    def __init__(self, plan: SessionPlan) -> None:
        self.plan = plan
        self.checks: dict[tuple[str, int], dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Read the checks of a finished test; those of a repeated test are replaced."""
        if report.when == "teardown":
            checks = [json.loads(str(value)) for name, value in report.user_properties if name == PROPERTY]
            self.checks |= {(check["test"], check["call"]): check for check in checks}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of checks; "detects" is the true epsilon that the trials of a check detect 9 times in 10."""
        if not self.checks:
            return
        terminalreporter.section("privacy checks (dpassay)")
        terminalreporter.write_line(self._headline())
        terminalreporter.write_line(
            f"{'verdict':<13} {'claim':>8} {'bound':>8} {'detects':>8} {'false alarm':>11}  test"
        )
        n_checks = Counter(warning for check in self.checks.values() for warning in set(check["warnings"]))
        for _, check in sorted(self.checks.items()):
            colours = COLOURS.get(check["verdict"], {})
            terminalreporter.write_line(_row(check), **colours)
            if check["verdict"] == "underpowered":
                terminalreporter.write_line(f"    {underpowered(check)}", **colours)
            for warning in check["warnings"]:
                if n := n_checks.pop(warning, 0):  # once per session, such as for a library with system entropy
                    repeats = f" (in {n} checks)" if n > 1 else ""
                    terminalreporter.write_line(f"    warning: {warning}{repeats}", yellow=True)

    def _headline(self) -> str:
        from ...mechanisms.core.errors import plural

        spent = math.fsum(check["significance"] for check in self.checks.values())
        return (
            f"{plural(len(self.checks), 'check')}, seed {self.plan.seed}. False alarm in any of them: probability at "
            f"most {spent:.2g}, of a budget of {self.plan.false_alarm:g} for the session."
        )


def _row(check: Mapping[str, Any]) -> str:
    epsilons = f"{check['claim']:>8.4g} {check['bound']:>8.4g} {check['detectable']:>8.4g}"
    call = f" (check {check['call']})" if check["call"] > 1 else ""
    return f"{check['verdict']:<13} {epsilons} {check['significance']:>11.2g}  {check['test']}{call}"
