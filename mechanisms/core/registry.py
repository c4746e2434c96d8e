"""Catalogues: public names, and the locations of the classes behind them.

A class is imported only when it is requested, so that listing names stays fast.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import Any, TypeVar, cast

from .errors import DpassayError, ParameterError, UnknownNameError, missing_message, unknown_name_message
from .memory import lacks_memory

T = TypeVar("T")


@dataclass(frozen=True)
class Catalogue:
    """Names of one kind of object ("mechanism", "attack", "bound", ...), each with its class.

    Args:
        kind: the noun for one entry, in the singular, for messages.
        entries: kebab-case name -> "package.module:Class", or "package.module:Class.constructor".
    """

    kind: str
    entries: Mapping[str, str]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.entries))

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def get(self, name: str) -> type[Any]:
        """Return the class behind `name`; raises `UnknownNameError` with the nearest names."""
        if name not in self.entries:
            raise UnknownNameError(self.kind, name, self.entries)
        module, _, attribute = self.entries[name].partition(":")
        return cast("type[Any]", attrgetter(attribute)(import_module(module)))

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
                f"read about them: python -m pydoc {self.entries[name].replace(':', '.')}",
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
                f"{self.kind} {name!r} cannot be built: {error}. Its options: {', '.join(allowed)}.",
                owner=name,
            ) from error

    def instance(self, given: Any, base: type[T], *, argument: str) -> T:
        """Return the instance for `given`: a name of the catalogue, or an instance of `base`.

        Callers that also accept "auto" resolve it themselves; the messages list it.

        Raises:
            UnknownNameError: `given` is a name that is not in the catalogue.
            ParameterError: `given` is neither; the message names `argument`.
        """
        if isinstance(given, str) and given not in self.entries:
            raise UnknownNameError(self.kind, given, [*self.entries, "auto"])
        instance = self.build(given) if isinstance(given, str) else given
        if not isinstance(instance, base):
            raise ParameterError(
                f"{argument} must be 'auto', a name ({', '.join(self)}) or an instance of {base.__name__}, but is "
                f"{given!r} ({type(given).__name__}). A custom class extends {base.__module__}.{base.__name__}.",
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
