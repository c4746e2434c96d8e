"""The informed adversary: recovery of one record of a regression from its coefficients and all other records.

    0 = gradient of the objective = (gradient of the known records and the penalty) + r x,     r = mean(theta x) - y

At exact coefficients everything except the last term is known. If one entry of x is known, the 1 of an intercept or an
attribute that all records share, it determines r, then x, and then y = mean(theta x) - r.

    our name     Balle, Cherubin and Hayes (2022), section 4
    pull         minus the gradient of the known records and the penalty: r x
    residual     r
    anchor       their intercept

`PerturbedOutput` gives the success on noisy coefficients as curves, without running the attack. Let v be the noise, H
the second derivative of the objective of the known records and the penalty, and e = H v the change of the gradient by
the noise. Instead of r x, the adversary observes r x - e, so the error of attribute j is

    (x_j e_b - e_j) / (r - e_b),                      e_b the entry of the intercept

which is N / D for two normal numbers if v is normal. For least squares H is constant and this is exact; for other
losses e = H v up to terms of order |v|^2.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from ....mechanisms.core import AttackError, Floats, ParameterError, number, positive
from .regression import Regression

ZERO_TOLERANCE = 64.0 * float(np.finfo(np.float64).eps)
"""A sum is treated as 0 if it is below this factor times the sum of the absolute values."""


@dataclass(frozen=True, eq=False)
class RecoveredRecords:
    """Missing record recovered from the coefficients of each of `size` models.

    Args:
        x: attributes, `(size, n_features)`; NaN if only the direction is known, or nothing.
        y: target, or label, `(size,)`; NaN in the same cases.
        direction: direction of the row with its intercept, of norm 1, `(size, p)`; its sign is unknown if x is NaN.
        residuals: r, `(size, K)`; NaN if unknown.
        inconsistency: distance of the label from a whole number before rounding, `(size,)`: 0 for exact
            coefficients. NaN for real targets, which have no such check.
    """

    x: Floats
    y: Floats
    direction: Floats
    residuals: Floats
    inconsistency: Floats

    @property
    def only_direction(self) -> bool:
        """True if no length is known, because there is no intercept or other known attribute."""
        return bool(np.isnan(self.x).all())


@dataclass(frozen=True, eq=False)
class InformedAdversary:
    """Adversary who knows the model, its penalty, and all records except one.

    Args:
        regression: objective that the trainer minimised.
        X, y: the known records, `(n - 1, n_features)` and `(n - 1,)`.
        anchor: column and value of an attribute that the missing record is known to have, a value other than 0; None
            for the intercept. Without either, only the direction of the row is recovered.

    Raises:
        ParameterError: data that the loss does not accept, or an anchor that is not a column.

    Guarantees:
        * exact coefficients give an exact record, to rounding: 1e-12 if r is not small;
        * coefficients with gradient e instead of 0 give an error of x of (e_x - x e_b) / (r + e_b), e_b the
          part of the intercept: see `solver_error`.

    References:
        Balle, Cherubin and Hayes (2022), "Reconstructing training data with informed adversaries", section 4.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(50, 5)), rng.integers(0, 2, size=50)
        >>> model = Regression("logistic", strength=0.1)
        >>> recovered = InformedAdversary(model, X[1:], y[1:]).recover(model.minimise(X, y))
        >>> bool(np.abs(recovered.x[0] - X[0]).max() < 1e-12), bool(recovered.y[0] == y[0])
        (True, True)
    """

    regression: Regression
    X: Any
    y: Any
    _: KW_ONLY
    anchor: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        rows, _ = self.known
        if self.anchor is not None:
            column, value = self.anchor
            if not 0 <= column < rows.shape[1] - self.regression.intercept or not np.isfinite(value) or value == 0.0:
                raise ParameterError(
                    f"anchor must name one of the {rows.shape[1] - self.regression.intercept} columns of X and its "
                    f"value in the missing record, other than 0, but is {self.anchor}.",
                    argument="anchor",
                )

    @cached_property
    def known(self) -> tuple[Floats, Floats]:
        """Rows and targets of the known records."""
        return self.regression.read(self.X, self.y)

    @property
    def n_features(self) -> int:
        return int(self.known[0].shape[1]) - self.regression.intercept

    def pull(self, parameters: Any) -> Floats:
        """Return the missing record's part of the gradient, `(size, K, p)`: r x, if the coefficients are exact."""
        rows, targets = self.known
        return -self.regression.gradient(self.regression.coefficients(parameters, self.n_features), rows, targets)

    def recover(self, parameters: Any) -> RecoveredRecords:
        """Recover the missing record from flat coefficients of one model, or `(size, n_parameters)` of many.

        Raises:
            ParameterError: coefficients of a wrong length.
            AttackError: no model reveals the record, with the reason.
        """
        rows, targets = self.known
        theta = self.regression.coefficients(parameters, self.n_features)
        pull = self.pull(parameters)
        terms = (np.abs(self.regression.residuals(theta, rows, targets) + targets) + np.abs(targets)) @ np.abs(rows)
        terms += np.abs(self.regression.penalties(rows.shape[1]) * theta)
        no_signal = np.all(np.abs(pull) <= ZERO_TOLERANCE * terms, axis=(1, 2))
        if no_signal.all():
            raise AttackError(self._why_nothing())
        direction = np.linalg.svd(pull, full_matrices=False)[2][:, 0, :]
        residuals = self._residuals(pull, terms)
        with np.errstate(invalid="ignore", divide="ignore"):
            row = np.einsum("sk,skp->sp", residuals, pull) / np.einsum("sk,sk->s", residuals, residuals)[:, None]
        y, inconsistency = self._targets(theta, row, residuals)
        unknown = no_signal | np.isnan(row).any(axis=1)
        row[unknown], y[unknown] = np.nan, np.nan
        return RecoveredRecords(row[:, : self.n_features], y, direction, residuals, inconsistency)

    def _residuals(self, pull: Floats, terms: Floats) -> Floats:
        """Return r, from the known entry of x; NaN if there is none, or if it is at rounding error."""
        if self.anchor is None and not self.regression.intercept:
            return np.full(pull.shape[:2], np.nan)
        column, value = self.anchor if self.anchor is not None else (-1, 1.0)
        residuals = pull[:, :, column] / value
        lost = np.all(np.abs(pull[:, :, column]) <= ZERO_TOLERANCE * terms[:, :, column], axis=1)
        return np.where(lost[:, None], np.nan, residuals)

    def _targets(self, theta: Floats, row: Floats, residuals: Floats) -> tuple[Floats, Floats]:
        """Return targets `(size,)`, and their distance from whole numbers."""
        with np.errstate(invalid="ignore", over="ignore"):
            exact = self.regression.link.mean(np.einsum("skp,sp->sk", theta, row)[:, :, None])[:, :, 0] - residuals
        if not self.regression.link.labels:
            return exact[:, 0], np.full(len(exact), np.nan)
        if self.regression.loss == "softmax":
            label = np.argmax(np.where(np.isnan(exact), -np.inf, exact), axis=1)
            one_hot = np.asarray(np.arange(exact.shape[1]) == label[:, None], dtype=np.float64)
            return label.astype(np.float64), np.abs(exact - one_hot).max(axis=1)
        return np.rint(exact[:, 0]) + 0.0, np.abs(exact - np.rint(exact))[:, 0]

    def _why_nothing(self) -> str:
        """Return the reason why the gradient of the known records is 0."""
        rows, _ = self.known
        constant = np.flatnonzero(np.all(rows == rows[:1], axis=0)[: self.n_features])
        unpenalised = not self.regression.strength
        if unpenalised and len(rows) < rows.shape[1]:
            reason = (
                f"{len(rows)} known records and {rows.shape[1]} coefficients without a penalty: the model fits every "
                "record exactly, and all residuals are 0"
            )
        elif unpenalised and len(constant):
            reason = (
                f"attribute {constant[0]} is constant in the known records: if it differs in the missing one, a "
                "coefficient affects only that record and fits it exactly"
            )
        else:
            reason = "the coefficients are those of the known records only, or fit the missing one exactly"
        return (
            f"the known records explain the coefficients to rounding, so no other record can be recovered: {reason}. "
            "Guess from the known records instead."
        )


