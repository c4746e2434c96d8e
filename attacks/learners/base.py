"""Interfaces of fitted models, the choice between models, and single-threaded numerical libraries.

A model of two classes, the sides of a pair, returns log odds for equal sides; a model of k classes returns
probabilities, with the frequencies of the training rows as prior.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import Floats, Ints, threads

Model = TypeVar("Model")

N_FOLDS = 3
"""Number of folds of a cross-validation."""
MAX_TRAINING_ENTRIES = 10_000_000
"""Largest number of rows times columns on which a model is trained."""
MAX_TRUSTED_CELLS = 16
"""Up to this many distinct rows, a table of frequencies is used without cross-validation."""


class ScoringModel(Protocol):
    """Interface of a fitted model of two classes."""

    def log_odds(self, rows: NDArray[Any]) -> Floats:
        """Return the log odds of side 1 of each row, shape `(size,)`."""
        ...


class ClassModel(Protocol):
    """Interface of a fitted model of k classes."""

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of the classes, `(size, k)`, for each row."""
        ...


def two_classes(rows0: NDArray[Any], rows1: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the rows of both sides together, and the side of each row."""
    return np.concatenate([rows0, rows1]), np.repeat(np.array([0, 1]), [len(rows0), len(rows1)])


def log_prior_odds(sides: Ints) -> float:
    """Return log(n1 / n0) of the rows, to be subtracted for the log odds of equal sides."""
    n1 = np.count_nonzero(sides)
    return float(np.log(n1 / (len(sides) - n1)))


def held_out_losses(
    fit: Callable[[NDArray[Any], Ints], Model],
    rows: NDArray[Any],
    truths: Ints,
    fold: Ints,
    loss: Callable[[Model, NDArray[Any], Ints], Floats],
) -> Floats:
    """Return the loss `(n,)` of each row under a model trained without its fold, one of `N_FOLDS`.

    Runs are independent, so every third row is as good a fold as a shuffled one.
    """
    losses = np.empty(len(rows))
    for held_out in range(N_FOLDS):
        test, train = fold == held_out, fold != held_out
        losses[test] = loss(fit(rows[train], truths[train]), rows[test], truths[test])
    return losses


def simplest(losses: Mapping[str, Floats]) -> str:
    """Return the first model, simplest first, whose mean held-out loss is within one standard error of the smallest.

    (Breiman, Friedman, Olshen and Stone 1984, section 3.4.3.)

    Args:
        losses: name -> `(n,)` held-out losses of the same rows.
    """
    best = min(losses.values(), key=lambda loss: float(loss.mean()))
    within = (name for name, loss in losses.items() if (loss - best).mean() <= (loss - best).std() / np.sqrt(len(best)))
    return next(within)


def single_thread(user_api: str | None = None) -> AbstractContextManager[Any]:
    """Limit the thread pools to one thread, those of scikit-learn included: see `core.threads.single_thread`."""
    import sklearn.ensemble  # noqa: F401 - loads the OpenMP runtime before the thread pools are searched

    return threads.single_thread(user_api)
