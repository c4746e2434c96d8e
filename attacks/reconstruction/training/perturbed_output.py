"""Success of the informed adversary on noisy coefficients, as curves, without running the attack.

Let v be the noise, H the second derivative of the objective of the known records and the penalty, and e = H v the
change of the gradient by the noise. Instead of r x, the adversary observes r x - e, so the error of attribute j is

    (x_j e_b - e_j) / (r - e_b),                      e_b the entry of the intercept

which is N / D for two normal numbers if v is normal. For least squares H is constant and this is exact; for other
losses e = H v up to terms of order |v|^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import ParameterError
from ....mechanisms.core.validation import positive
from .regression import Regression

_GRID = np.linspace(-9.0, 9.0, 1801)
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
        d = self.residual - sd_d * _GRID  # D = r - e_b, e_b = sd_d * grid
        mean = numerators @ denominator / sd_d
        spread = np.sqrt(np.maximum(np.sum(numerators**2, axis=1) - mean**2, 0.0))
        limit = tolerance * np.abs(d)
        centre = mean[:, None] * _GRID
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = ndtr((limit - centre) / spread[:, None]) - ndtr((-limit - centre) / spread[:, None])
        inside = np.where(spread[:, None] > 0.0, inside, np.abs(centre) <= limit)
        weights = np.exp(-0.5 * _GRID**2)
        return np.asarray(np.clip(inside @ weights / weights.sum(), 0.0, 1.0))

    def _numerators(self) -> Floats:
        """Return rows a_j with N_j = a_j v: x_j (H v)_b - (H v)_j, `(n_features, p)`."""
        x = self._data[0][self.record, :-1]
        return np.asarray(x[:, None] * self._hessian[-1] - self._hessian[:-1])


def blind_success(values: Any, *, tolerance: float) -> float:
    """Return the largest share of values within `tolerance` of one guess: the success without any release.

    Args:
        values: values of an attribute of the known records, `(n,)`.
        tolerance: > 0.

    Raises:
        ParameterError: no values, or a tolerance out of range.

    Example:
        >>> blind_success([0.0, 0.1, 0.2, 1.0], tolerance=0.1)
        0.75
    """
    positive(tolerance=tolerance)
    ordered = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if not len(ordered):
        raise ParameterError("values must have at least one number, but are empty.", argument="values")
    last = np.searchsorted(ordered, ordered + 2.0 * tolerance * (1.0 + 1e-12), side="right")
    return float((last - np.arange(len(ordered))).max() / len(ordered))
