"""Models of k classes, which estimate the candidate that a row came from.

Each returns log probabilities, with the frequencies of the training rows as prior.

    linear     multinomial logistic regression on the columns
    logistic   multinomial logistic regression on piecewise-linear functions of each column
    boosting   histogram gradient boosting of small trees
    table      one cell for each distinct row
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.arrays import Floats
from .additive import PRIOR_TERMS, Hinges
from .table import MAX_CELLS, PROBE, ROWS_PER_CELL, OutputCells
from .threads import single_openmp_thread, single_thread

Truths = NDArray[np.int64]

N_FOLDS = 3
CONTEST_ROWS, CONTEST_ENTRIES = 6_000, 1_000_000
"""Largest number of rows, and of rows times columns, in the cross-validation of the models."""
FEW_CELLS = 16
"""Up to this many distinct rows, the table is used without cross-validation."""
MOST_TREES = 1_000
LEAST = 1e-12
"""Smallest probability, when losses are compared."""


class ClassModel(Protocol):
    """Interface of a fitted model."""

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probabilities of the candidates, `(size, k)`, for each row."""
        ...


Fitter = Callable[[Floats, Truths], ClassModel]
"""Rows and the candidates that they came from -> model."""


@dataclass(frozen=True, eq=False)
class LogisticClasses:
    """Fitted `LogisticRegression` on the terms of `basis`."""

    basis: Hinges
    model: Any

    def probabilities(self, rows: Floats) -> Floats:
        """Return probabilities, `(size, k)`."""
        return np.asarray(self.model.predict_proba(self.basis.terms(rows)))


@dataclass(frozen=True, eq=False)
class BoostedClasses:
    """Fitted `HistGradientBoostingClassifier`."""

    model: Any

    def probabilities(self, rows: Floats) -> Floats:
        """Return probabilities, `(size, k)`."""
        with single_openmp_thread():
            return np.asarray(self.model.predict_proba(rows))


@dataclass(frozen=True, eq=False)
class CountedClasses:
    """Smoothed frequencies of each cell; a new row has equal frequencies of all candidates.

    Args:
        cells: the distinct rows.
        frequencies: `(n_cells + 1, k)`; the last row is for new rows.
    """

    cells: OutputCells
    frequencies: Floats

    def probabilities(self, rows: Floats) -> Floats:
        """Return probabilities, `(size, k)`."""
        return np.asarray(self.frequencies[self.cells.of(rows)])


def fit_classes(rows: Floats, truths: Truths, seed: int) -> tuple[str, ClassModel]:
    """Return name and model of the simplest candidate whose held-out log loss is near the smallest.

    Near means within one standard error of the smallest (Breiman, Friedman, Olshen and Stone 1984, section 3.4.3). All
    k candidates must be among `truths`, equally often.

    Args:
        rows: `(n, n_columns)` training rows.
        truths: `(n,)` candidate of each row, from 0 to k - 1.
        seed: seed of the rows that boosting holds out.
    """
    fitters: dict[str, Fitter] = {}
    cells = _few_cells(rows)
    if cells is not None:
        fitters["table"] = partial(_fit_table, cells)
    if cells is None or len(cells) > FEW_CELLS:
        fitters |= {"linear": partial(_fit_logistic, bent=False), "logistic": _fit_logistic}
        fitters["boosting"] = partial(_fit_boosting, seed=seed)
    name = next(iter(fitters)) if len(fitters) == 1 else _select_model(fitters, rows, truths)
    return name, fitters[name](rows, truths)


def _fit_logistic(rows: Floats, truths: Truths, *, bent: bool = True) -> ClassModel:
    from sklearn.linear_model import LogisticRegression

    basis = Hinges.learn(rows, bent=bent)
    terms = basis.terms(rows)
    with single_thread():
        model = LogisticRegression(C=min(1.0, PRIOR_TERMS / terms.shape[1]), max_iter=200, tol=1e-3)
        model.fit(terms, truths)
    return LogisticClasses(basis, model)


def _fit_boosting(rows: Floats, truths: Truths, seed: int) -> ClassModel:
    from sklearn.ensemble import HistGradientBoostingClassifier

    with single_thread():
        model = HistGradientBoostingClassifier(
            max_iter=max(10, min(100, MOST_TREES // (1 + int(truths.max())))),
            max_leaf_nodes=8,
            min_samples_leaf=max(5, min(20, len(rows) // 100)),
            l2_regularization=1.0,
            early_stopping=len(rows) >= 1_000,
            n_iter_no_change=5,
            random_state=seed,
        )
        model.fit(rows, truths)
    return BoostedClasses(model)


def _fit_table(cells: OutputCells, rows: Floats, truths: Truths) -> ClassModel:
    k = int(truths.max()) + 1
    counts = np.full((len(cells) + 1, k), 0.5)
    np.add.at(counts, (cells.of(rows), truths), 1.0)
    counts[-1] = 1.0
    return CountedClasses(cells, counts / counts.sum(axis=1, keepdims=True))


def _few_cells(rows: Floats) -> OutputCells | None:
    """Return the distinct rows if there are few enough to count; else None."""
    max_cells = max(1, min(MAX_CELLS, len(rows) // ROWS_PER_CELL))
    if OutputCells.learn(rows[:: max(1, len(rows) // PROBE)], max_cells) is None:
        return None
    return OutputCells.learn(rows, max_cells)


def _select_model(fitters: dict[str, Fitter], rows: Floats, truths: Truths) -> str:
    """Return the first model, simplest first, whose held-out loss is within one standard error of the smallest."""
    step = max(-(-rows.size // CONTEST_ENTRIES), -(-len(rows) // CONTEST_ROWS))
    rows, truths = rows[::step], truths[::step]
    losses = {name: _held_out_losses(fit, rows, truths) for name, fit in fitters.items()}
    best = min(losses.values(), key=lambda loss: float(loss.mean()))
    within = (name for name, loss in losses.items() if (loss - best).mean() <= (loss - best).std() / np.sqrt(len(best)))
    return next(within)


def _held_out_losses(fit: Fitter, rows: Floats, truths: Truths) -> Floats:
    """Return the log loss `(n,)` of each row under a model trained without its fold."""
    losses, fold = np.empty(len(rows)), np.arange(len(rows)) % N_FOLDS
    for held_out in range(N_FOLDS):
        test = np.flatnonzero(fold == held_out)
        probabilities = fit(rows[fold != held_out], truths[fold != held_out]).probabilities(rows[test])
        losses[test] = -np.log(np.maximum(probabilities[np.arange(len(test)), truths[test]], LEAST))
    return losses
