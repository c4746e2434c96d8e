"""Swept parameters and names as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....mechanisms.core import line, number
from ...config.sweep import CASE


def value_text(value: Any) -> str:
    """Return the text of a swept value: short numbers, a table by its name, others as JSON."""
    if isinstance(value, Mapping):
        return line(str(value.get("name") or json.dumps(value, default=str)))
    if isinstance(value, float):
        return number(value)
    return line(value) if isinstance(value, str) else json.dumps(value, default=str)


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Return swept parameters as one line; names appear without their key.

    >>> parameters_text({"mechanism.epsilon": 0.5, "attack.name": "threshold", "case": {"name": "black box"}})
    'epsilon = 0.5, threshold, black box'
    """
    texts = zip(parameters, short_keys(parameters), map(value_text, parameters.values()), strict=True)
    return ", ".join(text if _is_name(key) else f"{short} = {text}" for key, short, text in texts)


def distinct_texts(several: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return `parameters_text` of each, with full digits where two different ones would have the same text.

    >>> distinct_texts([{"mechanism.epsilon": 0.5}, {"mechanism.epsilon": 0.25}])
    ['epsilon = 0.5', 'epsilon = 0.25']
    >>> distinct_texts([{"mechanism.epsilon": 0.5}, {"mechanism.epsilon": 0.50001}])
    ['epsilon = 0.5', 'epsilon = 0.50001']
    """
    texts = [parameters_text(parameters) for parameters in several]
    exact = [json.dumps(parameters, sort_keys=True, default=str) for parameters in several]
    if len(set(texts)) == len(set(exact)):
        return texts
    return [
        ", ".join(
            f"{key} = {json.dumps(value, default=str)}"
            for key, value in zip(short_keys(parameters), parameters.values(), strict=True)
        )
        for parameters in several
    ]


def short_keys(keys: Iterable[str]) -> list[str]:
    """Return the short form of each dotted key, or the long one where two short forms are equal.

    >>> short_keys(["mechanism.epsilon", "claim.epsilon", "mechanism.steps"])
    ['epsilon of the mechanism', 'epsilon of the claim', 'steps']
    """
    several = list(keys)
    short = [_short_key(key) for key in several]
    return [long_key(key) if short.count(s) > 1 else s for key, s in zip(several, short, strict=True)]


def _short_key(key: str) -> str:
    """Return the last word of a dotted key, spaced: "noise multiplier"; for a name, its table: "mechanism"."""
    words = line(key).partition(",")[0].split(".")
    return (words[-2] if words[-1] == "name" and len(words) > 1 else words[-1]).replace("_", " ")


def long_key(key: str) -> str:
    """Return a dotted key as an axis label: "epsilon of the mechanism"; for joined keys, the first."""
    key = key.partition(",")[0]
    table, _, _name = key.rpartition(".")
    where = table.rpartition(".")[2].replace("_", " ")
    return f"{_short_key(key)} of the {where}" if where and not _is_name(key) else _short_key(key)


def _is_name(key: str) -> bool:
    """Return whether the values of a sweep key are names: of a mechanism, an attack, a case."""
    return key == CASE or key.partition(",")[0].endswith(".name")


def cut(text: str, length: int) -> str:
    """Return at most `length` characters, with an ellipsis if the text is truncated."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def cut_inside(text: str, length: int) -> str:
    """Return at most `length` characters, with an ellipsis before the end, which tells similar names apart.

    >>> cut_inside("sparse-vector-without-noise / twin", 20)
    'sparse-vect…e / twin'
    """
    end = length * 2 // 5
    return text if len(text) <= length else f"{text[: length - end - 1].rstrip()}…{text[len(text) - end :]}"
