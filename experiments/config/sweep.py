"""The points of a sweep: their settings, their seeds, and the folders of their trials; checks of its named cases.

A point is a dictionary from sweep key to value. A sweep key is a dotted key, or several joined by commas, which are set
to the same value: "mechanism.delta, claim.delta". The key "case" sets several keys to different values: each of its
values is a table with a name and, for each table of the configuration, the keys that change.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...audit.evidence.verdict import Verdict
from .source import Source

Parameters = Mapping[str, Any]
"""Sweep key -> value."""
CASE = "case"
"""The sweep key whose values are named cases."""
PUBLISHED = "published"
"""Key of a case for published results: name of a tool -> its epsilon. It changes no number of the audit."""
EXPECTED = "expected"
"""Key of a case, or of the configuration for all audits, for our own results. It changes no result."""
EXPECTED_NUMBERS = ("claim", "exact", "lower_bound")
"""Numbers of an audit that may be expected: the claimed epsilon, the exact epsilon, the lower bound."""
VERDICT = "verdict"
"""The other name in a table of expected results."""
UNUSED_IN_RUNS = (PUBLISHED, EXPECTED)
"""Keys of a case that affect no numbers."""
CASE_KEYS = ("name", "seed", *UNUSED_IN_RUNS)
"""Keys of a case itself; all others are tables of settings."""


def combinations(sweep: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the cartesian product, the last key varying fastest; one empty point without a sweep.

    >>> combinations({"a": [1, 2], "b": ["x", "y"]})[1]
    {'a': 1, 'b': 'y'}
    """
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]


def settings(parameters: Parameters) -> dict[str, Any]:
    """Return dotted key -> value for a point: joined keys are separated.

    >>> settings({"mechanism.delta, claim.delta": 0.1})
    {'mechanism.delta': 0.1, 'claim.delta': 0.1}
    >>> settings({"case": {"name": "black box", "attack": {"name": "canary-loss"}, "mechanism": {"view": "final"}}})
    {'attack.name': 'canary-loss', 'mechanism.view': 'final'}
    """
    values: dict[str, Any] = {}
    for key, value in parameters.items():
        values |= _case_settings(value) if key == CASE else dict.fromkeys(parts(key), value)
    return values


def _case_settings(case: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{table}.{key}": value
        for table, inside in case.items()
        if table not in CASE_KEYS
        for key, value in inside.items()
    }


def swept_keys(key: str, values: Sequence[Any]) -> list[str]:
    """Return the dotted keys that an entry of the sweep sets at any of its points."""
    return list(dict.fromkeys(name for value in values for name in settings({key: value})))


def places(sweep: Mapping[str, Sequence[Any]], parameters: Parameters) -> dict[str, tuple[str, ...]]:
    """Return dotted key -> path of the entry that sets it at this point of the sweep; cases are numbered.

    >>> cases = [{"name": "a"}, {"name": "b", "attack": {"name": "threshold"}}]
    >>> places({"case": cases, "audit.delta": [0.0]}, {"case": cases[1], "audit.delta": 0.0})
    {'attack.name': ('sweep', 'case', '1', 'attack', 'name'), 'audit.delta': ('sweep', 'audit.delta')}
    """
    paths: dict[str, tuple[str, ...]] = {}
    for sweep_key, value in parameters.items():
        for key in settings({sweep_key: value}):
            case = (str(list(sweep[CASE]).index(value)), *key.split(".")) if sweep_key == CASE else ()
            paths[key] = ("sweep", sweep_key, *case)
    return paths


def parts(key: str) -> list[str]:
    """Return the dotted keys of a sweep key."""
    return [part.strip() for part in key.split(",")]


def unswept(sweep: Mapping[str, Sequence[Any]], keys: Collection[str]) -> dict[str, Sequence[Any]]:
    """Return the sweep without the dotted `keys`, which are set to one value.

    >>> unswept({"mechanism.epsilon": [1, 2], "mechanism.delta, claim.delta": [0, 0.1]}, ["mechanism.epsilon"])
    {'mechanism.delta, claim.delta': [0, 0.1]}
    """
    remaining: dict[str, Sequence[Any]] = {}
    for key, values in sweep.items():
        remaining_parts = [part for part in parts(key) if part not in keys]
        if key == CASE:
            remaining[key] = tuple(_case_without(case, keys) for case in values)
        elif remaining_parts:
            remaining[", ".join(remaining_parts)] = values
    return remaining


def _case_without(case: Any, keys: Collection[str]) -> dict[str, Any]:
    return {
        table: inside if table in CASE_KEYS else {k: v for k, v in inside.items() if f"{table}.{k}" not in keys}
        for table, inside in case.items()
    }


def published(parameters: Parameters) -> Mapping[str, float]:
    """Return the published epsilon of other tools at this point, by their names.

    >>> published({"case": {"name": "a", "published": {"StatDP": 0.1}}})
    {'StatDP': 0.1}
    """
    return _results(parameters, PUBLISHED)


