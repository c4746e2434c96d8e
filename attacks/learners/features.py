"""Columns of numbers, made from outputs, that a classifier can read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import AttackError, Constraint, Floats, one_of, plural

Featuriser = Callable[[NDArray[Any]], NDArray[Any]]
"""User-defined features: `(size, ...)` output values -> `(size, n_features)`, one row per run."""

FEATURE_KINDS = ("auto", "coordinates")
MAX_COORDINATES_FOR_PRODUCTS = 8


def check_features(features: str | Featuriser) -> None:
    """Raise `ParameterError` unless `features` is a name in `FEATURE_KINDS` or a function."""
    if not callable(features):
        one_of(FEATURE_KINDS, features=features)


FeatureKind: TypeAlias = Annotated[str | Featuriser, Constraint(check_features, "auto", ("no such name", 1, None))]
"""Name in `FEATURE_KINDS`, or a user-defined function."""


def as_rows(values: NDArray[Any]) -> NDArray[Any]:
    """Flatten each output: shape `(size, n_coordinates)`, dtype unchanged.

    A complex number is two coordinates; an empty output is one constant.
    """
    if values.dtype.kind not in "biufc":
        raise AttackError(
            f"outputs of dtype {values.dtype} are not numbers, so this attack cannot score them. Return numbers, or "
            "pass such outcomes as events (Outputs.events)."
        )
    rows = values.reshape(len(values), int(np.prod(values.shape[1:])))
    if rows.shape[1] == 0:
        return np.zeros((len(values), 1))
    if rows.dtype.kind == "c":
        return np.concatenate([rows.real, rows.imag], axis=1)
    return rows


def as_matrix(values: NDArray[Any]) -> Floats:
    """Flatten each output to float64: shape `(size, n_coordinates)`; a view where possible."""
    return as_rows(values).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Features:
    """Columns made from outputs: coordinates on a common scale, and a few summaries of them.

    A difference between the sides may be in one coordinate, in the sum (a query answered many times), in the number of
    coordinates above the median (the same under heavy tails, where the sum is poor), in the size of the noise (norm),
    in the extremes (a maximum that is chosen) or in the dependence of two coordinates (products, up to 8 coordinates).
    Learned once from pilot outputs by `learn`; then a fixed map.

    Args:
        kind: "coordinates"; "auto", coordinates and summaries; or a user-defined function.
        centre, scale: `(n_coordinates,)` pooled median and spread of the pilot; a constant coordinate has scale 1.
    """

    kind: str | Featuriser
    centre: Floats
    scale: Floats

    @classmethod
    def learn(cls, kind: str | Featuriser, values0: NDArray[Any], values1: NDArray[Any]) -> Features:
        """Learn centre and scale from the pilot outputs of both sides."""
        check_features(kind)
        pooled = np.concatenate([_matrix(kind, values0), _matrix(kind, values1)])
        centre, scale = robust_scale(pooled)
        return cls(kind, centre, scale)

    @property
    def of_one_number(self) -> bool:
        """True if the only column is the output itself, centred and scaled."""
        return isinstance(self.kind, str) and len(self.centre) == 1

    def without_summaries(self) -> Features:
        """Return the same map without its summaries: the first columns, one for each coordinate."""
        return replace(self, kind="coordinates") if self.kind == "auto" else self

    def columns(self, values: NDArray[Any]) -> Floats:
        """Return the columns, shape `(size, n_columns)`."""
        z = (_matrix(self.kind, values) - self.centre) / self.scale
        if self.kind != "auto" or z.shape[1] == 1:
            return z
        norm = np.sqrt(np.einsum("ij,ij->i", z, z))
        summaries = [z.sum(axis=1), (z > 0.0).mean(axis=1), norm, z.max(axis=1), z.min(axis=1)]
        if z.shape[1] <= MAX_COORDINATES_FOR_PRODUCTS:
            summaries += [z[:, i] * z[:, j] for i, j in combinations(range(z.shape[1]), 2)]
        return np.column_stack([z, *summaries])


def robust_scale(rows: Floats) -> tuple[Floats, Floats]:
    """Return median and interquartile range of each column; standard deviation if that range is 0, then 1."""
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    spread = high - low
    spread = np.where(spread > 0.0, spread, rows.std(axis=0))
    constant = (rows == rows[0]).all(axis=0)
    return np.where(constant, rows[0], middle), np.where(constant | ~(spread > 0.0), 1.0, spread)


def _matrix(kind: str | Featuriser, values: NDArray[Any]) -> Floats:
    """Return the coordinates, or the output of the user's function, checked."""
    if isinstance(kind, str):
        return as_matrix(values)
    feature_values = np.asarray(kind(values))
    if feature_values.ndim == 0 or len(feature_values) != len(values):
        raise AttackError(
            f"features must return one row per run, {plural(len(values), 'row')}, but returned shape "
            f"{feature_values.shape}. Make it work on all runs at once: (size, ...) -> (size, n_features)."
        )
    rows = as_matrix(feature_values)
    if not np.isfinite(rows).all():
        raise AttackError("features returned NaN or infinity for an ordinary output. Map such cases to a number.")
    return rows
