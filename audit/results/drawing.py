"""Who draws a result: the package says so in its metadata, and this room knows nothing of what lies to its right."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from ...mechanisms.errors import DpassayError

GROUP = "dpassay.drawings"
"""Entry points: name of a result's class -> function that draws it."""


def draw(result: object) -> Any:
    """The figure of a result; raises `DpassayError` where no installed package draws this kind."""
    kind = type(result).__name__
    for point in entry_points(group=GROUP, name=kind):
        return point.load()(result)
    raise DpassayError(f"no installed package draws a {kind}: dpassay runs from a copy. Install it: pip install -e .")
