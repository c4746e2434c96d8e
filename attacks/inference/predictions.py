"""What a model says of records: of scikit-learn, or of the house."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.errors import AttackError
from .base import Floats


def log_probabilities(model: Any, X: Floats) -> Floats:
    """Log probability of each class, `(..., n_classes)`, of records `(..., d)`.

    Args:
        model: a fitted classifier with `predict_proba`, or one trained model with `log_probabilities`.

    Raises:
        AttackError: neither, or several models.
    """
    rows = X.reshape(-1, X.shape[-1])
    if hasattr(model, "log_probabilities"):
        if len(model) != 1:
            raise AttackError(f"one model is attacked, but there are {len(model)}. Give one of them.")
        found = model.log_probabilities(rows)[0]
    elif hasattr(model, "predict_proba"):
        with np.errstate(divide="ignore"):
            found = np.log(model.predict_proba(rows))
    else:
        raise AttackError(
            f"{type(model).__name__} gives no probabilities: it has neither predict_proba nor log_probabilities. Fit "
            "it so that it does (SVC(probability=True)), or wrap it (CalibratedClassifierCV)."
        )
    return np.asarray(found).reshape(*X.shape[:-1], -1)


def places(model: Any, y: NDArray[Any], n_classes: int) -> NDArray[np.int64]:
    """The place of each label among the classes of the model; raises `AttackError` for one that it does not know."""
    classes = np.asarray(getattr(model, "classes_", np.arange(n_classes)))
    found = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    if not (classes[found] == y).all():
        other = np.asarray(y)[classes[found] != y].ravel()[0]
        raise AttackError(f"the model knows the classes {classes.tolist()}, but a label is {other}.")
    return np.asarray(found)
