"""Locations of errors in a configuration: the line and key, or the setting, that causes an error.

An error has attributes for its argument, and for the catalogue entry whose option the argument is. Its message is not
parsed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any

from pydantic import BaseModel

from ...mechanisms.core import ConfigError, DpassayError, lacks_memory
from .source import Source
from .sweep import point_text

TABLES = ("attack", "claim", "data", "mechanism", "neighbours")
"""Tables that an argument of the Python interface stands for."""


@contextmanager
def at(parameters: Mapping[str, Any]) -> Iterator[None]:
    """Add the point of a sweep to errors."""
    try:
        yield
    except ConfigError as error:
        if not parameters:
            raise
        raise ConfigError(f"{error}\n  at the point {point_text(parameters)} of the sweep") from error
    except DpassayError as error:
        if parameters:
            error.add_note(f"at {point_text(parameters)}")
        raise


@contextmanager
def section_at(config: BaseModel, source: Source, path: str) -> Iterator[Any]:
    """Yield the table, or the value of the key, at a dotted path, to a block that uses it.

    An error of the block becomes a `ConfigError` with the location of its key, that of the argument of the error: in
    the table at the path, or a table of this name. Options of any type and shape reach code that checks only some of
    them: what it raises is located at the path.
    """
    keys = tuple(path.split("."))
    value: Any = reduce(getattr, keys, config)
    try:
        yield value
    except ConfigError:
        raise
    except DpassayError as error:
        if error.option_path:
            raise source.error((*keys, *error.option_path, error.argument), f"[{keys[0]}] {error}") from error
        section = value if isinstance(value, BaseModel) else None
        if key := _key(error, section):
            raise source.error((*keys, key), f"[{keys[0]}] {error}") from error
        keys = (error.argument,) if error.argument in TABLES else keys
        changed = _changed(error, source)
        with_ = "" if changed or not source.settings else f"\n  with {_options_text(source.settings)}"
        raise source.error(changed or keys, f"[{keys[0]}] {error}{with_}") from error
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        if lacks_memory(error):
            raise
        raise source.error(
            keys,
            f"[{path}] has a value of a type or shape that cannot be used here ({type(error).__name__}: {error}). "
            "Compare its lists and tables with docs/reference/config.md.",
        ) from error


def _key(error: DpassayError, section: BaseModel | None) -> str | None:
    """Return the key of a section that causes an error: its argument, or the name of the entry with this option.

    An error inside a nested table, as in `canary = {name = ...}`, is located at the key of that table.
    """
    table = {} if section is None else section.model_dump(exclude_defaults=True)
    names = {str(table.get("name")): "name"}
    arguments = {key: key for key in table}
    for key, value in table.items():
        for inside in _tables(value):
            names[str(inside.get("name"))] = key
            for argument in inside.keys() - {"name"}:
                arguments.setdefault(argument, key)
    owner_key = names.get(error.owner)
    if owner_key not in (None, "name"):
        return owner_key
    argument_names = (argument.partition("[")[0] for argument in error.arguments)
    return next((arguments[argument] for argument in argument_names if argument in arguments), owner_key)


def _tables(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all tables in a value: itself, and those in its lists and tables."""
    if isinstance(value, Mapping):
        yield value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for item in items:
        yield from _tables(item)


def _changed(error: DpassayError, source: Source) -> tuple[str, ...] | None:
    """Return the key of an argument that the sweep or a setting changed, which causes the error; None if none did."""
    for key in (*source.swept, *source.settings):
        *table, name = key.split(".")
        if name in error.arguments and "sweep" not in table:
            return (*table, name)
    return None


def _options_text(settings: Mapping[str, Any]) -> str:
    """Return the settings of the command line, as they were written."""
    return " ".join(
        f"--set {key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in settings.items()
    )
