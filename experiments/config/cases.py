"""Named cases of a sweep: what each may hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .source import Source
from .sweep import CASE, CASE_KEYS, PUBLISHED


def check_cases(cases: Sequence[Any], source: Source) -> None:
    """Raises `ConfigError` unless every case has a name of its own, and tables otherwise."""
    for case in cases:
        named = isinstance(case, Mapping) and isinstance(case.get("name"), str) and case["name"]
        if not named or not all(isinstance(inside, Mapping) for key, inside in case.items() if key not in CASE_KEYS):
            raise source.error(
                ("sweep", CASE),
                f"a case of the sweep must be a table with a name, and tables such as attack = {{name = ...}} for what "
                f"it sets, but is {case!r}.",
            )
        seed = case.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise source.error(
                ("sweep", CASE),
                f"seed of the case {case['name']!r} must be a whole number >= 0, but is {seed!r}. Leave it out for one "
                "that follows from what the case sets.",
            )
        _check_published(case, source)
    names = [case["name"] for case in cases]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise source.error(("sweep", CASE), f"two cases of the sweep are called {twice!r}. Give each its own name.")


def _check_published(case: Mapping[str, Any], source: Source) -> None:
    """Raises `ConfigError` unless what others have published of a case is a table from names to numbers."""
    found = case.get(PUBLISHED, {})
    numbers = isinstance(found, Mapping) and all(
        isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) for n in found.values()
    )
    if not numbers:
        raise source.error(
            ("sweep", CASE),
            f"{PUBLISHED} of the case {case['name']!r} must be a table from the name of a tool to the epsilon that it "
            f"found, a finite number, such as {PUBLISHED} = {{StatDP = 0.1}}, but is {found!r}.",
        )
