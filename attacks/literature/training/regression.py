"""Generalised linear models: the training objective, its gradient, and its exact minimiser.

    sum over i of loss(theta x_i, y_i) + (strength / 2) |w|^2,      x_i with a last 1 for the intercept

The derivative of each loss is a residual times the row, residual = mean(theta x) - y. This product is the part of one
record in the gradient, which an adversary who knows all other records can compute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy.special import expit, logsumexp, softmax

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import NonNegative, Options, at_least, one_of_names
from ....mechanisms.core.errors import AttackError, ParameterError, plural
from ....mechanisms.learning.base import TrainingData

GRADIENT_TOLERANCE = 1e-12
"""The gradient of a minimiser is at most this times the sum of the absolute values of its terms; Newton's method
continues from there until rounding stops it."""
_ITERATIONS, _HALVINGS = 100, 50


@dataclass(frozen=True)
class Link:
    """Loss of outputs `(..., K, n)`.

    Args:
        mean: outputs -> expected targets, of the same shape.
        potential: outputs -> loss + target * output, `(..., n)`.
        curvature: outputs -> second derivatives, `(K, K, n)`, for one model.
        labels: whether targets are whole numbers.
    """

    mean: Callable[[Floats], Floats]
    potential: Callable[[Floats], Floats]
    curvature: Callable[[Floats], Floats]
    labels: bool


def _multinomial(outputs: Floats) -> Floats:
    p = softmax(outputs, axis=0)
    return np.asarray(p[:, None] * (np.eye(len(p))[:, :, None] - p[None]))


def _bernoulli(outputs: Floats) -> Floats:
    return np.asarray(expit(outputs) * expit(-outputs))[None]


LINKS = {
    "squared": Link(lambda z: z, lambda z: 0.5 * z[..., 0, :] ** 2, lambda z: np.ones_like(z)[None], labels=False),
    "logistic": Link(expit, lambda z: np.logaddexp(0.0, z[..., 0, :]), _bernoulli, labels=True),
    "poisson": Link(np.exp, lambda z: np.exp(z[..., 0, :]), lambda z: np.exp(z)[None], labels=True),
    "softmax": Link(lambda z: softmax(z, axis=-2), lambda z: logsumexp(z, axis=-2), _multinomial, labels=True),
}
"""Name -> link: least squares, logistic, Poisson and multinomial logistic regression."""


@dataclass(frozen=True)
class Regression(Options):
    """A generalised linear model and its penalty.

    Parameters are flat: the weights, then the intercept; for a softmax model, class by class.

        scikit-learn                          here
        Ridge(alpha)                          Regression("squared", strength=alpha)
        LogisticRegression(C=C)               Regression("logistic", strength=1 / C)
        PoissonRegressor(alpha=alpha)         Regression("poisson", strength=n alpha)
        OutputPerturbation (of dpassay)       Regression("logistic", strength=n regularisation, intercept=False)

    Args:
        loss: "squared" (half the squared error), "logistic" (labels 0 and 1), "softmax" or "poisson".
        strength: strength of the penalty, relative to the **sum** of the losses, >= 0.
        intercept: whether there is one.
        penalise_intercept: whether the penalty includes it.
        n_classes: number of classes of a softmax model, >= 2.

    Raises:
        ParameterError: a value out of range.

    Example:
        >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
        >>> Regression().minimise(X, y).round(12)
        array([2., 1.])
    """

    loss: Annotated[str, one_of_names(*sorted(LINKS))] = "squared"
    _: KW_ONLY
    strength: NonNegative = 0.0
    intercept: bool = True
    penalise_intercept: bool = False
    n_classes: Annotated[int, at_least(2)] = 2

    @cached_property
    def link(self) -> Link:
        return LINKS[self.loss]

    @property
    def n_outputs(self) -> int:
        """Number of outputs K: one per class for a softmax, else one."""
        return self.n_classes if self.loss == "softmax" else 1

    # --- data and parameters as arrays --------------------------------------------------------------------------------

    def read(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        """Return rows with the 1 of the intercept, `(n, p)`, and targets, `(K, n)`.

        Raises:
            ParameterError: inconsistent shapes, values that are not finite, or invalid labels.
        """
        data = TrainingData(X, y)
        labels = np.asarray(data.y, dtype=np.float64)
        largest_label = {"logistic": 1, "softmax": self.n_classes - 1, "poisson": np.inf}.get(self.loss)
        if largest_label is not None:
            invalid = (labels < 0) | (labels > largest_label) | (labels != np.floor(labels))
            if invalid.any():
                allowed = "counts, whole numbers >= 0" if self.loss == "poisson" else f"labels 0 to {largest_label}"
                raise ParameterError(
                    f"y must be {allowed} for loss {self.loss!r}, but has {labels[invalid][0]:g}.", argument="y"
                )
        rows = np.asarray(data.X, dtype=np.float64)
        if self.intercept:
            rows = np.column_stack([rows, np.ones(len(rows))])
        if self.loss == "softmax":
            return rows, np.asarray(np.arange(self.n_classes)[:, None] == labels[None, :], dtype=np.float64)
        return rows, labels[None, :]

    def coefficients(self, parameters: Any, n_features: int) -> Floats:
        """Return parameters of one model or of many, `(size, K, p)`; raise `ParameterError` for a wrong length."""
        flat = np.atleast_2d(np.asarray(parameters, dtype=np.float64))
        p = n_features + self.intercept
        if flat.ndim != 2 or flat.shape[1] != self.n_outputs * p:
            classes = f"{plural(self.n_classes, 'class', 'classes')} of " if self.loss == "softmax" else ""
            raise ParameterError(
                f"parameters must have length {self.n_outputs * p}, for {classes}{plural(n_features, 'feature')}"
                f"{' and an intercept' if self.intercept else ''}, but have shape {np.shape(parameters)}. Give the "
                "weights and then the intercept of one model, or one flat row per model.",
                argument="parameters",
            )
        if not np.isfinite(flat).all():
            raise ParameterError("parameters must be finite numbers, but are not.", argument="parameters")
        return flat.reshape(len(flat), self.n_outputs, p)

    # --- the objective ------------------------------------------------------------------------------------------------

    def residuals(self, coefficients: Floats, rows: Floats, targets: Floats) -> Floats:
        """Return the residuals mean(theta x) - y, `(size, K, n)`."""
        return self.link.mean(coefficients @ rows.T) - targets

    def gradient(self, coefficients: Floats, rows: Floats, targets: Floats) -> Floats:
        """Return the gradient of the objective at coefficients `(size, K, p)`, of their shape."""
        gradient = self.residuals(coefficients, rows, targets) @ rows + self.penalties(rows.shape[1]) * coefficients
        return np.asarray(gradient)

    def hessian(self, coefficients: Floats, rows: Floats) -> Floats:
        """Return the second derivative at the coefficients `(K, p)` of one model, `(K p, K p)`."""
        k, p = coefficients.shape
        curvature = self.link.curvature(coefficients @ rows.T)
        hessian = np.einsum("abn,ni,nj->aibj", curvature, rows, rows, optimize=True).reshape(k * p, k * p)
        return np.asarray(hessian + np.diag(np.tile(self.penalties(p), k)))

    def penalties(self, p: int) -> Floats:
        """Return the strength of the penalty on each coefficient, `(p,)`."""
        strengths = np.full(p, float(self.strength))
        if self.intercept and not self.penalise_intercept:
            strengths[-1] = 0.0
        return strengths

    def minimise(self, X: Any, y: Any) -> Floats:
        """Return the exact minimiser, flat, by Newton's method until rounding stops it.

        Raises:
            ParameterError: data that the loss does not accept.
            AttackError: no minimiser is found, for example if the classes are separable and there is no penalty.
        """
        rows, targets = self.read(X, y)
        best = theta = np.zeros((self.n_outputs, rows.shape[1]))
        smallest, exact = np.inf, float(self.loss == "squared")  # others have no minimiser if all residuals vanish
        for _ in range(_ITERATIONS):
            gradient = self.gradient(theta[None], rows, targets)[0]
            scale = np.abs(self.residuals(theta[None], rows, targets)[0]) @ np.abs(rows)
            relative_gradient = float(np.abs(gradient).max() / max(scale.max() + exact, 1e-300))
            if smallest <= GRADIENT_TOLERANCE and relative_gradient >= 0.5 * smallest:
                return best.ravel()
            if relative_gradient < smallest:
                best, smallest = theta, relative_gradient
            step = np.linalg.lstsq(self.hessian(theta, rows), gradient.ravel(), rcond=None)[0].reshape(theta.shape)
            theta = self._descend(theta, step, float(np.vdot(gradient, step)), rows, targets)
        raise AttackError(
            f"Newton's method has not converged after {_ITERATIONS} steps: the {self.loss} objective may have no "
            f"minimiser on these data. Penalise it: strength is {self.strength:g}."
        )

    def _descend(self, theta: Floats, step: Floats, slope: float, rows: Floats, targets: Floats) -> Floats:
        """Return theta - step, or with a shorter step, that decreases the objective up to rounding."""
        start, share = self._value(theta, rows, targets), 1.0
        for _ in range(_HALVINGS):
            candidate = theta - share * step
            with np.errstate(over="ignore", invalid="ignore"):
                value = self._value(candidate, rows, targets)
            if value <= start - 1e-4 * share * slope + 1e-14 * abs(start):
                return np.asarray(candidate)
            share *= 0.5
        return theta

    def _value(self, theta: Floats, rows: Floats, targets: Floats) -> float:
        outputs = theta @ rows.T
        losses = self.link.potential(outputs) - np.sum(targets * outputs, axis=0)
        return float(losses.sum() + 0.5 * np.sum(self.penalties(rows.shape[1]) * theta**2))
