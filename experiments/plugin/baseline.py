"""The baseline of a session: claims of an earlier one, with which each check is compared, and which a session saves.

A check fails for a new violation or for lost power; see `dpassay.experiments.ci.comparison` for both. A check of
the baseline that is no longer made fails the session if its test ran, or if it was selected and is gone.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .session import SessionPlan

if TYPE_CHECKING:
    from ..ci.checked import CheckedClaim
    from ..ci.comparison import ComparedClaim

Checks = Mapping[tuple[str, int], Mapping[str, Any]]
_PARTIAL = ("keyword", "markexpr", "deselect", "lf", "stepwise", "maxfail", "collectonly", "ignore", "ignore_glob")
"""Options of pytest with which a session may leave tests out."""


def read_baseline(file: Path) -> dict[str, CheckedClaim]:
    """Return the claims of an earlier session by name.

    Raises:
        pytest.UsageError: the file cannot be read, is damaged, or holds no session.
    """
    from ...mechanisms.core import DpassayError
    from ..ci.checked import SESSION
    from ..ci.saved_runs import load

    try:
        checked = load(file).checked
    except DpassayError as error:
        raise pytest.UsageError(f"--dp-baseline: {error}") from error
    if checked.source != SESSION:
        raise pytest.UsageError(
            f"--dp-baseline must be a file of `pytest --dp-save FILE`, but {file} holds one {checked.source}."
        )
    return {claim.name: claim for claim in checked.claims}


def compared(check: dict[str, Any], plan: SessionPlan) -> dict[str, Any]:
    """Return the record of a check with its change since the baseline, and the reason of one that fails."""
    if plan.baseline is None:
        return check
    from ..ci.checked import claims_of_session
    from ..ci.comparison import compare_claim

    (claim,) = claims_of_session([check]).claims
    row = compare_claim(plan.baseline.get(claim.name), claim, power_loss=plan.power_loss)
    return check | {"change": row.change.value, "reason": row.reason}


def gone(
    plan: SessionPlan, checks: Checks, tests: Collection[str], deselected: Collection[str], config: pytest.Config
) -> list[ComparedClaim]:
    """Return the checks of the baseline that this session should have made, and did not."""
    from ..ci.checked import session_name
    from ..ci.comparison import missing

    made = {session_name(test, call) for test, call in checks}
    rows = []
    for name, claim in (plan.baseline or {}).items():
        test = name.rpartition(" (check ")[0] or name
        if name not in made and (test in tests or (test not in deselected and _selected(test, config))):
            row = missing(claim, power_loss=plan.power_loss)
            rows += [row] if row.change.fails else []
    return rows


def _selected(test: str, config: pytest.Config) -> bool:
    """Return whether the command line of the session asked for this test, and for all tests beside it."""
    if any(config.getoption(name, None) for name in _PARTIAL) or any("::" in str(asked) for asked in config.args):
        return False
    file, here = config.rootpath / test.partition("::")[0], config.invocation_params.dir
    return any(file == here / asked or here / asked in file.parents for asked in config.args)


def save(file: Path, checks: Checks) -> str:
    """Write the claims of this session; return why that failed, or "" if it did not."""
    from ..ci.checked import claims_of_session

    try:
        file.write_text(claims_of_session(checks.values()).to_json(), encoding="utf-8")
    except OSError as error:
        return f"cannot write {file}: {error.strerror or error}. Choose another file with --dp-save."
    return ""


def write_step_summary(checks: Checks, missing: Collection[ComparedClaim], headline: str) -> None:
    """Append the checks to the summary of the GitHub step, if there is one; a file that cannot be written is left."""
    if not os.environ.get("GITHUB_STEP_SUMMARY"):
        return
    from ...mechanisms.core import StoreError
    from ..ci.checked import claims_of_session
    from ..present.builds.step_summary import append, section, step_summary_file

    reasons = [check for check in checks.values() if check["reason"] and not check.get("expected")]
    changed = [f"{check['test']}: {check['change']}. {check['reason']}" for check in reasons]
    notes = [*changed, *(f"{claim.name}: {claim.reason}" for claim in missing)]
    file = step_summary_file()
    assert file is not None
    try:
        text = claims_of_session(checks.values()).text()
        append(file, section(replace(text, answer=headline, warnings=tuple(notes)), heading="privacy checks"))
    except StoreError:
        return
