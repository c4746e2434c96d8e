"""Interfaces of learning: read this first.

    TrainingData          examples (X, y), and records that are specified by their gradient
    differing, shared     the records of a pair that only one side has, and those that both have
    check_in_place        check that all records except one have the same position on both sides
    Classifiers           trained models, many at once, which membership attacks query
    SupportsSignals       trained objects that are no classifiers: synthetic tables
    Learner               trains one classifier on each of many subsets of the same records
    SupportsTables        a learner from records without labels

`DPSGD` is a mechanism and a learner; so is a scikit-learn estimator in its adapter.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..core import Bools, Floats, Neighbours, NeighboursError, ParameterError, plural

AnyFloats = NDArray[np.floating[Any]]
"""Floats of the precision in which a model is trained; `Floats` are those of double precision."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Records to learn from: examples, then gradient records.

    A gradient record is the record that the strongest adversary of DP-SGD inserts: whenever a step samples the record,
    its fixed gradient is clipped and added like that of any example (Nasr et al. 2023). Records are numbered: examples
    first, from 0 to n_examples - 1, then gradient records.

    Args:
        X: `(n_examples, n_features)` finite features.
        y: `(n_examples,)` labels 0 .. n_classes - 1, or real targets of a regression.
        gradients: `(n_gradients, n_parameters)`, flat gradients in the parameter order of the model; None for none.

    Raises:
        ParameterError: shapes that do not fit, or values that are not finite.
    """

    X: AnyFloats
    y: NDArray[Any]
    gradients: AnyFloats | None = None

    def __post_init__(self) -> None:
        X, y = np.asarray(self.X), np.asarray(self.y)
        if X.ndim != 2 or y.shape != X.shape[:1]:
            raise ParameterError(
                f"X must have shape (n, n_features) and y (n,), but have shapes {X.shape} and {y.shape}. "
                "Flatten images with X.reshape(len(X), -1).",
                argument="X",
            )
        if len(y) and y.dtype.kind in "OSU":
            raise ParameterError(
                "y must hold labels, whole numbers from 0 to n_classes - 1, or the real targets of a regression, but "
                f"holds {y.tolist()[0]!r} (dtype {y.dtype}). Code labels by classes, y = np.unique(y, "
                "return_inverse=True).",
                argument="y",
            )
        for name, values in (("X", X), ("y", y)):
            if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
                raise ParameterError(
                    f"{name} must hold finite numbers, but does not. Fill in or drop missing values.", argument=name
                )
        object.__setattr__(self, "X", X if X.dtype.kind == "f" else X.astype(np.float64))
        object.__setattr__(self, "y", y)
        if self.gradients is not None:
            gradients = np.asarray(self.gradients, dtype=np.float64)
            if gradients.ndim != 2 or not np.isfinite(gradients).all():
                raise ParameterError(
                    "gradients must be finite, one row a record, shape (n_gradients, n_parameters), but has shape "
                    f"{gradients.shape}{'' if gradients.ndim != 2 else ' and holds infinite values or NaN'}.",
                    argument="gradients",
                )
            object.__setattr__(self, "gradients", gradients)

    @classmethod
    def of(cls, dataset: Any) -> TrainingData:
        """Return `dataset`, converted from an `(X, y)` pair if necessary; raise `ParameterError` for anything else."""
        if isinstance(dataset, TrainingData):
            return dataset
        if isinstance(dataset, tuple) and len(dataset) == 2:
            return cls(*dataset)
        raise ParameterError(
            f"a dataset to learn from is an (X, y) pair or TrainingData, not {type(dataset).__name__}. Split a table "
            "into features and labels; in a config, by target in [data]."
        )

    @property
    def n_examples(self) -> int:
        return len(self.X)

    @property
    def n_gradients(self) -> int:
        return 0 if self.gradients is None else len(self.gradients)

    def __len__(self) -> int:
        return self.n_examples + self.n_gradients


class Classifiers(Protocol):
    """Trained classifiers of one shape, which can be pickled and are queried all at once."""

    @property
    def n_classes(self) -> int: ...

    def __len__(self) -> int: ...

    def log_probabilities(self, X: AnyFloats) -> Floats:
        """Return the log probability of each class, `(n_models, n, n_classes)`, computed stably; -inf for 0."""


@runtime_checkable
class SupportsGradients(Protocol):
    """Classifiers with gradients, for white-box membership attacks."""

    def gradients(self, X: AnyFloats, y: NDArray[Any]) -> Floats:
        """Return the gradient of the loss at each example in the flat parameters, `(n_models, n, n_parameters)`."""

    def gradient_norms(self, X: AnyFloats, y: NDArray[Any]) -> Floats:
        """Return the L2 norm of each gradient, `(n_models, n)`, without storing the gradients."""


@runtime_checkable
class SupportsSignals(Protocol):
    """Trained objects that predict no classes, but return membership signals of records."""

    def __len__(self) -> int: ...

    def signals(self, data: TrainingData) -> dict[str, Floats]:
        """Return the signals by name, each `(n_models, n_records)`; higher means more like a member."""


@runtime_checkable
class SupportsSummaries(Protocol):
    """Trained objects that are each described by a few numbers, independently of the record under attack."""

    @property
    def summaries(self) -> Floats | None:
        """Summaries, `(n_models, n_summaries)`; None if they were not requested."""


@runtime_checkable
class SupportsTables(Protocol):
    """Learner from records without labels."""

    def examples(self, dataset: Any) -> TrainingData:
        """Return a table `(n_records, d)` as training data whose labels are 0."""


@runtime_checkable
class Learner(Protocol):
    """Trainer of classifiers on subsets, which the shadow-model attacks and the membership game require."""

    def fit_subsets(
        self, records: TrainingData, inclusion: Bools, rng: np.random.Generator
    ) -> Classifiers | SupportsSignals:
        """Train one model for each row of `inclusion`, `(n_models, n_records)`, on the records of that row only."""


def check_learner(learner: Any) -> None:
    """Raise `ParameterError` unless `learner` trains on subsets; for an estimator, the error names the adapter."""
    if isinstance(learner, Learner) and not isinstance(learner, type):
        return
    name = learner.__name__ if isinstance(learner, type) else type(learner).__name__
    next_step = (
        f"Wrap it: EstimatorLearner({name}(...)), from dpassay.mechanisms.adapters."
        if hasattr(learner, "fit")
        else "Give a DPSGD, an EstimatorLearner, or an object with the method fit_subsets."
    )
    raise ParameterError(
        f"learner must train one model on each of many subsets, but is {learner!r}. {next_step}", argument="learner"
    )


def examples_for(learner: Any, dataset: Any) -> TrainingData:
    """Return `dataset`, an `(X, y)` pair or a table if `learner` accepts tables, as training data for `learner`."""
    return learner.examples(dataset) if isinstance(learner, SupportsTables) else TrainingData.of(dataset)


MAX_ROUNDING = 1e-6
"""Largest component of a direction that is treated as a rounding error."""


def check_in_place(neighbours: Neighbours, batches: str) -> None:
    """Raise `NeighboursError` unless exactly one record differs in its position.

    Records in another order form other batches.
    """
    data0, data1 = (TrainingData.of(neighbours.side(side)) for side in (0, 1))
    pairs = [(data0.X, data1.X), (data0.y[:, None], data1.y[:, None])]
    n_different = int(np.any([np.any(rows0 != rows1, axis=1) for rows0, rows1 in pairs], axis=0).sum())
    if data0.gradients is not None and data1.gradients is not None:
        n_different += int(np.any(data0.gradients != data1.gradients, axis=1).sum())
    if n_different != 1:
        raise NeighboursError(
            f"{batches} are cut from the records in their order, so that neighbours must differ in one place, "
            f"but {plural(n_different, 'record')} differ in place. Build the pair with "
            "dpassay.mechanisms.core.records.replace_record.",
            argument="d0",
        )


def differing(neighbours: Neighbours) -> tuple[TrainingData, TrainingData]:
    """Return the records that only side 0 has, and those that only side 1 has: examples and gradient records.

    Example:
        >>> X, y = np.eye(3), np.array([0, 1, 2])
        >>> only0, only1 = differing(Neighbours((X[1:], y[1:]), (X, y), "add_remove"))
        >>> len(only0), only1.X.tolist(), only1.y.tolist()
        (0, [[1.0, 0.0, 0.0]], [0])
    """
    sides = [TrainingData.of(neighbours.side(side)) for side in (0, 1)]
    differences = []
    for mine, other in (sides, sides[::-1]):
        examples = multiset_difference(np.column_stack([mine.X, mine.y]), np.column_stack([other.X, other.y]))
        gradients = None
        if mine.gradients is not None:
            surplus_gradients = mine.gradients[
                multiset_difference(mine.gradients, gradients_of(other, mine.gradients.shape[1]))
            ]
            gradients = surplus_gradients if len(surplus_gradients) else None
        differences.append(TrainingData(mine.X[examples], mine.y[examples], gradients))
    return differences[0], differences[1]


def shared(neighbours: Neighbours) -> TrainingData:
    """Return the records that both sides have, in the order of side 0."""
    data, other = TrainingData.of(neighbours.d0), TrainingData.of(neighbours.d1)
    is_shared = np.ones(data.n_examples, dtype=bool)
    is_shared[multiset_difference(np.column_stack([data.X, data.y]), np.column_stack([other.X, other.y]))] = False
    gradients = data.gradients
    if gradients is not None:
        others = gradients_of(other, gradients.shape[1])
        gradients = np.delete(gradients, multiset_difference(gradients, others), axis=0)
    return TrainingData(
        data.X[is_shared], data.y[is_shared], gradients if gradients is not None and len(gradients) else None
    )


def gradients_of(data: TrainingData, n_parameters: int) -> AnyFloats:
    """Return the gradient records, `(n_gradients, n_parameters)`."""
    return np.empty((0, n_parameters)) if data.gradients is None else data.gradients


def multiset_difference(mine: AnyFloats, others: AnyFloats) -> NDArray[np.intp]:
    """Return the indices of the rows of `mine` that `others` lacks, as multisets."""
    remaining = Counter(row.tobytes() for row in np.ascontiguousarray(others, dtype=np.float64) + 0.0)
    indices = []
    for index, row in enumerate(np.ascontiguousarray(mine, dtype=np.float64) + 0.0):
        key = row.tobytes()
        if remaining[key]:
            remaining[key] -= 1
        else:
            indices.append(index)
    return np.array(indices, dtype=np.intp)
