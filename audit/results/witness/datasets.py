"""Datasets as JSON, where possible, so that a third party can repeat the runs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ....mechanisms.core.base import Neighbours

LONGEST = 20_000
"""Largest number of characters of a dataset in a result."""


class NoJSONError(TypeError):
    """A value that JSON cannot represent."""


def as_json(neighbours: Neighbours) -> tuple[str, str] | None:
    """Return both datasets as JSON; None if either has no lossless JSON form, or is long.

    Arrays of numbers become lists; the checker passes them as arrays again, like `dpassay check`.

    Example:
        >>> as_json(Neighbours(np.array([1, 0]), np.array([1, 0, 1]), "add_remove"))
        ('[1, 0]', '[1, 0, 1]')
        >>> as_json(Neighbours({1, 2}, {1, 2, 3}, "add_remove")) is None
        True
    """
    try:
        d0, d1 = (json.dumps(_plain(neighbours.side(side)), allow_nan=False) for side in (0, 1))
    except (NoJSONError, ValueError, RecursionError):
        return None
    return None if max(len(d0), len(d1)) > LONGEST else (d0, d1)


def _plain(data: Any) -> Any:
    """Return `data` as JSON values; raise `NoJSONError` if it has no such form."""
    if isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and data.size <= LONGEST:
        return _plain(data.tolist())
    if isinstance(data, np.generic) and data.dtype.kind in "biuf":
        return _plain(data.item())
    if type(data) is list and len(data) <= LONGEST:
        return [_plain(item) for item in data]
    if type(data) is dict and all(type(name) is str for name in data):
        return {name: _plain(item) for name, item in data.items()}
    if data is None or type(data) in (bool, int, str) or (type(data) is float and math.isfinite(data)):
        return data
    raise NoJSONError(type(data).__name__)


__all__ = ["LONGEST", "as_json"]
