"""One thread for numerical libraries, so that what is learned does not depend on how many the machine has."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """The thread pools of the libraries that are loaded, looked up once: the search takes milliseconds."""
    import sklearn.ensemble  # noqa: F401 - loads the OpenMP runtime before the search
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def single_thread() -> AbstractContextManager[Any]:
    """Within this context BLAS and OpenMP use one thread: sums are added in one order, bytes are reproducible."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1)
    return context


def single_openmp_thread() -> AbstractContextManager[Any]:
    """The same for OpenMP alone, a setting of the calling thread: safe while other threads work."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="openmp")
    return context
