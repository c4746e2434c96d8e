"""Interface of the noise of the training steps: read this first.

    StepNoise          noise on the sums of all steps: how it is drawn, its guarantee, its error on prefix sums
    IndependentNoise   fresh noise in each step
    CorrelatedNoise    base class of noise C^-1 Z for a lower triangular matrix C, the strategy

The parameters after t steps of gradient descent depend on the sum of the first t gradients. With independent noise the
error of these prefix sums grows as the root of t; noise that is correlated between steps partly cancels (Denisov et al.
2022; Kairouz et al. 2021). A new noise is a class with a `matrix`, and one line of the catalogue.

    our name            symbol in the papers
    strategy            C, or the encoder
    workload            A, here prefix sums: ones on and below the diagonal
    prefix_error        a norm of B = A C^-1, the decoder
    noise_multiplier    sigma / (clipping norm); the largest column of C has norm 1
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ....accounting.dp_sgd.correlated_noise import count_bands
from ....core import Floats, Guarantee, Options, Relation, named_in
from ..sampling.base import Sampling

ERRORS = ("rms", "max")
"""Errors of the prefix sums: the root of the mean variance, and of the largest variance."""


@named_in("dpassay.mechanisms.learning.dp_sgd.catalogue:noises")
class StepNoise(Options):
    """Noise on the sums of all steps; subclasses are frozen dataclasses whose fields are public constants.

    Attributes:
        independent: whether the noise of each step is independent of the other steps.
    """

    independent: ClassVar[bool] = False

    @abstractmethod
    def strategy(self, steps: int) -> Floats:
        """Return C, lower triangular with columns of norm at most 1, `(steps, steps)`: the noise is C^-1 Z."""

    @abstractmethod
    def correlate(self, steps: int) -> Callable[[NDArray[Any]], None]:
        """Return a function that is called once in each step and turns fresh standard noise into that of the step.

        It overwrites an array `(n_runs, n_parameters)`, of the same shape in every step.
        """

    def account(
        self,
        scheme: type[Sampling],
        noise_multiplier: float,
        *,
        steps: int,
        relation: Relation,
        accounting: str,
        **rates: float,
    ) -> Guarantee:
        """Return the guarantee of the noisy sums; the arguments are those of `Sampling.account`.

        It is that of a Gaussian mechanism with strategy C. With one band the noise is independent, and the accountant
        of the sampling scheme applies.

        Raises:
            AccountingError: a sampling or relation that no theorem covers.
        """
        strategy = None if self.independent else self.strategy(steps)
        if strategy is None or count_bands(strategy) == 1:
            return scheme.account(noise_multiplier, steps=steps, relation=relation, accounting=accounting, **rates)
        return scheme.account_correlated(strategy, noise_multiplier, relation=relation, **rates)

    def guarantee(self, sampling: Sampling, noise_multiplier: float, *, steps: int, relation: Relation) -> Guarantee:
        """Return the guarantee for an instance of a sampling scheme, by the first of its accountants."""
        return self.account(
            type(sampling),
            noise_multiplier,
            steps=steps,
            relation=relation,
            accounting=sampling.accountants_under(relation)[0],
            **sampling.own_rates(),
        )

    def prefix_error(self, steps: int, *, error: str = "rms") -> float:
        """Return the standard deviation of the noise on the sums of the first t steps, in units of noise_multiplier.

        Args:
            steps: >= 1.
            error: "rms" for the root of the mean variance over t = 1, ..., steps, "max" for the largest.
        """
        variances = (prefix_decoder(self.strategy(steps)) ** 2).sum(axis=1)
        return float(np.sqrt(variances.max() if error == "max" else variances.mean()))


def prefix_decoder(strategy: Floats) -> Floats:
    """Return B = A C^-1 for prefix sums A, `(steps, steps)`."""
    return np.asarray(np.cumsum(solve_triangular(strategy, np.eye(len(strategy)), lower=True), axis=0))


@dataclass(frozen=True)
class IndependentNoise(StepNoise):
    """Fresh Gaussian noise in each step, as in DP-SGD (Abadi et al. 2016).

    Example:
        >>> IndependentNoise().prefix_error(100, error="max")
        10.0
    """

    independent: ClassVar[bool] = True

    def strategy(self, steps: int) -> Floats:
        return np.eye(steps)

    def correlate(self, steps: int) -> Callable[[NDArray[Any]], None]:
        return _unchanged

    def guarantee(self, sampling: Sampling, noise_multiplier: float, *, steps: int, relation: Relation) -> Guarantee:
        return sampling.guarantee(noise_multiplier, steps=steps, relation=relation)


def _unchanged(noise: NDArray[Any]) -> None:
    """Leave fresh noise as it is."""


@dataclass(frozen=True)
class CorrelatedNoise(StepNoise):
    """Base class of noise C^-1 Z, the matrix mechanism on the gradients (Denisov et al. 2022).

    C is scaled so that its largest column has norm 1: a record that takes part in one step has mu = 1 /
    noise_multiplier, as with independent noise.
    """

    @abstractmethod
    def matrix(self, steps: int) -> Floats:
        """Return a multiple of C, lower triangular with a positive diagonal, `(steps, steps)`."""

    def strategy(self, steps: int) -> Floats:
        return _normalised(self, steps)

    def correlate(self, steps: int) -> Callable[[NDArray[Any]], None]:
        return ForwardSubstitution(self.strategy(steps))


@lru_cache(maxsize=32)
def _normalised(noise: CorrelatedNoise, steps: int) -> Floats:
    """Return the matrix of the noise divided by its largest column norm, read-only."""
    matrix = noise.matrix(steps)
    strategy: Floats = matrix / np.linalg.norm(matrix, axis=0).max()
    strategy.flags.writeable = False
    return strategy


class ForwardSubstitution:
    """Solution of C X = Z, one row for each call: x_t = (z_t - sum over s < t of C_ts x_s) / C_tt.

    It keeps as many earlier rows as C has bands below the diagonal.

    Args:
        strategy: C, lower triangular, `(steps, steps)`.
    """

    def __init__(self, strategy: Floats) -> None:
        self.strategy, self.kept = strategy, count_bands(strategy) - 1
        self.earlier: NDArray[Any] | None = None
        self.step = 0

    def __call__(self, noise: NDArray[Any]) -> None:
        row, step = self.strategy[self.step], self.step
        if self.kept:
            if self.earlier is None:
                self.earlier = np.zeros((self.kept, *noise.shape), dtype=noise.dtype)
            earlier = np.arange(max(0, step - self.kept), step)
            weights = np.zeros(self.kept, dtype=noise.dtype)
            weights[earlier % self.kept] = row[earlier]
            noise -= np.tensordot(weights, self.earlier, axes=1)
        noise /= noise.dtype.type(row[step])
        if self.earlier is not None:
            self.earlier[step % self.kept] = noise
        self.step += 1
