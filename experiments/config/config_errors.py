"""Where an error in a configuration is shown: the line and key, or the setting, that is to blame.

An error says which argument it is about, and of which catalogue entry the argument is an option. Nothing is read from
its words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel

from ...mechanisms.errors import ConfigError, DpassayError
from .source import Source
from .sweep import point_text


@contextmanager
def at(parameters: dict[str, Any]) -> Iterator[None]:
    """Adds the point of the sweep to whatever is wrong with it."""
    try:
        yield
    except ConfigError as error:
        if not parameters:
            raise
        raise ConfigError(f"{error}\n  at the point {point_text(parameters)} of the sweep") from error


@contextmanager
def pointing_at(source: Source, table: str, section: BaseModel | None = None) -> Iterator[None]:
    """Turns an error in building or checking a table into a `ConfigError` with the place of the key it is about."""
    try:
        yield
    except ConfigError:
        raise
    except DpassayError as error:
        path = tuple(table.split("."))
        if key := _key(error, section):
            raise source.error((*path, key), f"[{path[0]}] {error}") from error
        changed = _changed(error, source)
        with_ = "" if changed or not source.settings else f"\n  with {_shown(source.settings)}"
        raise source.error(changed or path, f"[{path[0]}] {error}{with_}") from error


def _key(error: DpassayError, section: BaseModel | None) -> str | None:
    """The key of a section that an error is about: its argument, or the name of the entry whose option that is.

    What stands in a table inside, as in `canary = {name = ...}`, is shown at the key of that table.
    """
    arguments: dict[str, str] = {}
    names: dict[str, str] = {}
    for key, value in ({} if section is None else section.model_dump(exclude_defaults=True)).items():
        inside = dict(value) if isinstance(value, Mapping) else {}
        if name := inside.pop("name", value if key == "name" else None):
            names[str(name)] = key
        for argument in (key, *inside):
            arguments.setdefault(argument, key)
    home = names.get(error.owner)
    if home not in (None, "name"):
        return home
    blamed = (argument.partition("[")[0] for argument in error.arguments)
    return next((arguments[argument] for argument in blamed if argument in arguments), home)


def _changed(error: DpassayError, source: Source) -> tuple[str, ...] | None:
    """The key of an argument that the sweep or a setting changed: parts do not fit since then."""
    for key in (*source.swept, *source.settings):
        *table, name = key.split(".")
        if name in error.arguments and "sweep" not in table:
            return (*table, name)
    return None


def _shown(settings: Mapping[str, Any]) -> str:
    """What was set by hand, as it was written."""
    return " ".join(
        f"--set {key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in settings.items()
    )
