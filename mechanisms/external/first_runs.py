"""What the first runs of a function show: what it keeps from one run to the next, and where it draws randomness from.

A function that keeps something may repeat itself, and one that draws from elsewhere cannot be repeated by a seed.
"""

from __future__ import annotations

import random
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

from .calls.same_seed import SameSeed
from .mutation import content_digest, is_small

OWN_GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
MOST = 1000
"""Things that are looked into."""
ELSEWHERE = "the operating system's entropy, the time or another source"


@dataclass(frozen=True)
class FirstRuns:
    """What the first runs of a function showed.

    Args:
        changed: what the function keeps and changed in these runs, such as "its closure 'cache'"; empty if nothing.
        generators: generators of its own, named alike.
        ignores_rng: whether no run drew from the rng that it was given.
        compared: what runs with the same seeds on both sides showed.
        sources: where it drew from besides the rng that it was given, and besides the global random states of numpy and
            Python, which an audit seeds; empty where the same rng gave the same results.
    """

    changed: tuple[str, ...] = ()
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
        generators: the state of each generator among them, by name.
        shared: the states of the generators that all code of a process shares, of numpy and of Python.
    """

    kept: dict[str, bytes]
    generators: dict[str, str]
    shared: tuple[Any, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Snapshot:
        """That of `function`, now."""
        held = dict(_held(function, set()))
        own = {name: thing for name, thing in held.items() if _safely(partial(is_generator, thing), otherwise=False)}
        generators = {name: _safely(partial(_state, thing), "") for name, thing in own.items()}
        kept = {name: _digest(thing) for name, thing in held.items() if name not in own}
        return cls(kept, generators, _shared_states())

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
        return FirstRuns(tuple(sorted(_remember(function, changed))), tuple(now.generators), tuple(sources))


_CHANGED: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


def _remember(function: Callable[..., Any], changed: set[str]) -> set[str]:
    """What changed in this or in earlier first runs of `function` in this process: a memory is filled only once."""
    try:
        seen = _CHANGED.setdefault(function, set())
    except TypeError:  # nothing can be noted of it
        return changed
    seen |= changed
    return seen


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


def _held(thing: Any, seen: set[int], prefix: str = "its") -> Iterator[tuple[str, Any]]:
    """Name and value of everything that a function may keep from run to run, followed into the functions behind it."""
    if id(thing) in seen or len(seen) > MOST:
        return
    seen.add(id(thing))
    nothing: list[tuple[str, str, Any]] = []
    for kind, name, value in _safely(lambda: list(_parts(thing)), nothing):
        called = f"{prefix} {kind} {name!r}" if kind else prefix
        place = _safely(partial(_place, value), "plain")
        if place == "code":
            yield from _held(value, seen, prefix)
        elif place == "plain":
            yield called, value
        else:
            yield from _held(value, seen, called)


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
    elif hasattr(thing, "cache_info") and hasattr(thing, "__wrapped__"):  # functools.lru_cache
        yield "cache", thing.__wrapped__.__name__, thing.cache_info().currsize
        yield "", "", thing.__wrapped__
    else:
        yield from (("attribute", name, value) for name, value in getattr(thing, "__dict__", {}).items())
        yield "", "", getattr(type(thing), "__call__", None)  # noqa: B004 - the function, not whether there is one


def _parts_of_function(function: FunctionType) -> Iterator[tuple[str, str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield "closure", name, cell.cell_contents
        except ValueError:  # still empty
            yield "closure", name, None
    for name in code.co_names:
        if name in function.__globals__:
            yield "global", name, function.__globals__[name]
    defaults = function.__defaults__ or ()
    named = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    yield from (("default", name, value) for name, value in zip(named, defaults, strict=True))
    yield from (("default", name, value) for name, value in (function.__kwdefaults__ or {}).items())
    yield from (("attribute", name, value) for name, value in vars(function).items() if name != "__wrapped__")


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
