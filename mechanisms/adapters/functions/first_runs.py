"""First runs of a function: what it stores from one run to the next, and where it draws randomness from.

A function that stores something may repeat itself, and one that draws from elsewhere cannot be repeated by a seed.
"""

from __future__ import annotations

import math
import os
import random
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, TypeVar

import numpy as np

from ...core import random_states
from .same_seed import SameSeed
from .state import content_digest, is_small

INSTALLED_FOLDERS = tuple({f"{Path(path)}{os.sep}lib".lower() for path in (sys.prefix, sys.base_prefix)})
"""Folders of installed packages and of Python."""
PACKAGE_FOLDERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
"""Folders of installed packages elsewhere, such as those that a user installed for all environments."""
FILE_MODULE_PREFIX = "dpassay_target_"
"""Prefix of the names of modules that are loaded from a file only."""
DESCRIPTORS = (FunctionType, staticmethod, classmethod, property, GetSetDescriptorType, MemberDescriptorType)
NOISELESS_TYPES = (str, bytes, type, ModuleType, BuiltinFunctionType, np.ufunc, random.SystemRandom)
"""Types that hold no noise of earlier runs."""
OWN_GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
MAX_INSPECTED_OBJECTS = 1000
"""Largest number of objects that are inspected."""
MAX_WRITTEN_DIGITS = 6
"""Number of digits above which a number was computed or drawn, not written by a person."""
MIN_POOL_SIZE = 8
"""Smallest number of values in a pool of noise."""
OTHER_SOURCES = "the operating system's entropy, the time or another source"


Address = tuple[str, str, str]
"""Module, file and name of an object."""


