"""The object of the fixture `dp_audit`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from .baseline import compared
from .budget import confidence_at, seed_of, share
from .options import audit_arguments, check_named, marked, merge
from .session import CALLS, OUTCOMES, Outcome, SessionPlan, identity
from .summary import PROPERTY, record, underpowered

if TYPE_CHECKING:
    from ...audit import AuditResult, StressResult
    from ...audit.bounds.base import LedgerEntry
    from ..ci.history import History


class DPAudit:
    """Callable of the fixture `dp_audit`: call it with a mechanism, once or several times."""

    def __init__(self, item: pytest.Item, plan: SessionPlan) -> None:
        self._item = item
        self._plan = plan

    def __call__(self, mechanism: Any, *positional: Any, **options: Any) -> AuditResult | StressResult:
        """Audit `mechanism`, and return the result unless the claim is refuted; with stress=True, on hostile data.

        Args:
            mechanism: a mechanism of dpassay, or a function `release(dataset, rng)` or `release(dataset, size, rng)`.
            *positional: none; options are given by name.
            **options: those of `@pytest.mark.dp`, which they override; `pytest --markers` lists them.

        Raises:
            PrivacyViolation: the lower bound on epsilon exceeds the claim; `.result` has the evidence. The message has
                no values of datasets and outputs, since files for build servers repeat it.
            pytest.fail.Exception: the check has less power than in the baseline (`--dp-baseline`).
            DependentTrialsError: the runs are not independent, so there is no verdict.
            DpassayError: the options are invalid.
        """
        __tracebackhide__ = True
        from ...mechanisms.core import DpassayError, terminal

        outcome = Outcome()
        self._item.stash[OUTCOMES].append(outcome)
        try:
            check_named("dp_audit", positional)
            return self._checked(mechanism, options, outcome)
        except DpassayError as error:
            outcome.error = error
            error.args = tuple(terminal(part) if isinstance(part, str) else part for part in error.args)
            raise error.with_traceback(None)  # noqa: B904 - the traceback through the library is not informative
        except BaseException as error:
            outcome.error = error
            raise

    def _checked(self, mechanism: Any, options: Mapping[str, Any], outcome: Outcome) -> AuditResult | StressResult:
        """Return the result of the audit, or raise if it fails the test."""
        __tracebackhide__ = True
        from ...audit.results.plain import message
        from ...audit.results.text import INDEPENDENCE_ADVICE
        from ...mechanisms.core import DependentTrialsError, PrivacyViolation

        result, builds = self._run(mechanism, options)
        outcome.finished = True
        outcome.call = self._item.stash[CALLS]
        verdict = {} if builds is None else {"verdict": builds.verdict.value}
        check = compared(record(result, identity(self._item), outcome.call) | verdict, self._plan)
        self._item.user_properties.append((PROPERTY, json.dumps(check)))
        if check["verdict"] == "violation" and check["change"] != "known violation":
            from ..ci.findings import text_for_builds

            if builds is not None and result.verdict is not builds.verdict:
                raise PrivacyViolation(message(builds.text()))
            raise PrivacyViolation(message(text_for_builds(result)), result)
        if check["verdict"] == "dependent":
            raise DependentTrialsError(check["mechanism"], check["dependence"], INDEPENDENCE_ADVICE)
        if check["change"] == "lost power":
            pytest.fail(f"lost power: {check['reason']} (--dp-baseline)", pytrace=False)
        if check["verdict"] == "underpowered" and self._plan.strict:
            pytest.fail(f"{underpowered(check)} (--dp-strict)", pytrace=False)
        return result

    def _run(self, mechanism: Any, options: Mapping[str, Any]) -> tuple[AuditResult | StressResult, History | None]:
        """Run the audit at the share of this call in the budget, and record the share in its ledger.

        With a history, return it with this build; its level is the whole budget of the session, for all sessions.
        """
        from ...audit import audit

        self._item.stash[CALLS] += 1
        plan, test, call = self._plan, identity(self._item), self._item.stash[CALLS]
        significance = share(plan.false_alarm, plan.n_tests, call)
        given = merge(*marked(self._item), options)
        arguments = audit_arguments(mechanism, given)
        entry = _ledger_entry(plan, test, call, significance)
        if given.get("stress"):
            seed = seed_of(plan.seed, test, call)
            return _stressed(mechanism, arguments, confidence_at(significance), seed, entry), None
        if plan.trials is not None:
            arguments["trials"] = plan.trials
        if plan.stop is not None and "bound" not in arguments:
            arguments.setdefault("stop", plan.stop)
        confidence, file = confidence_at(significance), arguments.pop("history", None)
        if file is None:
            result = audit(mechanism, confidence=confidence, seed=seed_of(plan.seed, test, call), **arguments)
            return dataclasses.replace(result, ledger=(*result.ledger, entry)), None
        from ..ci.history import History

        file = self._item.config.rootpath / file
        with History.opened(file, level=plan.false_alarm, seed=plan.seed) as builds:
            result = audit(mechanism, confidence=confidence, seed=builds.seed, history=builds, **arguments)
            return dataclasses.replace(result, ledger=(*result.ledger, entry)), builds.add(result)


def _stressed(
    mechanism: Any, arguments: dict[str, Any], confidence: float, seed: int, entry: LedgerEntry
) -> StressResult:
    """Return the audits on hostile data at the share of the call in the budget, which the ledger records."""
    from ...audit import stress

    result = stress(mechanism, confidence=confidence, seed=seed, **arguments)
    reported = dataclasses.replace(result.reported, ledger=(*result.reported.ledger, entry))
    return dataclasses.replace(result, reported=reported)


def _ledger_entry(plan: SessionPlan, test: str, call: int, significance: float) -> LedgerEntry:
    from ...audit.bounds.base import LedgerEntry
    from ...mechanisms.core import number

    return LedgerEntry(
        what="test session",
        looked_at=f"check {call} of {test}, one of {plan.n_tests} privacy tests",
        correction=f"union bound over the session: significance {number(significance)} = {number(plan.false_alarm)} / "
        f"{plan.n_tests} * 6 / (pi^2 j^2) with j = {call}",
    )
