"""Memory: how much there is, and a refusal of what does not fit, before it is allocated."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .errors import ParameterError

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_USED = ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")


def available_memory() -> int:
    """Return the bytes that this process can still allocate: the least of what the machine, the container and
    `ulimit -v` leave. 2^63 - 1 where the system does not say."""
    found = [2**63 - 1]
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
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


def fits_in_memory(n_bytes: float, what: str, *, argument: str | tuple[str, ...], advice: str = "") -> None:
    """Raise `ParameterError` if `n_bytes` exceed the available memory.

    Args:
        n_bytes: bytes about to be allocated.
        what: what they hold, such as "the noise of 10 runs".
        argument: the argument that decides how many they are; several, with the first to be reduced first.
        advice: what to do, a sentence.
    """
    if n_bytes <= (room := available_memory()):
        return
    raise ParameterError(
        f"{what} would take {in_units(n_bytes)} of memory, but {in_units(room)} are available. "
        f"{advice or f'Reduce {argument if isinstance(argument, str) else argument[0]}.'}",
        argument=argument,
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


__all__ = ["available_memory", "fits_in_memory", "in_units"]
