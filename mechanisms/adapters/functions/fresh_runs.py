"""Runs in fresh interpreters: repetitions that recur there are due to a fixed seed or no randomness, others to memory.

A function is stored before it runs for the first time (`store_function`), so that no memory of earlier runs is copied
with it: by its address if it is a name in a module that can be imported or run again, and as a pickle otherwise. In a
new interpreter (`run`) each run uses a new copy: the module is imported again, or the pickle is read again.
The seeds are new as well: of the rng, of the random states that all code shares, of the generators that the function
holds, of the hashes of texts. The interpreter reports the sources of randomness and the data read: see
`fresh_interpreter.py`.

The contents of a pickle are the same in all copies: numbers that a function held before it was stored, such as noise
drawn at its construction, do not differ between copies. `FirstRuns.held` names these.
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

from ...core import Neighbours
from .first_runs import Address, address_of, globals_of
from .forms import ResultForm

N_COPIES = 100
"""Number of runs on each side in one interpreter, each with a new copy."""
ENOUGH_SECONDS = 10.0
"""Seconds after which an interpreter starts no further runs, except for one on each side."""
MAX_FUNCTION_BYTES = 32 * 2**20
"""Largest size in bytes of a function with everything that it holds; larger ones are not stored."""
INTERPRETER_SECONDS = 120.0
"""Time limit for one interpreter in seconds."""
INTERPRETER_SOURCE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from dpassay.mechanisms.adapters.functions.fresh_interpreter import main
main(sys.argv[2], sys.argv[3])
"""

_STORED_FUNCTIONS: weakref.WeakKeyDictionary[Any, bytes | Address] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class FreshRun:
    """One run in a fresh interpreter.

    Args:
        values: numbers of the output, flattened.
        event: label of an exceptional output; empty for an ordinary one.
        shape: shape of the output.
        drawn: the generators that the run drew from, by name, with a digest of the final state of each.
        outside: other sources that the run read, such as files and the entropy of the operating system.
        left: digests of the objects in `run(watched=...)` after the run, by name.
    """

    values: tuple[float, ...]
    event: str
    shape: tuple[int, ...] = ()
    drawn: Mapping[str, str] = field(default_factory=dict)
    outside: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)

    @property
    def output(self) -> tuple[tuple[float, ...], str]:
        """Values and event of the output."""
        return self.values, self.event


Runs = tuple[FreshRun, ...]


@dataclass(frozen=True)
class FreshObservations:
    """Observations of one fresh interpreter.

    Args:
        out, in_: runs on side 0 and on side 1, each with a copy of the function that had not run before.
        kept: digests of the objects that the first copy holds before it runs, by name.
        varying: names of those whose digests differ between copies.
        constants: digests of the globals that are the same after every import of their modules, by name; only of those
            that a pickle contains.
    """

    out: Runs
    in_: Runs
    kept: Mapping[str, str]
    varying: tuple[str, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)


class _Limited(io.BytesIO):
    """Buffer that refuses to grow beyond `MAX_FUNCTION_BYTES`."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > MAX_FUNCTION_BYTES:
            raise OverflowError
        return super().write(data)


def cloudpickle() -> Any:
    """Return the module cloudpickle; joblib bundled a copy before version 1.6."""
    try:
        return import_module("joblib.externals.cloudpickle")
    except ModuleNotFoundError:
        return import_module("cloudpickle")


def store_function(function: Callable[..., Any]) -> None:
    """Store the address of `function`, or a pickle of its present state, unless it was stored before.

    A function that has no address and cannot be pickled is not stored.
    """
    try:
        if function not in _STORED_FUNCTIONS:
            _STORED_FUNCTIONS[function] = address_of(function) or _pickled(function)
    except BaseException:  # pickling runs user code
        return


def _pickled(function: Callable[..., Any]) -> bytes:
    file = _Limited()
    cloudpickle().CloudPickler(file).dump(function)
    return file.getvalue()


def _can_run(function: Callable[..., Any]) -> bool:
    """Return True if `function` was stored."""
    try:
        return function in _STORED_FUNCTIONS
    except TypeError:
        return False


def is_imported_again(function: Callable[..., Any]) -> bool:
    """Return True if a fresh interpreter imports `function` again, so that nothing that it holds is copied."""
    return _can_run(function) and isinstance(_STORED_FUNCTIONS[function], tuple)


def run(
    function: Callable[..., Any],
    neighbours: Neighbours,
    seed: int,
    *,
    sides: tuple[int, int] = (0, 1),
    copies: int = N_COPIES,
    watched: tuple[str, ...] = (),
    style: str,
    form: ResultForm,
    records: bool,
) -> FreshObservations | None:
    """Return runs on each side of a stored function, made in a fresh interpreter.

    Returns None if this is impossible, or if the first of these runs fails.

    Args:
        function: a function that was stored, in the state at that time.
        neighbours, sides: the pair, and its sides in the order of the runs.
        seed: seed of the rng, of the shared random states and of the hashes of texts, from 0 to 2^32 - 1.
        copies: largest number of runs on each side; fewer if they take more than `ENOUGH_SECONDS` seconds.
        watched: names of objects that the function stores, as in `FirstRuns.changed`, to read after each run.
        style, form, records: see `FunctionMechanism`.
    """
    if not _can_run(function):
        return None
    arguments = {"neighbours": neighbours, "style": style, "form": form, "records": records}
    options = {"sides": sides, "seed": seed, "copies": copies, "seconds": ENOUGH_SECONDS, "watched": watched}
    options["globals"] = globals_of(function)
    with tempfile.TemporaryDirectory(prefix="dpassay-") as folder:
        request, answer = Path(folder) / "request", Path(folder) / "answer"
        try:
            pickle = cloudpickle()
            request.write_bytes(pickle.dumps((_STORED_FUNCTIONS[function], pickle.dumps(arguments), options)))
            subprocess.run(
                [sys.executable, "-c", INTERPRETER_SOURCE, json.dumps(sys.path), str(request), str(answer)],
                env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=INTERPRETER_SECONDS,
                check=True,
            )
            observations = json.loads(answer.read_text(encoding="utf-8"))
        except Exception:  # the interpreter failed, hung, or the request could not be pickled
            return None
    out, in_ = (tuple(map(_read, observations["runs"][sides.index(side)])) for side in (0, 1))
    return FreshObservations(out, in_, observations["kept"], tuple(observations["varying"]), observations["constants"])


def _read(record: Mapping[str, Any]) -> FreshRun:
    values = tuple(map(float, record["values"]))
    return FreshRun(
        values, record["event"], tuple(record["shape"]), record["drawn"], tuple(record["outside"]), record["left"]
    )
