"""Edits of one entry of a column (an array, a list, a tuple, a DataFrame or a Series): remove, replace or blank it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .arrays import Bools
from .errors import ParameterError, plural
from .validation import rectangular


def is_pandas(part: Any) -> bool:
    """Return True for a DataFrame or Series, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(part, (pandas.DataFrame, pandas.Series))


def without(part: Any, index: int) -> Any:
    """Return a column without one entry."""
    if isinstance(part, np.ndarray):
        return np.delete(part, index, axis=0)
    if is_pandas(part):
        return part.iloc[np.delete(np.arange(len(part)), index)]
    return part[:index] + part[index + 1 :]


def replaced(part: Any, index: int, new: Any) -> Any:
    """Return a column with one entry replaced; raises `ParameterError` if the new entry does not fit."""
    if isinstance(part, (list, tuple)):
        return type(part)([*part[:index], new, *part[index + 1 :]])
    if is_pandas(part):
        return _replaced_row(part, index, new)
    value = rectangular(replacement=new)
    if value.shape != part.shape[1:]:
        raise ParameterError(
            f"replacement must have shape {part.shape[1:]}, like each record, but has {value.shape}.",
            argument="replacement",
        )
    changed = part.astype(np.result_type(part, value)) if part.dtype.kind in "biufc" else part.copy()
    changed[index] = new
    return changed


def mixed(part0: Any, part1: Any, from1: Bools) -> Any:
    """Return a column with the entries of `part1` where `from1` is True; raises `ParameterError` for other shapes."""
    if is_pandas(part0) and is_pandas(part1) and part0.shape == part1.shape:
        where = from1 if part0.ndim == 1 else np.broadcast_to(from1[:, None], part0.shape)
        return part0.where(~where, part1)
    if isinstance(part0, np.ndarray) and isinstance(part1, np.ndarray) and part0.shape == part1.shape:
        return np.where(from1.reshape(-1, *[1] * (part0.ndim - 1)), part1, part0)
    if isinstance(part0, (list, tuple)) and isinstance(part1, (list, tuple)) and len(part0) == len(part1):
        pairs = zip(part0, part1, from1.tolist(), strict=True)
        return type(part0)(entry1 if flag else entry0 for entry0, entry1, flag in pairs)
    raise ParameterError(
        "both datasets must be arrays, lists or tables of the same shape, but are "
        f"{type(part0).__name__} {np.shape(part0)} and {type(part1).__name__} {np.shape(part1)}.",
        argument="d1",
    )


def _replaced_row(part: Any, index: int, new: Any) -> Any:
    """Return a DataFrame or Series with one row replaced; its types are widened if the new values need it."""
    pandas = sys.modules["pandas"]
    if isinstance(part, pandas.Series):
        row = pandas.Series([new], name=part.name)
    else:
        values = [new[c] for c in part.columns] if hasattr(new, "keys") else list(new)
        if len(values) != part.shape[1]:
            raise ParameterError(
                f"replacement must have {plural(part.shape[1], 'value')}, one a column, but has {len(values)}.",
                argument="replacement",
            )
        row = pandas.DataFrame({c: [v] for c, v in zip(part.columns, values, strict=True)})
    row.index = part.index[index : index + 1]
    return pandas.concat([part.iloc[:index], row, part.iloc[index + 1 :]])


def blanked(part: Any, index: int) -> Any:
    """Return a column with one entry set to zeros; raises `ParameterError` if the entry is not numeric."""
    if isinstance(part, (list, tuple)):
        return replaced(part, index, np.zeros_like(_numeric(part[index]))[()].tolist())
    if isinstance(part, np.ndarray):
        return replaced(part, index, np.zeros_like(_numeric(part[index])))
    width = 1 if part.ndim == 1 else part.shape[1]
    _numeric(part.iloc[index])
    return replaced(part, index, 0 if part.ndim == 1 else [0] * width)


def _numeric(record: Any) -> Any:
    """Return `record` as numbers; raises `ParameterError` if it is not numeric, so that no zero can replace it."""
    try:
        return np.asarray(record, dtype=np.float64) if np.asarray(record).dtype == object else np.asarray(record) + 0
    except (TypeError, ValueError) as error:
        raise ParameterError(f"a record can be blanked only if it is numeric, but this one is {record!r}.") from error
