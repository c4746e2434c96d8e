"""Checks of the named cases of a sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .source import Source
from .sweep import CASE, CASE_KEYS, PUBLISHED


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
        _check_published(case, source)
    names = [case["name"] for case in cases]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise source.error(("sweep", CASE), f"two cases of the sweep have the name {duplicate!r}. Use unique names.")


def _check_published(case: Mapping[str, Any], source: Source) -> None:
    """Raise `ConfigError` unless the published results of a case are a table from names to numbers."""
    published = case.get(PUBLISHED, {})
    numbers = isinstance(published, Mapping) and all(
        isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) for n in published.values()
    )
    if not numbers:
        raise source.error(
            ("sweep", CASE),
            f"{PUBLISHED} of the case {case['name']!r} must be a table from the name of a tool to its epsilon, "
            f"a finite number, such as {PUBLISHED} = {{StatDP = 0.1}}, but is {published!r}.",
        )
