"""Predictions of a model, of scikit-learn or of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.errors import AttackError


def log_probabilities(model: Any, X: Floats) -> Floats:
    """Return the log probability of each class, `(..., n_classes)`, of records `(..., d)`.

    Args:
        model: a fitted classifier with `predict_proba`, or one trained model with `log_probabilities`.

    Raises:
        AttackError: a model with neither method, or several models.
    """
    rows = X.reshape(-1, X.shape[-1])
    if hasattr(model, "log_probabilities"):
        if len(model) != 1:
            raise AttackError(f"one model is needed, but there are {len(model)}. Give one of them.")
        log_p = model.log_probabilities(rows)[0]
    elif hasattr(model, "predict_proba"):
        with np.errstate(divide="ignore"):
            log_p = np.log(model.predict_proba(rows))
    else:
        raise AttackError(
            f"{type(model).__name__} gives no probabilities: it has neither predict_proba nor log_probabilities. Fit "
            "it so that it does (SVC(probability=True)), or wrap it (CalibratedClassifierCV)."
        )
    return np.asarray(log_p).reshape(*X.shape[:-1], -1)


def places(model: Any, y: NDArray[Any], n_classes: int) -> NDArray[np.int64]:
    """Return the index of each label among the classes of the model; raise `AttackError` for an unknown label."""
    classes = np.asarray(getattr(model, "classes_", np.arange(n_classes)))
    index = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    if not (classes[index] == y).all():
        unknown_label = np.asarray(y)[classes[index] != y].ravel()[0]
        raise AttackError(f"the model knows the classes {classes.tolist()}, but a label is {unknown_label}.")
    return np.asarray(index)
