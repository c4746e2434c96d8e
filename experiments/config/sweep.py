"""The points of a sweep: what each sets, the seed it gets, and the folder that holds its trials.

A point is a dictionary from sweep key to value. A sweep key is a dotted key, or several joined by commas, which are set
to the same value: "mechanism.delta, claim.delta". The key "case" sets several keys to values of their own: each of its
values is a table with a name and, for each table of the configuration, the keys that change.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

Parameters = Mapping[str, Any]
"""Sweep key -> value."""
CASE = "case"
"""The sweep key whose values are named cases."""
PUBLISHED = "published"
"""What a case says of other tools: name -> the epsilon that each found. It changes no number of the audit."""
CASE_KEYS = ("name", "seed", PUBLISHED)
"""What a case says of itself; all else in it are tables of what it sets."""


def combinations(sweep: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The cartesian product, the last key varying fastest; one empty point without a sweep.

    >>> combinations({"a": [1, 2], "b": ["x", "y"]})[1]
    {'a': 1, 'b': 'y'}
    """
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]


def settings(parameters: Parameters) -> dict[str, Any]:
    """Dotted key -> value: joined keys taken apart.

    >>> settings({"mechanism.delta, claim.delta": 0.1})
    {'mechanism.delta': 0.1, 'claim.delta': 0.1}
    >>> settings({"case": {"name": "black box", "attack": {"name": "canary-loss"}, "mechanism": {"view": "final"}}})
    {'attack.name': 'canary-loss', 'mechanism.view': 'final'}
    """
    found: dict[str, Any] = {}
    for key, value in parameters.items():
        found |= _case_settings(value) if key == CASE else dict.fromkeys(parts(key), value)
    return found


def _case_settings(case: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{table}.{key}": value
        for table, inside in case.items()
        if table not in CASE_KEYS
        for key, value in inside.items()
    }


def swept_keys(key: str, values: Sequence[Any]) -> list[str]:
    """The dotted keys that an entry of the sweep sets at any of its points."""
    return list(dict.fromkeys(name for value in values for name in settings({key: value})))


def places(sweep: Mapping[str, Sequence[Any]], parameters: Parameters) -> dict[str, tuple[str, ...]]:
    """Dotted key -> path of what sets it at this point of the sweep; cases are numbered.

    >>> cases = [{"name": "a"}, {"name": "b", "attack": {"name": "threshold"}}]
    >>> places({"case": cases, "audit.delta": [0.0]}, {"case": cases[1], "audit.delta": 0.0})
    {'attack.name': ('sweep', 'case', '1', 'attack', 'name'), 'audit.delta': ('sweep', 'audit.delta')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for sweep_key, value in parameters.items():
        for key in settings({sweep_key: value}):
            case = (str(list(sweep[CASE]).index(value)), *key.split(".")) if sweep_key == CASE else ()
            found[key] = ("sweep", sweep_key, *case)
    return found


def parts(key: str) -> list[str]:
    """The dotted keys of a sweep key."""
    return [part.strip() for part in key.split(",")]


def unswept(sweep: Mapping[str, Sequence[Any]], keys: Collection[str]) -> dict[str, Sequence[Any]]:
    """The sweep without the dotted `keys`: what is set to one value is not swept as well.

    >>> unswept({"mechanism.epsilon": [1, 2], "mechanism.delta, claim.delta": [0, 0.1]}, ["mechanism.epsilon"])
    {'mechanism.delta, claim.delta': [0, 0.1]}
    """
    left: dict[str, Sequence[Any]] = {}
    for key, values in sweep.items():
        kept = [part for part in parts(key) if part not in keys]
        if key == CASE:
            left[key] = tuple(_case_without(case, keys) for case in values)
        elif kept:
            left[", ".join(kept)] = values
    return left


def _case_without(case: Any, keys: Collection[str]) -> dict[str, Any]:
    return {
        table: inside if table in CASE_KEYS else {k: v for k, v in inside.items() if f"{table}.{k}" not in keys}
        for table, inside in case.items()
    }


def published(parameters: Parameters) -> Mapping[str, float]:
    """What other tools found at this point, by their names.

    >>> published({"case": {"name": "a", "published": {"StatDP": 0.1}}})
    {'StatDP': 0.1}
    """
    case = parameters.get(CASE)
    found: Mapping[str, float] = case.get(PUBLISHED, {}) if isinstance(case, Mapping) else {}
    return found


def without_published(key: str, values: Sequence[Any]) -> list[Any]:
    """The values of a sweep key, without what others have published: what determines the numbers."""
    if key != CASE:
        return list(values)
    return [{name: inside for name, inside in case.items() if name != PUBLISHED} for case in values]


def point_seed(seed: int, parameters: Parameters) -> int:
    """The seed of one audit, from the seed of the experiment and what the point sets.

    It does not depend on the other points, so that adding some changes no number of those that were there. Without a
    sweep it is the seed itself. A case with a seed of its own keeps its numbers when it is called something else.

    >>> point_seed(20, {}), point_seed(20, {"case": {"name": "a", "seed": 7}})
    (20, 7)
    """
    if "seed" in parameters.get(CASE, ()):
        return point_seed(parameters[CASE]["seed"], {key: value for key, value in parameters.items() if key != CASE})
    if not parameters:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}:{_canonical(parameters)}".encode()).digest()[:6], "big")


def folder_name(parameters: Parameters) -> str:
    """A folder name that a person can read and that no other point has.

    >>> folder_name({"mechanism.epsilon": 0.5})
    'epsilon=0.5-1b1db085'
    """
    if not parameters:
        return "audit"
    words = (f"{parts(key)[0].rpartition('.')[2]}={value_name(value)}" for key, value in parameters.items())
    readable = re.sub(r"[^A-Za-z0-9=.,_-]+", "-", ",".join(words))[:60].strip("-.")
    return f"{readable}-{hashlib.sha256(_canonical(parameters).encode()).hexdigest()[:8]}"


def value_name(value: Any) -> str:
    """A swept value in a few letters: a table by its name."""
    if isinstance(value, Mapping):
        return str(value.get("name") or json.dumps(value))
    return value if isinstance(value, str) else json.dumps(value)


def point_text(parameters: Parameters) -> str:
    """A point in one line, as in a message; a case by its name alone, since its settings may fill the screen.

    >>> point_text({"mechanism.epsilon": 0.5, "case": {"name": "weak", "audit": {"trials": 10}}})
    'mechanism.epsilon = 0.5, case = "weak"'
    """
    named = {key: value["name"] if key == "case" and "name" in value else value for key, value in parameters.items()}
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in named.items())


def _canonical(parameters: Parameters) -> str:
    asked = {key: without_published(key, [value])[0] for key, value in parameters.items()}
    return json.dumps(asked, sort_keys=True, separators=(",", ":"))
