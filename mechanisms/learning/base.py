"""Interfaces of this package: read this first.

    TrainingData     examples (X, y), and records that are specified by their gradient
    Classifiers      trained models, many at once, which membership attacks query
    SupportsSignals     trained objects that are no classifiers: synthetic tables
    Learner          trains one classifier on each of many subsets of the same records
    SupportsTables      ... of records without labels

`DPSGD` is a mechanism and a learner; so is a scikit-learn estimator in its adapter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ParameterError

Floats = NDArray[np.floating[Any]]


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

    X: Floats
    y: NDArray[Any]
    gradients: Floats | None = None

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

    def log_probabilities(self, X: Floats) -> NDArray[np.float64]:
        """Return the log probability of each class, `(n_models, n, n_classes)`, computed stably; -inf for 0."""
        ...


@runtime_checkable
class SupportsGradients(Protocol):
    """Classifiers with gradients, for white-box membership attacks."""

    def gradients(self, X: Floats, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the gradient of the loss at each example in the flat parameters, `(n_models, n, n_parameters)`."""
        ...

    def gradient_norms(self, X: Floats, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the L2 norm of each gradient, `(n_models, n)`, without storing the gradients."""
        ...


@runtime_checkable
class SupportsSignals(Protocol):
    """Trained objects that predict no classes, but return membership signals of records."""

    def __len__(self) -> int: ...

    def signals(self, data: TrainingData) -> dict[str, NDArray[np.float64]]:
        """Return the signals by name, each `(n_models, n_records)`; higher means more like a member."""
        ...


@runtime_checkable
class SupportsSummaries(Protocol):
    """Trained objects that are each described by a few numbers, independently of the record under attack."""

    @property
    def summaries(self) -> NDArray[np.float64] | None:
        """Summaries, `(n_models, n_summaries)`; None if they were not requested."""
        ...


@runtime_checkable
class SupportsTables(Protocol):
    """Learner from records without labels."""

    def examples(self, dataset: Any) -> TrainingData:
        """Return a table `(n_records, d)` as training data whose labels are 0."""
        ...


@runtime_checkable
class Learner(Protocol):
    """Trainer of classifiers on subsets, which the shadow-model attacks and the membership game require."""

    def fit_subsets(
        self, records: TrainingData, inclusion: NDArray[np.bool_], rng: np.random.Generator
    ) -> Classifiers | SupportsSignals:
        """Train one model for each row of `inclusion`, `(n_models, n_records)`, on the records of that row only."""
        ...


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


__all__ = [
    "Classifiers",
    "Floats",
    "Learner",
    "SupportsGradients",
    "SupportsSignals",
    "SupportsSummaries",
    "SupportsTables",
    "TrainingData",
    "check_learner",
    "examples_for",
]
