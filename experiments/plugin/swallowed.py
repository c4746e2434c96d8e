"""Failure of tests that catch an exception of their checks, unless `pytest.raises` expects it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import pytest

from .session import OUTCOMES


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
