"""What a fresh interpreter does: one run of a function on each side, and an account of the randomness that it drew.

    drawn     the rng that is given, and the random states of numpy, Python and torch that all code shares: those whose
              state is another one after the run, each with a digest of that state
    outside   "entropy" if it asked the operating system for random bytes through Python; files of data, connections and
              processes that it opened, by name

Entropy that a compiled library takes from the system by itself is not seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...base import Dataset
from ...guarantees.pure import PureDP
from ..function import FunctionMechanism
from ..guard import Guard
from .same_seed import seeded

CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib", ".pth", ".json", ".toml", ".cfg")
"""Files that belong to code, where they lie below a folder of packages."""
EVENTS = ("open", "socket.connect", "sqlite3.connect", "subprocess.Popen", "os.posix_spawn", "os.fork")


class Watch:
    """Notes what is read from outside while it is `on`."""

    def __init__(self) -> None:
        self.on = False
        self.seen: set[str] = set()
        self._code = tuple(str(Path(path).resolve()) for path in (sys.prefix, sys.base_prefix, *sys.path) if path)
        os.urandom = self._counting(os.urandom)
        random._urandom = os.urandom  # type: ignore[attr-defined]
        if hasattr(os, "getrandom"):
            os.getrandom = self._counting(os.getrandom)
        sys.addaudithook(self._hook)

    def _counting(self, source: Callable[..., bytes]) -> Callable[..., bytes]:
        def counted(*given: Any) -> bytes:
            if self.on:
                self.seen.add("entropy")
            return source(*given)

        return counted

    def _hook(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.on or event not in EVENTS:
            return
        name = os.fsdecode(given[0]) if given and isinstance(given[0], (str, bytes, os.PathLike)) else ""
        if event == "open" and (not name or self._is_code(name)):
            return
        self.seen.add(f"{event} {name}".strip())

    def _is_code(self, name: str) -> bool:
        return name.endswith(CODE) and os.path.abspath(name).startswith(self._code)  # noqa: PTH100 - quick, and text


def states(rng: np.random.Generator) -> dict[str, str]:
    """A digest of the state of each generator, by name."""
    torch = sys.modules.get("torch")
    found: dict[str, Any] = {
        "the rng that is given": rng.bit_generator.state,
        "the global random state of numpy": _parts(np.random.get_state()),  # noqa: NPY002
        "the global random state of Python": random.getstate(),
    }
    if torch is not None:
        found["the global random state of torch"] = torch.get_rng_state().tolist()
    return {name: hashlib.blake2b(repr(state).encode(), digest_size=16).hexdigest() for name, state in found.items()}


def _parts(state: Any) -> list[Any]:
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in state]


def main(request: str, answer: str) -> None:
    """Reads what is asked from one file, and writes what was seen to another."""
    pickled, asked = pickle.loads(Path(request).read_bytes())  # written by the process that started this one
    watch = Watch()
    function = pickle.loads(pickled)
    mechanism = FunctionMechanism(
        function,
        claim=PureDP(1.0),
        neighbours=asked["neighbours"],
        style=asked["style"],
        form=asked["form"],
        records=asked["records"],
    )
    told = [_run(mechanism, asked["neighbours"].side(side), asked["seed"], watch) for side in asked["sides"]]
    Path(answer).write_text(json.dumps(told), encoding="utf-8")


def _run(mechanism: FunctionMechanism, dataset: Dataset, seed: int, watch: Watch) -> dict[str, Any]:
    """One run, as JSON."""
    rng = np.random.default_rng(seed)
    with Guard(mechanism.name), seeded(seed):  # states are looked at before they are put back
        before = states(rng)
        watch.seen, watch.on = set(), True
        outputs = mechanism.release(dataset, 1, rng)
        watch.on = False
        after = states(rng)
    return {
        "values": outputs.values.reshape(-1).astype(float).tolist(),
        "event": "" if outputs.events is None else str(outputs.events[0]),
        "drawn": {name: state for name, state in after.items() if before.get(name) != state},
        "outside": sorted(watch.seen),
    }
