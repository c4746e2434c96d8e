"""The predicted error of the matrix mechanism, and the least that any strategy can have.

Measuring A x with noise of standard deviation s on each entry, and answering W A^+ (A x + noise), has the expected
squared error s^2 ||row of W A^+||^2 for each query. The noise is scaled to the sensitivity of A, so that here s is that
sensitivity times the standard deviation that an answer of sensitivity 1 needs.
"""

from __future__ import annotations

import numpy as np

from ...errors import ParameterError, plural
from ...queries.base import Floats
from ...queries.workload import Workload
from ...relation import Relation

SPANNED = 1e-7
"""Share of the largest entry of the workload that least squares may miss: rounding."""


def reconstruction(workload: Workload, measured: Workload) -> Floats:
    """W A^+, shape `(n_answers, n_measured)`; raises `ParameterError` where W A^+ A is not W.

    (Li, Miklau, Hay, McGregor and Rastogi 2015.)
    """
    if workload.domain.n_cells != measured.domain.n_cells:
        raise ParameterError(
            f"the strategy must measure the {workload.domain.n_cells} cells of the workload, but has "
            f"{measured.domain.n_cells}. Give one over the same domain.",
            argument="strategy",
        )
    found = np.asarray(workload.matrix @ np.linalg.pinv(measured.matrix))
    missed = np.abs(found @ measured.matrix - workload.matrix).max(axis=1)
    if missed.max() > SPANNED * np.abs(workload.matrix).max():
        raise ParameterError(
            f"the strategy must span the workload, but {np.count_nonzero(missed > SPANNED):,} of its "
            f"{plural(workload.n_answers, 'query', 'queries')} do not follow from {measured}. Add measurements, or "
            "take strategy = {name = 'identity'}, which spans everything.",
            argument="strategy",
        )
    return found


def query_errors(
    workload: Workload, measured: Workload, *, norm: float, relation: Relation = Relation.ADD_REMOVE
) -> Floats:
    """Expected squared error of each answer, shape `(n_answers,)`, in units of the noise variance at sensitivity 1.

    Args:
        workload: W, what is asked.
        measured: A, what is measured.
        norm: of the sensitivity: 1 for Laplace noise, whose variance at sensitivity 1 is 2 / epsilon^2; 2 for Gaussian
            noise, where it is noise_multiplier^2.
        relation: of neighbours.

    Raises:
        ParameterError: the strategy does not span the workload.
    """
    rows = reconstruction(workload, measured)
    return np.asarray(measured.sensitivity(relation, norm=norm) ** 2 * (rows**2).sum(axis=1))


def squared_error(
    workload: Workload, measured: Workload, *, norm: float, relation: Relation = Relation.ADD_REMOVE
) -> float:
    """Expected squared error of all answers together: the sum of `query_errors`, ||A||^2 ||W A^+||_F^2.

    (Li, Miklau, Hay, McGregor and Rastogi 2015.)

    Example:
        >>> total, cells = Workload.total({"age": 4}), Workload.identity({"age": 4})
        >>> squared_error(total, total, norm=1.0), squared_error(total, cells, norm=1.0)
        (1.0, 4.0)
    """
    return float(query_errors(workload, measured, norm=norm, relation=relation).sum())


def singular_value_bound(workload: Workload, *, relation: Relation = Relation.ADD_REMOVE) -> float:
    """No strategy has a smaller `squared_error`, in either norm: (sum of the singular values of W)^2 / T.

    With sensitivity D in the norm 2, and D is no larger in the norm 1, ||W||_* = ||W A^+ A||_* <= ||W A^+||_F ||A||_F
    and ||A||_F^2 <= D^2 T, where T counts the cells that some query counts. Where records are replaced, only A - the
    mean of its columns counts, and the squared distances of all pairs of columns add up to T times its squared norm:
    ||A||_F^2 <= D^2 (T - 1) / 2. Where they are blanked, A - the first column: D^2 (T - 1).

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
