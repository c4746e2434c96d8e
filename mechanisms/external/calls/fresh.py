"""Runs in fresh interpreters: what repeats there too is a fixed seed or no randomness; what does not, was remembered.

A function is kept before it has run for the first time (`keep`), so that nothing that it remembers travels with it: by
its address, where it is a name of a module that can be imported or run again, and pickled elsewhere. In a new
interpreter (`run`) each run is made with a copy of its own: the module is imported, or the pickle is read, once more.
Seeds are its own too: of the rng, of the random states that all code shares, of the generators that the function holds,
of the hashes of texts. The interpreter says what was drawn from and read: see `child.py`.

What a pickle carries is the same in all copies: numbers that a function held before it was kept, such as noise that was
drawn when it was made, do not differ between them. `FirstRuns.held` names these.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ...base import Neighbours
from ..first_runs import Address, address_of, globals_of
from ..forms import Form

COPIES = 100
"""Runs on each side, each with a copy of its own, in one interpreter."""
ENOUGH = 10.0
"""Seconds after which an interpreter makes no more than it has made, but for one on each side."""
LARGEST = 32 * 2**20
"""Bytes of a function with all that it holds, beyond which it is not kept."""
SECONDS = 120.0
"""For one interpreter."""
SOURCE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from dpassay.mechanisms.external.calls.child import main
main(sys.argv[2], sys.argv[3])
"""

_KEPT: weakref.WeakKeyDictionary[Any, bytes | Address] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class FreshRun:
    """One run in a fresh interpreter.

    Args:
        values: numbers of the output, flattened.
        event: label of an exceptional output; empty for an ordinary one.
        shape: of the output.
        drawn: from which generators was drawn, by name, with a digest of the state in which each was left.
        outside: what it read besides, such as files and the entropy of the operating system.
    """

    values: tuple[float, ...]
    event: str
    shape: tuple[int, ...] = ()
    drawn: Mapping[str, str] = field(default_factory=dict)
    outside: tuple[str, ...] = ()

    @property
    def output(self) -> tuple[tuple[float, ...], str]:
        """What it gave."""
        return self.values, self.event


Runs = tuple[FreshRun, ...]


@dataclass(frozen=True)
class Fresh:
    """What one fresh interpreter showed.

    Args:
        out, in_: runs on side 0 and on side 1, each with a copy of the function that had not run before.
        kept: digests of what a copy holds before it runs, by name.
        constants: digests of the globals that every import of their modules made alike, by name; of those alone that a
            pickle carries.
    """

    out: Runs
    in_: Runs
    kept: Mapping[str, str]
    constants: Mapping[str, str] = field(default_factory=dict)


class _Limited(io.BytesIO):
    """A file that refuses to grow beyond `LARGEST`."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > LARGEST:
            raise OverflowError
        return super().write(data)


def cloudpickle() -> Any:
    """The module of that name; joblib had its own before version 1.6."""
    try:
        return import_module("joblib.externals.cloudpickle")
    except ModuleNotFoundError:
        return import_module("cloudpickle")


def keep(function: Callable[..., Any]) -> None:
    """Keeps the address of `function`, or a pickle of it as it is now, unless it was kept before; what has neither is
    not kept."""
    try:
        if function not in _KEPT:
            _KEPT[function] = address_of(function) or _pickled(function)
    except BaseException:  # pickling runs code of strangers
        return


def _pickled(function: Callable[..., Any]) -> bytes:
    file = _Limited()
    cloudpickle().CloudPickler(file).dump(function)
    return file.getvalue()


def can_run(function: Callable[..., Any]) -> bool:
    """Whether it was kept."""
    try:
        return function in _KEPT
    except TypeError:
        return False


def is_made_anew(function: Callable[..., Any]) -> bool:
    """Whether a fresh interpreter makes it anew, so that no copy of what it holds travels."""
    return can_run(function) and isinstance(_KEPT[function], tuple)


def run(
    function: Callable[..., Any],
    neighbours: Neighbours,
    seed: int,
    *,
    sides: tuple[int, int] = (0, 1),
    copies: int = COPIES,
    style: str,
    form: Form,
    records: bool,
) -> Fresh | None:
    """Runs on each side of a function that was kept, in a fresh interpreter; None where that cannot be done, or the
    first of them fails there.

    Args:
        function: as it was when it was kept.
        neighbours, sides: what it runs on, in this order.
        seed: of the rng, of the shared random states and of the hashes of texts, from 0 to 2^32 - 1.
        copies: runs on each side, at most; fewer where they take more than `ENOUGH` seconds.
        style, form, records: as for `FunctionMechanism`.
    """
    if not can_run(function):
        return None
    given = {"neighbours": neighbours, "style": style, "form": form, "records": records}
    asked = {"sides": sides, "seed": seed, "copies": copies, "seconds": ENOUGH, "globals": globals_of(function)}
    with tempfile.TemporaryDirectory(prefix="dpassay-") as folder:
        request, answer = Path(folder) / "request", Path(folder) / "answer"
        try:
            pickle = cloudpickle()
            request.write_bytes(pickle.dumps((_KEPT[function], pickle.dumps(given), asked)))
            subprocess.run(
                [sys.executable, "-c", SOURCE, json.dumps(sys.path), str(request), str(answer)],
                env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=True,
            )
            seen = json.loads(answer.read_text(encoding="utf-8"))
        except Exception:  # it ended, hung, or could not be sent
            return None
    out, in_ = (tuple(map(_read, seen["runs"][sides.index(side)])) for side in (0, 1))
    return Fresh(out, in_, seen["kept"], seen["constants"])


def _read(one: Mapping[str, Any]) -> FreshRun:
    values = tuple(map(float, one["values"]))
    return FreshRun(values, one["event"], tuple(one["shape"]), one["drawn"], tuple(one["outside"]))
