"""Settings on top of a configuration: `--set mechanism.epsilon=2`, and the points of a sweep."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from ...mechanisms.core import ConfigError


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Return dotted key -> value for each "key=value"; values in TOML, or else bare strings.

    >>> parse_settings(["mechanism.epsilon=2", "attack.name=classifier", "audit.bounds=['betting']"])
    {'mechanism.epsilon': 2, 'attack.name': 'classifier', 'audit.bounds': ['betting']}

    Raises:
        ConfigError: no "=", an empty part in the key, or the same key twice.
    """
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        key = key.strip()
        if not equals or not all(key.split(".")):
            raise ConfigError(f"--set {setting}: write KEY=VALUE with a dotted key, such as mechanism.epsilon=2.")
        if key in parsed:
            raise ConfigError(f"--set {setting}: {key} is set twice. Keep one of them.")
        parsed[key] = _value(value.strip(), setting)
    return parsed


def _value(text: str, setting: str) -> Any:
    """Return `text` as a TOML value, or unchanged if it is a plain word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError) as error:
        syntax = isinstance(error, tomllib.TOMLDecodeError)  # otherwise the text is too long or too deep
        if not syntax or not text or text[0] in "[{\"'" or "\n" in text:
            key, excerpt = setting.partition("=")[0], text if len(text) <= 60 else f"{text[:57]}..."
            raise ConfigError(f"--set {key}: the value {excerpt!r} is neither valid TOML nor a plain word.") from None
        return text


def apply(table: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `table` with each dotted key set; missing tables are created.

    A key of the sweep contains dots: "sweep.mechanism.epsilon" sets the entry "mechanism.epsilon" of [sweep].

    >>> apply({"audit": {"trials": 10}}, {"audit.trials": 20, "mechanism.name": "laplace"})
    {'audit': {'trials': 20}, 'mechanism': {'name': 'laplace'}}
    """
    result = copy.deepcopy(dict(table))
    for key, value in settings.items():
        *outer, last = key.split(".", 1) if key.startswith("sweep.") else key.split(".")
        inner = result
        for depth, part in enumerate(outer, start=1):
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                existing = ".".join(outer[:depth])
                raise ConfigError(f"cannot set {key}: {existing} is {inner!r}, not a table.")
        inner[last] = copy.deepcopy(value)
    return result
