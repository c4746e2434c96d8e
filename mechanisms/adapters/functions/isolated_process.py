"""Program of an isolated process: create a function, and answer requests for its runs.

It imports Python, numpy and those modules of the library that need nothing else (`START` in `isolated.py` finds them
without the rest), so that a process starts in a tenth of a second. Requests come through the standard input, answers go
through the standard output, both moved to high descriptors before code of the user is imported; what that code prints
goes to the standard error. Requests and answers are plain data (`messages.py`); pickles are read here only.

`fresh`: make runs of a function in a new process, and end.

    request   requests; preload, modules that are imported first; path; and for each of its requests:
              source, parts of `FunctionSource.request`; datasets, pickles of both; style, how the function is called;
              calls, a list of (side, size, rng, seed of the global random states); names, those of the
              program whose statements are run; shift, seconds by which the clock is ahead, and the seed of generators
              of the function and of its modules
    answers   results, for each call an array or a list with one entry per run; left, for each call a digest of the
              random states that it changed; read, the names of what the calls read from outside; constants, digests of
              the values that the statements of a program give its names again; modules, the installed modules that were
              imported; None in place of an answer for a request that failed

    Several requests are answered in copies (forks) of this process, made before any code of the user is imported. What
    copies share are the modules of `preload` and the hashes of texts.

`load`, then `run`, `describe`, `advise` and `fail`, again and again: see `Service`.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import io
import itertools
import json
import os
import pickle
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import Any

import numpy as np

from ...core.errors import DpassayError, UnknownNameError
from ...core.fingerprint import describe
from . import messages
from .calls import FunctionCalls
from .forms import RaisedException
from .guard import Guard, in_words, message_of, short_repr
from .reading import readable
from .source import reads_generator
from .state import content_digest, is_small, seed_all
from .target import find_target, name_of

HASH = "the hash of a text"
WORKING = "working"
"""Message before the answer to a request that takes long: a run has ended, and another one begins."""
HIGHEST_DESCRIPTOR = 1000
"""Largest number of a descriptor of the messages."""
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
        seeds: where generators of the function start, one seed each, in place of their state; None keeps the state.
    """

    def __init__(self, pickled: bytes, program: dict[str, bytes], seeds: Iterator[int] | None) -> None:
        super().__init__(io.BytesIO(pickled))
        self.seeds = seeds
        self.pickled_program = program
        self.program: dict[str, Any] = {}

    def persistent_load(self, address: tuple[str, str, str, Any]) -> Any:
        """Return the object at an address."""
        kind, module, file, name = address
        if kind == "generator":
            generator = pickle.loads(name)
            return generator if self.seeds is None else _restarted(generator, self.seeds)
        if kind == "target":
            return with_options(find_target(module)[0], pickle.loads(name))
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
        """Return the function `hash`, with its use for texts recorded, but for that of keys, which call `__hash__`."""

        def hashed(value: object, /) -> int:
            if self.on and not isinstance(value, (int, float)) and sys._getframe(1).f_code.co_name != "__hash__":
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


def states(rng: np.random.Generator) -> list[str]:
    """Return digests of the random states from which the calls may draw."""
    legacy: Any = np.random.get_state()  # noqa: NPY002
    torch = sys.modules["torch"].random.get_rng_state().numpy().tobytes() if "torch" in sys.modules else b""
    parts = repr(rng.bit_generator.state), legacy[1].tobytes(), legacy[2:], random.getstate(), torch
    return [hashlib.blake2b(repr(part).encode(), digest_size=8).hexdigest() for part in parts]


