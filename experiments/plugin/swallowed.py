"""A test cannot hide what its checks raised: it fails, unless `pytest.raises` expected that."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import pytest

from .session import OUTCOMES


def fail_where_swallowed(item: pytest.Item) -> None:
    """Raises what a call of `dp_audit` raised, if the test swallowed it; `pytest.raises` expects it instead."""
    swallowed = next((c for c in item.stash[OUTCOMES] if c.error is not None and not c.expected), None)
    if swallowed is None or swallowed.error is None:
        return
    if swallowed.finished:
        raise swallowed.error
    pytest.fail(
        f"{item.nodeid} swallowed what dp_audit raised, so that nothing was checked:\n"
        f"{type(swallowed.error).__name__}: {swallowed.error}\nLet it fail the test, or expect it by pytest.raises.",
        pytrace=False,
    )


@contextlib.contextmanager
def noting_expected(item: pytest.Item) -> Generator[None]:
    """Notes which exceptions `pytest.raises` catches meanwhile: a test expects those."""
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
