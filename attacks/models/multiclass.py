"""k-class models: which of k candidates did this row come from? Each gives log probabilities, candidates being as
probable as they are among the training rows.

    linear     multinomial logistic regression on the columns
    logistic   ... on piecewise-linear functions of each column
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

from .additive import PRIOR_TERMS, Hinges
from .table import MAX_CELLS, PROBE, ROWS_PER_CELL, Cells
from .threads import single_openmp_thread, single_thread

Floats = NDArray[np.float64]
Truths = NDArray[np.int64]

N_FOLDS = 3
CONTEST_ROWS, CONTEST_ENTRIES = 6_000, 1_000_000
"""Rows, and rows times columns, at most, that the models compete on."""
FEW_CELLS = 16
"""Up to so many distinct rows the table is taken without a contest."""
MOST_TREES = 1_000
LEAST = 1e-12
"""A probability that is taken for no smaller, when losses are compared."""


class ClassModel(Protocol):
    """What a fitted model offers."""

    def probabilities(self, rows: Floats) -> Floats:
        """`(size, k)` of the candidates, for each row."""
        ...


Fitter = Callable[[Floats, Truths], ClassModel]
"""Rows and the candidates that they came from -> model."""


@dataclass(frozen=True, eq=False)
class LogisticClasses:
    """A fitted `LogisticRegression` on the terms of `basis`."""

    basis: Hinges
    model: Any

    def probabilities(self, rows: Floats) -> Floats:
        """`(size, k)`."""
        return np.asarray(self.model.predict_proba(self.basis.terms(rows)))


@dataclass(frozen=True, eq=False)
class BoostedClasses:
    """A fitted `HistGradientBoostingClassifier`."""

    model: Any

    def probabilities(self, rows: Floats) -> Floats:
        """`(size, k)`."""
        with single_openmp_thread():
            return np.asarray(self.model.predict_proba(rows))


@dataclass(frozen=True, eq=False)
class CountedClasses:
    """Smoothed frequencies of each cell; a new row has those of all candidates alike.

    Args:
        cells: the distinct rows.
        frequencies: `(n_cells + 1, k)`; the last one is that of a new row.
    """

    cells: Cells
    frequencies: Floats

    def probabilities(self, rows: Floats) -> Floats:
        """`(size, k)`."""
        return np.asarray(self.frequencies[self.cells.of(rows)])


def fit_classes(rows: Floats, truths: Truths, seed: int) -> tuple[str, ClassModel]:
    """The name of the best model, and the model: the simplest whose held-out log loss is no worse than chance explains.

    That is, within one standard error of the smallest (Breiman, Friedman, Olshen and Stone 1984, section 3.4.3). All k
    candidates must be among `truths`, equally often.

    Args:
        rows: `(n, n_columns)`.
        truths: `(n,)` from 0 to k - 1.
        seed: of what boosting sets aside.
    """
    entrants: dict[str, Fitter] = {}
    cells = _few_cells(rows)
    if cells is not None:
        entrants["table"] = partial(_fit_table, cells)
    if cells is None or len(cells) > FEW_CELLS:
        entrants |= {"linear": partial(_fit_logistic, bent=False), "logistic": _fit_logistic}
        entrants["boosting"] = partial(_fit_boosting, seed=seed)
    name = next(iter(entrants)) if len(entrants) == 1 else _winner(entrants, rows, truths)
    return name, entrants[name](rows, truths)


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


def _fit_table(cells: Cells, rows: Floats, truths: Truths) -> ClassModel:
    k = int(truths.max()) + 1
    counts = np.full((len(cells) + 1, k), 0.5)
    np.add.at(counts, (cells.of(rows), truths), 1.0)
    counts[-1] = 1.0
    return CountedClasses(cells, counts / counts.sum(axis=1, keepdims=True))


def _few_cells(rows: Floats) -> Cells | None:
    """The distinct rows if they are few enough to be counted; else None."""
    most = max(1, min(MAX_CELLS, len(rows) // ROWS_PER_CELL))
    if Cells.learn(rows[:: max(1, len(rows) // PROBE)], most) is None:
        return None
    return Cells.learn(rows, most)


def _winner(entrants: dict[str, Fitter], rows: Floats, truths: Truths) -> str:
    """The first entrant, simplest first, whose held-out loss is within one standard error of the smallest."""
    step = max(-(-rows.size // CONTEST_ENTRIES), -(-len(rows) // CONTEST_ROWS))
    rows, truths = rows[::step], truths[::step]
    losses = {name: _held_out_losses(fit, rows, truths) for name, fit in entrants.items()}
    best = min(losses.values(), key=lambda loss: float(loss.mean()))
    within = (name for name, loss in losses.items() if (loss - best).mean() <= (loss - best).std() / np.sqrt(len(best)))
    return next(within)


def _held_out_losses(fit: Fitter, rows: Floats, truths: Truths) -> Floats:
    """`(n,)` log loss of each row under a model trained without its fold; runs are independent: every third row."""
    losses, fold = np.empty(len(rows)), np.arange(len(rows)) % N_FOLDS
    for held_out in range(N_FOLDS):
        test = np.flatnonzero(fold == held_out)
        found = fit(rows[fold != held_out], truths[fold != held_out]).probabilities(rows[test])
        losses[test] = -np.log(np.maximum(found[np.arange(len(test)), truths[test]], LEAST))
    return losses
