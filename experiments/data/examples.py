"""Datasets for learning: a table split into features and target, fewer classes or records, scaled features.

Scaling is done once, before the pair of neighbours is built: it counts as public, like the bounds of a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...attacks.canaries import gradients
from ...mechanisms.core import DataError, ParameterError
from .datasets import Data, columns


def complete(data: Data, *, name: str) -> Data:
    """Return `data`; raise `DataError` for the first missing value of a table, with its column and record.

    Example:
        >>> import pandas as pd
        >>> complete(pd.DataFrame({"age": [30.0, None]}), name="csv")
        Traceback (most recent call last):
        ...
        dpassay.mechanisms.core.errors.DataError: dataset 'csv' has no value in column 'age' of record 1 \
(counted from 0), and 1 missing value in all. Fill them in, leave the records out, or choose other columns: columns = \
[...] in [data].
    """
    table: Any = data
    if not hasattr(table, "columns"):
        return data
    missing = np.argwhere(table.isna().to_numpy())
    if len(missing):
        row, place = missing[0]
        raise DataError(
            f"dataset {name!r} has no value in column {table.columns[place]!r} of record {row} (counted from 0), and "
            f"{len(missing):,} missing value{'s' if len(missing) > 1 else ''} in all. Fill them in, leave the records "
            "out, or choose other columns: columns = [...] in [data].",
            argument="path",
            owner=name,
        )
    return data


def with_target(data: Data, target: str, *, name: str) -> Data:
    """Return the table as `(X, y)`: y the column `target`, X the others in order; texts are coded by their rank.

    Raises:
        ParameterError: `data` is not a table, lacks the column, or has a missing value.

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
            f"target {target!r} is the only column of dataset {name!r}: there are no features.", argument="target"
        )
    X = np.column_stack([_numbers(rest[column].to_numpy(), column) for column in features])
    return X, y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]


def with_classes(data: Data, classes: Sequence[int] | None, *, name: str) -> Data:
    """Return the examples of these classes, renumbered 0, 1, ... in their order; all examples for None.

    Raises:
        ParameterError: `data` is not an `(X, y)` pair, a class is listed twice, or a class has no example.
    """
    if classes is None:
        return data
    X, y = _pair(data, "classes", name)
    labels = set(np.unique(y).tolist())
    missing = [label for label in classes if label not in labels]
    if missing or len(set(classes)) < len(classes):
        raise ParameterError(
            f"classes must be different labels out of {sorted(labels)} of dataset {name!r}, but are {list(classes)}.",
            argument="classes",
        )
    selected = np.isin(y, classes)
    order = np.argsort(classes)
    return X[selected], order[np.searchsorted(np.sort(classes), y[selected])]


def first(data: Data, n_records: int | None, *, name: str) -> Data:
    """Return the first records; all records for None.

    Raises:
        ParameterError: there are fewer.
    """
    if n_records is None:
        return data
    available = len(data[0]) if isinstance(data, tuple) else len(data)
    if n_records > available:
        raise ParameterError(
            f"n_records must be at most {available:,}, the size of the dataset, but is {n_records:,}.",
            argument="n_records",
        )
    return (data[0][:n_records], data[1][:n_records]) if isinstance(data, tuple) else data[:n_records]


def scaled(data: Data, scale: str | None, *, name: str) -> Data:
    """Scale the features: with "columns" each to [0, 1]; with "records" also by 1 / sqrt(n_features).

    With "records" no record has a norm above 1.
    """
    if scale is None:
        return data
    X, y = _pair(data, "scale", name)
    low, high = X.min(axis=0), X.max(axis=0)
    unit = (X - low) / np.where(high > low, high - low, 1.0)
    return (unit / np.sqrt(X.shape[1]) if scale == "records" else unit), y


def with_dead_features(data: Data, n: int | None, *, name: str) -> Data:
    """Add n features that are 0 in all examples, as Dirac canaries need; None adds no features."""
    return data if n is None else gradients.with_dead_features(_pair(data, "dead_features", name), n)


def _pair(data: Data, option: str, name: str) -> tuple[Any, Any]:
    if not isinstance(data, tuple):
        raise ParameterError(
            f"{option} needs features and labels, but dataset {name!r} has no target. Add target.", argument=option
        )
    return data


def _numbers(values: Any, column: str) -> Any:
    """Return a column as numbers; texts by their rank."""
    if values.dtype.kind not in "biuf":
        values = np.unique(values.astype(str), return_inverse=True)[1]
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise ParameterError(
            f"column {column!r} has {numbers[row]} in record {row} (counted from 0), but must have finite numbers. "
            "Choose columns without missing or infinite values, or leave the records out.",
            argument="column",
            value=float(numbers[row]),
        )
    return numbers
