"""Functions that leave in every way but the usual one, and what an audit says to each.

`CASES` are audited in the process of the tests, `ENDINGS` by `dpassay check` in processes of their own. To add a case,
write a function of (dataset, rng) or (dataset, size, rng) and a line of the table.
"""

from __future__ import annotations

import builtins
import copy
import hashlib
import itertools
import json
import math
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dpassay.mechanisms.core import ReleaseError


@dataclass(frozen=True)
class Case:
    """A function and what becomes of its audit.

    Args:
        function: of (dataset, rng) or (dataset, size, rng).
        event: label of an exceptional output that the result counts on side 1 only.
        error: class of the error that ends the audit.
        says: what the message of the error, or a warning of the result, holds.
        options: of `audit`, beyond the usual ones.
    """

    function: Callable[..., Any]
    event: str | None = None
    error: type[Exception] | None = None
    says: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the function."""
        return self.function.__name__


def noisy(dataset, rng):
    return sum(dataset) + rng.laplace(scale=2.0)


def leaving(error):
    """A function that raises `error` in some runs on side 1."""

    def release(dataset, rng):
        if len(dataset) == 3 and rng.random() < 0.4:
            raise error
        return noisy(dataset, rng)

    release.__name__ = f"leaving_by_{type(error).__name__}"
    return release


def returning(make, name):
    """A function that returns what `make()` gives."""

    def release(dataset, rng):
        return make()

    release.__name__ = f"returning_{name}"
    return release


class Mute(BaseException):
    def __str__(self):
        raise SystemExit(0)


class Shouting(type):
    def __getattribute__(cls, name):
        raise KeyboardInterrupt


class Evil(metaclass=Shouting):
    def __repr__(self):
        raise SystemExit(0)

    def __len__(self):
        raise GeneratorExit

    def __array__(self, *_, **__):
        raise KeyboardInterrupt

    def __iter__(self):
        raise MemoryError


class Silent:
    def __repr__(self):
        raise KeyboardInterrupt


def circle():
    inside: list[Any] = []
    inside.append(inside)
    return inside


def deep():
    inside: Any = 1
    for _ in range(100_000):
        inside = {"a": inside}
    return inside


class Keys(dict):
    def __iter__(self):
        raise OSError("no keys")


def skipping(dataset, rng):
    if len(dataset) == 3:
        pytest.skip("not today")
    return noisy(dataset, rng)


def many_by_exit(dataset, size, rng):
    sys.exit(0)


def many_by_interrupt(dataset, size, rng):
    raise KeyboardInterrupt


def many_by_skip(dataset, size, rng):
    pytest.skip("not today")


def many_of_evil(dataset, size, rng):
    return Evil()


def out_of_memory(dataset, rng):
    raise MemoryError("no room")


def out_of_real_memory(dataset, rng):
    return np.ones(10**15).sum()


def to_another_directory(dataset, rng):
    os.chdir("/")
    return noisy(dataset, rng)


def with_strict_numpy(dataset, rng):
    np.seterr(all="raise")
    return noisy(dataset, rng)


def with_strict_warnings(dataset, rng):
    warnings.filterwarnings("error", message="hostile")
    return noisy(dataset, rng)


def with_another_environment(dataset, rng):
    os.environ["HOSTILE"] = "1"
    os.environ.pop("HOME", None)
    return noisy(dataset, rng)


def with_ignored_interrupts(dataset, rng):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return noisy(dataset, rng)


def with_an_alarm(dataset, rng):
    signal.setitimer(signal.ITIMER_REAL, 3_600.0)
    return noisy(dataset, rng)


def without_stdout(dataset, rng):
    sys.stdout = None
    return noisy(dataset, rng)


def with_deep_recursion(dataset, rng):
    sys.setrecursionlimit(5_000)
    return noisy(dataset, rng)


def from_global_numpy(dataset, rng):
    return sum(dataset) + np.random.laplace(scale=2.0)  # noqa: NPY002


def from_global_python(dataset, rng):
    return sum(dataset) + random.gauss(0.0, 3.0)


def reseeding(dataset, rng):
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    return noisy(dataset, rng)


# --- names of modules -------------------------------------------------------------------------------------------------


def refuse(*_, **__):
    raise ZeroDivisionError("patched")


def patching(module, name, value=refuse, *, after=0):
    """A function that replaces a name of a module in one of its runs, and leaves it so."""
    runs = itertools.count()

    def release(dataset, rng):
        result = noisy(dataset, rng)
        if next(runs) >= after:
            setattr(module, name, value)
        return result

    release.__qualname__ = release.__name__ = f"patching_{module.__name__}_{name}_after_{after}".replace(".", "_")
    return release


def without_json(dataset, rng):
    sys.modules["json"] = None
    sys.modules.pop("zipfile", None)
    return noisy(dataset, rng)


def without_modules(dataset, rng):
    sys.modules = {}
    return noisy(dataset, rng)


PATCHES = {
    f"{module.__name__}.{name}": (module, name)
    for module, names in {
        np: "sum asarray array zeros errstate finfo float64 inf isnan unique concatenate",
        np.random: "default_rng SeedSequence",
        builtins: "open __import__ isinstance len zip map range sorted str float type min getattr print",
        time: "monotonic time perf_counter",
        math: "exp log isfinite inf",
        os: "getpid getcwd fsync environ",
        sys: "float_info getrecursionlimit",
        signal: "signal getsignal setitimer",
        threading: "current_thread main_thread",
        copy: "deepcopy",
        hashlib: "blake2b sha256",
        json: "dumps",
    }.items()
    for name in names.split()
}
"""What a result or an error has to name -> module and name."""


def hanging(dataset, rng):
    time.sleep(30)


def hanging_on(dataset, rng):
    """Swallows what is raised in it."""
    try:
        time.sleep(30)
    except BaseException:
        return 1.0


def many_hanging(dataset, size, rng):
    time.sleep(30)


LABELS = {
    "raised KeyboardInterrupt": KeyboardInterrupt(),
    "raised GeneratorExit": GeneratorExit(),
    "raised SystemExit: 0": SystemExit(0),
    "raised StopIteration": StopIteration(),
    "raised RecursionError: deep": RecursionError("deep"),
    "raised Skipped: not today": pytest.skip.Exception("not today"),
    "raised Exit: over": pytest.exit.Exception("over"),
    "raised XFailed: known": pytest.xfail.Exception("known"),
    "raised CancelledError": __import__("asyncio").CancelledError(),
    "raised BaseExceptionGroup: all (1 sub-exception)": BaseExceptionGroup("all", [KeyboardInterrupt()]),
    "raised Mute: <a message that raises SystemExit>": Mute(),
    "raised ValueError: \\udc80... #": ValueError("\udc80"),
    "raised AssertionError: dpassay": AssertionError("dpassay"),
    "raised ReleaseError: mine": ReleaseError("mine"),
}
RESULTS = {
    "circle": (circle, "holds itself, or is nested too deeply"),
    "deep": (deep, "holds itself, or is nested too deeply"),
    "evil": (Evil, "when it was read"),
    "silent": (Silent, "whose repr raises KeyboardInterrupt"),
    "keys": (lambda: Keys(a=1), "raised OSError: no keys when it was read"),
    "object": (object, "cannot be read as an outcome"),
    "function": (lambda: len, "cannot be read as an outcome"),
}
CHANGES = {
    to_another_directory: "working directory",
    with_strict_numpy: "error state of numpy",
    with_strict_warnings: "warnings filters",
    with_another_environment: "environment variables",
    with_ignored_interrupts: "signal handlers",
    with_an_alarm: "alarm timer",
    without_stdout: "standard streams",
    with_deep_recursion: "recursion limit",
    from_global_numpy: "global random state of numpy",
    from_global_python: "global random state of Python",
    reseeding: "global random state of numpy",
}
QUICK = {"timeout": 0.2}
CASES = (
    *(Case(leaving(error), event=label) for label, error in LABELS.items()),
    Case(skipping, event="raised Skipped: not today"),
    *(Case(returning(make, name), error=ReleaseError, says=says) for name, (make, says) in RESULTS.items()),
    *(Case(function, says=says) for function, says in CHANGES.items()),
    Case(many_by_exit, error=ReleaseError, says="raised SystemExit in each of 10 first runs, on both sides: 0"),
    Case(many_by_interrupt, error=ReleaseError, says="raised KeyboardInterrupt"),
    Case(many_by_skip, error=ReleaseError, says="raised Skipped in each of 10 first runs, on both sides: not today"),
    Case(many_of_evil, error=ReleaseError, says="raised KeyboardInterrupt"),
    Case(out_of_memory, error=ReleaseError, says="ran out of memory (MemoryError: no room)"),
    Case(out_of_real_memory, error=ReleaseError, says="ran out of memory"),
    Case(hanging, error=ReleaseError, says="no answer within timeout=0.2 seconds on both", options=QUICK),
    Case(hanging_on, error=ReleaseError, says="no answer within timeout=0.2 seconds on both", options=QUICK),
    Case(many_hanging, error=ReleaseError, says="no answer within timeout=0.2 seconds on both", options=QUICK),
)


# --- what no process survives -----------------------------------------------------------------------------------------

_runs = [0]


def _later(act):
    """Does it in a run of the evaluation, when everything has begun."""
    _runs[0] += 1
    if _runs[0] == 150:
        act()


def leaking(dataset, rng):
    return sum(dataset) + rng.laplace(scale=0.01)


def ending_with_0(dataset, rng):
    _later(lambda: os._exit(0))
    return noisy(dataset, rng)


def ending_with_1(dataset, rng):
    os._exit(1)


def ending_by_segfault(dataset, rng):
    _later(lambda: os.kill(os.getpid(), signal.SIGSEGV))
    return noisy(dataset, rng)


def ending_by_kill(dataset, rng):
    _later(lambda: os.kill(os.getpid(), signal.SIGKILL))
    return noisy(dataset, rng)


def ending_by_term(dataset, rng):
    _later(lambda: os.kill(os.getpid(), signal.SIGTERM))
    return noisy(dataset, rng)


def ending_at_exit(dataset, rng):
    _later(lambda: __import__("atexit").register(lambda: os._exit(0)))
    return leaking(dataset, rng)


def leaving_a_thread(dataset, rng):
    _later(lambda: threading.Thread(target=time.sleep, args=(60,)).start())
    return leaking(dataset, rng)


def forking(dataset, rng):
    _later(os.fork)
    return leaking(dataset, rng)


def closing_stdout(dataset, rng):
    _later(lambda: os.close(1))
    return leaking(dataset, rng)


def always_interrupting(dataset, rng):
    raise KeyboardInterrupt


ENDINGS = {
    noisy: (0, ""),
    leaking: (1, ""),
    ending_with_0: (2, "ended its process with exit code 0"),
    ending_with_1: (2, "ended its process with exit code 1"),
    ending_by_segfault: (2, "was ended by SIGSEGV"),
    ending_by_kill: (2, "was ended by SIGKILL"),
    ending_by_term: (2, "was ended by SIGTERM"),
    ending_at_exit: (1, ""),
    forking: (1, ""),
    closing_stdout: (1, ""),
    always_interrupting: (2, "raised KeyboardInterrupt in each of 10 first runs"),
    skipping: (1, ""),
    many_by_exit: (2, "raised SystemExit in each of 10 first runs"),
}
"""Function -> exit code of `dpassay check`, and what it says on stderr."""
