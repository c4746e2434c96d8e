"""Memory: how much there is, and an error instead of a process that is ended where something does not fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_NUMPY_SAYS = (
    "array is too big",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
    "too large to convert to C",
    "cannot fit 'int' into an index-sized integer",
    "larger than the maximum possible size",
)
_USED = ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")


def available_memory() -> int:
    """Return the bytes that this process can still allocate: the least of what the machine, the container and
    `ulimit -v` leave. 2^63 - 1 where the system does not say."""
    found = [2**63 - 1]
    with suppress(OSError, ValueError, IndexError):
        lines = [line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()]
        sizes = {words[0]: int(words[1]) * 1024 for words in lines}
        if "MemAvailable:" in sizes:
            found.append(sizes["MemAvailable:"] + sizes.get("SwapFree:", 0))
    for limit, used in zip(_LIMITS, _USED, strict=True):
        with suppress(OSError, ValueError):  # "max" is no limit
            found.append(int(Path(limit).read_text(encoding="ascii")) - int(Path(used).read_text(encoding="ascii")))
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit_bytes = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit_bytes != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(limit_bytes - pages * os.sysconf("SC_PAGE_SIZE"))
    return max(min(found), 0)


@contextmanager
def no_more_than_available() -> Iterator[None]:
    """Within this context an allocation beyond the available memory raises `MemoryError` at once.

    Else the system grants it, and ends the process when it is used. Worker processes that are started within inherit
    the limit. It has no effect where the system has no `RLIMIT_DATA`.
    """
    before = None
    with suppress(ImportError, AttributeError, OSError, ValueError, IndexError):
        import resource

        before = resource.getrlimit(resource.RLIMIT_DATA)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        most = min(pages * os.sysconf("SC_PAGE_SIZE") + available_memory(), 2**62)
        limits = [limit for limit in (most, *before) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min(limits), before[1]))
    try:
        yield
    finally:
        if before is not None:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_DATA, before)


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error says that something does not fit into memory, or into any: numpy has several words."""
    said = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, (ValueError, OverflowError)) and any(words in said for words in _NUMPY_SAYS)
    )


def in_units(n_bytes: float) -> str:
    """Return a number of bytes in the largest unit that it fills.

    >>> in_units(3 * 2**30), in_units(100.0)
    ('3.0 GiB', '100 bytes')
    """
    for exponent, unit in ((50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if n_bytes >= 2**exponent:
            return f"{n_bytes / 2**exponent:,.1f} {unit}"
    return f"{n_bytes:g} bytes"


__all__ = ["available_memory", "in_units", "lacks_memory", "no_more_than_available"]
