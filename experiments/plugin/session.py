"""State of a session: the options of all checks, and the outcome of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..ci.checked import CheckedClaim

POWER_LOSS = 0.25
"""Default of --dp-power-loss, as in `dpassay.experiments.ci.comparison`."""


@dataclasses.dataclass
class SessionPlan:
    """Options of all checks of a session.

    Args:
        false_alarm: largest probability that any check of the session fails although every claim is true.
        seed: root of every random stream of the session, together with the id of the test.
        trials: overrides the trials of every check; None leaves them unchanged.
        strict: whether an underpowered check fails.
        stop: "anytime" for checks without this option; None leaves them unchanged.
        baseline: claims of an earlier session by name; None without a baseline.
        power_loss: allowed relative growth of the detectable excess over the claim, relative to the baseline.
        save: file for the claims of this session; None for none.
        n_tests: selected tests that use `dp_audit`; known after collection.
    """

    false_alarm: float
    seed: int
    trials: int | None
    strict: bool
    stop: str | None = None
    baseline: Mapping[str, CheckedClaim] | None = None
    power_loss: float = POWER_LOSS
    save: Path | None = None
    n_tests: int = 0


PLAN = pytest.StashKey[SessionPlan]()
CALLS = pytest.StashKey[int]()
"""Number of calls of `dp_audit` so far; only counted tests have it."""
OUTCOMES = pytest.StashKey[list["Outcome"]]()
"""Outcomes of these calls."""


@dataclasses.dataclass(eq=False)
class Outcome:
    """Outcome of one call of `dp_audit`.

    Args:
        finished: whether the audit reached a verdict.
        error: the exception that it raised; None if it raised none.
        expected: whether `pytest.raises` caught the exception.
        call: number of the call of `dp_audit` in its test; 0 for a call of `dp_record`.
    """

    finished: bool = False
    error: BaseException | None = None
    expected: bool = False
    call: int = 0


def identity(item: pytest.Item) -> str:
    """Return the id of a test, the same with and without pytest-xdist (which may add a group to `nodeid`)."""
    return f"{item.parent.nodeid if item.parent else ''}::{item.name}"
