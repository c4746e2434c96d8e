"""Conformance checks: functions that raise an `AssertionError` with the problem and what to do.

    check_mechanism(Mine(...))    run every check; raise `ConformanceError` with all that failed

A random check is a hypothesis test at `FALSE_ALARM`, with a fixed seed: it fails a correct object with at most this
probability, and gives the same answer every time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from ..mechanisms.core import ParameterError

FALSE_ALARM = 1e-6
"""Largest probability that a random check fails a correct object."""

C = TypeVar("C")
Check = Callable[[C], None]


class ConformanceError(AssertionError):
    """An object does not keep its interface.

    Args:
        subject: the object, as shown.
        failures: (name of the check, the problem and what to do) of each failed check.
    """

    def __init__(self, subject: str, failures: Sequence[tuple[str, str]]) -> None:
        self.subject, self.failures = subject, tuple(failures)
        lines = [f"  {name}: {problem}" for name, problem in failures]
        noun = "check" if len(failures) == 1 else "checks"
        super().__init__("\n".join([f"{subject} fails {len(failures)} {noun}:", *lines]))


def require(condition: object, problem: str) -> None:
    """Raise an `AssertionError` with the problem unless the condition holds."""
    if not condition:
        fail(problem)


def fail(problem: str) -> NoReturn:
    """Raise an `AssertionError` with the problem."""
    raise AssertionError(problem)


def run_checks(case: C, checks: Sequence[Check[C]], subject: object, kind: type) -> None:
    """Run all checks on a case; raise `ConformanceError` with those that failed.

    Raises:
        ParameterError: `subject` is no instance of `kind`.
    """
    if not isinstance(subject, kind):
        advice = f"Give an instance, {subject.__name__}(...)." if isinstance(subject, type) else ""
        raise ParameterError(
            argument=kind.__name__.lower(), value=subject, allowed=f"be an instance of {kind.__name__}", advice=advice
        )
    failures = []
    for check in checks:
        try:
            check(case)
        except AssertionError as error:
            failures.append((check.__name__, str(error)))
        except Exception as error:
            failures.append((check.__name__, f"{type(error).__name__}: {error}"))
    if failures:
        raise ConformanceError(repr(subject), failures)
