"""Expected error of the matrix mechanism, a lower bound for all its strategies, and known rates for all mechanisms.

Matrix mechanism: measuring A x with noise of standard deviation s on each entry, and answering W A^+ (A x + noise), has
the expected squared error s^2 ||row of W A^+||^2 for each query. The noise is scaled to the sensitivity of A: s is that
sensitivity times the standard deviation for an answer of sensitivity 1.

Known rates: k queries with values in [-1, 1] on a domain of T cells, n records, mean answers. The error is the expected
largest error of an answer (norm inf), or the expected root mean square error (norm 2). Constants, and the factor
ln(1/delta) under the root, are suppressed: the rates describe the growth of errors, not their size.

    norm   epsilon-DP                                         (epsilon, delta)-DP
    2      (ln(k)^2 ln(T)^(3/2) / (epsilon n))^(1/2)          (ln(T)^(1/2) / (epsilon n))^(1/2)
           Nikolov, Talwar and Zhang 2013                     Dwork, Rothblum and Vadhan 2010
    inf    (ln(k) ln(T) / (epsilon n))^(1/3)                  (ln(k) ln(T)^(1/2) / (epsilon n))^(1/2)
           Blum, Ligett and Roth 2013                         Hardt and Rothblum 2010; Gupta, Roth and Ullman 2012

The right column is tight (Bun, Ullman and Vadhan 2014). The left one is open: for the norm inf the conjecture is
(ln(k) ln(T) / (epsilon n))^(1/2), for the norm 2 it is (ln(T) / (epsilon n))^(1/2), for every k.
"""

from __future__ import annotations

import math

import numpy as np

from ...core import Floats, ParameterError, Relation, plural, positive, whole
from ...noise.queries.workload import Workload

SPAN_TOLERANCE = 1e-7
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
    if residuals.max() > SPAN_TOLERANCE * np.abs(workload.matrix).max():
        raise ParameterError(
            f"the strategy must span the workload, but {np.count_nonzero(residuals > SPAN_TOLERANCE):,} of its "
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


def error_rate(*, n_queries: int, n_cells: int, n_records: int, epsilon: float, norm: float, pure: bool) -> float:
    """Return the entry of the table above, for the worst workload of that size; at most 1, the error of a constant.

    Args:
        n_queries: k, >= 2.
        n_cells: T, >= 2.
        n_records: n, >= 1.
        epsilon: > 0.
        norm: 2 or inf.
        pure: True for epsilon-DP, False for (epsilon, delta)-DP.

    Example:
        >>> sizes = {"n_queries": 256, "n_cells": 64, "n_records": 10**6, "epsilon": 1.0}
        >>> [round(error_rate(**sizes, norm=norm, pure=pure), 4) for norm in (2, math.inf) for pure in (True, False)]
        [0.0161, 0.0014, 0.0285, 0.0034]
    """
    whole(2, n_queries=n_queries, n_cells=n_cells)
    whole(1, n_records=n_records)
    positive(epsilon=epsilon)
    if norm not in (2.0, math.inf):
        raise ParameterError(argument="norm", value=norm, allowed="be 2 or inf")
    k, t, records = math.log(n_queries), math.log(n_cells), epsilon * n_records
    rates = {
        (2.0, True): (k**2 * t**1.5 / records) ** (1 / 2),
        (2.0, False): (t**0.5 / records) ** (1 / 2),
        (math.inf, True): (k * t / records) ** (1 / 3),
        (math.inf, False): (k * t**0.5 / records) ** (1 / 2),
    }
    return float(min(1.0, rates[float(norm), bool(pure)]))
