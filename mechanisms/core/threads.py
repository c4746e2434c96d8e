"""Limits on the threads of BLAS and OpenMP: the rounding of a sum depends on their number."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def single_thread(user_api: str | None = None) -> AbstractContextManager[Any]:
    """Limit the thread pools to one thread, until `__exit__` of the result: bytes are reproducible.

    Args:
        user_api: "blas" or "openmp"; None for both. The limit of BLAS holds for the process, that of OpenMP for the
            calling thread.
    """
    limit: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(limits=1, user_api=user_api)
    return limit


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> Any:
    """Return the thread pools of the loaded libraries, searched again after an import: a search takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
