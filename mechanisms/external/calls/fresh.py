"""Runs in fresh interpreters: what repeats there too is a fixed seed or no randomness; what does not, was remembered.

A function is pickled before it has run for the first time (`keep`), so that nothing that it remembers travels with it.
A run on each side is then made in an interpreter of its own, with seeds of its own (`run`): of the rng, of the random
states that all code shares, of the hashes of texts. The interpreter says what was drawn from: see `child.py`.
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
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ...base import Neighbours
from ..forms import Form

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

_KEPT: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class FreshRun:
    """One run in a fresh interpreter.

    Args:
        values: numbers of the output, flattened.
        event: label of an exceptional output; empty for an ordinary one.
        drawn: from which generators was drawn, by name, with a digest of the state in which each was left.
        outside: what it read besides, such as files and the entropy of the operating system.
    """

    values: tuple[float, ...]
    event: str
    drawn: Mapping[str, str]
    outside: tuple[str, ...]

    @property
    def output(self) -> tuple[tuple[float, ...], str]:
        """What it gave."""
        return self.values, self.event


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
    """Pickles `function` as it is now, unless it was kept before; what cannot be pickled is not kept."""
    try:
        if function not in _KEPT:
            file = _Limited()
            cloudpickle().CloudPickler(file).dump(function)
            _KEPT[function] = file.getvalue()
    except BaseException:  # pickling runs code of strangers
        return


def can_run(function: Callable[..., Any]) -> bool:
    """Whether it was kept."""
    try:
        return function in _KEPT
    except TypeError:
        return False


def run(
    function: Callable[..., Any],
    neighbours: Neighbours,
    seed: int,
    *,
    sides: tuple[int, int] = (0, 1),
    style: str,
    form: Form,
    records: bool,
) -> tuple[FreshRun, FreshRun] | None:
    """One run on each side of a function that was kept, in a fresh interpreter: that of side 0 and that of side 1; None
    where that cannot be done, or it fails there.

    Args:
        function: as it was when it was kept.
        neighbours, sides: what it runs on, in this order.
        seed: of the rng, of the shared random states and of the hashes of texts, from 0 to 2^32 - 1.
        style, form, records: as for `FunctionMechanism`.
    """
    if not can_run(function):
        return None
    asked = {"neighbours": neighbours, "sides": sides, "seed": seed, "style": style, "form": form, "records": records}
    with tempfile.TemporaryDirectory(prefix="dpassay-") as folder:
        request, answer = Path(folder) / "request", Path(folder) / "answer"
        try:
            request.write_bytes(cloudpickle().dumps((_KEPT[function], asked)))
            subprocess.run(
                [sys.executable, "-c", SOURCE, json.dumps(sys.path), str(request), str(answer)],
                env=os.environ | {"PYTHONHASHSEED": str(seed)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=True,
            )
            told = json.loads(answer.read_text(encoding="utf-8"))
        except Exception:  # it ended, hung, or could not be sent
            return None
    runs = [
        FreshRun(tuple(map(float, one["values"])), one["event"], one["drawn"], tuple(one["outside"])) for one in told
    ]
    return runs[sides.index(0)], runs[sides.index(1)]
