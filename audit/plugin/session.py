"""State of a session: the options of all checks, their error budget and seeds, and the outcome of each.

If n selected tests use `dp_audit`, call j in any of them has the share a / n * 6 / (pi^2 j^2) of a budget a: since
1 + 1/4 + 1/9 + ... = pi^2 / 6, any number of calls of one test use at most a / n, and the session at most a (union
bound: tests may depend on each other).

A test that catches an exception of its checks fails, unless `pytest.raises` expects the exception.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
from collections.abc import Generator
from typing import Any

import pytest


@dataclasses.dataclass
class SessionPlan:
    """Options of all checks of a session.

    Args:
        false_alarm: largest probability that any check of the session fails although every claim is true.
        seed: root of every random stream of the session, together with the id of the test.
        trials: overrides the trials of every check; None leaves them unchanged.
        strict: whether an underpowered check fails.
        stop: "anytime" for checks without this option; None leaves them unchanged.
        n_tests: selected tests that use `dp_audit`; known after collection.
    """

    false_alarm: float
    seed: int
    trials: int | None
    strict: bool
    stop: str | None = None
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
    """

    finished: bool = False
    error: BaseException | None = None
    expected: bool = False


def identity(item: pytest.Item) -> str:
    """Return the id of a test, the same with and without pytest-xdist (which may add a group to `nodeid`)."""
    return f"{item.parent.nodeid if item.parent else ''}::{item.name}"


def fail_where_swallowed(item: pytest.Item) -> None:
    """Raise the exception of a call of `dp_audit` again if the test caught it other than by `pytest.raises`."""
    swallowed = next((c for c in item.stash[OUTCOMES] if c.error is not None and not c.expected), None)
    if swallowed is None or swallowed.error is None:
        return
    if swallowed.finished:
        raise swallowed.error
    pytest.fail(
        f"{item.nodeid} caught an exception of dp_audit, so nothing was checked:\n"
        f"{type(swallowed.error).__name__}: {swallowed.error}\nDo not catch it, or use pytest.raises.",
        pytrace=False,
    )


@contextlib.contextmanager
def noting_expected(item: pytest.Item) -> Generator[None]:
    """Record the exceptions that `pytest.raises` catches in this context: a test expects them."""
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


FALSE_ALARM = 1e-6
LEAST_SHARE = 1e-14


def share(false_alarm: float, n_tests: int, call: int) -> float:
    """Return the significance of call `call` (from 1) of a test: false_alarm / n_tests * 6 / (pi^2 call^2)."""
    return false_alarm / n_tests * 6.0 / (math.pi * call) ** 2


def confidence_at(significance: float) -> float:
    """Return the least float c with 1 - c <= significance: rounding never exceeds the share."""
    if significance < LEAST_SHARE:
        from ...mechanisms.core.errors import ParameterError

        raise ParameterError(
            f"the share of this check in the false-alarm budget of the session is {significance:.2g}, which is too "
            "small. Make fewer calls of dp_audit in one test (pytest.mark.parametrize), or raise --dp-false-alarm.",
            argument="--dp-false-alarm",
            value=significance,
            allowed=f"leave each check {LEAST_SHARE:g} or more",
        )
    confidence = 1.0 - significance
    return confidence if 1.0 - confidence <= significance else math.nextafter(confidence, 2.0)


def seed_of(root: int, test: str, call: int) -> int:
    """Return the seed of one call, in [0, 2^62): independent of process, order and version of Python."""
    digest = hashlib.sha256(f"{root}\0{test}\0{call}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 2
