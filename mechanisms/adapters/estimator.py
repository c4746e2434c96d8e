"""Any scikit-learn classifier as a learner, for membership attacks on user models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import Bools, Floats, Ints, ParameterError, Relation
from ..learning.base import AnyFloats, TrainingData


@dataclass(frozen=True, eq=False)
class EstimatorLearner:
    """Learner that trains one clone of a scikit-learn classifier on each subset of the records.

    Each clone gets a separate random state, drawn from `rng`, wherever the estimator (or a step of a pipeline) has one.
    A class that a subset lacks gets probability 0; a subset of a single class gives a model that always predicts it.
    Warnings that training has not converged are suppressed: an over- or underfitted model is a valid target. Several
    models are trained in parallel by `n_jobs` of `dpassay.audit.games.train_shadows`.

    Canaries that are examples can be inserted (`SupportsCanaries`), so the membership game can be played; intermediate
    steps of the training, if there are any, are not observed.

    Args:
        estimator: a classifier with `fit` and `predict_proba`, or `predict_log_proba`; it is cloned, never changed.

    Raises:
        ParameterError: the estimator gives no probabilities.

    Example:
        >>> from sklearn.naive_bayes import GaussianNB
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
        >>> inclusion = rng.random((3, 20)) < 0.5
        >>> models = EstimatorLearner(GaussianNB()).fit_subsets(TrainingData(X, y), inclusion, rng)
        >>> models.log_probabilities(X).shape
        (3, 20, 2)
    """

    estimator: Any

    def __post_init__(self) -> None:
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise ParameterError(
                argument="estimator",
                value=self.estimator,
                allowed="be a scikit-learn classifier, such as LogisticRegression()",
            )
        if not (hasattr(self.estimator, "predict_proba") or hasattr(self.estimator, "predict_log_proba")):
            raise ParameterError(
                f"estimator must give probabilities, but {type(self.estimator).__name__} has no predict_proba. Wrap a "
                "classifier that lacks it, CalibratedClassifierCV(estimator), or attack its labels only: "
                "LabelOnlyLearner(estimator) of dpassay.attacks.membership.",
                argument="estimator",
            )

    @property
    def relation(self) -> Relation:
        """Relation between training with a record and without it: add_remove."""
        return Relation.ADD_REMOVE

    def check_data(self, data: TrainingData) -> None:
        """Raise `ParameterError` for gradient records, and for labels that are not classes."""
        _check_classes(data)

    def count_classes(self, data: TrainingData) -> int:
        """Return the number of classes in the labels of `data`."""
        return int(data.y.max(initial=0)) + 1

    def initial_models(self, data: TrainingData) -> None:
        """Return None: an estimator predicts nothing before it is fitted."""

    def fit_subsets(self, records: TrainingData, inclusion: Bools, rng: np.random.Generator) -> EstimatorClassifiers:
        """Return one clone per row of `inclusion`, `(n_models, n_records)`; refuse an empty subset."""
        return EstimatorClassifiers(fit_clones(self.estimator, records, inclusion, rng), int(records.y.max()) + 1)


@dataclass(frozen=True, eq=False)
class EstimatorClassifiers:
    """Fitted scikit-learn classifiers.

    Args:
        models: fitted classifiers, each with its `classes_`.
        n_classes: number of classes of all records together.
    """

    models: Sequence[Any]
    n_classes: int

    def __len__(self) -> int:
        return len(self.models)

    def log_probabilities(self, X: AnyFloats) -> Floats:
        """Return the log probability of each class, `(n_models, n, n_classes)`; -inf for classes without records."""
        log_p = np.full((len(self), len(X), self.n_classes), -np.inf)
        with np.errstate(divide="ignore"):
            for model_log_p, model in zip(log_p, self.models, strict=True):
                if hasattr(model, "predict_log_proba"):
                    model_log_p[:, model.classes_] = model.predict_log_proba(X)
                else:
                    model_log_p[:, model.classes_] = np.log(model.predict_proba(X))
        return log_p


@dataclass(frozen=True, eq=False)
class _OneClass:
    """Classifier learned from a subset of a single class."""

    classes_: Ints

    def predict_proba(self, X: AnyFloats) -> AnyFloats:
        return np.ones((len(X), 1))

    def predict(self, X: AnyFloats) -> Ints:
        return np.repeat(self.classes_, len(X))


def fit_clones(estimator: Any, records: TrainingData, inclusion: Bools, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a fitted clone of a classifier for each row of `inclusion`; refuse an empty subset."""
    inclusion = np.asarray(inclusion, dtype=np.bool_)
    _check_classes(records)
    if inclusion.ndim != 2 or inclusion.shape[1] != len(records):
        raise ParameterError(
            f"inclusion must have shape (n_models, {len(records)}), one column per record, but has {inclusion.shape}.",
            argument="inclusion",
        )
    if not inclusion.any(axis=1).all():
        empty = int(np.flatnonzero(~inclusion.any(axis=1))[0])
        raise ParameterError(
            f"inclusion leaves model {empty} without any record. Include at least one.", argument="inclusion"
        )
    y, seeds = records.y.astype(np.int64), rng.integers(2**31 - 1, size=len(inclusion))
    subsets = zip(inclusion, seeds, strict=True)
    return tuple(_fit(estimator, records.X[rows], y[rows], int(seed)) for rows, seed in subsets)


def _check_classes(data: TrainingData) -> None:
    if data.n_gradients:
        raise ParameterError("an estimator learns from examples: gradient records need DPSGD. Leave them out.")
    if (data.y != np.rint(data.y)).any() or (data.y < 0).any():
        raise ParameterError(
            "y must be labels 0 .. n_classes - 1. Number the classes: np.unique(y, return_inverse=True)[1]."
        )


def _fit(estimator: Any, X: AnyFloats, y: Ints, seed: int) -> Any:
    """Return a fitted clone of the estimator with new random states."""
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    classes = np.unique(y)
    if len(classes) == 1:
        return _OneClass(classes)
    model = clone(estimator)
    states = sorted(name for name in model.get_params() if name.rpartition("__")[2] == "random_state")
    model.set_params(**{name: (seed + i) % (2**31 - 1) for i, name in enumerate(states)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)
