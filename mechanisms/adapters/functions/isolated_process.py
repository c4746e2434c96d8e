"""Program of an isolated process: create a function, and answer requests for its runs.

It is run as a file and imports nothing of the library, so that a process starts in a tenth of a second. It reads one
pickled job from its standard input and writes one pickled list of answers to its standard output, which the audited
code does not get: what this code prints is discarded.

    job       requests; preload, modules that are imported first; path, cloudpickle
    request   source, parts of `FunctionSource.request`; datasets, pickles of both; style, how the function is called;
              calls, a list of (side, size, state of the rng, seed of the global random states); names, those of the
              program whose statements are run; shift, seconds by which the clock is ahead, and the seed of generators
              of the function and of its modules
    answer    results, for each call a list with a result or `(FAILED, class, message)` per run, or what a function
              of many runs returned; left, for each call a digest of the random states that it changed;
              read, the names of what the calls read from outside;
              constants, values that the statements of a program gives its names again;
              modules, the installed modules that were imported; None in place of an answer for a request that failed

A job of several requests answers each in a copy (fork) of this process, made before any code of the user is imported.
What copies share are the modules of `preload` and the hashes of texts.
"""

from __future__ import annotations

import ast
import builtins
import copy
import hashlib
import io
import itertools
import os
import pickle
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import IO, Any

import numpy as np

HASH = "the hash of a text"
FAILED = "this run raised"
"""First entry of the tuple that stands for the result of a run that raised."""
CODE_SUFFIXES = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib", ".pth", ".json", ".toml", ".cfg")
"""Suffixes of files that belong to code if they lie in a folder of packages."""
PRELOADED = ("numpy", "scipy", "pandas", "sklearn", "joblib", "cloudpickle", "dpassay")
"""Packages whose import draws no noise that functions use."""
CONNECTIONS = ("socket.connect", "subprocess.Popen", "os.posix_spawn")


class SourceLoader(pickle.Unpickler):
    """Unpickler that creates objects with an address by importing their modules.

    Args:
        pickled: the pickle.
        program: values of the names of the program that started the audit, pickled, by name.
        seeds: where generators of the function start, one seed each, in place of the state that they had.
    """

    def __init__(self, pickled: bytes, program: dict[str, bytes], seeds: Iterator[int]) -> None:
        super().__init__(io.BytesIO(pickled))
        self.seeds = seeds
        self.pickled_program = program
        self.program: dict[str, Any] = {}

    def persistent_load(self, address: tuple[str, str, str, Any]) -> Any:
        """Return the object at an address."""
        kind, module, file, name = address
        if kind == "generator":
            return _restarted(pickle.loads(name), self.seeds)
        if kind == "program":
            if name not in self.program:
                self.program[name] = None
                self.program[name] = SourceLoader(self.pickled_program[name], self.pickled_program, self.seeds).load()
            return self.program[name]
        found = imported(module, file)
        for part in name.split(".") if name else ():
            found = getattr(found, part)
        return found


