"""Available memory, and a `MemoryError` instead of a killed process when an allocation does not fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_NUMPY_MESSAGES = (
    "array is too big",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
    "too large to convert to C",
    "cannot fit 'int' into an index-sized integer",
    "larger than the maximum possible size",
)
_USED = ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")


def available_memory() -> int:
    """Return the number of bytes that this process can still allocate.

    The minimum of the memory left by the machine, the container and `ulimit -v`; 2^63 - 1 if the system reports none.
    """
    limits = [2**63 - 1]
    with suppress(OSError, ValueError, IndexError):
        lines = [line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()]
        sizes = {words[0]: int(words[1]) * 1024 for words in lines}
        if "MemAvailable:" in sizes:
            limits.append(sizes["MemAvailable:"] + sizes.get("SwapFree:", 0))
    for limit, used in zip(_LIMITS, _USED, strict=True):
        with suppress(OSError, ValueError):  # "max" is no limit
            limits.append(int(Path(limit).read_text(encoding="ascii")) - int(Path(used).read_text(encoding="ascii")))
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit_bytes = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit_bytes != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            limits.append(limit_bytes - pages * os.sysconf("SC_PAGE_SIZE"))
    return max(min(limits), 0)


@contextmanager
def no_more_than_available() -> Iterator[None]:
    """Make any allocation beyond the available memory raise `MemoryError` at once within this context.

    Without the limit the system may grant the allocation and kill the process when the memory is used. Worker
    processes started within the context inherit the limit. It has no effect on systems without `RLIMIT_DATA`.
    """
    before = None
    with suppress(ImportError, AttributeError, OSError, ValueError, IndexError):
        import resource

        before = resource.getrlimit(resource.RLIMIT_DATA)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        data_limit = min(pages * os.sysconf("SC_PAGE_SIZE") + available_memory(), 2**62)
        limits = [limit for limit in (data_limit, *before) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min(limits), before[1]))
    try:
        yield
    finally:
        if before is not None:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_DATA, before)


def lacks_memory(error: BaseException) -> bool:
    """Return True if an error reports that an object does not fit into memory; numpy has several messages for it."""
    message = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, (ValueError, OverflowError)) and any(text in message for text in _NUMPY_MESSAGES)
    )
