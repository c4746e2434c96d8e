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

from ..base import Floats, Ints, Measured

Parts: TypeAlias = list[Floats]
"""One array a measured marginal, shape `(size, n_cells)`."""
Oracle: TypeAlias = Callable[[Parts, Ints], Parts]
"""Potentials of some runs, and the numbers of these runs, to their marginals, which add up to 1 in each run."""

SMOOTHED = 0.02
"""The corner of |z| is rounded within this share of the scale of Laplace noise."""
_GROWTH_AT_FIRST, _GROWTH = 1.5, 1.03
"""Steps grow by so much each time, until the first that is not taken and after it."""
_SHORTER, _SHORTER_WITH_MOMENTUM = 0.5, 0.7
_WINDOW = 25
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

    Steps are taken with momentum, as Nesterov (1983) takes them; a step that raises the loss of a run is not taken, and
    the run starts anew without momentum (O'Donoghue and Candes 2015) and with shorter steps.

    Args:
        oracle: potentials to marginals; it is given fewer runs once some are done, and told which.
        likelihood: what is minimised.
        start: potentials to start from.
        n_steps: at most so many.
        tolerance: a run is done once its loss has fallen by less than this in 25 steps.
    """
    final = [part.copy() for part in start]
    runs = np.arange(len(start[0]))
    state = _Descending(likelihood, start, *likelihood.loss_and_slope(oracle(start, runs)))
    for step in range(1, n_steps + 1):
        state.step(oracle, runs)
        if step % _WINDOW and step < n_steps:
            continue
        going = state.still_falling(tolerance)
        if step == n_steps or np.count_nonzero(going) <= _FEWER * len(going):
            for part, value in zip(final, state.here, strict=True):
                part[runs] = value
            if not going.any():
                break
            state, runs = state.of_runs(going), runs[going]
    return final


class _Descending:
    """Where the descent of each run stands: potentials, momentum, loss and slope there, and the length of its steps."""

    def __init__(self, likelihood: Likelihood, here: Parts, loss: Floats, slopes: Parts) -> None:
        self.likelihood, self.here, self.loss, self.slopes = likelihood, here, loss, slopes
        self._momentum = [np.zeros_like(part) for part in here]
        self._length = 1.0 / likelihood.steepest()
        self._since = np.zeros(len(loss))
        self._growth = np.full(len(loss), _GROWTH_AT_FIRST)
        self._going = np.ones(len(loss), dtype=np.bool_)
        self._mark = loss

    def step(self, oracle: Oracle, runs: Ints) -> None:
        """One step of all runs that are not done; `runs` are the numbers of those that are held."""
        kept = (self._since / (self._since + 3.0))[:, None]
        length = self._length[:, None]
        moves = [kept * last - length * slope for last, slope in zip(self._momentum, self.slopes, strict=True)]
        tried = [part + move for part, move in zip(self.here, moves, strict=True)]
        loss, slopes = self.likelihood.loss_and_slope(oracle(tried, runs))
        taken = (loss <= self.loss) & self._going  # what is done stays as it is, whoever else is not
        shorter = np.where(self._since > 0, _SHORTER_WITH_MOMENTUM, _SHORTER)
        self._growth = np.where(taken, self._growth, _GROWTH)
        self._length = self._length * np.where(taken, self._growth, shorter)
        self._since = np.where(taken, self._since + 1.0, 0.0)
        self.here, self.slopes = _chosen(taken, tried, self.here), _chosen(taken, slopes, self.slopes)
        self._momentum = [taken[:, None] * move for move in moves]
        self.loss = np.where(taken, loss, self.loss)

    def still_falling(self, tolerance: float) -> NDArray[np.bool_]:
        """Runs whose loss has fallen by `tolerance` since this was asked last; the others are done."""
        self._going &= self._mark - self.loss > tolerance
        self._mark = self.loss
        return self._going

    def of_runs(self, kept: NDArray[np.bool_]) -> _Descending:
        """Of some of the runs."""
        found = _Descending(
            self.likelihood.of_runs(kept),
            [part[kept] for part in self.here],
            self.loss[kept],
            [part[kept] for part in self.slopes],
        )
        found._momentum = [part[kept] for part in self._momentum]
        found._length, found._since, found._growth = self._length[kept], self._since[kept], self._growth[kept]
        return found


def _chosen(taken: NDArray[np.bool_], tried: Parts, kept: Parts) -> Parts:
    """The tried rows where they are taken."""
    if taken.all():
        return tried
    return [np.where(taken[:, None], new, old) for new, old in zip(tried, kept, strict=True)]