def expected(parameters: Parameters, of_all: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected results at this point: those of its case, and of all audits what the case leaves out.

    >>> expected({"case": {"name": "a", "expected": {"verdict": "violation"}}}, {"verdict": "consistent", "claim": 0.1})
    {'verdict': 'violation', 'claim': 0.1}
    """
    return {**of_all, **_results(parameters, EXPECTED)}


def _results(parameters: Parameters, key: str) -> Mapping[str, Any]:
    case = parameters.get(CASE)
    results: Mapping[str, Any] = case.get(key, {}) if isinstance(case, Mapping) else {}
    return results


def without_results(key: str, values: Sequence[Any]) -> list[Any]:
    """Return the values of a sweep key without published and expected results, which do not affect the numbers."""
    if key != CASE:
        return list(values)
    return [{name: inside for name, inside in case.items() if name not in UNUSED_IN_RUNS} for case in values]


def point_seed(seed: int, parameters: Parameters) -> int:
    """Return the seed of one audit, from the seed of the experiment and the settings of the point.

    It does not depend on the other points, so new points change no number of existing ones. Without a sweep it is the
    seed itself. A case with a `seed` keeps its numbers when it is renamed.

    >>> point_seed(20, {}), point_seed(20, {"case": {"name": "a", "seed": 7}})
    (20, 7)
    """
    if "seed" in parameters.get(CASE, ()):
        seed, parameters = parameters[CASE]["seed"], {key: value for key, value in parameters.items() if key != CASE}
    digest = hashlib.sha256(f"{seed}:{_canonical(parameters)}".encode()).digest()
    return int.from_bytes(digest[:6], "big") if parameters else seed


def folder_name(parameters: Parameters) -> str:
    """Return a readable folder name that is unique to the point.

    >>> folder_name({"mechanism.epsilon": 0.5})
    'epsilon=0.5-1b1db085'
    """
    if not parameters:
        return "audit"
    words = (f"{parts(key)[0].rpartition('.')[2]}={value_name(value)}" for key, value in parameters.items())
    readable = re.sub(r"[^A-Za-z0-9=.,_-]+", "-", ",".join(words))[:60].strip("-.")
    return f"{readable}-{hashlib.sha256(_canonical(parameters).encode()).hexdigest()[:8]}"


def value_name(value: Any) -> str:
    """Return a short text of a swept value: a table by its name."""
    if isinstance(value, Mapping):
        return str(value.get("name") or json.dumps(value))
    return value if isinstance(value, str) else json.dumps(value)


def point_text(parameters: Parameters) -> str:
    """Return a point as one line for messages; a case by its name only, since its settings may be long.

    >>> point_text({"mechanism.epsilon": 0.5, "case": {"name": "weak", "audit": {"trials": 10}}})
    'mechanism.epsilon = 0.5, case = "weak"'
    """
    named = {key: value["name"] if key == "case" and "name" in value else value for key, value in parameters.items()}
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in named.items())


def _canonical(parameters: Parameters) -> str:
    settings_only = {key: without_results(key, [value])[0] for key, value in parameters.items()}
    return json.dumps(settings_only, sort_keys=True, separators=(",", ":"))


def check_cases(cases: Sequence[Any], source: Source) -> None:
    """Raise `ConfigError` unless every case has a unique name, and tables otherwise."""
    for case in cases:
        has_name = isinstance(case, Mapping) and isinstance(case.get("name"), str) and case["name"]
        if not has_name or not all(isinstance(inside, Mapping) for key, inside in case.items() if key not in CASE_KEYS):
            raise source.error(
                ("sweep", CASE),
                f"a case of the sweep must be a table with a name, and tables such as attack = {{name = ...}} for what "
                f"it sets, but is {case!r}.",
            )
        seed = case.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise source.error(
                ("sweep", CASE),
                f"seed of the case {case['name']!r} must be a whole number >= 0, but is {seed!r}. Omit it for a seed "
                "that is derived from the settings of the case.",
            )
        if not _are_numbers(case.get(PUBLISHED, {})):
            raise source.error(
                ("sweep", CASE),
                f"{PUBLISHED} of the case {case['name']!r} must be a table from the name of a tool to its epsilon, a "
                f"finite number, such as published = {{StatDP = 0.1}}, but is {case[PUBLISHED]!r}.",
            )
        check_expected(case.get(EXPECTED, {}), f"{EXPECTED} of the case {case['name']!r}", ("sweep", CASE), source)
    duplicate = repeated([case["name"] for case in cases])
    if duplicate is not None:
        raise source.error(("sweep", CASE), f"two cases of the sweep have the name {duplicate!r}. Use unique names.")


def repeated(texts: Sequence[str]) -> str | None:
    """Return the first text that occurs more than once; None if there is none."""
    counts = Counter(texts)
    return next((text for text in texts if counts[text] > 1), None)


def check_expected(results: Any, key: str, path: tuple[str, ...], source: Source) -> None:
    """Raise `ConfigError` unless expected results are a table of numbers and a verdict; `key` names it in messages."""
    numbers, verdict = results, Verdict.VIOLATION.value
    if isinstance(results, Mapping):
        numbers = {name: value for name, value in results.items() if name != VERDICT}
        verdict = results.get(VERDICT, verdict)
    if verdict not in list(Verdict):
        raise source.error(path, f"{VERDICT} in {key} must be one of {', '.join(Verdict)}, but is {verdict!r}.")
    if not _are_numbers(numbers) or not numbers.keys() <= set(EXPECTED_NUMBERS):
        raise source.error(
            path,
            f"{key} must be a table from {', '.join(EXPECTED_NUMBERS)} to a finite number, and from {VERDICT} to a "
            f"verdict, such as expected = {{claim = 0.1, verdict = 'consistent'}}, but is {results!r}.",
        )


def _are_numbers(results: Any) -> bool:
    """Return whether results are a table from names to finite numbers."""
    return isinstance(results, Mapping) and all(
        isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) for n in results.values()
    )
