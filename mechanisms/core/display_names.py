"""Short display names of objects."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import FunctionType
from typing import Any

import numpy as np


def display_name(thing: Any) -> str:
    """Return the short display name of an object, such as "Laplace(epsilon=1)"; default fields are omitted.

    A class with its own `__str__` is displayed by it.
    """
    if not is_dataclass(thing) or isinstance(thing, type) or type(thing).__str__ is not object.__str__:
        return _cut(getattr(thing, "__name__", None) or str(thing))
    items = []
    for field in fields(thing):
        value = getattr(thing, field.name)
        if field.repr and not (field.default is not MISSING and _same(field.default, value)):
            items.append(f"{field.name}={_value(value)}")
    return f"{type(thing).__name__}({', '.join(items)})"


def _value(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.ndarray):
        return f"array{value.shape}" if value.size > 4 else np.array2string(value, separator=", ")
    if isinstance(value, float):
        return f"{value:.6g}"
    return display_name(value) if is_dataclass(value) or isinstance(value, FunctionType) else _cut(repr(value))


def _same(default: Any, value: Any) -> bool:
    return type(default) is type(value) and not isinstance(value, np.ndarray) and bool(default == value)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
