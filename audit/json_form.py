"""What results are made of, as JSON has it."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Arrays and tuples as lists, enumerations as their values, infinities and NaN as strings that `float` reads.

    >>> plain({"auc": np.array([0.5, np.nan]), "claim": float("inf")})
    {'auc': [0.5, 'nan'], 'claim': 'inf'}
    """
    if isinstance(value, dict):
        return {key: plain(inside) for key, inside in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inside) for inside in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
