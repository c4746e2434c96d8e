"""What the checks of a session share, and what became of each."""

from __future__ import annotations

import dataclasses

import pytest


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


def identity(item: pytest.Item) -> str:
    """The id of a test, the same with and without pytest-xdist (which may add a group to `nodeid`)."""
    return f"{item.parent.nodeid if item.parent else ''}::{item.name}"
