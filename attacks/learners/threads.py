"""Single-threaded numerical libraries, so that results do not depend on the number of cores."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """Return the thread pools of the loaded libraries, searched once: the search takes milliseconds."""
    import sklearn.ensemble  # noqa: F401 - loads the OpenMP runtime before the search
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def single_thread() -> AbstractContextManager[Any]:
    """Limit BLAS and OpenMP to one thread in this context: sums are added in one order, bytes are reproducible."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1)
    return context


def single_openmp_thread() -> AbstractContextManager[Any]:
    """Limit OpenMP to one thread in this context, for the calling thread only: safe while other threads work."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="openmp")
    return context
