"""Potentials of a distribution fitted to noisy marginals: mirror descent, batched over runs.

    p(x) proportional to exp(sum over marginals m of potential_m(x_m)),       minimise  sum over m of loss_m(total mu_m)

where mu_m is the marginal of p. A step subtracts the gradient in mu_m from the potentials: entropic mirror descent,
also called multiplicative weights (Beck and Teboulle 2003), which needs no derivative of the marginals. The loss is
convex in p, so the limit is a best p; the descent starts at the uniform distribution and never leaves the family above,
so the limit is the best distribution with the largest entropy. (McKenna, Sheldon and Miklau 2019, section 4.)

Each generator computes mu from the potentials: from the whole domain, or by belief propagation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ....core import Bools, Floats, Ints, Positive, PositiveInt
from ..base import Generator, NoisyMarginal

Parts: TypeAlias = list[Floats]
"""One array per measured marginal, shape `(size, n_cells)`."""
Oracle: TypeAlias = Callable[[Parts, Ints], Parts]
"""Function from the potentials and numbers of some runs to their marginals, which sum to 1 in each run."""

CORNER_HALF_WIDTH = 0.02
"""Half-width, relative to the scale of Laplace noise, of the smoothed corner of |z|."""
_GROWTH_AT_FIRST, _GROWTH = 1.5, 1.03
"""Factors by which the step length grows: until the first rejected step, and after it."""
_SHORTER, _SHORTER_WITH_MOMENTUM = 0.5, 0.7
_STALL_STEPS = 25
_KEEP_SHARE = 0.7
"""Finished runs are dropped once the share of unfinished runs is at most this."""


@dataclass(frozen=True)
class MirrorDescentGenerator(Generator):
    """Base class of the generators that fit potentials by mirror descent.

    Args:
        n_steps: maximum number of steps, >= 1.
        tolerance: a run ends once 25 steps increase its log likelihood by less than this, > 0.
    """

    n_steps: PositiveInt = 1000
    tolerance: Positive = 1e-3

    def _potentials(self, oracle: Oracle, measured: Sequence[NoisyMarginal], total: Floats, start: Parts) -> Parts:
        """Return the potentials of the best distribution of each run, from the initial ones."""
        likelihood = Likelihood(measured, total)
        return _fit_potentials(oracle, likelihood, start, n_steps=self.n_steps, tolerance=self.tolerance)


class Likelihood:
    """Negative log likelihood of measured marginals, up to a constant, and its slope.

    (total mu - answer)^2 / (2 sd^2) per cell for Gaussian noise, |total mu - answer| / scale for Laplace noise, with a
    smoothed corner.

    Args:
        measured: measurements that all runs made.
        total: number of records in each run, shape `(size,)`.
    """

    def __init__(self, measured: Sequence[NoisyMarginal], total: Floats) -> None:
        self._answers = [measurement.answers for measurement in measured]
        self._gaussian = [measurement.noise == "gaussian" for measurement in measured]
        self._scales = [
            measurement.deviations[:, None] / (1.0 if measurement.noise == "gaussian" else math.sqrt(2.0))
            for measurement in measured
        ]
        self._total = total[:, None]

    def of_runs(self, selected: Bools) -> Likelihood:
        """Return the likelihood of some of the runs."""
        likelihood = Likelihood((), self._total[selected, 0])
        likelihood._answers = [answers[selected] for answers in self._answers]
        likelihood._scales = [scales[selected] for scales in self._scales]
        likelihood._gaussian = self._gaussian
        return likelihood

    def steepest(self) -> Floats:
        """Return the largest second derivative of a loss in a cell, times the number of marginals, `(size,)`."""
        curvatures = [
            self._total / scale**2 * self._total / (1.0 if gaussian else CORNER_HALF_WIDTH)
            for scale, gaussian in zip(self._scales, self._gaussian, strict=True)
        ]
        return np.asarray(np.sum(curvatures, axis=0)[:, 0])

    def loss_and_slope(self, marginals: Parts) -> tuple[Floats, Parts]:
        """Return the loss, `(size,)`, and its derivative in each cell of each marginal."""
        loss, slopes = np.zeros(len(self._total)), []
        for mu, answers, scale, gaussian in zip(marginals, self._answers, self._scales, self._gaussian, strict=True):
            residual = (self._total * mu - answers) / scale
            if gaussian:
                loss += 0.5 * np.einsum("ij,ij->i", residual, residual)
            else:
                length = np.sqrt(residual * residual + CORNER_HALF_WIDTH**2)
                loss += (length - CORNER_HALF_WIDTH).sum(axis=1)
                residual /= length
            residual *= self._total / scale
            slopes.append(residual)
        return loss, slopes


def _fit_potentials(oracle: Oracle, likelihood: Likelihood, start: Parts, *, n_steps: int, tolerance: float) -> Parts:
    """Return the potentials of the best distribution of each run.

    Steps use Nesterov's momentum (1983); a step that raises the loss of a run is rejected, and the run restarts without
    momentum (O'Donoghue and Candes 2015) and with shorter steps.

    Args:
        oracle: function from potentials to marginals; it receives only the unfinished runs and their numbers.
        likelihood: the loss that is minimised.
        start: initial potentials.
        n_steps: maximum number of steps.
        tolerance: a run is finished once its loss falls by less than this in 25 steps.
    """
    final = [part.copy() for part in start]
    runs = np.arange(len(start[0]))
    state = _Descending(likelihood, start, *likelihood.loss_and_slope(oracle(start, runs)))
    for step in range(1, n_steps + 1):
        state.step(oracle, runs)
        if step % _STALL_STEPS and step < n_steps:
            continue
        active = state.still_falling(tolerance)
        if step == n_steps or np.count_nonzero(active) <= _KEEP_SHARE * len(active):
            for part, value in zip(final, state.potentials, strict=True):
                part[runs] = value
            if not active.any():
                break
            state, runs = state.of_runs(active), runs[active]
    return final


class _Descending:
    """State of the descent of each run: potentials, momentum, their loss and slope, and the step length."""

    def __init__(self, likelihood: Likelihood, potentials: Parts, loss: Floats, slopes: Parts) -> None:
        self.likelihood, self.potentials, self.loss, self.slopes = likelihood, potentials, loss, slopes
        self._momentum = [np.zeros_like(part) for part in potentials]
        self._length = 1.0 / likelihood.steepest()
        self._since = np.zeros(len(loss))
        self._growth = np.full(len(loss), _GROWTH_AT_FIRST)
        self._going = np.ones(len(loss), dtype=np.bool_)
        self._mark = loss

    def step(self, oracle: Oracle, runs: Ints) -> None:
        """Take one step in all unfinished runs; `runs` are the numbers of the runs held by this state."""
        momentum_factor = (self._since / (self._since + 3.0))[:, None]
        length = self._length[:, None]
        moves = [
            momentum_factor * momentum - length * slope
            for momentum, slope in zip(self._momentum, self.slopes, strict=True)
        ]
        candidates = [part + move for part, move in zip(self.potentials, moves, strict=True)]
        loss, slopes = self.likelihood.loss_and_slope(oracle(candidates, runs))
        accepted = (loss <= self.loss) & self._going  # finished runs stay fixed
        shorter = np.where(self._since > 0, _SHORTER_WITH_MOMENTUM, _SHORTER)
        self._growth = np.where(accepted, self._growth, _GROWTH)
        self._length = self._length * np.where(accepted, self._growth, shorter)
        self._since = np.where(accepted, self._since + 1.0, 0.0)
        self.potentials, self.slopes = (
            _chosen(accepted, candidates, self.potentials),
            _chosen(accepted, slopes, self.slopes),
        )
        self._momentum = [accepted[:, None] * move for move in moves]
        self.loss = np.where(accepted, loss, self.loss)

    def still_falling(self, tolerance: float) -> Bools:
        """Return a mask of the runs whose loss fell by more than `tolerance` since the last call; others are done."""
        self._going &= self._mark - self.loss > tolerance
        self._mark = self.loss
        return self._going

    def of_runs(self, selected: Bools) -> _Descending:
        """Return the state of some of the runs."""
        state = _Descending(
            self.likelihood.of_runs(selected),
            [part[selected] for part in self.potentials],
            self.loss[selected],
            [part[selected] for part in self.slopes],
        )
        state._momentum = [part[selected] for part in self._momentum]
        state._length, state._since, state._growth = (
            self._length[selected],
            self._since[selected],
            self._growth[selected],
        )
        return state


def _chosen(accepted: Bools, candidates: Parts, current: Parts) -> Parts:
    """Return the candidate rows where they are accepted, and the current rows elsewhere."""
    if accepted.all():
        return candidates
    return [np.where(accepted[:, None], new, old) for new, old in zip(candidates, current, strict=True)]