def imported(name: str, file: str) -> Any:
    """Return a module by its name if the name leads to the same file; otherwise load it from the file."""
    if name in sys.modules:
        return sys.modules[name]
    with suppress(ImportError, ValueError, AttributeError):
        spec = find_spec(name)
        if spec is not None and spec.origin == file:
            return import_module(name)
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Watch:
    """Record of what is read from outside while `on`: entropy, hashes of texts, files, connections, processes."""

    def __init__(self) -> None:
        self.on = False
        self.read: set[str] = set()
        self.code = tuple(os.path.realpath(path) + os.sep for path in (sys.prefix, sys.base_prefix, *sys.path) if path)
        os.urandom = self.counting(os.urandom)
        random._urandom = os.urandom  # type: ignore[attr-defined]
        if hasattr(os, "getrandom"):
            os.getrandom = self.counting(os.getrandom)
        builtins.hash = self.hashing(builtins.hash)
        sys.addaudithook(self.hook)

    def hashing(self, source: Callable[[object], int]) -> Callable[[object], int]:
        """Return the function `hash`, with its use for texts recorded."""

        def hashed(value: object, /) -> int:
            if self.on and not isinstance(value, (int, float)):
                self.read.add(HASH)
            return source(value)

        return hashed

    def counting(self, source: Callable[..., bytes]) -> Callable[..., bytes]:
        """Return a source of entropy whose use is recorded."""

        def counted(*args: Any) -> bytes:
            if self.on:
                self.read.add("entropy")
            return source(*args)

        return counted

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """Record an event of the interpreter."""
        if not self.on:
            return
        if event in CONNECTIONS:
            self.read.add(event)
        elif event in ("open", "sqlite3.connect") and args and isinstance(args[0], (str, bytes, os.PathLike)):
            name = os.path.realpath(os.fsdecode(args[0]))
            mode = args[1] if event == "open" else None
            only_written = isinstance(mode, str) and "r" not in mode and "+" not in mode
            if (
                not only_written
                and not os.path.isdir(name)  # noqa: PTH112 - a text already
                and not (name.endswith(CODE_SUFFIXES) and name.startswith(self.code))
            ):
                self.read.add("file " + name)


def _restarted(value: Any, seeds: Iterator[int]) -> Any:
    """Return a value; if it is a generator, it starts from the next seed: it repeats no other one, in no process."""
    kind = type(value)  # not isinstance, which reads attributes of the value
    bits = value.bit_generator if issubclass(kind, np.random.Generator) else value
    if issubclass(type(bits), np.random.BitGenerator):
        bits.state = type(bits)(next(seeds)).state
    elif issubclass(kind, (np.random.RandomState, random.Random)) and not issubclass(kind, random.SystemRandom):
        value.seed(next(seeds))
    return value


_COMPILED: dict[str, Callable[[int], None]] = {}


def seed_all(seed: int) -> None:
    """Seed the global random states of Python and numpy, and of torch and numba where they are imported."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - this is what audited code may draw from
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed % 2**32)
    if hasattr(sys.modules.get("numba"), "njit"):  # False while it is being imported
        if "numba" not in _COMPILED:
            _COMPILED["numba"] = sys.modules["numba"].njit(_seed_compiled)
        _COMPILED["numba"](seed % 2**32)


def _seed_compiled(seed: int) -> None:
    """Seed the random state of compiled functions, which is another one than that of numpy; to be compiled."""
    np.random.seed(seed)  # noqa: NPY002


def states(rng: np.random.Generator) -> list[str]:
    """Return digests of the random states from which the calls may draw."""
    legacy: Any = np.random.get_state()  # noqa: NPY002
    torch = sys.modules["torch"].random.get_rng_state().numpy().tobytes() if "torch" in sys.modules else b""
    parts = repr(rng.bit_generator.state), legacy[1].tobytes(), legacy[2:], random.getstate(), torch
    return [hashlib.blake2b(repr(part).encode(), digest_size=8).hexdigest() for part in parts]


def ended(error: BaseException) -> tuple[str, str, str]:
    """Return what stands for a run that raised."""
    try:
        message = str(error)
    except BaseException as worse:
        message = f"<a message that raises {type(worse).__name__}>"
    return FAILED, type(error).__name__, message


def one(function: Callable[..., Any], style: str, dataset: Any, rng: np.random.Generator) -> Any:
    """Return the result of one run."""
    try:
        if style == "one-at-a-time":
            result = function(dataset, 1, rng)
        else:
            result = function(dataset) if style == "own-randomness" else function(dataset, rng)
        with suppress(Exception):
            result = copy.deepcopy(result)
    except MemoryError:
        raise
    except BaseException as error:
        return ended(error)
    return result


def call(function: Callable[..., Any], style: str, dataset: Any, size: int, rng: np.random.Generator) -> Any:
    """Return the results of `size` runs: a list, or what a function of many runs returned."""
    if style == "many-runs":
        return function(dataset, size, rng)
    return [one(function, style, dataset, rng) for _ in range(size)]


def generator(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator in the given state."""
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def _bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a program binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def constants(source: str, names: list[str]) -> dict[str, bytes]:
    """Return the values that the statements of a program give to these names, by name, as pickles.

    Only statements that bind a name which is needed are run, in their order; calls that bind none, such as an audit,
    are not.
    """
    statements = ast.parse(source).body
    needed, grown = set(names), True
    while grown:
        size = len(needed)
        for statement in statements:
            if _bound_names(statement) & needed:
                needed |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        grown = len(needed) > size
    space: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
    found: dict[str, bytes] = {}
    for statement in statements:
        if _bound_names(statement) & needed:
            with suppress(Exception):
                exec(compile(ast.Module([statement], []), "<program>", "exec"), space)
    for name in names:
        with suppress(Exception):
            found[name] = pickle.dumps(space[name])
    return found


