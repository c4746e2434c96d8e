"""What a fresh interpreter does: runs of new copies of a function on each side, and an account of their randomness.

    drawn     the rng that is given, and the random states of numpy, Python and torch that all code shares: those whose
              state is another one after the run, each with a digest of that state
    outside   "entropy" if it asked the operating system for random bytes through Python; files of data, connections and
              processes that it opened, by name; "the hash of a text", which is the same in one interpreter only

Entropy that a compiled library takes from the system by itself is not seen.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import pickle
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

from ...guarantees.pure import PureDP
from ..first_runs import BY_VALUE, INSTALLED, Address, Snapshot, digest_of, generators_of, is_users
from ..function import FunctionMechanism
from ..guard import Guard
from .same_seed import seeded

CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib", ".pth", ".json", ".toml", ".cfg")
"""Files that belong to code, where they lie below a folder of packages."""
TAG = 0xF4E5
"""Sets the seeds of these runs apart from those of all others."""
IMPORTS = 20
"""Of a module, that show whether its globals are constants."""
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
        builtins.hash = self._hashing(builtins.hash)
        sys.addaudithook(self._hook)

    def _hashing(self, source: Callable[[object], int]) -> Callable[[object], int]:
        def hashed(thing: object, /) -> int:
            caller = sys._getframe(1)
            own = str(caller.f_globals.get("__name__")).partition(".")[0] == "dpassay"
            installed = caller.f_code.co_filename.lower().startswith(INSTALLED)
            if self.on and not isinstance(thing, (int, float)) and not own and not installed:
                self.seen.add("the hash of a text")
            return source(thing)

        return hashed

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


class Copies:
    """Copies of a function that have not run before: by its address, each from modules that are imported anew, or from
    its pickle.

    Args:
        kept: the address, or the pickle.
        given: the arguments of the mechanism, pickled, since datasets may be of classes of these modules.
    """

    def __init__(self, kept: bytes | Address, given: bytes) -> None:
        self._kept, self._given = kept, given
        self._before = set(sys.modules)

    def next(self) -> FunctionMechanism:
        """A mechanism with a copy of its own."""
        function = self._function()
        return FunctionMechanism(function, claim=PureDP(1.0), **pickle.loads(self._given))

    def constants(self, addresses: dict[str, Address]) -> dict[str, str]:
        """Digests of globals, by name, that several imports of their modules make alike."""
        found: dict[str, set[str]] = {name: set() for name in addresses}
        for _ in range(IMPORTS if addresses else 0):
            self._forget()
            for name, address in addresses.items():
                with suppress(Exception):
                    found[name].add(digest_of(address, _imported(*address[:2])))
        return {name: digests.pop() for name, digests in found.items() if len(digests) == 1}

    def _function(self) -> Callable[..., Any]:
        self._forget()
        if isinstance(self._kept, bytes):
            return cast("Callable[..., Any]", pickle.loads(self._kept))
        module, file, name = self._kept
        return cast("Callable[..., Any]", getattr(_imported(module, file), name))

    def _forget(self) -> None:
        """The modules that were imported for the last copy."""
        for name in [name for name in sys.modules if name not in self._before and is_users(sys.modules[name])]:
            del sys.modules[name]


def _imported(module: str, file: str) -> ModuleType:
    """A module by its name, if that leads to the same file; else from the file."""
    if module in sys.modules:
        return sys.modules[module]
    found = None if module.startswith(BY_VALUE) else find_spec(module)
    if found is not None and found.origin == file:
        return import_module(module)
    spec = spec_from_file_location(module, file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[module] = made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def main(request: str, answer: str) -> None:
    """Reads what is asked from one file, and writes what was seen to another."""
    kept, given, asked = pickle.loads(Path(request).read_bytes())  # written by the process that started this one
    watch, copies, clock = Watch(), Copies(kept, given), time.monotonic()
    runs: list[list[dict[str, Any]]] = [[], []]
    held: dict[str, str] = {}
    try:
        for number in range(asked["copies"]):
            for place, side in enumerate(asked["sides"]):
                mechanism = copies.next()
                held = held or {name: digest.hex() for name, digest in Snapshot.of(mechanism.function).kept.items()}
                runs[place].append(_run(mechanism, side, (asked["seed"], number), watch))
            if time.monotonic() - clock > asked["seconds"]:
                break
    except Exception:
        if not runs[1]:
            raise
    seen = {"runs": runs, "kept": held, "constants": copies.constants(asked["globals"])}
    Path(answer).write_text(json.dumps(seen), encoding="utf-8")


def _run(mechanism: FunctionMechanism, side: int, seed: tuple[int, int], watch: Watch) -> dict[str, Any]:
    """One run, as JSON; the first on each side with its randomness."""
    number = seed[1]
    seeds = np.random.SeedSequence([TAG, *seed, side])
    rng, shared = np.random.default_rng(seeds), int(seeds.generate_state(1)[0])
    for place, generator in enumerate(generators_of(mechanism.function)):
        reseed(generator, shared + place)
    with Guard(mechanism.name), seeded(shared):  # states are looked at before they are put back
        before = {} if number else states(rng)
        watch.seen, watch.on = set(), True
        outputs = mechanism.release(mechanism.neighbours.side(side), 1, rng)
        watch.on = False
        after = {} if number else states(rng)
    return {
        "values": outputs.values.reshape(-1).astype(float).tolist(),
        "shape": outputs.values.shape[1:],
        "event": "" if outputs.events is None else str(outputs.events[0]),
        "drawn": {name: state for name, state in after.items() if before.get(name) != state},
        "outside": sorted(watch.seen),
    }


def reseed(generator: Any, seed: int) -> None:
    """Lets a generator of numpy, Python or torch go on from another state."""
    bits = getattr(generator, "bit_generator", generator)
    if isinstance(bits, np.random.BitGenerator):
        bits.state = type(bits)(seed).state
    elif hasattr(generator, "manual_seed"):
        generator.manual_seed(seed)
    else:
        generator.seed(seed % 2**32)
