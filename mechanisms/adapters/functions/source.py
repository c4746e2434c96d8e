"""A function as a fresh process can create it again.

What has an address, a name in a module of the user, is imported again there: with it everything that the module draws
or computes. The rest is copied: what a closure, a default, a partial or an object of the function holds, in the state
before the first run. A copy cannot tell a constant from noise that was drawn before, so the copied numbers are listed
(`FunctionSource.numbers`). Names of the program that was started (`__main__`) are copied too, and the statements of the
program show whether they get the same value again (`FunctionSource.text`).
"""

from __future__ import annotations

import functools
import io
import marshal
import math
import os
import pickle
import random
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...core.arrays import Floats
from .state import content_digest

INSTALLED_FOLDERS = tuple({f"{Path(path)}{os.sep}lib".lower() for path in (sys.prefix, sys.base_prefix)})
"""Folders of installed packages and of Python."""
PACKAGE_FOLDERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
"""Folders of installed packages elsewhere, such as those that a user installed for all environments."""
MAX_FUNCTION_BYTES = 32 * 2**20
"""Largest size in bytes of a function with everything that it holds."""
MAX_WRITTEN_DIGITS = 6
"""Number of digits above which a number was computed or drawn, not written by a person."""
MIN_POOL_SIZE = 8
"""Smallest number of values in a pool of noise."""
MAX_NUMBERS = 10_000
"""Largest number of values of an array that are read."""
OWN_GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
NUMBERS = (bool, int, float, complex, np.number, np.bool_, Decimal, Fraction)
LOCKS = (type(threading.Lock()), type(threading.RLock()))
PROGRAM = "__main__"


@dataclass(frozen=True)
class FunctionSource:
    """A function before its first run.

    Args:
        function: its pickle; objects with an address are references.
        program: pickles of the names of the program that it reads, by name.
        text: the statements of the program; empty if there is no name of it to create again.
        numbers: the numbers that are copied, by the name of the program that holds them; "" for the function itself.
        digests: digests of the values of these names, if they are plain data.
        generators: True if the function holds a generator, or reads one of its module.
        made: time at which the source was read, in seconds since the epoch.
        environment: the environment variables at that time.
        python: the interpreter of the function; empty for this one.
    """

    function: bytes
    program: Mapping[str, bytes] = field(default_factory=dict)
    text: str = ""
    numbers: Mapping[str, Floats] = field(default_factory=dict)
    digests: Mapping[str, bytes] = field(default_factory=dict)
    generators: bool = False
    made: float = field(default_factory=time.time)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    python: str = ""

    @property
    def request(self) -> dict[str, Any]:
        """The parts that a process needs."""
        return {"function": self.function, "program": dict(self.program), "text": self.text}

    def certified(self, constants: Sequence[Mapping[str, bytes]]) -> frozenset[str]:
        """Return the names of the program that its statements gave the same value again, by digests, every time."""
        return frozenset(
            name
            for name, digest in self.digests.items()
            if constants and all(one.get(name) == digest for one in constants)
        )

    def holds(self, certified: frozenset[str] = frozenset(), *, draws: bool) -> bool:
        """Return True if copied numbers may be noise that was drawn before the first run.

        Args:
            certified: names of the program that its statements give the same values again.
            draws: True if the function draws random numbers; then single numbers of few digits are options.
        """
        found = [values for name, values in self.numbers.items() if name not in certified and values.size]
        return bool(found) and not (draws and not any(_is_long(value) for values in found for value in values))

    def holds_pool(self, certified: frozenset[str] = frozenset()) -> bool:
        """Return True if copied numbers look like a pool of noise."""
        return any(_looks_drawn(values) for name, values in self.numbers.items() if name not in certified)


_SOURCES: weakref.WeakKeyDictionary[Any, FunctionSource | None] = weakref.WeakKeyDictionary()


def store_source(function: Callable[..., Any], source: FunctionSource | None = None) -> None:
    """Store the source of `function` in its present state, or a given one, unless it was stored before."""
    with suppress(TypeError):  # the function cannot be a key
        if function not in _SOURCES:
            _SOURCES[function] = source or present_source(function)


def source_of_target(target: str, options: Mapping[str, Any], *, generators: bool, python: str = "") -> FunctionSource:
    """Return the source of a function that each process imports again.

    Args:
        target: text that `load_target` takes.
        options: further arguments of the function.
        generators: True if the function reads a generator of its module.
        python: its interpreter; empty for this one.
    """
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    pickler.persistent_id = lambda thing: ("target", *thing) if isinstance(thing, tuple) else None  # type: ignore[method-assign]
    pickler.dump((target, "", pickle.dumps(dict(options))))
    return FunctionSource(file.getvalue(), generators=generators, python=python)


def source_of(function: Callable[..., Any]) -> FunctionSource | None:
    """Return the stored source of `function`; None if there is none, or if it cannot be copied."""
    try:
        return _SOURCES.get(function)
    except TypeError:
        return None


