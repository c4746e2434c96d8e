"""Attacks by density: synthetic rows are denser around records that the generator has learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanisms.validation import one_of
from .base import Floats, Tables
from .estimators import ESTIMATORS
from .records import Known, RecordAttack

RIDGE = 1.0
STEPS = 8


@dataclass(frozen=True, kw_only=True)
class DensityRatio(RecordAttack):
    """Scores a table by its log density at the record, less that of known records that were not used.

        log p_synthetic(record) - log p_known(record)

    The density of the table alone is high for ordinary records, in or not; the difference tells what the table has in
    excess. On a pair that adds a record the known records are the same in every run, so that they shift all scores
    alike; among many records (the membership game) they decide.

    Args:
        estimator: "independent", "pairs", "histogram", "gaussian", "kernel" or "nearest", of both densities; or
            "classifier", the log odds, at the record, of a logistic regression that tells synthetic rows from known
            ones.
        calibrated: whether the known records count; "classifier" has no other form.
        nominal: columns that hold codes, by number; None: all, if the tables hold whole numbers, else none.

    Raises:
        ParameterError: an unknown estimator.
        AttackError: no pair of tables, or no tables among the outputs.

    Guarantees:
        * where both densities are known the score is the best one: with p_synthetic = N(0, 1) and p_known = N(1, 1) its
          AUC is Phi(1 / sqrt 2) = 0.7602;
        * no threshold belongs to it. One at the median of the scores assumes that half of the records were in.

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
        one_of((*ESTIMATORS, "classifier"), estimator=self.estimator)

    def signals(self, tables: Tables, records: Tables, known: Known) -> Floats:
        """`(size, k)`, nats."""
        if self.estimator == "classifier":
            return _log_odds(tables, records, known)
        estimate = ESTIMATORS[self.estimator]
        found = estimate(tables, records, known)
        return found - estimate(known.records[None], records, known) if self.calibrated else found


def _log_odds(tables: Tables, records: Tables, known: Known) -> Floats:
    """Log odds of a row of each table against a known record, at the records; both kinds count alike.

    Ridge-penalised logistic regression by Newton's method, for all tables at once.
    """
    others = known_terms(known.records, known)
    asked = known_terms(records, known)
    made = known_terms(tables, known)
    weights = np.zeros((len(tables), asked.shape[1]))
    penalty = RIDGE * np.eye(asked.shape[1])
    penalty[0, 0] = 0.0
    share = len(others) / tables.shape[1]
    for _ in range(STEPS):
        p_made, p_others = _sigmoid(np.einsum("srp,sp->sr", made, weights)), _sigmoid(weights @ others.T)
        pull = share * np.einsum("sr,srp->sp", 1.0 - p_made, made) - p_others @ others - weights @ penalty
        curve = share * np.einsum("sr,srp,srq->spq", p_made * (1.0 - p_made), made, made, optimize=True)
        curve += np.einsum("sr,rp,rq->spq", p_others * (1.0 - p_others), others, others, optimize=True)
        weights += np.linalg.solve(curve + penalty + 1e-9 * np.eye(len(penalty)), pull[:, :, None])[:, :, 0]
    return weights @ asked.T


def known_terms(rows: Tables, known: Known) -> Floats:
    """`(..., p)` a constant; an indicator of each level of a column of codes but the first; a real column, standardised
    and clipped, and its square."""
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
