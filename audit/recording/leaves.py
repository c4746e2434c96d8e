"""Comparison of two outputs of a program as lists of their parts, numbers and others."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from ...mechanisms.adapters.functions.forms import by_name
from ...mechanisms.adapters.recording.noisy import RELATIVE_TOLERANCE, at_last
from ...mechanisms.core.arrays import Floats

__tracebackhide__ = True  # pytest shows the lines of the program only

Leaves = list[Any]
MAX_DEPTH = 8
"""Largest depth of nested containers."""


def leaves_of(output: Any, depth: int = 0) -> Leaves:
    """Return the parts of an output in a fixed order: numbers as float, and other comparable values."""
    if isinstance(output, (str, bytes, type(None), type)):
        return [output]
    if isinstance(output, (numbers.Real, np.bool_)):
        return [float(at_last(output))]
    if depth == MAX_DEPTH:
        return [type(output).__name__]
    if isinstance(output, Mapping):
        keys = sorted(output, key=by_name)
        return [leaf for key in keys for leaf in (*leaves_of(key, depth + 1), *leaves_of(output[key], depth + 1))]
    if isinstance(output, (list, tuple)):
        return [leaf for part in output for leaf in leaves_of(part, depth + 1)]
    if isinstance(output, (set, frozenset)):
        return [leaf for part in sorted(output, key=by_name) for leaf in leaves_of(part, depth + 1)]
    if isinstance(output, np.ndarray):
        values = np.asarray(at_last(output)).ravel()
        if values.dtype.kind in "biuf":
            return list(values.astype(np.float64).tolist())
        return leaves_of(values.tolist(), depth + 1)
    if hasattr(output, "to_numpy"):  # pandas
        names = [*getattr(output, "columns", ()), *getattr(output, "index", ())]
        return [*leaves_of(names, depth + 1), *leaves_of(output.to_numpy(), depth + 1)]
    if hasattr(output, "__array__"):
        return leaves_of(np.asarray(output), depth + 1)
    return [type(output).__name__, *leaves_of(vars(output) if hasattr(output, "__dict__") else None, depth + 1)]


def leaf_names(output: Any, name: str = "output", depth: int = 0) -> list[str]:
    """Return the names of the parts of an output, in the order of `leaves_of`.

    >>> leaf_names({"total": 1.5, "rows": [1, 2]})
    ['a key of output', "output['rows'][0]", "output['rows'][1]", 'a key of output', "output['total']"]
    """
    if isinstance(output, (str, bytes, type(None), type)) or depth == MAX_DEPTH:
        return [name]
    if isinstance(output, Mapping):
        keys = sorted(output, key=by_name)
        inside = [(key, f"{name}[{key!r}]") for key in keys]
        return [
            part
            for key, at in inside
            for part in (*leaf_names(key, f"a key of {name}", depth + 1), *leaf_names(output[key], at, depth + 1))
        ]
    if isinstance(output, (list, tuple)):
        fields = getattr(output, "_fields", None)
        ends = [f"[{i}]" for i in range(len(output))] if fields is None else [f".{field}" for field in fields]
        return [
            part for inside, end in zip(output, ends, strict=True) for part in leaf_names(inside, name + end, depth + 1)
        ]
    if isinstance(output, np.ndarray) and output.dtype.kind in "biuf":
        return [f"{name}[{', '.join(map(str, index))}]" if index else name for index in np.ndindex(output.shape)]
    if hasattr(output, "to_numpy") and hasattr(output, "index"):  # pandas
        columns = [f"[{column!r}]" for column in getattr(output, "columns", ())]
        cells = [f"{name}{column}[{label!r}]" for label in output.index for column in columns or [""]]
        return [f"a name in {name}"] * (len(columns) + len(output.index)) + cells
    if is_dataclass(output):
        return [f"the type of {name}", *_field_names(output, name, depth)]
    return [name] * len(leaves_of(output, depth))


def _field_names(output: Any, name: str, depth: int) -> list[str]:
    """Return the names of the parts of a dataclass, each after the name of its field."""
    return [
        part
        for field in sorted(vars(output), key=by_name)
        for part in (f"a field of {name}", *leaf_names(vars(output)[field], f"{name}.{field}", depth + 2))
    ]


def changes(one: Leaves, other: Leaves) -> Floats:
    """Return the change of each part; infinite for a part that is not a number, NaN where the lengths differ."""
    if len(one) != len(other):
        return np.full(len(one), np.nan)
    before, now = (np.array([part if type(part) is float else np.nan for part in leaves]) for leaves in (one, other))
    with np.errstate(all="ignore"):
        moved = now - before
        close = np.abs(moved) <= RELATIVE_TOLERANCE * np.maximum(1.0, np.abs(before))
    finite = np.isfinite(before) & np.isfinite(now)
    change = np.where(finite & ~close, moved, np.where(finite | (before == now), 0.0, np.inf))
    for i in np.flatnonzero(np.isnan(before) | np.isnan(now)):
        change[i] = 0.0 if _equal(one[i], other[i]) else np.inf
    return change


def equal_outputs(one: Leaves, other: Leaves) -> bool:
    """Return whether two outputs are equal up to rounding."""
    return len(one) == len(other) and not changes(one, other).any()


def _equal(one: Any, other: Any) -> bool:
    """Return whether two parts that are not both numbers are equal; NaN equals itself."""
    return type(one) is type(other) and (one == other or (one != one and other != other))