@dataclass(frozen=True)
class FirstRuns:
    """Findings of the first runs of a function.

    Args:
        changed: objects that the function stores and that changed in these runs, such as "its closure 'cache'".
        held: objects that it stores from before these runs, that did not change, and that a copy of the function also
            stores; None, texts and objects that an import creates again are omitted. They may be noise drawn earlier.
        written: those of them that are one number of few digits, like an option such as epsilon = 0.5.
        pools: unchanged objects with many numbers that look drawn, whether a copy stores them or an import
            creates them again.
        imported: unchanged objects with numbers that an import creates again.
        generators: generators that the function stores, named in the same way.
        sources: sources of randomness other than the given rng and the global random states of numpy and Python, which
            an audit seeds; empty if the same rng gave the same results.
        ignores_rng: True if no run drew from the given rng.
        compared: findings of runs with the same seeds on both sides.
    """

    changed: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    ignores_rng: bool = False
    compared: SameSeed = field(default_factory=SameSeed)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the reader of a result, one sentence each."""
        messages = list(self.compared.warnings)
        if self.sources:
            messages.append(
                f"the results depend on {' and '.join(self.sources)}, and not only on the given rng: no seed "
                "repeats these runs."
            )
        elif self.ignores_rng:
            messages.append(
                "the given rng was never drawn from in the first runs: noise from elsewhere, or none, cannot be "
                "repeated by a seed."
            )
        return tuple(messages)


@dataclass(frozen=True)
class Snapshot:
    """State of a function that could change from one run to the next.

    Args:
        kept: a digest of each object that the function stores, by name, without generators.
        numbers: the numbers in each of these objects, by name and place.
        copied: names of those that a copy of the function also stores, since no import creates them again.
        generators: the state of each generator among them, by name.
        shared: the states of the generators of numpy and of Python that all code of a process shares.
    """

    kept: dict[str, bytes]
    numbers: dict[str, dict[str, float]]
    copied: frozenset[str]
    generators: dict[str, str]
    shared: tuple[Any, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Snapshot:
        """Return the snapshot of `function` at this moment."""
        objects = {item.name: item for item in _held(function, set())}
        generator_values = {
            name: item.value for name, item in objects.items() if _safely(partial(_is_generator, item.value), False)
        }
        generators = {name: _safely(partial(_state, value), "") for name, value in generator_values.items()}
        others = {name: item for name, item in objects.items() if name not in generator_values}
        digests = {name: _digest(item.value) for name, item in others.items()}
        numbers = {name: _safely(partial(_numbers, item.value), {"": math.nan}) for name, item in others.items()}
        copied = frozenset(name for name, item in others.items() if not item.imported)
        return cls(digests, numbers, copied, generators, _shared_states())

    def seen_after(self, function: Callable[..., Any], *, repeated: bool) -> FirstRuns:
        """Return the findings of the runs since this snapshot; `repeated`: the same rng gave the same results."""
        current = type(self).of(function)
        changed = {name for name, digest in current.kept.items() if self.kept.get(name) != digest}
        shared = current.shared != self.shared
        sources = [
            f"a separate generator, {name}"
            for name, state in current.generators.items()
            if state != self.generators.get(name)
        ]
        if not (sources or shared or repeated):
            sources = [
                f"data that it stores from run to run, {' and '.join(sorted(changed))}" if changed else OTHER_SOURCES
            ]
        changed, first = _remember(function, changed, self)
        held = {name: _unchanged(before, current.numbers.get(name, {})) for name, before in first.numbers.items()}
        names = tuple(name for name, values in held.items() if values and name in first.copied)
        return FirstRuns(
            changed=tuple(sorted(changed)),
            held=names,
            written=tuple(name for name in names if len(held[name]) == 1 and not _is_long(held[name][0])),
            pools=tuple(name for name, values in held.items() if _looks_drawn(values)),
            imported=tuple(name for name, values in held.items() if values and name not in first.copied),
            generators=tuple(current.generators),
            sources=tuple(sources),
        )


_TRACKED_SNAPSHOTS: weakref.WeakKeyDictionary[Any, tuple[set[str], Snapshot]] = weakref.WeakKeyDictionary()


def _remember(function: Callable[..., Any], changed: set[str], before: Snapshot) -> tuple[set[str], Snapshot]:
    """Return everything that changed in any first runs of `function` in this process, and the first snapshot.

    Earlier first runs count as well, since a memory is filled only once.
    """
    try:
        all_changed, first = _TRACKED_SNAPSHOTS.setdefault(function, (set(), before))
    except TypeError:  # the function cannot be a key
        return changed, before
    all_changed |= changed
    return all_changed, first


def digests_of(function: Callable[..., Any]) -> dict[str, str]:
    """Return digests of the objects that `function` stores now, by name, without generators."""
    return {name: digest.hex() for name, digest in Snapshot.of(function).kept.items()}


def state_before(function: Callable[..., Any]) -> dict[str, str] | None:
    """Return digests of the objects that `function` stored before its first run in this process, by name, or None."""
    remembered = _safely(lambda: _TRACKED_SNAPSHOTS.get(function), None)
    return None if remembered is None else {name: digest.hex() for name, digest in remembered[1].kept.items()}


def _unchanged(before: dict[str, float], after: dict[str, float]) -> list[float]:
    """Return the numbers that are unchanged in their places; NaN stands for unreadable objects."""
    return [value for path, value in before.items() if path in after and repr(after[path]) == repr(value)]


def _is_long(value: float) -> bool:
    """Return True if a number has many digits, or cannot be read."""
    return math.isnan(value) or len(repr(float(value)).strip("-").replace(".", "").strip("0")) > MAX_WRITTEN_DIGITS


def _looks_drawn(values: list[float]) -> bool:
    """Return True if the values look like a pool of noise, and not like a list of options.

    That is: `MIN_POOL_SIZE` numbers or more, of many digits, or of which some but not all are repeated.

    >>> [_looks_drawn(values) for values in (range(10), [0.1] * 10, [0, 1] * 5, [k / 7 for k in range(10)])]
    [False, False, True, True]
    """
    n_long = sum(map(_is_long, values))
    return n_long >= MIN_POOL_SIZE or (len(values) >= MIN_POOL_SIZE and 1 < len(set(values)) < len(values))


def _is_generator(value: Any) -> bool:
    """Return True if `value` is a stateful source of random numbers of numpy, Python or torch."""
    torch = type(value).__module__.partition(".")[0] == "torch" and type(value).__name__ == "Generator"
    return torch or (isinstance(value, OWN_GENERATORS) and not isinstance(value, random.SystemRandom))


def _state(generator: Any) -> str:
    """Return the state of a generator as text."""
    for name in ("bit_generator", "get_state", "getstate", "state"):
        if (accessor := getattr(generator, name, None)) is not None:
            return repr(accessor.state if name == "bit_generator" else accessor() if callable(accessor) else accessor)
    return ""


def _shared_states() -> tuple[Any, ...]:
    legacy = np.random.get_state()  # noqa: NPY002 - read only, never drawn from
    third = {name: state.tolist() for name, state in random_states().items()}
    return (legacy[0], legacy[1].tobytes(), *legacy[2:]), random.getstate(), third  # type: ignore[index]


@dataclass(frozen=True)
class _StoredObject:
    """One object that a function stores; `imported`: an import creates it again, so that no copy contains it.

    `address` is the place where an import creates it: module, file and name.
    """

    name: str
    value: Any
    imported: bool
    address: Address | None = None


def _held(thing: Any, visited: set[int], prefix: str = "its", *, imported: bool = False) -> Iterator[_StoredObject]:
    """Yield every object that a function may store from run to run, including those of the functions behind it."""
    if id(thing) in visited or len(visited) > MAX_INSPECTED_OBJECTS:
        return
    visited.add(id(thing))
    imported = imported or address_of(thing, top=len(visited) == 1) is not None
    nothing: list[tuple[str, str, Any]] = []
    for kind, name, part in _safely(lambda: list(_parts(thing)), nothing):
        label = f"{prefix} {kind} {name!r}" if kind else prefix
        value = _safely(partial(_owner, part), part)
        place = _safely(partial(_place, value), "plain")
        if place == "code":
            yield from _held(value, visited, prefix, imported=imported)
        elif place == "plain":
            address = _safely(partial(_address_of_global, thing, name), None) if kind == "global" else None
            yield _StoredObject(label, value, imported, address)
        else:
            yield from _held(value, visited, label, imported=imported)


def globals_of(function: Callable[..., Any]) -> dict[str, Address]:
    """Return where an import creates the globals that a copy of `function` would contain, by name."""
    held = _held(function, set())
    return {item.name: item.address for item in held if item.address is not None and not item.imported}


def digest_of(address: Address, module: ModuleType) -> str:
    """Return a digest of the global at `address`, in its module."""
    return _digest(vars(module)[address[2]]).hex()


def _owner(value: Any) -> Any:
    """Return the generator to which a method such as rng.random belongs; `value` if there is none."""
    owner = value.__self__ if isinstance(value, BuiltinFunctionType) else None
    return owner if _is_generator(owner) else value


def generators_of(function: Callable[..., Any]) -> list[Any]:
    """Return the generators that a function stores."""
    return [item.value for item in _held(function, set()) if _safely(partial(_is_generator, item.value), False)]


def _numbers(value: Any) -> dict[str, float]:
    """Return the numbers in `value`, by place; none in None, texts, types and modules, NaN for unreadable objects."""
    numbers: dict[str, float] = {}
    pending = [("", value)]
    while pending and len(numbers) < MAX_INSPECTED_OBJECTS:
        path, item = pending.pop()
        if isinstance(item, dict):
            pending += [(f"{path}[{key!r}]", entry) for key, entry in item.items()]
        elif isinstance(item, (set, frozenset)):
            pending.append((path, sorted(item, key=repr)))
        elif isinstance(item, (list, tuple, np.ndarray)):
            pending += [(f"{path}[{i}]", entry) for i, entry in enumerate(item[:MAX_INSPECTED_OBJECTS])]
        elif isinstance(item, (bool, int, float, np.number, np.bool_)):
            numbers[path] = float(item)
        elif item is not None and not isinstance(item, NOISELESS_TYPES):
            numbers[path] = math.nan
    return numbers


T = TypeVar("T")


def _safely(look: Callable[[], T], otherwise: T) -> T:
    """Return the result of `look`, or `otherwise` if it raises: reading user objects can run any code.

    A real interrupt is noted by the guard, which raises it again.
    """
    try:
        return look()
    except BaseException:
        return otherwise


def _place(value: Any) -> str:
    """Return how `value` is inspected: "code" is followed, "insides" has attributes, "plain" is read."""
    if isinstance(value, type):
        return "insides" if is_users(sys.modules.get(value.__module__)) else "plain"
    if _is_code(value):
        return "code"
    return "plain" if _is_generator(value) or not _has_insides(value) else "insides"


def _parts(thing: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield kind, name and value of the objects that `thing` stores."""
    if isinstance(thing, FunctionType):
        yield from _parts_of_function(thing)
    elif isinstance(thing, MethodType):
        yield "", "", thing.__self__
        yield "", "", thing.__func__
    elif isinstance(thing, partial):
        yield "", "", thing.func
        yield from (("argument", str(i), value) for i, value in enumerate(thing.args))
        yield from (("argument", name, value) for name, value in thing.keywords.items())
    elif isinstance(thing, type):
        own = ((name, value) for name, value in vars(thing).items() if not name.startswith("__"))
        yield from (("attribute", name, value) for name, value in own if not isinstance(value, DESCRIPTORS))
    elif hasattr(thing, "cache_info") and hasattr(thing, "__wrapped__"):  # functools.lru_cache
        yield "cache", thing.__wrapped__.__name__, thing.cache_info().currsize or None
        yield "", "", thing.__wrapped__
    else:
        yield from (("attribute", name, value) for name, value in getattr(thing, "__dict__", {}).items())
        yield "class", type(thing).__name__, type(thing)
        call = getattr(type(thing), "__call__", None)  # noqa: B004 - the function itself is needed
        yield from [("", "", call)] if isinstance(call, FunctionType) else []


