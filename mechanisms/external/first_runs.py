"""What the first runs of a function show: what it keeps from one run to the next, and where it draws randomness from.

A function that keeps something may repeat itself, and one that draws from elsewhere cannot be repeated by a seed.
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

from .calls.same_seed import SameSeed
from .mutation import content_digest, is_small

INSTALLED = tuple({f"{Path(path)}{os.sep}lib".lower() for path in (sys.prefix, sys.base_prefix)})
"""Where installed packages and Python lie."""
BY_VALUE = "dpassay_target_"
"""What modules are called that only a file names."""
DESCRIPTORS = (FunctionType, staticmethod, classmethod, property, GetSetDescriptorType, MemberDescriptorType)
NUMBERLESS = (str, bytes, type, ModuleType, BuiltinFunctionType, np.ufunc, random.SystemRandom)
"""What holds no noise of earlier runs."""
OWN_GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
MOST = 1000
"""Things that are looked into."""
DIGITS = 6
"""Of a number, beyond which it was computed or drawn, and not written down."""
POOL = 8
"""Numbers that a pool of noise has at least."""
ELSEWHERE = "the operating system's entropy, the time or another source"


Address = tuple[str, str, str]
"""Module, file and name."""


@dataclass(frozen=True)
class FirstRuns:
    """What the first runs of a function showed.

    Args:
        changed: what the function keeps and changed in these runs, such as "its closure 'cache'"; empty if nothing.
        held: what it holds from before these runs and did not change, and what a copy of it holds too; None, texts and
            what an import makes anew are left out. It may be noise that was drawn earlier.
        written: those of them that are one number of few digits, as one writes down an option such as epsilon = 0.5.
        pools: what holds many numbers that look drawn and did not change, whether a copy holds them or an import makes
            them anew.
        generators: generators of its own, named alike.
        ignores_rng: whether no run drew from the rng that it was given.
        compared: what runs with the same seeds on both sides showed.
        sources: where it drew from besides the rng that it was given, and besides the global random states of numpy and
            Python, which an audit seeds; empty where the same rng gave the same results.
    """

    changed: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    ignores_rng: bool = False
    compared: SameSeed = field(default_factory=SameSeed)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of a result should know of this, a sentence each."""
        found = list(self.compared.warnings)
        if self.sources:
            found.append(
                f"the results depend on {' and '.join(self.sources)}, and not only on the rng that is given: no seed "
                "repeats these runs."
            )
        elif self.ignores_rng:
            found.append(
                "the rng that is given was never drawn from in the first runs: noise from elsewhere, or none, is not "
                "noise that a seed repeats."
            )
        return tuple(found)


