"""Datasets to learn from: a table split into features and target, fewer classes or records, scaled features.

Scaling is done once, before the pair of neighbours is made: it counts as public, as the bounds of a column do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...attacks.canaries import gradients
from ...mechanisms.errors import DataError, ParameterError
from .datasets import Data, columns


def complete(data: Data, *, name: str) -> Data:
    """`data`; raises `DataError` for the first missing value of a table, by its column and record.

    Example:
        >>> import pandas as pd
        >>> complete(pd.DataFrame({"age": [30.0, None]}), name="csv")
        Traceback (most recent call last):
        ...
        dpassay.mechanisms.errors.DataError: dataset 'csv' has no value in column 'age' of record 1 (from 0 on), and 1 \
missing value in all. Fill them in, leave the records out, or choose other columns: columns = [...] in [data].
    """
    table: Any = data
    if not hasattr(table, "columns"):
        return data
    missing = np.argwhere(table.isna().to_numpy())
    if len(missing):
        row, place = missing[0]
        raise DataError(
            f"dataset {name!r} has no value in column {table.columns[place]!r} of record {row} (from 0 on), and "
            f"{len(missing):,} missing value{'s' if len(missing) > 1 else ''} in all. Fill them in, leave the records "
            "out, or choose other columns: columns = [...] in [data].",
            argument="path",
            owner=name,
        )
    return data


def with_target(data: Data, target: str, *, name: str) -> Data:
    """The table as `(X, y)`: y the column `target`, X the others in order; texts are coded by their rank.

    Raises:
        ParameterError: no table, no such column, or a missing value.

    Example:
        >>> from dpassay.experiments.data.datasets import load
        >>> X, y = with_target(load("iris"), "target", name="iris")
        >>> X.shape, np.unique(y).tolist()
        ((150, 4), [0, 1, 2])
    """
    y = columns(data, [target], "target", name=name)[target].to_numpy()
    rest: Any = data
    features = [column for column in rest.columns if column != target]
    if not features:
        raise ParameterError(
            f"target {target!r} is the only column of dataset {name!r}: nothing is left to learn from.",
            argument="target",
        )
    X = np.column_stack([_numbers(rest[column].to_numpy(), column) for column in features])
    return X, y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]


def with_classes(data: Data, classes: Sequence[int] | None, *, name: str) -> Data:
    """The examples of these classes, renumbered 0, 1, ... in the order given; all of them for None.

    Raises:
        ParameterError: no `(X, y)` pair, a class given twice, or one that has no example.
    """
    if classes is None:
        return data
    X, y = _pair(data, "classes", name)
    found = set(np.unique(y).tolist())
    missing = [label for label in classes if label not in found]
    if missing or len(set(classes)) < len(classes):
        raise ParameterError(
            f"classes must be different labels out of {sorted(found)} of dataset {name!r}, but are {list(classes)}.",
            argument="classes",
        )
    kept = np.isin(y, classes)
    order = np.argsort(classes)
    return X[kept], order[np.searchsorted(np.sort(classes), y[kept])]


def first(data: Data, n_records: int | None, *, name: str) -> Data:
    """The first records; all of them for None.

    Raises:
        ParameterError: there are fewer.
    """
    if n_records is None:
        return data
    available = len(data[0]) if isinstance(data, tuple) else len(data)
    if n_records > available:
        raise ParameterError(
            f"n_records must be at most {available:,}, as many as there are, but is {n_records:,}.",
            argument="n_records",
        )
    return (data[0][:n_records], data[1][:n_records]) if isinstance(data, tuple) else data[:n_records]


def scaled(data: Data, scale: str | None, *, name: str) -> Data:
    """Features on a common scale: "columns", each from 0 to 1; "records", these over sqrt(n_features), so that no
    record has a norm above 1."""
    if scale is None:
        return data
    X, y = _pair(data, "scale", name)
    low, high = X.min(axis=0), X.max(axis=0)
    unit = (X - low) / np.where(high > low, high - low, 1.0)
    return (unit / np.sqrt(X.shape[1]) if scale == "records" else unit), y


def with_dead_features(data: Data, n: int | None, *, name: str) -> Data:
    """The examples with n features more, 0 in all of them: what Dirac canaries need. None adds nothing."""
    return data if n is None else gradients.with_dead_features(_pair(data, "dead_features", name), n)


def _pair(data: Data, option: str, name: str) -> tuple[Any, Any]:
    if not isinstance(data, tuple):
        raise ParameterError(
            f"{option} needs features and labels, but dataset {name!r} has no target. Add target.", argument=option
        )
    return data


def _numbers(values: Any, column: str) -> Any:
    """A column as numbers; texts by their rank."""
    if values.dtype.kind not in "biuf":
        values = np.unique(values.astype(str), return_inverse=True)[1]
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise ParameterError(
            f"column {column!r} holds {numbers[row]} in record {row} (from 0 on), and must hold finite numbers. Choose "
            "columns without missing or infinite values, or leave the records out.",
            argument="column",
            value=float(numbers[row]),
        )
    return numbers
