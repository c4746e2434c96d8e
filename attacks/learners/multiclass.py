"""Models of k classes, which estimate the candidate that a row came from.

Each returns probabilities, with the frequencies of the training rows as prior.

    linear     multinomial logistic regression on the columns
    logistic   multinomial logistic regression on piecewise-linear functions of each column
    boosting   histogram gradient boosting of small trees
    table      one cell for each distinct row
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...mechanisms.core import Floats, Ints
from .additive import fit_logistic_classes
from .base import MAX_TRUSTED_CELLS, N_FOLDS, ClassModel, held_out_losses, simplest
from .table import find_cells, fit_frequencies
from .trees import fit_boosted_classes

CONTEST_ROWS, CONTEST_ENTRIES = 6_000, 1_000_000
"""Largest number of rows, and of rows times columns, in the cross-validation of the models."""
MIN_PROBABILITY = 1e-12
"""Smallest probability, when losses are compared."""

Fitter = Callable[[Floats, Ints], ClassModel]
"""Rows and the candidates that they came from -> model."""


def fit_classes(rows: Floats, truths: Ints, seed: int) -> tuple[str, ClassModel]:
    """Return name and model of the simplest candidate whose held-out log loss is near the smallest.

    Near means within one standard error of the smallest (Breiman, Friedman, Olshen and Stone 1984, section 3.4.3). All
    k candidates must be among `truths`, equally often.

    Args:
        rows: `(n, n_columns)` training rows.
        truths: `(n,)` candidate of each row, from 0 to k - 1.
        seed: seed of the rows that boosting holds out.
    """
    fitters: dict[str, Fitter] = {}
    cells = find_cells(rows)
    if cells is not None:
        fitters["table"] = partial(fit_frequencies, cells)
    if cells is None or len(cells) > MAX_TRUSTED_CELLS:
        fitters |= {"linear": partial(fit_logistic_classes, bent=False), "logistic": fit_logistic_classes}
        fitters["boosting"] = partial(fit_boosted_classes, seed=seed)
    name = next(iter(fitters)) if len(fitters) == 1 else _select_model(fitters, rows, truths)
    return name, fitters[name](rows, truths)


def _select_model(fitters: dict[str, Fitter], rows: Floats, truths: Ints) -> str:
    """Return the simplest model whose held-out loss, on a sample of the rows, is near the smallest."""
    step = max(-(-rows.size // CONTEST_ENTRIES), -(-len(rows) // CONTEST_ROWS))
    rows, truths = rows[::step], truths[::step]
    fold = np.arange(len(rows)) % N_FOLDS
    return simplest({name: held_out_losses(fit, rows, truths, fold, _log_loss) for name, fit in fitters.items()})


def _log_loss(model: ClassModel, rows: Floats, truths: Ints) -> Floats:
    return np.asarray(-np.log(np.maximum(model.probabilities(rows)[np.arange(len(rows)), truths], MIN_PROBABILITY)))