@dataclass(frozen=True)
class SolverError:
    """Effect of a solver's tolerance on the attack, for an auditor who knows all records.

    Args:
        gradient: norm of the gradient of the objective at the coefficients; 0 at the exact ones.
        relative: that norm, as a share of the norm of the record's part of the gradient.
        error: largest resulting error of an attribute of the recovered record.
    """

    gradient: float
    relative: float
    error: float

    def __str__(self) -> str:
        if self.relative >= 1.0:
            return (
                f"the solver stopped with a gradient of norm {number(self.gradient, 2)}, more than the record's part "
                "of it: nothing can be recovered. Train with a smaller tolerance."
            )
        return (
            f"the solver stopped with a gradient of norm {number(self.gradient, 2)}: "
            f"attributes have error {number(self.error, 2)}"
        )


def solver_error(regression: Regression, parameters: Any, X: Any, y: Any, record: int) -> SolverError:
    """Return the distance of coefficients from exact, and its effect on the informed adversary, in closed form.

    Args:
        regression: regression with an intercept.
        parameters: flat coefficients of one model.
        X, y: all records.
        record: index of the record under attack.

    Raises:
        ParameterError: inconsistent shapes, or a regression without intercept.
    """
    if not regression.intercept:
        raise ParameterError(
            "regression must have an intercept, from which the attack gets the length of the row, but has none.",
            argument="regression",
        )
    rows, targets = regression.read(X, y)
    theta = regression.coefficients(parameters, rows.shape[1] - 1)
    e = regression.gradient(theta, rows, targets)[0]
    r = regression.residuals(theta, rows[[record]], targets[:, [record]])[0, :, 0]
    row, observed = rows[record], r + -e[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        recovered = observed @ (r[:, None] * row - e) / (observed @ observed)
    norm = float(np.linalg.norm(e))
    added = float(np.linalg.norm(r) * np.linalg.norm(row))
    return SolverError(norm, norm / added if added else np.inf, float(np.abs(recovered - row)[:-1].max()))


_NORMAL_GRID = np.linspace(-9.0, 9.0, 1801)
"""Integration grid of a standard normal variable."""


@dataclass(frozen=True, eq=False)
class PerturbedOutput:
    """Error and success of the informed adversary on coefficients with independent normal noise.

    Args:
        regression: regression with an intercept and one output; not a softmax.
        X, y: all records.
        record: index of the record under attack.

    Raises:
        ParameterError: a regression without intercept or with several outputs, or data that the loss does not accept.

    Guarantees:
        * `success` is exact for least squares, and to first order in the noise otherwise;
        * `error` is to first order in the noise: the exact error has no mean, because the intercept's part may be 0.

    References:
        Balle, Cherubin and Hayes (2022), section 4; the law of the error is derived above.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
        >>> curve = PerturbedOutput(Regression(), X, y, record=0)
        >>> bool(np.isclose(curve.error(1e-3), 10 * curve.error(1e-4)))
        True
        >>> curve.success(1e-6, tolerance=0.1).tolist()
        [1.0, 1.0, 1.0]
    """

    regression: Regression
    X: Any
    y: Any
    record: int = 0

    def __post_init__(self) -> None:
        if not self.regression.intercept or self.regression.n_outputs > 1:
            raise ParameterError(
                f"regression must have an intercept and one output for a curve of its error, but is {self.regression}.",
                argument="regression",
            )
        n = len(self._data[0])
        if not 0 <= self.record < n:
            raise ParameterError(argument="record", value=self.record, allowed=f"be a record, 0 to {n - 1}")

    @cached_property
    def _data(self) -> tuple[Floats, Floats]:
        return self.regression.read(self.X, self.y)

    @cached_property
    def coefficients(self) -> Floats:
        """Exact coefficients, `(p,)`."""
        return self.regression.minimise(self.X, self.y)

    @cached_property
    def residual(self) -> float:
        """Residual r of the record: large if the model does not fit the record, which is then easy to recover."""
        rows, targets = self._data
        row, target = rows[[self.record]], targets[:, [self.record]]
        return float(self.regression.residuals(self.coefficients[None, None], row, target)[0, 0, 0])

    @cached_property
    def _hessian(self) -> Floats:
        """Hessian of the known records and the penalty, `(p, p)`."""
        rows = np.delete(self._data[0], self.record, axis=0)
        return self.regression.hessian(self.coefficients[None], rows)

    def error(self, noise_sd: float) -> float:
        """Return the root mean squared error of an attribute, to first order in the noise: about |H| noise_sd / |r|."""
        positive(noise_sd=noise_sd)
        numerators = self._numerators()
        return float(noise_sd * np.sqrt(np.mean(np.sum(numerators**2, axis=1))) / abs(self.residual))

    def success(self, noise_sd: float, *, tolerance: float) -> Floats:
        """Return the probability that each attribute is recovered to within `tolerance`, `(n_features,)`.

        Pr[|N| <= tolerance |D|], N given D being normal: one integral per attribute.
        """
        positive(noise_sd=noise_sd, tolerance=tolerance)
        numerators, denominator = noise_sd * self._numerators(), noise_sd * self._hessian[-1]
        sd_d = float(np.linalg.norm(denominator))
        d = self.residual - sd_d * _NORMAL_GRID  # D = r - e_b, e_b = sd_d * grid
        mean = numerators @ denominator / sd_d
        spread = np.sqrt(np.maximum(np.sum(numerators**2, axis=1) - mean**2, 0.0))
        limit = tolerance * np.abs(d)
        centre = mean[:, None] * _NORMAL_GRID
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = ndtr((limit - centre) / spread[:, None]) - ndtr((-limit - centre) / spread[:, None])
        inside = np.where(spread[:, None] > 0.0, inside, np.abs(centre) <= limit)
        weights = np.exp(-0.5 * _NORMAL_GRID**2)
        return np.asarray(np.clip(inside @ weights / weights.sum(), 0.0, 1.0))

    def _numerators(self) -> Floats:
        """Return rows a_j with N_j = a_j v: x_j (H v)_b - (H v)_j, `(n_features, p)`."""
        x = self._data[0][self.record, :-1]
        return np.asarray(x[:, None] * self._hessian[-1] - self._hessian[:-1])


def prior_success(values: Any, *, tolerance: float) -> float:
    """Return the largest share of values within `tolerance` of one guess: the success without any release.

    Args:
        values: values of an attribute of the known records, `(n,)`.
        tolerance: > 0.

    Raises:
        ParameterError: no values, or a tolerance out of range.

    Example:
        >>> prior_success([0.0, 0.1, 0.2, 1.0], tolerance=0.1)
        0.75
    """
    positive(tolerance=tolerance)
    ordered = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if not len(ordered):
        raise ParameterError("values must have at least one number, but are empty.", argument="values")
    last = np.searchsorted(ordered, ordered + 2.0 * tolerance * (1.0 + 1e-12), side="right")
    return float((last - np.arange(len(ordered))).max() / len(ordered))