def _names(code: CodeType) -> set[str]:
    """Return the global names and attributes that a function reads, including those of its inner functions."""
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*inner)


def _parts_of_function(function: FunctionType) -> Iterator[tuple[str, str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield "closure", name, cell.cell_contents
        except ValueError:  # still empty
            yield "closure", name, None
    names = _names(code)
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        yield "global", name, value
        if isinstance(value, ModuleType) and is_users(value):
            yield from (
                ("global", f"{name}.{attribute}", vars(value)[attribute])
                for attribute in sorted(names & vars(value).keys())
            )
    defaults = function.__defaults__ or ()
    named = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    yield from (("default", name, value) for name, value in zip(named, defaults, strict=True))
    yield from (("default", name, value) for name, value in (function.__kwdefaults__ or {}).items())
    yield from (("attribute", name, value) for name, value in vars(function).items() if name != "__wrapped__")


def is_users(module: Any) -> bool:
    """Return True if a module is user code: not of this library, of Python, or installed."""
    file = getattr(module, "__file__", None)
    name = getattr(module, "__name__", "")
    if not isinstance(file, str) or name.partition(".")[0] == "dpassay":
        return name == "__main__"
    return not is_installed(file)


def is_installed(file: str) -> bool:
    """Return True if a file belongs to Python or to an installed package."""
    return file.lower().startswith(INSTALLED_FOLDERS) or any(folder in file.lower() for folder in PACKAGE_FOLDERS)


def _address_of_global(function: FunctionType, name: str) -> Address | None:
    module = sys.modules.get(function.__module__)
    known = module is not None and is_users(module) and module.__name__ != "__main__"
    if not known or vars(module) is not function.__globals__ or name not in vars(module):
        return None
    return module.__name__, str(module.__file__), name  # type: ignore[union-attr]


def address_of(thing: Any, *, top: bool = True) -> Address | None:
    """Return module, file and name by which a fresh interpreter creates `thing` again; None if there is no such name.

    Objects of `__main__` have none, since a program is not run twice. A module that is loaded from a file only, such as
    by `dpassay check`, can be run again only for the `top` object: the objects behind it are copied.
    """
    return _safely(partial(_address_of, thing, top=top), None)


def _address_of(thing: Any, *, top: bool) -> Address | None:
    owner = thing.func if isinstance(thing, partial) else thing
    name = owner.__module__ if isinstance(owner, (FunctionType, type)) or hasattr(owner, "__wrapped__") else ""
    module = sys.modules.get(name or type(owner).__module__)
    if module is None or not is_users(module) or module.__name__ == "__main__":
        return None
    if not top and module.__name__.startswith(FILE_MODULE_PREFIX):
        return None
    attribute_name = next((key for key, value in vars(module).items() if value is thing), None)
    return None if attribute_name is None else (module.__name__, str(module.__file__), attribute_name)


def _is_code(value: Any) -> bool:
    """Return True if `value` is a function or similar, to be followed; not a part of an installed package."""
    return isinstance(value, (FunctionType, MethodType, partial)) or (
        hasattr(value, "cache_info") and hasattr(value, "__wrapped__")
    )


def _has_insides(value: Any) -> bool:
    """Return True if `value` is an object of a user class, whose attributes may change."""
    plain = isinstance(value, (ModuleType, type, np.ndarray, np.generic)) or type(value).__module__ == "builtins"
    return not plain and hasattr(value, "__dict__") and not hasattr(value, "to_numpy")


def _digest(value: Any) -> bytes:
    """Return a digest of plain data; for large or unreadable objects, of the type only."""
    return _safely(
        lambda: content_digest(value) if is_small(value) else type(value).__name__.encode(),
        b"unreadable",
    )