def present_source(function: Callable[..., Any]) -> FunctionSource | None:
    """Return the source of `function` in its present state; None if it cannot be copied."""
    try:
        main, file, names, read = sys.modules.get(PROGRAM), io.BytesIO(), list[str](), dict[str, Any]()
        pickler = _pickler_class()(file, names)
        pickler.dump_top(function)
        for option in _options_of(function):
            pickler.numbers.remove(option)
        numbers, program = {"": np.array(pickler.numbers)}, dict[str, bytes]()
        while set(names) - program.keys():
            name = min(set(names) - program.keys())
            value, content = vars(main)[name], io.BytesIO()
            part = _pickler_class()(content, names)
            part.dump(value)
            read[name], program[name] = value, content.getvalue()
            numbers[name] = np.array([] if isinstance(value, (FunctionType, type, ModuleType)) else part.numbers)
            pickler.generators = pickler.generators or part.generators
        text = _program_text(main) if any(values.size for name, values in numbers.items() if name) else ""
        digests = {name: content_digest(value) for name, value in read.items() if _is_plain(value)}
        generators = pickler.generators or reads_generator(function)
        return FunctionSource(file.getvalue(), program, text, numbers, digests, generators)
    except BaseException:  # reading and pickling run code of the user
        return None


def reads_generator(function: Any) -> bool:
    """Return True if a function reads a generator of its module or of its object, or a module of the user with one."""
    owned: list[Any] = []
    while isinstance(function, (partial, MethodType)):
        owned += getattr(getattr(function, "__self__", None), "__dict__", {}).values()
        function = function.func if isinstance(function, partial) else function.__func__
    owner = function if isinstance(function, FunctionType) else getattr(type(function), "__call__", None)  # noqa: B004 - the function itself is needed
    code, space = getattr(owner, "__code__", None), getattr(owner, "__globals__", {})
    names = code.co_names if isinstance(code, CodeType) else ()
    read = [space[name] for name in names if name in space]
    for module in [value for value in read if isinstance(value, ModuleType) and _is_users(value)]:
        read += vars(module).values()
    read += [*owned, *getattr(function, "__dict__", {}).values()]
    return any(issubclass(type(value), OWN_GENERATORS) and type(value) is not random.SystemRandom for value in read)


def _options_of(function: Callable[..., Any]) -> list[float]:
    """Return the arguments of a partial that are numbers of few digits: options, written where it is made."""
    if not isinstance(function, partial):
        return []
    given = [value for value in (*function.args, *function.keywords.values()) if isinstance(value, NUMBERS)]
    return [value for one in given for value in _numbers_in(one) if not _is_long(value)]


def _is_plain(value: Any) -> bool:
    """Return True for numbers, texts, arrays of numbers, and lists, tuples, sets and dicts of these."""
    if isinstance(value, dict):
        return all(map(_is_plain, (*value.keys(), *value.values())))
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(_is_plain, value))
    if isinstance(value, np.ndarray):
        return bool(value.dtype != object)
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic))


def _program_text(main: ModuleType | None) -> str:
    """Return the statements of the program, from its file or from the cells of a notebook; empty if unknown."""
    cells = getattr(main, "In", None)
    if isinstance(cells, list):
        return "\n".join(cell for cell in cells if isinstance(cell, str) and _parses(cell))
    with suppress(OSError, TypeError, ValueError):
        return Path(str(getattr(main, "__file__", None))).read_text(encoding="utf-8")
    return ""


def _parses(text: str) -> bool:
    try:
        compile(text, "cell", "exec")
    except SyntaxError:
        return False
    return True


def cloudpickle() -> Any:
    """Return the module cloudpickle; joblib bundled a copy before version 1.6."""
    try:
        return import_module("joblib.externals.cloudpickle")
    except ModuleNotFoundError:
        return import_module("cloudpickle")


def _is_users(module: Any) -> bool:
    """Return True if a module is user code: not of this library, of Python, or installed."""
    file, name = getattr(module, "__file__", None), str(getattr(module, "__name__", ""))
    if not isinstance(file, str) or name.partition(".")[0] == "dpassay":
        return name == PROGRAM
    return not (file.lower().startswith(INSTALLED_FOLDERS) or any(part in file.lower() for part in PACKAGE_FOLDERS))


