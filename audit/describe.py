"""Things described: in full for the fingerprint of a run, in short for people."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import CodeType, FunctionType
from typing import Any

import numpy as np


def describe(thing: Any) -> Any:
    """A JSON-ready description that changes whenever the behaviour of `thing` may have changed.

    Numbers, strings and containers stand for themselves; arrays and tables by a digest of their bytes; dataclasses by
    their fields; functions by a digest of their code, defaults and closure.
    """
    if isinstance(thing, Enum):
        return thing.value
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else str(thing)
    if thing is None or isinstance(thing, (bool, int, str)):
        return thing
    if isinstance(thing, np.generic):
        return describe(thing.item())
    if isinstance(thing, np.ndarray):
        return {"array": list(thing.shape), "dtype": str(thing.dtype), "sha256": _array_digest(thing)}
    if is_dataclass(thing) and not isinstance(thing, type):
        inside = {field.name: describe(getattr(thing, field.name)) for field in fields(thing)}
        return {"class": _path(type(thing)), **inside}
    if isinstance(thing, Mapping):
        return {str(key): describe(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [describe(value) for value in thing]
    if isinstance(thing, FunctionType):
        return {"function": _path(thing), "sha256": _digest(_code(thing).encode())}
    if hasattr(thing, "to_numpy") and hasattr(thing, "columns"):
        columns = {str(name): describe(thing[name].to_numpy()) for name in thing.columns}
        return {"table": list(thing.shape), "columns": columns}
    if hasattr(thing, "__dict__") and not callable(thing):
        return {"class": _path(type(thing)), **{name: describe(value) for name, value in vars(thing).items()}}
    return {"object": _path(thing if hasattr(thing, "__qualname__") else type(thing))}


def fingerprint(description: Any) -> str:
    """SHA-256 of the canonical JSON of a description."""
    return _digest(json.dumps(description, sort_keys=True, separators=(",", ":")).encode())


def label(thing: Any) -> str:
    """A short line for people: "Laplace(epsilon=1)". Fields at their default are left out.

    A class that says itself how it is called, by `__str__`, is called so.
    """
    if not is_dataclass(thing) or isinstance(thing, type) or type(thing).__str__ is not object.__str__:
        return _cut(getattr(thing, "__name__", None) or str(thing))
    shown = []
    for field in fields(thing):
        value = getattr(thing, field.name)
        if field.repr and not (field.default is not MISSING and _same(field.default, value)):
            shown.append(f"{field.name}={_value(value)}")
    return f"{type(thing).__name__}({', '.join(shown)})"


def _value(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.ndarray):
        return f"array{value.shape}" if value.size > 4 else np.array2string(value, separator=", ")
    if isinstance(value, float):
        return f"{value:.6g}"
    return label(value) if is_dataclass(value) or isinstance(value, FunctionType) else _cut(repr(value))


def _same(default: Any, value: Any) -> bool:
    return type(default) is type(value) and not isinstance(value, np.ndarray) and bool(default == value)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _path(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _array_digest(array: np.ndarray[Any, Any]) -> str:
    content = (
        json.dumps(describe(array.tolist())).encode()
        if array.dtype.hasobject
        else np.ascontiguousarray(array).tobytes()
    )
    return _digest(content)


def _code(function: FunctionType) -> str:
    closure = [describe(cell.cell_contents) for cell in function.__closure__ or ()]
    return json.dumps([_constants(function.__code__), describe(function.__defaults__), closure], sort_keys=True)


def _constants(code: CodeType) -> list[Any]:
    """Byte code, names and constants of a function, nested functions included, line numbers left out."""
    inside = [_constants(c) if isinstance(c, CodeType) else _constant(c) for c in code.co_consts]
    return [_digest(code.co_code), list(code.co_names), inside]


def _constant(value: Any) -> str:
    """A constant of a function as text; sets in a fixed order."""
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)
