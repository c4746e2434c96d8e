"""Predicted error of the matrix mechanism, and a lower bound for all strategies.

Measuring A x with noise of standard deviation s on each entry, and answering W A^+ (A x + noise), has the expected
squared error s^2 ||row of W A^+||^2 for each query. The noise is scaled to the sensitivity of A: s is that sensitivity
times the standard deviation for an answer of sensitivity 1.
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Floats
from ...core.errors import ParameterError, plural
from ...core.relation import Relation
from ...noise.queries.workload import Workload

SPANNED = 1e-7
"""Residual of least squares, relative to the largest entry of the workload, that counts as rounding."""


def reconstruction(workload: Workload, measured: Workload) -> Floats:
    """Return W A^+, shape `(n_answers, n_measured)`; raise `ParameterError` if W A^+ A is not W.

    (Li, Miklau, Hay, McGregor and Rastogi 2015.)
    """
    if workload.domain.n_cells != measured.domain.n_cells:
        raise ParameterError(
            f"the strategy must measure the {workload.domain.n_cells} cells of the workload, but has "
            f"{measured.domain.n_cells}. Give a strategy over the same domain.",
            argument="strategy",
        )
    matrix = np.asarray(workload.matrix @ np.linalg.pinv(measured.matrix))
    residuals = np.abs(matrix @ measured.matrix - workload.matrix).max(axis=1)
    if residuals.max() > SPANNED * np.abs(workload.matrix).max():
        raise ParameterError(
            f"the strategy must span the workload, but {np.count_nonzero(residuals > SPANNED):,} of its "
            f"{plural(workload.n_answers, 'query', 'queries')} do not follow from {measured}. Add measurements, or "
            "use strategy = {name = 'identity'}, which spans every workload.",
            argument="strategy",
        )
    return matrix


def query_errors(
    workload: Workload, measured: Workload, *, norm: float, relation: Relation = Relation.ADD_REMOVE
) -> Floats:
    """Return the expected squared error of each answer, shape `(n_answers,)`.

    The unit is the noise variance at sensitivity 1.

    Args:
        workload: W, the queries that are answered.
        measured: A, the queries that are measured.
        norm: norm of the sensitivity: 1 for Laplace noise, whose variance at sensitivity 1 is 2 / epsilon^2; 2 for
            Gaussian noise, whose variance is noise_multiplier^2.
        relation: the neighbouring relation.

    Raises:
        ParameterError: the strategy does not span the workload.
    """
    rows = reconstruction(workload, measured)
    return np.asarray(measured.sensitivity(relation, norm=norm) ** 2 * (rows**2).sum(axis=1))


def squared_error(
    workload: Workload, measured: Workload, *, norm: float, relation: Relation = Relation.ADD_REMOVE
) -> float:
    """Return the total expected squared error of all answers, the sum ||A||^2 ||W A^+||_F^2 of `query_errors`.

    (Li, Miklau, Hay, McGregor and Rastogi 2015.)

    Example:
        >>> total, cells = Workload.total({"age": 4}), Workload.identity({"age": 4})
        >>> squared_error(total, total, norm=1.0), squared_error(total, cells, norm=1.0)
        (1.0, 4.0)
    """
    return float(query_errors(workload, measured, norm=norm, relation=relation).sum())


def singular_value_bound(workload: Workload, *, relation: Relation = Relation.ADD_REMOVE) -> float:
    """Return (sum of the singular values of W)^2 / T, a lower bound on the `squared_error` of every strategy.

    The bound holds in both norms. With sensitivity D in the norm 2, which is at most that in the norm 1, ||W||_* =
    ||W A^+ A||_* <= ||W A^+||_F ||A||_F and ||A||_F^2 <= D^2 T, where T is the number of cells that some query counts.
    Under replace_one, only A minus the mean of its columns matters, and the squared distances of all pairs of columns
    add up to T times its squared norm: ||A||_F^2 <= D^2 (T - 1) / 2. Under zero_out, only A minus the first column
    matters: D^2 (T - 1).

    (Li and Miklau 2013, for add_remove.)
    """
    matrix, n_cells = workload.matrix, workload.domain.n_cells
    if relation is Relation.ADD_REMOVE:
        cells = float(np.count_nonzero(matrix.any(axis=0)))
    elif relation is Relation.REPLACE_ONE:
        matrix, cells = matrix - matrix.mean(axis=1, keepdims=True), (n_cells - 1) / 2.0
    else:
        matrix, cells = matrix - matrix[:, :1], n_cells - 1.0
    return float(np.linalg.norm(matrix, ord="nuc") ** 2 / cells) if cells else 0.0