class _Global:
    """Reference to a name of a module, in place of its value."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


def _module_of(thing: Any) -> ModuleType | None:
    """Return the module of the user in which an object is defined, or None; the program itself has no address."""
    owner = thing.func if isinstance(thing, partial) else thing
    is_named = isinstance(owner, (FunctionType, type)) or hasattr(owner, "__wrapped__")
    module = sys.modules.get(owner.__module__ if is_named else type(owner).__module__)
    return module if module is not None and module.__name__ != PROGRAM and _is_users(module) else None


def _address(thing: Any, *, top: bool) -> tuple[str, str, str, str] | None:
    """Return the address of a function or a class, or of any object if it is the audited one (`top`)."""
    if (module := _module_of(thing)) is None:
        return None
    name: str | None = getattr(thing, "__qualname__", None) if isinstance(thing, (FunctionType, type)) else None
    if name is not None:
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part, None)
        name = name if found is thing else None
    if name is None and top:
        name = next((key for key, value in vars(module).items() if value is thing), None)
    return None if name is None else ("module", module.__name__, str(module.__file__), name)


_CLASSES: dict[str, Any] = {}


def _pickler_class() -> Any:
    """Return the class of picklers, made when cloudpickle is needed first."""
    if "pickler" not in _CLASSES:
        _CLASSES["pickler"] = _make_pickler_class()
    return _CLASSES["pickler"]


def _make_pickler_class() -> Any:
    class SourcePickler(cloudpickle().CloudPickler):  # type: ignore[misc]
        """Pickler that writes addresses, and collects the numbers that it copies.

        Args:
            file: where the pickle goes.
            names: the names of the program that were referred to; extended.
        """

        def __init__(self, file: io.BytesIO, names: list[str]) -> None:
            super().__init__(file)
            self.names = names
            self.numbers: list[float] = []
            self.generators = False
            self.whole: dict[int, bytes] = {}

        def dump_top(self, function: Any) -> None:
            """Pickle the audited function."""
            address = _address(function, top=True)
            self.dump(function if address is None else _Global(address[1], address[3]))

        def persistent_id(self, thing: Any) -> Any:
            """Return an address for a reference; None copies the object."""
            if isinstance(thing, _Global):
                if thing.module == PROGRAM:
                    self.names.append(thing.name)
                    return "program", "", "", thing.name
                return "module", thing.module, str(sys.modules[thing.module].__file__), thing.name
            if isinstance(thing, (FunctionType, type)):
                return _address(thing, top=False)
            if isinstance(thing, ModuleType):
                known = thing.__name__ != PROGRAM and _is_users(thing)
                return ("module", thing.__name__, str(thing.__file__), "") if known else None
            if isinstance(thing, OWN_GENERATORS) and not isinstance(thing, random.SystemRandom):
                self.generators = True
                return "generator", "", "", self._in_one(pickle.dumps(thing))
            if id(thing) not in self.whole:
                self.numbers += _numbers_in(thing)
            return None

        def reducer_override(self, thing: Any) -> Any:
            """Return how an object is copied: a lock, a cache, data of a thread and a `SystemRandom` as new ones."""
            if isinstance(thing, LOCKS):
                return (threading.Lock if isinstance(thing, LOCKS[0]) else threading.RLock), ()
            if isinstance(thing, (threading.local, random.SystemRandom)):
                return type(thing), ()
            if isinstance(thing, functools._lru_cache_wrapper):
                options = thing.cache_parameters()
                parts = thing.__wrapped__, options["maxsize"], options["typed"], functools._CacheInfo
                return functools._lru_cache_wrapper, parts
            if isinstance(thing, CodeType):
                return marshal.loads, (self._in_one(marshal.dumps(thing)),)
            if isinstance(thing, np.ndarray) and thing.dtype != object:
                return pickle.loads, (self._in_one(pickle.dumps(thing)),)
            return super().reducer_override(thing)

        def _in_one(self, content: bytes) -> bytes:
            """Return bytes whose contents are not numbers of the function."""
            self.whole[id(content)] = content
            return content

        def _dynamic_function_reduce(self, function: FunctionType) -> Any:
            parts = list(super()._dynamic_function_reduce(function))
            module = sys.modules.get(function.__module__)
            if module is not None and _is_users(module) and vars(module) is function.__globals__:
                attributes, slots = parts[2]
                there = {
                    name: _Global(module.__name__, name)
                    for name, value in slots["__globals__"].items()
                    if name in vars(module) and not isinstance(value, ModuleType)
                }
                parts[2] = attributes, slots | {"__globals__": slots["__globals__"] | there}
            return tuple(parts)

    return SourcePickler


def _numbers_in(thing: Any) -> list[float]:
    """Return the numbers that one object is or holds as an array; NaN for bytes and texts that may hold some."""
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "biuf":
        return [float(value) for value in thing.ravel()[:MAX_NUMBERS]]
    if isinstance(thing, NUMBERS):
        try:
            return [float(thing)]  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return [math.nan]
    is_text = isinstance(thing, str) and len(thing) > MAX_WRITTEN_DIGITS
    if is_text:
        with suppress(ValueError):
            return [float(thing)]
    return [math.nan] if isinstance(thing, (bytes, bytearray, np.ndarray)) else []


def _is_long(value: float) -> bool:
    """Return True if a number has many digits, or cannot be read."""
    return math.isnan(value) or len(repr(float(value)).strip("-").replace(".", "").strip("0")) > MAX_WRITTEN_DIGITS


def _looks_drawn(values: Floats) -> bool:
    """Return True if the values look like a pool of noise, and not like a list of options.

    That is: `MIN_POOL_SIZE` numbers or more, of many digits, or of which some but not all are repeated.

    >>> [_looks_drawn(np.array(values)) for values in (range(10), [0.1] * 10, [0, 1] * 5, [k / 7 for k in range(10)])]
    [False, False, True, True]
    """
    n_long = sum(map(_is_long, values.tolist()))
    return n_long >= MIN_POOL_SIZE or (len(values) >= MIN_POOL_SIZE and 1 < len(set(values.tolist())) < len(values))