def _bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a program binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def constants(source: str, names: list[str]) -> dict[str, bytes]:
    """Return digests of the values that the statements of a program give to these names, by name.

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
            found[name] = content_digest(space[name])
    return found


def ahead(source: Callable[[], Any], by: Any) -> Callable[[], Any]:
    """Return a clock that is ahead of another one."""
    return lambda: source() + by


def _fresh_answer(request: dict[str, Any], created: Callable[[], object] = int) -> dict[str, Any] | None:
    """Return the answer to a request of `fresh`; None if it fails."""
    try:
        return _answer(request, created)
    except BaseException:
        return None


def _answer(request: dict[str, Any], created: Callable[[], object]) -> dict[str, Any]:
    time.time, time.time_ns = ahead(time.time, request["shift"]), ahead(time.time_ns, request["shift"] * 10**9)
    watch, source = Watch(), request["source"]
    datasets = [unpacked(content) for content in request["datasets"]]
    known, seeds = set(sys.modules), itertools.count(request["shift"])
    function = SourceLoader(source["function"], source["program"], seeds).load()
    for module in [module for name, module in list(sys.modules.items()) if name not in known]:
        for value in list(getattr(module, "__dict__", {}).values()):
            _restarted(value, seeds)
    calls = FunctionCalls(function, "", request["style"])
    make = calls.many if request["style"] == "many-runs" else calls.singles
    results: list[Any] = []
    left: list[str] = []
    created()
    for side, size, rng, seed in request["calls"]:
        seed_all(seed)
        before = states(rng)
        watch.on = True
        rows = make(datasets[side], size, rng)
        watch.on = False
        results.append(rows)
        left.append("".join(now for now in states(rng) if now not in before))
    return {
        "results": [readable(rows, naming=False) for rows in results],
        "left": left,
        "read": sorted(watch.read),
        "constants": constants(source["text"], request["names"]) if request["names"] else {},
        "modules": [name for name in sys.modules if name.partition(".")[0] in PRELOADED],
    }


def _in_a_copy(request: dict[str, Any]) -> Any:
    """Return the answer to a request, given by a copy of this process."""
    receiving, sending = os.pipe()
    nonce = bytes(messages.NONCE_BYTES)
    child = os.fork()
    if child == 0:
        os.close(receiving)
        with os.fdopen(_moved(sending), "wb") as pipe:
            _send(pipe, nonce, _fresh_answer(request))
        os._exit(0)
    os.close(sending)
    try:
        with os.fdopen(receiving, "rb") as pipe:
            return messages.read(pipe, nonce)
    except messages.MessageError:
        return None
    finally:
        os.waitpid(child, 0)


def fresh(job: dict[str, Any], working: Callable[[], object]) -> list[Any]:
    """Answer the requests of a new process, which calls `working` when it has created the function of a single one."""
    for path in job["path"]:
        if path not in sys.path:
            sys.path.append(path)
    for name in job["preload"]:
        with suppress(Exception):
            import_module(name)
    if len(job["requests"]) == 1:
        return [_fresh_answer(job["requests"][0], working)]
    return [_in_a_copy(request) for request in job["requests"]]


class Service:
    """Runs of one function in this process, until nobody asks for more.

    Args:
        working: sends `WORKING`.
    """

    def __init__(self, working: Callable[[], object]) -> None:
        self.working = working
        self.datasets: dict[int, Any] = {}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Import the function `target` from folders in `path`, or create it from its `source`, and describe it."""
        sys.path[:] = [*request["path"], *(sys.path if request["own_path"] else [])]
        sys.argv[:] = request["argv"]
        try:
            if (source := request["source"]) is None:
                self.target, _ = find_target(request["target"])
            else:
                self.target = SourceLoader(source["function"], source["program"], None).load()
            self.set_options({})
            return self.facts(request)
        except UnknownNameError as error:
            known = list(map(str, error.known))
            return {"error": "UnknownNameError", "kind": str(error.kind), "name": error.name, "known": known}
        except BaseException as error:
            return self.failed(error)

    def set_options(self, options: dict[str, Any]) -> None:
        """Give the function further arguments, in place of earlier ones."""
        if options != getattr(self, "options", None):
            self.options, self.function = options, with_options(self.target, options)
            self.name = name_of(self.function)

    def facts(self, request: dict[str, Any]) -> dict[str, Any]:
        """Describe the function."""
        return _facts(self.function) | {"name": self.name}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make `size` runs with `rng`, in one call if `many`.

        `dataset` is a number, with `content`, its pickle, where it is new. `seed` starts the global random states, and
        `seed_each` those of each call; `timeout` limits the time of a call; `naming` asks for names of numbers, `first`
        for changes of large datasets too.
        """
        rng, dataset, size = request["rng"], self._dataset(request), request["size"]
        spawned = _n_spawned(rng)
        before = content_digest(dataset) if request["first"] or is_small(dataset) else None
        calls = FunctionCalls(self.function, self.name, request["style"], request["seed_each"], request["naming"])
        guard = Guard(self.name, timeout=request["timeout"], seed=request["seed"])
        answer: dict[str, Any] = {"changed_dataset": False}
        try:
            with guard:
                many = request["many"]
                rows = (
                    calls.many(dataset, size, rng) if many else calls.singles(dataset, size, rng, self._beat(request))
                )
                guard.put_back()
                if before is not None and content_digest(dataset) != before:
                    answer["changed_dataset"] = True
                else:
                    answer["rows"] = readable(rows, naming=request["naming"])
        except BaseException as error:
            answer |= self.failed(error)
        state, drawn = rng.bit_generator.state, _n_spawned(rng) - spawned
        answer["seconds"] = calls.seconds
        return answer | {"state": state, "spawned": drawn, "changed": list(guard.changed), "columns": calls.columns}

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer the description of the function for fingerprints, as JSON."""
        with Guard(self.name):
            return {"description": json.dumps(describe(self.function))}

    def advise(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer in words with which other arguments the function returns a result."""
        datasets = [unpacked(content) for content in request["datasets"]]
        with Guard(self.name):
            return {"works": FunctionCalls(self.function, self.name, request["style"]).condition(datasets)}

    def fail(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make one run, and answer what it raises."""
        with Guard(self.name):
            error = FunctionCalls(self.function, self.name, request["style"]).error(self._dataset(request))
        return {"raised": None if error is None else RaisedException.by(error)}

    def _dataset(self, request: dict[str, Any]) -> Any:
        if request["content"]:
            self.datasets[request["dataset"]] = unpacked(request["content"])
        return self.datasets[request["dataset"]]

    def _beat(self, request: dict[str, Any]) -> Callable[[], object]:
        """Return what is called before each run: it says from time to time that the last one has ended."""
        timeout, clock, last = request["timeout"], time.monotonic, [time.monotonic()]

        def beat() -> None:
            if timeout is not None and clock() - last[0] > timeout / 2:
                last[0] = clock()
                self.working()

        return beat

    @staticmethod
    def failed(error: BaseException) -> dict[str, Any]:
        """Return the answer to a request that raised."""
        if not isinstance(error, DpassayError):
            return {
                "error": "interrupted" if isinstance(error, KeyboardInterrupt) else "other",
                "text": in_words(error),
            }
        notes = [str(note) for note in getattr(error, "__notes__", ())]
        return {
            "error": type(error).__name__,
            "text": message_of(error),
            "argument": error.argument,
            "notes": notes,
        }


def unpacked(content: bytes) -> Any:
    """Return a dataset from bytes that `packed` of `isolated.py` made."""
    return messages.from_bytes(content[1:]) if content[:1] == b"m" else pickle.loads(content[1:])


def with_options(function: Any, options: dict[str, Any]) -> Any:
    """Return a function with further arguments; the function itself without any."""
    return partial(function, **options) if options else function


def _n_spawned(rng: np.random.Generator) -> int:
    return int(getattr(rng.bit_generator.seed_seq, "n_children_spawned", 0))


def _facts(thing: Any) -> dict[str, Any]:
    """Return what the parent has to know of a target."""
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(thing).__mro__}
    foreign = any(name.startswith("opendp.") and name.endswith(".Measurement") for name in kinds)
    foreign = foreign or any(name.endswith("mechanisms.core.base.Mechanism") for name in kinds)
    if foreign or isinstance(thing, type) or not callable(thing):
        return {"function": False}
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except Exception:  # also what a hostile __signature__ raises
        parameters = []
    plain = (type(None), bool, int, float, str)
    named = [
        (p.name, int(p.kind), p.default is not p.empty, p.default if type(p.default) in plain else None)
        for p in parameters
    ]
    keywords = thing.keywords if isinstance(thing, partial) else {}
    text = (
        f"{thing.__name__}({', '.join(p.name for p in parameters)})" if inspect.isfunction(thing) else short_repr(thing)
    )
    return {
        "function": True,
        "shown": text,
        "parameters": named,
        "keywords": {name: value for name, value in keywords.items() if type(value) in plain},
        "generators": bool(reads_generator(thing)),
    }


