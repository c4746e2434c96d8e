"""What a generator solves: of all distributions, which makes the noisy answers the most likely?

For Gaussian noise the log likelihood of a distribution P is, up to an additive constant, -sum ||f(P) - y||^2 / (2
sigma^2) over the measured marginals f with answers y (McKenna, Miklau and Sheldon 2021, equation 1): least squares over
the probability simplex. The generators differ in what they search instead of the simplex, and how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...queries.domain import Domain
from ..base import Floats, Measured, Synthesised


@dataclass(frozen=True, eq=False)
class Problem:
    """Measured marginals as shares of the records, each set of attributes once, in the domain's order.

    For generators that go by least squares. Laplace noise counts by its variance: its likelihood would ask for least
    absolute differences.

    Args:
        domain: of the records.
        total: number of records in each run, shape `(size,)`.
        regions: of each marginal, the positions of its attributes in the domain, ascending.
        shares: of each, answers / total, shape `(size, *shape of the marginal)`.
        precisions: of each, 1 / variance of an answer, shape `(size,)`, over their mean.
    """

    domain: Domain
    total: Floats
    regions: tuple[tuple[int, ...], ...]
    shares: tuple[Floats, ...]
    precisions: tuple[Floats, ...]

    @classmethod
    def of(cls, domain: Domain, measured: Sequence[Measured], total: Floats) -> Problem:
        """The problem that measurements pose; a marginal that was measured twice counts once, with the mean answers
        weighted by 1 / variance."""
        sums: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        for one in measured:
            region, answers = _in_order(domain, one)
            precision = one.deviations**-2.0
            weighted, precisions = sums.get(region, (0.0, 0.0))
            sums[region] = (weighted + answers * _beside(precision, answers), precisions + precision)
        shares = tuple(sum_ / _beside(precision * total, sum_) for sum_, precision in sums.values())
        precisions = np.stack([precision for _, precision in sums.values()])
        return cls(domain, total, tuple(sums), shares, tuple(precisions / precisions.mean(axis=0)))

    @property
    def attributes(self) -> list[int]:
        """Positions of the attributes that occur in any marginal, ascending."""
        return sorted(set().union(*self.regions))

    @property
    def size(self) -> int:
        return len(self.total)

    def of_runs(self, runs: slice) -> Problem:
        """The same for some of the runs."""
        shares, precisions = (tuple(array[runs] for array in arrays) for arrays in (self.shares, self.precisions))
        return Problem(self.domain, self.total[runs], self.regions, shares, precisions)

    def slopes(self, region: int, answers: Floats) -> Floats:
        """Half the gradient of the weighted squared error of one marginal by its answers.

        Args:
            region: its position.
            answers: shares, `(size, n_cells)`.
        """
        error = answers - self.shares[region].reshape(answers.shape)
        return np.asarray(_beside(self.precisions[region], error) * error)


def _beside(weights: Floats, array: Floats) -> Floats:
    """One weight a run, in a shape that multiplies an array whose axis 0 is the run."""
    return weights.reshape(-1, *[1] * (array.ndim - 1))


def _in_order(domain: Domain, one: Measured) -> tuple[tuple[int, ...], Floats]:
    """A measured marginal with its attributes in the order of the domain, one axis each."""
    places = [domain.index(name) for name in one.attributes]
    answers = one.answers.reshape(len(one), *domain.project(one.attributes).shape)
    order = np.argsort(places)
    return tuple(places[k] for k in order), answers.transpose(0, *(1 + order))


def misfit(fitted: Synthesised, measured: Sequence[Measured]) -> Floats:
    """How unlikely a fitted distribution makes the answers: -ln of their density, up to a constant; shape `(size,)`.

    The sum of (fitted - answer)^2 / (2 variance) over all measured cells where the noise is Gaussian, and of |fitted -
    answer| sqrt(2) / deviation where it is Laplace: what problem (1) of McKenna, Miklau and Sheldon (2021) asks to
    minimise. All runs must have measured all marginals.
    """
    total = np.zeros(len(measured[0]))
    for one in measured:
        errors = np.abs(fitted.marginal(one.attributes) - one.answers) / one.deviations[:, None]
        total += (math.sqrt(2.0) * errors if one.noise == "laplace" else 0.5 * errors**2).sum(axis=1)
    return total
