"""Attacks by density: synthetic rows are denser around records that the generator has learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.validation import one_of
from .base import Tables
from .estimators import ESTIMATORS
from .records import Known, RecordAttack

RIDGE = 1.0
STEPS = 8


@dataclass(frozen=True, kw_only=True)
class DensityRatio(RecordAttack):
    """Score of a table: its log density at the record, minus that of known records that were not used.

        log p_synthetic(record) - log p_known(record)

    The density of the table alone is high for ordinary records, in or out; the difference is the excess of the table.
    On a pair that adds a record the known records are the same in every run, so they shift all scores equally; with
    many records (the membership game) they are decisive.

    Args:
        estimator: "independent", "pairs", "histogram", "gaussian", "kernel" or "nearest", for both densities; or
            "classifier", the log odds, at the record, of a logistic regression of synthetic rows against known
            rows.
        calibrated: whether the density of the known records is subtracted; "classifier" always uses it.
        nominal: indices of columns of codes; None: all, if the tables are whole numbers, else none.

    Raises:
        ParameterError: an unknown estimator.
        AttackError: the pair or the outputs are not tables.

    Guarantees:
        * if both densities are known the score is optimal: with p_synthetic = N(0, 1) and p_known = N(1, 1) its
          AUC is Phi(1 / sqrt 2) = 0.7602;
        * there is no natural threshold. The median of the scores assumes that half of the records were in.

    References:
        van Breugel, Sun, Qian and van der Schaar (2023), "Membership inference attacks against synthetic data through
        overfitting detection" (DOMIAS); the classifier: Hayes, Melis, Danezis and De Cristofaro (2019), "LOGAN".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table, public = rng.normal(size=(1, 500, 1)), rng.normal(1.0, 1.0, (500, 1))
        >>> records = np.array([[-1.0], [2.0]])
        >>> DensityRatio(estimator="gaussian").signals(table, records, Known.of(public, records)).round(1).tolist()
        [[1.6, -1.4]]
    """

    estimator: str = "independent"
    calibrated: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of((*ESTIMATORS, "classifier"), estimator=self.estimator)

    def signals(self, tables: Tables, records: Tables, known: Known) -> Floats:
        """Return log density ratios or densities, `(size, k)`, nats."""
        if self.estimator == "classifier":
            return _log_odds(tables, records, known)
        estimate = ESTIMATORS[self.estimator]
        log_density = estimate(tables, records, known)
        return log_density - estimate(known.records[None], records, known) if self.calibrated else log_density


def _log_odds(tables: Tables, records: Tables, known: Known) -> Floats:
    """Return log odds of a row of each table against a known record, at the records; both kinds have equal weight.

    Ridge-penalised logistic regression by Newton's method, for all tables at once.
    """
    known_rows = known_terms(known.records, known)
    record_terms = known_terms(records, known)
    synthetic_rows = known_terms(tables, known)
    weights = np.zeros((len(tables), record_terms.shape[1]))
    penalty = RIDGE * np.eye(record_terms.shape[1])
    penalty[0, 0] = 0.0
    share = len(known_rows) / tables.shape[1]
    for _ in range(STEPS):
        p_synthetic, p_known = (
            _sigmoid(np.einsum("srp,sp->sr", synthetic_rows, weights)),
            _sigmoid(weights @ known_rows.T),
        )
        gradient = (
            share * np.einsum("sr,srp->sp", 1.0 - p_synthetic, synthetic_rows)
            - p_known @ known_rows
            - weights @ penalty
        )
        hessian = share * np.einsum(
            "sr,srp,srq->spq", p_synthetic * (1.0 - p_synthetic), synthetic_rows, synthetic_rows, optimize=True
        )
        hessian += np.einsum("sr,rp,rq->spq", p_known * (1.0 - p_known), known_rows, known_rows, optimize=True)
        weights += np.linalg.solve(hessian + penalty + 1e-9 * np.eye(len(penalty)), gradient[:, :, None])[:, :, 0]
    return weights @ record_terms.T


def known_terms(rows: Tables, known: Known) -> Floats:
    """Return terms of a logistic regression, `(..., p)`.

    They are a constant; an indicator of each level of a column of codes except the first; and each real column,
    standardised and clipped, and its square.
    """
    terms = [np.ones(rows.shape[:-1])]
    for column, nominal in enumerate(known.nominal):
        if nominal:
            code = known.levels.code(rows, column)
            terms += [(code == level).astype(np.float64) for level in range(1, known.levels.shape[column])]
        else:
            middle = known.records[:, column].mean()
            z = np.clip((rows[..., column] - middle) / known.scale[column], -5.0, 5.0)
            terms += [z, z**2]
    return np.stack(terms, axis=-1)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