@dataclass(frozen=True)
class Snapshot:
    """What could change from one run to the next.

    Args:
        kept: a digest of each thing that the function keeps, by name, generators left out.
        numbers: the numbers in each of these, by name and place.
        copied: names of those that a copy of the function holds too, since no import makes them anew.
        generators: the state of each generator among them, by name.
        shared: the states of the generators that all code of a process shares, of numpy and of Python.
    """

    kept: dict[str, bytes]
    numbers: dict[str, dict[str, float]]
    copied: frozenset[str]
    generators: dict[str, str]
    shared: tuple[Any, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Snapshot:
        """That of `function`, now."""
        held = {one.name: one for one in _held(function, set())}
        own = {name: one.value for name, one in held.items() if _safely(partial(is_generator, one.value), False)}
        generators = {name: _safely(partial(_state, thing), "") for name, thing in own.items()}
        rest = {name: one for name, one in held.items() if name not in own}
        kept = {name: _digest(one.value) for name, one in rest.items()}
        numbers = {name: _safely(partial(_numbers, one.value), {"": math.nan}) for name, one in rest.items()}
        copied = frozenset(name for name, one in rest.items() if not one.imported)
        return cls(kept, numbers, copied, generators, _shared_states())

    def seen_after(self, function: Callable[..., Any], *, repeated: bool) -> FirstRuns:
        """What was seen in runs since then; `repeated` says whether the same rng gave the same results."""
        now = type(self).of(function)
        changed = {name for name, digest in now.kept.items() if self.kept.get(name) != digest}
        shared = now.shared != self.shared
        sources = [
            f"a generator of its own, {name}"
            for name, state in now.generators.items()
            if state != self.generators.get(name)
        ]
        if not (sources or shared or repeated):
            sources = [f"what it keeps from run to run, {' and '.join(sorted(changed))}" if changed else ELSEWHERE]
        changed, first = _remember(function, changed, self)
        held = {name: _unchanged(before, now.numbers.get(name, {})) for name, before in first.numbers.items()}
        names = tuple(name for name, values in held.items() if values and name in first.copied)
        return FirstRuns(
            changed=tuple(sorted(changed)),
            held=names,
            written=tuple(name for name in names if len(held[name]) == 1 and not _is_long(held[name][0])),
            pools=tuple(name for name, values in held.items() if _looks_drawn(values)),
            generators=tuple(now.generators),
            sources=tuple(sources),
        )


_SEEN: weakref.WeakKeyDictionary[Any, tuple[set[str], Snapshot]] = weakref.WeakKeyDictionary()


def _remember(function: Callable[..., Any], changed: set[str], before: Snapshot) -> tuple[set[str], Snapshot]:
    """What changed in this or in earlier first runs of `function` in this process, since a memory is filled only once;
    and what it held before the first of them."""
    try:
        seen, first = _SEEN.setdefault(function, (set(), before))
    except TypeError:  # nothing can be noted of it
        return changed, before
    seen |= changed
    return seen, first


def state_before(function: Callable[..., Any]) -> dict[str, str] | None:
    """Digests of what `function` held before it first ran in this process, by name; None where that is not known."""
    seen = _safely(lambda: _SEEN.get(function), None)
    return None if seen is None else {name: digest.hex() for name, digest in seen[1].kept.items()}


def _unchanged(before: dict[str, float], now: dict[str, float]) -> list[float]:
    """The numbers that are still in their places; NaN stands for what cannot be read."""
    return [value for place, value in before.items() if place in now and repr(now[place]) == repr(value)]


def _is_long(value: float) -> bool:
    """Whether a number has many digits, or cannot be read."""
    return math.isnan(value) or len(repr(float(value)).strip("-").replace(".", "").strip("0")) > DIGITS


def _looks_drawn(values: list[float]) -> bool:
    """Whether these look like a pool of noise, and not like a list of options: `POOL` numbers or more, of many digits,
    or some of which come again, but not all.

    >>> [_looks_drawn(values) for values in (range(10), [0.1] * 10, [0, 1] * 5, [k / 7 for k in range(10)])]
    [False, False, True, True]
    """
    long = sum(map(_is_long, values))
    return long >= POOL or (len(values) >= POOL and 1 < len(set(values)) < len(values))


def is_generator(thing: Any) -> bool:
    """Whether `thing` is a stateful source of random numbers, of numpy, Python or torch."""
    torch = type(thing).__module__.partition(".")[0] == "torch" and type(thing).__name__ == "Generator"
    return torch or (isinstance(thing, OWN_GENERATORS) and not isinstance(thing, random.SystemRandom))


def _state(generator: Any) -> str:
    """The state of a generator, as text."""
    for name in ("bit_generator", "get_state", "getstate", "state"):
        if (found := getattr(generator, name, None)) is not None:
            return repr(found.state if name == "bit_generator" else found() if callable(found) else found)
    return ""


def _shared_states() -> tuple[Any, ...]:
    legacy = np.random.get_state()  # noqa: NPY002 - looked at, never drawn from
    torch = sys.modules.get("torch")
    third = None if torch is None else torch.get_rng_state().tolist()
    return (legacy[0], legacy[1].tobytes(), *legacy[2:]), random.getstate(), third  # type: ignore[index]


@dataclass(frozen=True)
class _Held:
    """One thing that a function holds; `imported` says that an import makes it anew, so that no copy carries it.

    `address` is where an import makes it: module, file and name.
    """

    name: str
    value: Any
    imported: bool
    address: Address | None = None


def _held(thing: Any, seen: set[int], prefix: str = "its", *, imported: bool = False) -> Iterator[_Held]:
    """Everything that a function may keep from run to run, followed into the functions behind it."""
    if id(thing) in seen or len(seen) > MOST:
        return
    seen.add(id(thing))
    imported = imported or address_of(thing, top=len(seen) == 1) is not None
    nothing: list[tuple[str, str, Any]] = []
    for kind, name, given in _safely(lambda: list(_parts(thing)), nothing):
        called = f"{prefix} {kind} {name!r}" if kind else prefix
        value = _safely(partial(_owner, given), given)
        place = _safely(partial(_place, value), "plain")
        if place == "code":
            yield from _held(value, seen, prefix, imported=imported)
        elif place == "plain":
            address = _safely(partial(_address_of_global, thing, name), None) if kind == "global" else None
            yield _Held(called, value, imported, address)
        else:
            yield from _held(value, seen, called, imported=imported)


def globals_of(function: Callable[..., Any]) -> dict[str, Address]:
    """Where an import makes the globals that a copy of `function` would carry, by name."""
    held = _held(function, set())
    return {one.name: one.address for one in held if one.address is not None and not one.imported}


def digest_of(address: Address, module: ModuleType) -> str:
    """A digest of one of these, in its module."""
    return _digest(vars(module)[address[2]]).hex()


def _owner(value: Any) -> Any:
    """The generator behind a function of its own, such as rng.random; `value` where it is none."""
    owner = value.__self__ if isinstance(value, BuiltinFunctionType) else None
    return owner if is_generator(owner) else value


def generators_of(function: Callable[..., Any]) -> list[Any]:
    """The generators of its own."""
    return [one.value for one in _held(function, set()) if _safely(partial(is_generator, one.value), False)]


def _numbers(value: Any) -> dict[str, float]:
    """The numbers in `value`, by their place; none in None, texts, types and modules, NaN for what cannot be read."""
    found: dict[str, float] = {}
    waiting = [("", value)]
    while waiting and len(found) < MOST:
        place, one = waiting.pop()
        if isinstance(one, dict):
            waiting += [(f"{place}[{key!r}]", item) for key, item in one.items()]
        elif isinstance(one, (set, frozenset)):
            waiting.append((place, sorted(one, key=repr)))
        elif isinstance(one, (list, tuple, np.ndarray)):
            waiting += [(f"{place}[{i}]", item) for i, item in enumerate(one[:MOST])]
        elif isinstance(one, (bool, int, float, np.number, np.bool_)):
            found[place] = float(one)
        elif one is not None and not isinstance(one, NUMBERLESS):
            found[place] = math.nan
    return found


T = TypeVar("T")


def _safely(look: Callable[[], T], otherwise: T) -> T:
    """What `look` gives, or `otherwise`: things of strangers may do anything when they are looked at.

    A real interrupt is noted by the guard, which raises it again.
    """
    try:
        return look()
    except BaseException:
        return otherwise


def _place(value: Any) -> str:
    """How `value` is looked into: "code" is followed, things with "insides" have attributes, "plain" ones are read."""
    if isinstance(value, type):
        return "insides" if is_users(sys.modules.get(value.__module__)) else "plain"
    if _is_code(value):
        return "code"
    return "plain" if is_generator(value) or not _has_insides(value) else "insides"


def _parts(thing: Any) -> Iterator[tuple[str, str, Any]]:
    """Kind, name and value of the things that `thing` holds."""
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
        call = getattr(type(thing), "__call__", None)  # noqa: B004 - the function, not whether there is one
        yield from [("", "", call)] if isinstance(call, FunctionType) else []


def _names(code: CodeType) -> set[str]:
    """Global names and attributes that a function reads, those of the functions inside it too."""
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
            yield from (("global", f"{name}.{one}", vars(value)[one]) for one in sorted(names & vars(value).keys()))
    defaults = function.__defaults__ or ()
    named = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    yield from (("default", name, value) for name, value in zip(named, defaults, strict=True))
    yield from (("default", name, value) for name, value in (function.__kwdefaults__ or {}).items())
    yield from (("attribute", name, value) for name, value in vars(function).items() if name != "__wrapped__")


def is_users(module: Any) -> bool:
    """Whether a module is somebody's own: neither of this library, nor of Python, nor installed."""
    file = getattr(module, "__file__", None)
    name = getattr(module, "__name__", "")
    if not isinstance(file, str) or name.partition(".")[0] == "dpassay":
        return name == "__main__"
    return not file.lower().startswith(INSTALLED)


def _address_of_global(function: FunctionType, name: str) -> Address | None:
    module = sys.modules.get(function.__module__)
    known = module is not None and is_users(module) and module.__name__ != "__main__"
    if not known or vars(module) is not function.__globals__ or name not in vars(module):
        return None
    return module.__name__, str(module.__file__), name  # type: ignore[union-attr]


def address_of(thing: Any, *, top: bool = True) -> Address | None:
    """Module, file and name by which a fresh interpreter makes `thing` anew; None where it has no such name.

    Things of `__main__` have none, since a program is not run twice. A module that only a file names, such as one that
    `dpassay check` loads, can be run again for the `top` thing alone: what is behind it travels as a copy.
    """
    return _safely(partial(_address_of, thing, top=top), None)


def _address_of(thing: Any, *, top: bool) -> Address | None:
    owner = thing.func if isinstance(thing, partial) else thing
    name = owner.__module__ if isinstance(owner, (FunctionType, type)) or hasattr(owner, "__wrapped__") else ""
    module = sys.modules.get(name or type(owner).__module__)
    if module is None or not is_users(module) or module.__name__ == "__main__":
        return None
    if not top and module.__name__.startswith(BY_VALUE):
        return None
    found = next((key for key, value in vars(module).items() if value is thing), None)
    return None if found is None else (module.__name__, str(module.__file__), found)


def _is_code(value: Any) -> bool:
    """Whether `value` is a function or the like, to be followed; not a part of an installed package."""
    return isinstance(value, (FunctionType, MethodType, partial)) or (
        hasattr(value, "cache_info") and hasattr(value, "__wrapped__")
    )


def _has_insides(value: Any) -> bool:
    """Whether `value` is an object of somebody's class, whose attributes may change."""
    plain = isinstance(value, (ModuleType, type, np.ndarray, np.generic)) or type(value).__module__ == "builtins"
    return not plain and hasattr(value, "__dict__") and not hasattr(value, "to_numpy")


def _digest(thing: Any) -> bytes:
    """A digest of plain data; of what is large, or cannot be read, only that it is there."""
    return _safely(
        lambda: content_digest(thing) if is_small(thing) else type(thing).__name__.encode(),
        b"unreadable",
    )
