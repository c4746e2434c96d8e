"""Drawing of a result by the function that the package metadata names, without an import of the plots."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from ...mechanisms.core.errors import DpassayError

GROUP = "dpassay.drawings"
"""Entry points: name of a result's class -> function that draws it."""


def draw(result: object) -> Any:
    """Return the figure of a result; raise `DpassayError` if no installed package draws this kind."""
    kind = type(result).__name__
    for point in entry_points(group=GROUP, name=kind):
        return point.load()(result)
    raise DpassayError(f"no installed package draws a {kind}: dpassay runs from a copy. Install it: pip install -e .")
