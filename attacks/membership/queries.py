"""Batches of shadow models: training on rows of the inclusion matrix, and predictions on records.

The functions are independent of plan, store and workers; `dpassay.audit.games.train_shadows` calls them batch by batch.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from ...mechanisms.core import Bools, Floats, ParameterError
from ...mechanisms.learning.base import (
    Classifiers,
    Learner,
    SupportsGradients,
    SupportsSignals,
    SupportsSummaries,
    TrainingData,
)
from ...mechanisms.learning.dp_sgd.capabilities import SupportsTrajectory, has_capability
from ...mechanisms.learning.models.trained import TrainedModels
from .gradients import inner_products
from .outputs import of_losses
from .shadows import Shadows
from .signals import SIGNALS

MAX_KEPT_LOG_PROBABILITIES = 40_000_000
"""Largest number of log probabilities kept for all models; beyond, only the signals computed from them are kept."""
MAX_BATCH_ENTRIES = 4_000_000
"""Numbers in one batch of predictions."""


def train(
    learner: Learner, data: TrainingData, inclusion: Bools, rng: np.random.Generator, asked: TrainingData
) -> tuple[Classifiers | SupportsSignals, dict[str, Floats]]:
    """Return one model per row of `inclusion`, `(n_models, n_records)`, and the results computed during training.

    These are the signal of the trajectory on the records `asked`, if the learner shows it, or the summaries of the
    models.
    """
    if not shows_trajectory(learner):
        models = learner.fit_subsets(data, inclusion, rng)
        summaries = models.summaries if isinstance(models, SupportsSummaries) else None
        return models, {} if summaries is None else {"summaries": summaries}
    trainer = cast("SupportsTrajectory", learner)
    trajectories = np.asarray(trainer.release_subsets(data, inclusion, rng).values)
    signal = inner_products(trajectories, trainer.network, asked)
    return TrainedModels(trainer.network, trajectories[:, -1]), {"gradient-inner-product": signal}


def shows_trajectory(learner: Learner) -> bool:
    """Return True if the learner, as configured, releases every iterate."""
    return has_capability(learner, SupportsTrajectory) and cast("SupportsTrajectory", learner).view == "trajectory"


def query_signals(models: Classifiers | SupportsSignals, data: TrainingData, *, n_models: int) -> dict[str, Floats]:
    """Return the signals of the models on the records, `(len(models), n_records)`, computed in batches of records.

    Args:
        models: one batch of models.
        data: the records.
        n_models: number of models of all batches together: if it is small enough, the log probabilities, `(len(models),
            n_records, n_classes)`, are returned instead of the signals that are computed from them.
    """
    if isinstance(models, SupportsSignals):
        return models.signals(data)
    y = data.y.astype(np.int64)
    if len(y) and y.max() >= models.n_classes:
        raise ParameterError(
            f"y has label {y.max()}, but the models know classes 0 to {models.n_classes - 1} only.", argument="y"
        )
    step = max(1, MAX_BATCH_ENTRIES // max(1, len(models) * models.n_classes))
    keep = n_models * len(y) * models.n_classes <= MAX_KEPT_LOG_PROBABILITIES
    parts: dict[str, list[Floats]] = {}
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        log_p = models.log_probabilities(data.X[rows])
        signals = {"log_probabilities": log_p} if keep else {name: f(log_p, y[rows]) for name, f in SIGNALS.items()}
        if isinstance(models, SupportsGradients):
            signals["gradient-norm"] = -models.gradient_norms(data.X[rows], y[rows])
        for name, values in signals.items():
            parts.setdefault(name, []).append(values)
    return {name: np.concatenate(pieces, axis=1) for name, pieces in parts.items()}


def shadows_of(answers: dict[str, Floats], data: TrainingData, inclusion: Bools) -> Shadows:
    """Return the answers of all models, batches joined, as `Shadows`."""
    signals = dict(answers)
    log_probabilities, summaries = signals.pop("log_probabilities", None), signals.pop("summaries", None)
    if "loss" in signals:  # the models gave losses only: those that are exactly 0 are repaired over all models
        signals |= of_losses(-signals["loss"], "losses")
    y = data.y.astype(np.int64)
    return Shadows(inclusion, y, signals, log_probabilities=log_probabilities, summaries=summaries, X=data.X)