def ahead(source: Callable[[], Any], by: Any) -> Callable[[], Any]:
    """Return a clock that is ahead of another one."""
    return lambda: source() + by


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    time.time, time.time_ns = ahead(time.time, request["shift"]), ahead(time.time_ns, request["shift"] * 10**9)
    watch, source = Watch(), request["source"]
    datasets = [pickle.loads(pickled) for pickled in request["datasets"]]
    known, seeds = set(sys.modules), itertools.count(request["shift"])
    function = SourceLoader(source["function"], source["program"], seeds).load()
    for module in [module for name, module in list(sys.modules.items()) if name not in known]:
        for value in list(getattr(module, "__dict__", {}).values()):
            _restarted(value, seeds)
    results: list[Any] = []
    left: list[str] = []
    for side, size, state, seed in request["calls"]:
        rng = generator(state)
        seed_all(seed)
        before = states(rng)
        watch.on = True
        rows = call(function, request["style"], datasets[side], size, rng)
        watch.on = False
        results.append(rows)
        left.append("".join(now for now in states(rng) if now not in before))
    found = constants(source["text"], request["names"]) if request["names"] else {}
    return {"results": results, "left": left, "read": sorted(watch.read), "constants": found}


def answered(request: dict[str, Any], cloudpickle: str) -> bytes:
    """Return the pickled answer to a request; None, pickled, if it fails."""
    try:
        replied = answer(request)
        replied["modules"] = [name for name in sys.modules if name.partition(".")[0] in PRELOADED]
    except BaseException:
        return pickle.dumps(None)
    try:
        return pickle.dumps(replied)
    except Exception:
        return bytes(import_module(cloudpickle).dumps(replied))


def _send(descriptor: int, content: bytes) -> None:
    """Write a message that is complete before its end of file, which copies of this process may hold open."""
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(len(content).to_bytes(8, "big") + content)


def received(pipe: IO[bytes]) -> bytes:
    """Return a message of `_send`; empty if it is not complete."""
    size = int.from_bytes(pipe.read(8), "big")
    content = pipe.read(size)
    return content if len(content) == size else b""


def _in_a_copy(request: dict[str, Any], cloudpickle: str) -> bytes:
    """Return the pickled answer to a request, given by a copy of this process."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        _send(sending, answered(request, cloudpickle))
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        content = received(pipe)
    os.waitpid(child, 0)
    return content or pickle.dumps(None)


def main() -> None:
    """Answer the requests on the standard input."""
    channel = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    job = pickle.loads(sys.stdin.buffer.read())
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    for path in job["path"]:
        if path not in sys.path:
            sys.path.append(path)
    for name in job["preload"]:
        with suppress(Exception):
            import_module(name)
    give = _in_a_copy if len(job["requests"]) > 1 else answered
    _send(channel, pickle.dumps([give(request, job["cloudpickle"]) for request in job["requests"]]))
    os._exit(0)


if __name__ == "__main__":
    main()
