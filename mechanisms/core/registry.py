"""Catalogues: public names, and the locations of the classes behind them.

A catalogue has the names of the core, and the names that installed packages register as entry points of its group. The
systems of the literature register in the same way. Names are read from the metadata of the packages; a class is
imported only when it is requested, so that listing names stays fast.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module, metadata
from operator import attrgetter
from typing import Any, TypeVar, cast

from .errors import DpassayError, ParameterError, PlugInError, UnknownNameError, missing_message, unknown_name_message
from .memory import lacks_memory

T = TypeVar("T")

_used: dict[str, str] = {}
_catalogues: dict[type, str] = {}


def named_in(location: str) -> Callable[[type[T]], type[T]]:
    """Return a decorator of the base class of options that a configuration names, as in query = {name = "count"}.

    Args:
        location: "package.module:variable" of the `Catalogue` of the names.

    Example:
        >>> @named_in("dpassay.mechanisms.catalogue:catalogue")
        ... class Base: ...
        >>> catalogue_of(Base).kind
        'mechanism'
    """

    def declare(cls: type[T]) -> type[T]:
        _catalogues[cls] = location
        return cls

    return declare


def catalogue_of(kind: Any) -> Catalogue | None:
    """Return the catalogue of a type, as declared by `named_in` on it or its nearest base; None if there is none."""
    bases = getattr(kind, "__mro__", ())
    location = next((_catalogues[base] for base in bases if base in _catalogues), None)
    if location is None:
        return None
    module, _, variable = location.partition(":")
    return cast("Catalogue", getattr(import_module(module), variable))


class Tier(StrEnum):
    """How far the claim of a mechanism can be trusted before it is audited, the least first."""

    BROKEN = "broken"
    """The claim is false on purpose."""
    PROVISIONAL = "provisional"
    """The claim is the word of its author: no known output law, or none that was derived independently."""
    PROVED = "proved"
    """The claim is a theorem, compared with an independently derived output law, and audited."""


class PlugInWarning(UserWarning):
    """A name of an installed package cannot be used, and is left out."""


@dataclass(frozen=True)
class Entry:
    """Place of a class, and the package that registers it.

    Args:
        location: "package.module:Class", or "package.module:Class.constructor".
        package: name and version of the package of the entry point; empty for a name of the core.
    """

    location: str
    package: str = ""

    @property
    def origin(self) -> str:
        """Where the entry comes from: "core", "literature", or name and version of a package."""
        if self.location.startswith("dpassay."):
            return "literature" if ".literature." in self.location else "core"
        return self.package or "core"


def packages_used() -> dict[str, str]:
    """Return name -> version of the packages other than dpassay whose entries this process has imported."""
    return dict(_used)


@cache
def registered(group: str) -> dict[str, tuple[Entry, ...]]:
    """Return name -> entries that installed packages register in a group of entry points, sorted by name."""
    entries: dict[str, dict[Entry, None]] = {}
    for point in metadata.entry_points(group=group):
        package = "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        entries.setdefault(point.name, {})[Entry(point.value, package)] = None
    return {name: tuple(entries[name]) for name in sorted(entries)}


@dataclass(frozen=True)
class Catalogue:
    """Names of one kind of object ("mechanism", "attack", "bound", ...), each with its class.

    Args:
        kind: the noun for one entry, in the singular, for messages.
        package: package of the modules in `core`, such as "dpassay.mechanisms".
        core: kebab-case name -> "module:Class" or "module:Class.constructor", relative to `package`.
        group: group of entry points with further names, such as "dpassay.mechanisms"; None for none.
        before: name of the core before which the registered names stand where the order matters; None for the end.
    """

    kind: str
    package: str
    core: Mapping[str, str]
    group: str | None = None
    before: str | None = None

    @cached_property
    def entries(self) -> dict[str, str]:
        """Locations by name, "package.module:Class", in the order in which "auto" tries them."""
        return {name: registrations[0].location for name, registrations in self._registrations.items()}

    @cached_property
    def _registrations(self) -> dict[str, tuple[Entry, ...]]:
        """Entries by name; a name has several only if it is taken twice."""
        own = {name: (Entry(f"{self.package}.{location}"),) for name, location in self.core.items()}
        others = registered(self.group) if self.group else {}
        position = len(own) if self.before is None else list(own).index(self.before)
        ordered = [*list(own)[:position], *(name for name in others if name not in own), *list(own)[position:]]
        return {name: own.get(name, ()) + others.get(name, ()) for name in ordered}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.entries))

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def entry(self, name: str) -> Entry:
        """Return the entry `name`.

        Raises:
            UnknownNameError: no such name; the message lists the nearest.
            PlugInError: two packages register the name.
        """
        if name not in self.entries:
            raise UnknownNameError(self.kind, name, self.entries)
        first, *others = self._registrations[name]
        if others:
            places = " and ".join(f"{entry.package or 'dpassay'} ({entry.location})" for entry in (first, *others))
            raise PlugInError(
                f"{self.kind} {name!r} is registered twice: by {places}. Uninstall one of them, or rename its entry "
                "point."
            )
        return first

    def get(self, name: str) -> type[Any]:
        """Return the class behind `name`.

        Raises:
            UnknownNameError: no such name; the message lists the nearest.
            PlugInError: two packages register the name, or the class of another package cannot be imported.
        """
        entry = self.entry(name)
        own = entry.origin in ("core", "literature")
        module, _, attribute = entry.location.partition(":")
        try:
            loaded = cast("type[Any]", attrgetter(attribute)(import_module(module)))
        except Exception as error:
            if own:
                raise
            raise PlugInError(
                f"{self.kind} {name!r} of {entry.package} cannot be imported from {entry.location}: "
                f"{type(error).__name__}: {error}. Repair or uninstall the package."
            ) from error
        if not own:
            name_of_package, _, version = entry.package.rpartition(" ")
            _used[name_of_package] = version
        return loaded

    def usable(self) -> Iterator[str]:
        """Yield the names in the order of `entries`; warn of a name that cannot be imported, and leave it out."""
        for name in self.entries:
            try:
                self.get(name)
            except PlugInError as error:
                warnings.warn(f"{error} It is left out.", PlugInWarning, stacklevel=2)
            else:
                yield name

    def build(self, name: str, **options: Any) -> Any:
        """Return an instance of the class behind `name`; the error names options that are unknown or missing."""
        cls = self.get(name)
        allowed = {key: p for key, p in inspect.signature(cls).parameters.items() if not key.startswith("_")}
        for option in options:
            if option not in allowed:
                message = unknown_name_message(f"option of {self.kind} {name!r}:", option, allowed)
                raise ParameterError(message, argument=option, owner=name)
        needed = [key for key, p in allowed.items() if p.default is p.empty]
        if missing := [key for key in needed if key not in options]:
            raise ParameterError(
                f"{missing_message(f'{self.kind} {name!r}', needed, missing)}. Its options: {', '.join(allowed)}. To "
                f"read about them: python -m pydoc {self.entry(name).location.replace(':', '.')}",
                argument=missing,
                owner=name,
            )
        try:
            return cls(**options)
        except DpassayError:
            raise
        except (TypeError, ValueError, AttributeError, LookupError) as error:  # such as rows of different lengths
            if lacks_memory(error):
                raise
            raise ParameterError(
                f"{self.kind} {name!r} cannot be built: {error}. Its options: {', '.join(allowed)}.", owner=name
            ) from error

    def instance(self, value: Any, base: type[T], *, argument: str) -> T:
        """Return the instance for `value`: a name of the catalogue, or an instance of `base`.

        Callers that also accept "auto" resolve it themselves; the messages list it.

        Raises:
            UnknownNameError: `value` is a name that is not in the catalogue.
            ParameterError: `value` is neither; the message names `argument`.
        """
        if isinstance(value, str) and value not in self.entries:
            raise UnknownNameError(self.kind, value, [*self.entries, "auto"])
        instance = self.build(value) if isinstance(value, str) else value
        if not isinstance(instance, base):
            raise ParameterError(
                f"{argument} must be 'auto', a name ({', '.join(self)}) or an instance of {base.__name__}, but is "
                f"{value!r} ({type(value).__name__}). A custom class extends {base.__module__}.{base.__name__}.",
                argument=argument,
            )
        return instance

    def name_of(self, thing: object) -> str:
        """Return the catalogue name of the class of `thing`, or the name of the class if it is not in the catalogue."""
        path = f"{type(thing).__module__}:{type(thing).__qualname__}"
        return next((name for name, entry in self.entries.items() if entry == path), type(thing).__name__)

    def summary(self, name: str) -> str:
        """Return the first line of the docstring of the class behind `name`."""
        return (inspect.getdoc(self.get(name)) or "").partition("\n")[0]
