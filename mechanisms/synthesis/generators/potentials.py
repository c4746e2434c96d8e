"""Fitting a distribution to noisy marginals by its potentials: mirror descent, batched over runs.

    p(x) proportional to exp(sum over marginals m of potential_m(x_m)),       minimise  sum over m of loss_m(total mu_m)

where mu_m is the marginal of p. A step takes the gradient in mu_m off the potentials: entropic mirror descent, also
called multiplicative weights (Beck and Teboulle 2003), which needs no derivative of the marginals. The loss is convex
in p, so that the limit is a best p; it starts at the uniform distribution and never leaves the family above, so that
the limit is, among the best, the one of greatest entropy. (McKenna, Sheldon and Miklau 2019, section 4.)

How mu follows from the potentials is the business of a generator: from the whole domain, or by belief propagation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base import Floats, Measured

Parts: TypeAlias = list[Floats]
"""One array a measured marginal, shape `(size, n_cells)`."""
Oracle: TypeAlias = Callable[[Parts], Parts]
"""Potentials to marginals, which add up to 1 in each run."""

SMOOTHED = 0.02
"""The corner of |z| is rounded within this share of the scale of Laplace noise."""
_GROWTH = 1.3
_FEWER = 0.7
"""Runs that are done are left out once no more than this share is left."""


class Likelihood:
    """Minus the log likelihood of measured marginals, up to a constant, and its slope.

    (total mu - answer)^2 / (2 sd^2) a cell for Gaussian noise, |total mu - answer| / scale for Laplace noise, with its
    corner rounded.

    Args:
        measured: what all runs measured.
        total: number of records in each run, shape `(size,)`.
    """

    def __init__(self, measured: Sequence[Measured], total: Floats) -> None:
        self._answers = [one.answers for one in measured]
        self._gaussian = [one.noise == "gaussian" for one in measured]
        self._scales = [
            one.deviations[:, None] / (1.0 if one.noise == "gaussian" else math.sqrt(2.0)) for one in measured
        ]
        self._total = total[:, None]

    def of_runs(self, kept: NDArray[np.bool_]) -> Likelihood:
        """Of some of the runs."""
        found = Likelihood((), self._total[kept, 0])
        found._answers = [answers[kept] for answers in self._answers]
        found._scales = [scales[kept] for scales in self._scales]
        found._gaussian = self._gaussian
        return found

    def steepest(self) -> Floats:
        """Largest second derivative of a loss in a cell, times the number of marginals, shape `(size,)`."""
        bends = [
            self._total / scale**2 * self._total / (1.0 if gaussian else SMOOTHED)
            for scale, gaussian in zip(self._scales, self._gaussian, strict=True)
        ]
        return np.asarray(np.sum(bends, axis=0)[:, 0])

    def loss_and_slope(self, marginals: Parts) -> tuple[Floats, Parts]:
        """The loss, `(size,)`, and its derivative in each cell of each marginal."""
        loss, slopes = np.zeros(len(self._total)), []
        for mu, answers, scale, gaussian in zip(marginals, self._answers, self._scales, self._gaussian, strict=True):
            residual = (self._total * mu - answers) / scale
            if gaussian:
                loss += 0.5 * np.einsum("ij,ij->i", residual, residual)
            else:
                length = np.sqrt(residual * residual + SMOOTHED**2)
                loss += (length - SMOOTHED).sum(axis=1)
                residual /= length
            residual *= self._total / scale
            slopes.append(residual)
        return loss, slopes


def fit_potentials(oracle: Oracle, likelihood: Likelihood, start: Parts, *, n_steps: int, tolerance: float) -> Parts:
    """The potentials of the best distribution of each run.

    The step of a run is halved until its loss falls by half of what the slope promises, and grows after that.

    Args:
        oracle: potentials to marginals; it is given fewer runs once some are done.
        likelihood: what is minimised.
        start: potentials to start from.
        n_steps: at most so many.
        tolerance: a run is done once a step promises a smaller fall of the loss than this, ten times in a row.
    """
    final = [part.copy() for part in start]
    runs = np.arange(len(start[0]))
    here = final
    loss, slopes = likelihood.loss_and_slope(marginals := oracle(here))
    step = 1.0 / likelihood.steepest()
    small, going = np.zeros(len(runs), dtype=np.int64), np.ones(len(runs), dtype=np.bool_)
    for _ in range(n_steps):
        tried = [part - step[:, None] * slope for part, slope in zip(here, slopes, strict=True)]
        tried_marginals = oracle(tried)
        tried_loss, tried_slopes = likelihood.loss_and_slope(tried_marginals)
        promised = sum(
            np.einsum("ij,ij->i", slope, mu - new)
            for slope, mu, new in zip(slopes, marginals, tried_marginals, strict=True)
        )
        better = (loss - tried_loss >= 0.5 * promised) & going  # what is done stays, whoever else is not
        here = _chosen(better, tried, here)
        marginals = _chosen(better, tried_marginals, marginals)
        slopes = _chosen(better, tried_slopes, slopes)
        loss = np.where(better, tried_loss, loss)
        step = step * np.where(better, _GROWTH, 0.5)
        small = np.where(better & (promised > tolerance), 0, small + 1)
        going = small < 10
        if np.count_nonzero(going) <= _FEWER * len(going):
            for part, value in zip(final, here, strict=True):
                part[runs] = value
            if not going.any():
                return final
            here, marginals, slopes = ([part[going] for part in parts] for parts in (here, marginals, slopes))
            runs, loss, step, small, likelihood = (
                runs[going],
                loss[going],
                step[going],
                small[going],
                likelihood.of_runs(going),
            )
            going = np.ones(len(runs), dtype=np.bool_)
    for part, value in zip(final, here, strict=True):
        part[runs] = value
    return final


def _chosen(better: NDArray[np.bool_], tried: Parts, kept: Parts) -> Parts:
    """The tried rows where they are better."""
    return [np.where(better[:, None], new, old) for new, old in zip(tried, kept, strict=True)]
