"""Program of a fresh interpreter: run new copies of a function on each side, and record the sources of randomness.

    drawn     the given rng, and the random states of numpy, Python and torch that all code shares: those whose state
              differs after the run, each with a digest of this state
    outside   "entropy" if the function requested random bytes from the operating system through Python; data files,
              connections and processes that it opened, by name; "the hash of a text", which is the same in one
              interpreter only

Entropy that a compiled library requests from the system directly is not detected.
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

from ...accounting.kinds.approximate import PureDP
from ...core import random_states
from .first_runs import FILE_MODULE_PREFIX, Address, digest_of, digests_of, generators_of, is_installed, is_users
from .function import FunctionMechanism
from .guard import Guard
from .same_seed import seeded

CODE_SUFFIXES = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib", ".pth", ".json", ".toml", ".cfg")
"""Suffixes of files that belong to code if they lie below a folder of packages."""
FRESH_RUNS_KEY = 0xF4E5
"""Constant that separates the seeds of these runs from all others."""
N_IMPORTS = 20
"""Number of imports of a module that show whether its globals are constants."""
AUDITED_EVENTS = ("open", "socket.connect", "sqlite3.connect", "subprocess.Popen", "os.posix_spawn", "os.fork")


class AccessRecorder:
    """Recorder of what is read from outside while it is `on`."""

    def __init__(self) -> None:
        self.on = False
        self.read: set[str] = set()
        self._code = tuple(str(Path(path).resolve()) for path in (sys.prefix, sys.base_prefix, *sys.path) if path)
        os.urandom = self._counting(os.urandom)
        random._urandom = os.urandom  # type: ignore[attr-defined]
        if hasattr(os, "getrandom"):
            os.getrandom = self._counting(os.getrandom)
        builtins.hash = self._hashing(builtins.hash)
        sys.addaudithook(self._hook)

    def _hashing(self, source: Callable[[object], int]) -> Callable[[object], int]:
        def hashed(value: object, /) -> int:
            caller = sys._getframe(1)
            is_library = str(caller.f_globals.get("__name__")).partition(".")[0] == "dpassay"
            installed = is_installed(caller.f_code.co_filename)
            if self.on and not isinstance(value, (int, float)) and not is_library and not installed:
                self.read.add("the hash of a text")
            return source(value)

        return hashed

    def _counting(self, source: Callable[..., bytes]) -> Callable[..., bytes]:
        def counted(*args: Any) -> bytes:
            if self.on:
                self.read.add("entropy")
            return source(*args)

        return counted

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on or event not in AUDITED_EVENTS:
            return
        name = os.fsdecode(args[0]) if args and isinstance(args[0], (str, bytes, os.PathLike)) else ""
        if event == "open" and (not name or self._is_code(name)):
            return
        self.read.add(f"{event} {name}".strip())

    def _is_code(self, name: str) -> bool:
        return name.endswith(CODE_SUFFIXES) and os.path.abspath(name).startswith(self._code)  # noqa: PTH100 - quick, and text


def states(rng: np.random.Generator) -> dict[str, str]:
    """Return a digest of the state of each generator, by name."""
    states_by_name: dict[str, Any] = {
        "the given rng": rng.bit_generator.state,
        "the global random state of numpy": _parts(np.random.get_state()),  # noqa: NPY002
        "the global random state of Python": random.getstate(),
    }
    states_by_name |= {f"the global random state of {name}": state.tolist() for name, state in random_states().items()}
    return {
        name: hashlib.blake2b(repr(state).encode(), digest_size=16).hexdigest()
        for name, state in states_by_name.items()
    }


def _parts(state: Any) -> list[Any]:
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in state]


class FreshCopies:
    """Copies of a function that have not run before.

    A function with an address is copied by a new import of its modules, any other from its pickle.

    Args:
        source: the address, or the pickle.
        arguments: the arguments of the mechanism, pickled, since datasets may be of classes of these modules.
    """

    def __init__(self, source: bytes | Address, arguments: bytes) -> None:
        self._source, self._arguments = source, arguments
        self._before = set(sys.modules)

    def next(self) -> FunctionMechanism:
        """Return a mechanism with a new copy of the function."""
        function = self._function()
        return FunctionMechanism(function, claim=PureDP(1.0), **pickle.loads(self._arguments))

    def constants(self, addresses: dict[str, Address]) -> dict[str, str]:
        """Return digests of the globals, by name, that are the same in several imports of their modules."""
        digests_by_name: dict[str, set[str]] = {name: set() for name in addresses}
        for _ in range(N_IMPORTS if addresses else 0):
            self._forget()
            for name, address in addresses.items():
                with suppress(Exception):
                    digests_by_name[name].add(digest_of(address, _imported(*address[:2])))
        return {name: digests.pop() for name, digests in digests_by_name.items() if len(digests) == 1}

    def _function(self) -> Callable[..., Any]:
        self._forget()
        if isinstance(self._source, bytes):
            return cast("Callable[..., Any]", pickle.loads(self._source))
        module, file, name = self._source
        return cast("Callable[..., Any]", getattr(_imported(module, file), name))

    def _forget(self) -> None:
        """Remove the modules that were imported for the last copy."""
        for name in [name for name in sys.modules if name not in self._before and is_users(sys.modules[name])]:
            del sys.modules[name]


def _imported(module: str, file: str) -> ModuleType:
    """Return a module by its name if the name leads to the same file; otherwise load it from the file."""
    if module in sys.modules:
        return sys.modules[module]
    spec_by_name = None if module.startswith(FILE_MODULE_PREFIX) else find_spec(module)
    if spec_by_name is not None and spec_by_name.origin == file:
        return import_module(module)
    spec = spec_from_file_location(module, file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[module] = loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def main(request: str, answer: str) -> None:
    """Read a request from one file, and write the observations to another."""
    function, arguments, options = pickle.loads(
        Path(request).read_bytes()
    )  # written by the process that started this one
    watch, copies, clock = AccessRecorder(), FreshCopies(function, arguments), time.monotonic()
    runs: list[list[dict[str, Any]]] = [[], []]
    states: list[dict[str, str]] = []
    try:
        for number in range(options["copies"]):
            for index, side in enumerate(options["sides"]):
                mechanism = copies.next()
                states.append(digests_of(mechanism.function))
                runs[index].append(_run(mechanism, side, (options["seed"], number), watch))
                digests = digests_of(mechanism.function) if options["watched"] else {}
                runs[index][-1]["left"] = {name: digests[name] for name in options["watched"] if name in digests}
            if time.monotonic() - clock > options["seconds"]:
                break
    except Exception:
        if not runs[1]:
            raise
    varying = [name for name in states[0] if len({state.get(name) for state in states}) > 1]
    observations = {"runs": runs, "kept": states[0], "varying": varying}
    observations["constants"] = copies.constants(options["globals"])
    Path(answer).write_text(json.dumps(observations), encoding="utf-8")


def _run(mechanism: FunctionMechanism, side: int, seed: tuple[int, int], watch: AccessRecorder) -> dict[str, Any]:
    """Return one run as JSON data; the first run on each side with its sources of randomness."""
    number = seed[1]
    seeds = np.random.SeedSequence([FRESH_RUNS_KEY, *seed, side])
    rng, shared = np.random.default_rng(seeds), int(seeds.generate_state(1)[0])
    for index, generator in enumerate(generators_of(mechanism.function)):
        _reseed(generator, shared + index)
    with Guard(mechanism.name), seeded(shared):  # states are read before they are restored
        before = {} if number else states(rng)
        watch.read, watch.on = set(), True
        outputs = mechanism.release(mechanism.neighbours.side(side), 1, rng)
        watch.on = False
        after = {} if number else states(rng)
    return {
        "values": outputs.values.reshape(-1).astype(float).tolist(),
        "shape": outputs.values.shape[1:],
        "event": str(outputs.labels[0]),
        "drawn": {name: state for name, state in after.items() if before.get(name) != state},
        "outside": sorted(watch.read),
    }


def _reseed(generator: Any, seed: int) -> None:
    """Set a generator of numpy, Python or torch to a state given by `seed`."""
    bits = getattr(generator, "bit_generator", generator)
    if isinstance(bits, np.random.BitGenerator):
        bits.state = type(bits)(seed).state
    elif hasattr(generator, "manual_seed"):
        generator.manual_seed(seed)
    else:
        generator.seed(seed % 2**32)