def _moved(descriptor: int) -> int:
    """Return a copy of a descriptor with a high number, which no other program gets."""
    try:
        import fcntl
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest = max(3, min(HIGHEST_DESCRIPTOR, soft if soft > 0 else HIGHEST_DESCRIPTOR) - 16)
        return int(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest))
    except (ImportError, OSError, ValueError):
        return os.dup(descriptor)


def _send(pipe: Any, nonce: bytes, value: Any) -> None:
    """Send an answer; None if it is no plain data."""
    try:
        messages.write(pipe, nonce, value)
    except messages.MessageError:
        messages.write(pipe, nonce, None)


def main() -> None:
    """Answer the requests on the standard input, until it is closed."""
    requests, answers = os.fdopen(_moved(0), "rb"), os.fdopen(_moved(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    nonce, process, leave = messages.nonce_of(requests), os.getpid(), os._exit
    service = Service(lambda: messages.write(answers, nonce, WORKING))
    reply: dict[str, Callable[[dict[str, Any]], Any]] = {
        "fresh": lambda job: fresh(job, service.working),
        "load": service.load,
        "facts": service.facts,
        "run": service.run,
        "describe": service.describe,
        "advise": service.advise,
        "fail": service.fail,
    }
    while True:
        try:
            request = messages.read(requests, nonce)
        except messages.MessageError:
            leave(0)
        try:
            if "options" in request:
                service.set_options(request["options"])
            answer = reply[request["ask"]](request)
        except BaseException as error:
            answer = service.failed(error)
        if os.getpid() != process:  # a fork that audited code made
            leave(0)
        _send(answers, nonce, answer)
