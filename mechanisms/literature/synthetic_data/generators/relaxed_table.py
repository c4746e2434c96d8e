"""Relaxed tables: RAP (Aydore et al. 2021), and RAP with a softmax (Liu, Vietri and Wu 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from ....core import Flag, Floats, Positive, PositiveInt
from .objective import LeastSquaresProblem
from .product_mixtures import MixtureGenerator, adam, error_gradients, through_softmax


@dataclass(frozen=True)
class RelaxedTable(MixtureGenerator):
    """A table whose records are relaxed to real numbers, fitted by gradients.

    A record is a one-hot row for each attribute; relaxed, it is a row of weights, and an answer is the mean
    over rows of the product of a cell's weights. The squared error of the answers, each divided by the variance of its
    noise, is then a polynomial, which Adam minimises. With `softmax` the weights of an attribute in a row are the
    softmax of parameters: a distribution (Liu, Vietri and Wu 2021, "RAP^softmax"). Without, they are numbers in [0,
    1], clipped after each step (Aydore et al. 2021), and the answers need not be those of any distribution.

    Args:
        n_rows: rows of the relaxed table, r >= 1. If it is large enough, every distribution is a mixture of r products.
        softmax: True for rows that are distributions.
        steps: number of steps of Adam, >= 1.
        learning_rate: rate of the first step, > 0.

    Guarantees:
        * With `softmax` the fit is a distribution; it need not be the best one (the squared error is not convex in
          the parameters).
        * The result of a run depends only on its own answers and draws; all draws are made before the first step.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Domain
        >>> from dpassay.mechanisms.literature.synthetic_data import NoisyMarginal
        >>> domain = Domain({"sex": 2, "race": 2})
        >>> measured = [NoisyMarginal(("sex", "race"), np.array([[40.0, 10.0, 0.0, 50.0]]), 1.0)]
        >>> fitted = RelaxedTable(n_rows=20).fit(domain, measured, np.random.default_rng(0))
        >>> fitted.marginal(["sex", "race"]).round()
        array([[40., 10.,  0., 50.]])
    """

    n_rows: PositiveInt = 200
    softmax: Flag = True
    steps: PositiveInt = 1_000
    learning_rate: Positive = 0.3

    def _numbers_per_run(self, n_values: Sequence[int]) -> int:
        return self.n_rows * sum(n_values)

    def _rows(self, problem: LeastSquaresProblem, n_values: Sequence[int], rng: np.random.Generator) -> list[Floats]:
        shape = (problem.size, self.n_rows, sum(n_values))
        drawn = rng.normal(size=shape) if self.softmax else rng.random(shape)
        start = np.split(drawn, np.cumsum(n_values)[:-1], axis=2)
        if not self.softmax:
            start = [2.0 * weights / weights.shape[2] for weights in start]  # on average each row's weights sum to 1
        fitted_parameters = adam(
            start,
            lambda parameters: self._gradients(problem, parameters),
            steps=self.steps,
            rate=self.learning_rate,
            low=None if self.softmax else 0.0,
            high=None if self.softmax else 1.0,
        )
        return [softmax(logits, axis=2) for logits in fitted_parameters] if self.softmax else fitted_parameters

    def _gradients(self, problem: LeastSquaresProblem, parameters: Sequence[Floats]) -> list[Floats]:
        """Return half the gradient of the squared error by the parameters."""
        columns = [softmax(logits, axis=2) for logits in parameters] if self.softmax else list(parameters)
        gradients = error_gradients(problem, columns)
        if not self.softmax:
            return gradients
        return [through_softmax(*pair) for pair in zip(columns, gradients, strict=True)]
