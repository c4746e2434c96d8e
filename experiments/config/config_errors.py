"""Where a complaint about a configuration points: the line and key, or the setting, that is to blame."""

from __future__ import annotations

import json
import re
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
    """Turns an error in building or checking a table into a `ConfigError` with the place of the key it speaks of."""
    try:
        yield
    except ConfigError:
        raise
    except DpassayError as error:
        path, text = tuple(table.split(".")), str(error)
        if key := _spoken_of(text, section):
            raise source.error((*path, key), f"[{path[0]}] {text}") from error
        changed = _changed(text, source)
        with_ = "" if changed or not source.settings else f"\n  with {_shown(source.settings)}"
        raise source.error(changed or path, f"[{path[0]}] {text}{with_}") from error


def _changed(message: str, source: Source) -> tuple[str, ...] | None:
    """The key, set by the sweep or by hand, whose name an error message holds: parts do not fit since it was set."""
    for key in (*source.swept, *source.settings):
        *table, name = key.split(".")
        if name != "name" and "sweep" not in table and re.search(rf"\b{re.escape(name)}\b", message):
            return (*table, name)
    return None


def _shown(settings: Mapping[str, Any]) -> str:
    """What was set by hand, as it was written."""
    return " ".join(
        f"--set {key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in settings.items()
    )


def _spoken_of(message: str, section: BaseModel | None) -> str | None:
    """The key of a section that an error message names: its subject, or the first in quotes of its keys and names.

    What stands in a table inside, as in `canary = {name = ...}`, is spoken of by the key of that table.
    """
    if section is None:
        return None
    words: dict[str, str] = {}
    names: dict[str, str] = {}
    for key, value in section.model_dump(exclude_defaults=True).items():
        inside = dict(value) if isinstance(value, Mapping) else {}
        if name := inside.pop("name", value if key == "name" else None):
            names[str(name)] = key
        for word in (key, *inside):
            words.setdefault(word, key)
    for word, key in words.items():
        if re.match(rf"(unknown )?{re.escape(word)}\b", message):
            return key
    for kind in (words, names):
        if quoted := [(message.find(f"{word!r}"), key) for word, key in kind.items() if f"{word!r}" in message]:
            return min(quoted)[1]
    return None
