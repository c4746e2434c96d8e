"""Optimisation problem of a generator: the distribution that makes the noisy answers most likely.

For Gaussian noise the log likelihood of a distribution P is, up to an additive constant, -sum ||f(P) - y||^2 / (2
sigma^2) over the measured marginals f with answers y (McKenna, Miklau and Sheldon 2021, equation 1): least squares over
the probability simplex. Generators differ in the set that replaces the simplex, and in the algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core import Floats
from ....noise.queries.domain import Domain
from ..base import FittedDistribution, NoisyMarginal


@dataclass(frozen=True, eq=False)
class LeastSquaresProblem:
    """Measured marginals as shares of the records, each set of attributes once, in the domain's order.

    For generators based on least squares. Laplace noise is represented by its variance, although its likelihood would
    require least absolute deviations.

    Args:
        domain: domain of the records.
        total: number of records in each run, shape `(size,)`.
        regions: for each marginal, the positions of its attributes in the domain, ascending.
        shares: for each marginal, answers / total, shape `(size, *shape of the marginal)`.
        precisions: for each marginal, 1 / variance of an answer, shape `(size,)`, relative to the mean over marginals.
    """

    domain: Domain
    total: Floats
    regions: tuple[tuple[int, ...], ...]
    shares: tuple[Floats, ...]
    precisions: tuple[Floats, ...]

    @classmethod
    def of(cls, domain: Domain, measured: Sequence[NoisyMarginal], total: Floats) -> LeastSquaresProblem:
        """Return the problem for these measurements.

        A marginal that was measured twice counts once, with the mean answers weighted by 1 / variance.
        """
        sums: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        for measurement in measured:
            region, answers = _in_order(domain, measurement)
            precision = measurement.deviations**-2.0
            weighted, precisions = sums.get(region, (0.0, 0.0))
            sums[region] = (weighted + answers * _per_run(precision, answers), precisions + precision)
        shares = tuple(sum_ / _per_run(precision * total, sum_) for sum_, precision in sums.values())
        precisions = np.stack([precision for _, precision in sums.values()])
        return cls(domain, total, tuple(sums), shares, tuple(precisions / precisions.mean(axis=0)))

    @property
    def attributes(self) -> list[int]:
        """Positions of the attributes that occur in any marginal, ascending."""
        return sorted(set().union(*self.regions))

    @property
    def size(self) -> int:
        return len(self.total)

    def of_runs(self, runs: slice) -> LeastSquaresProblem:
        """Return the problem for some of the runs."""
        shares, precisions = (tuple(array[runs] for array in arrays) for arrays in (self.shares, self.precisions))
        return LeastSquaresProblem(self.domain, self.total[runs], self.regions, shares, precisions)

    def slopes(self, region: int, answers: Floats) -> Floats:
        """Return half the gradient of the weighted squared error of one marginal by its answers.

        Args:
            region: position of the marginal in `regions`.
            answers: shares, `(size, n_cells)`.
        """
        error = answers - self.shares[region].reshape(answers.shape)
        return np.asarray(_per_run(self.precisions[region], error) * error)


def _per_run(weights: Floats, array: Floats) -> Floats:
    """Return one weight per run, in a shape that multiplies an array whose axis 0 is the run."""
    return weights.reshape(-1, *[1] * (array.ndim - 1))


def _in_order(domain: Domain, measurement: NoisyMarginal) -> tuple[tuple[int, ...], Floats]:
    """Return a measured marginal with its attributes in the order of the domain, one axis each."""
    places = [domain.index(name) for name in measurement.attributes]
    answers = measurement.answers.reshape(len(measurement), *domain.project(measurement.attributes).shape)
    order = np.argsort(places)
    return tuple(places[k] for k in order), answers.transpose(0, *(1 + order))


def marginal_loss(fitted: FittedDistribution, measured: Sequence[NoisyMarginal]) -> Floats:
    """Return the negative log density of the answers under a fitted distribution, up to a constant, `(size,)`.

    The sum of (fitted - answer)^2 / (2 variance) over all measured cells with Gaussian noise, and of |fitted -
    answer| sqrt(2) / deviation with Laplace noise: the objective of problem (1) of McKenna, Miklau and Sheldon (2021).
    All runs must have measured all marginals.
    """
    total = np.zeros(len(measured[0]))
    for measurement in measured:
        errors = np.abs(fitted.marginal(measurement.attributes) - measurement.answers) / measurement.deviations[:, None]
        total += (math.sqrt(2.0) * errors if measurement.noise == "laplace" else 0.5 * errors**2).sum(axis=1)
    return total
