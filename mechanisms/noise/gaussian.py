"""Gaussian noise on a number or a vector of numbers."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from ..accounting import GaussianDP
from ..core import Delta, Floats, Guarantee, ParameterError, Positive, Relation, example, one_of_names
from .base import AdditiveNoise
from .calibration import CALIBRATIONS, noise_multiplier
from .queries.base import AnyQuery


@dataclass(frozen=True)
class Gaussian(AdditiveNoise):
    """Gaussian mechanism: each answer plus independent N(0, sigma^2), sigma = noise multiplier * sensitivity.

    The noise is given either by a target (epsilon, delta) and a calibration, or by its multiplier.

    Args:
        epsilon: target epsilon, > 0.
        delta: target delta, strictly between 0 and 1: Gaussian noise is not private at delta 0.
        noise_multiplier: standard deviation / sensitivity, > 0; instead of epsilon and delta.
        calibration: "analytic" (the smallest sufficient noise), "classic", "classic-log-1" or "classic-log-2"; see
            `dpassay.mechanisms.noise.calibration`.
        sensitivity: largest L2 distance between the answers on neighbours, > 0.
        n_queries: number of answers, >= 1.
        query: computes the answers from the dataset; None when the dataset is the vector of answers.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Raises:
        ParameterError: also for a classic calibration whose noise is not (epsilon, delta)-DP.

    Guarantees:
        * mu-Gaussian DP with mu = sensitivity / sigma, exactly (Dong, Roth and Su 2022): the claim is the
          whole exact curve, not the (epsilon, delta) that the noise was calibrated to, which a classic calibration
          does not reach.
        * Exact for vectors too: the noise is invariant under rotation, so only the L2 distance matters.

    Example:
        >>> mechanism = Gaussian(epsilon=1.0, delta=1e-5)
        >>> round(mechanism.standard_deviation, 4)
        3.7306
        >>> round(Gaussian(epsilon=1.0, delta=1e-5, calibration="classic").guarantee().epsilon(1e-5), 4)
        0.751
    """

    _example = example(noise_multiplier=2.0)

    epsilon: Positive | None = None
    delta: Delta | None = None
    _: KW_ONLY
    noise_multiplier: Positive | None = None
    calibration: Annotated[str, one_of_names(*CALIBRATIONS)] = "analytic"
    sensitivity: float = 1.0
    n_queries: int = 1
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    norm: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise_multiplier is not None:
            if self.epsilon is not None or self.delta is not None:
                raise ParameterError("give either noise_multiplier, or epsilon and delta, but not both.")
        elif self.epsilon is None or self.delta is None:
            raise ParameterError("give epsilon and delta, such as epsilon=1.0, delta=1e-5, or noise_multiplier.")
        elif self.delta == 0.0:
            raise ParameterError(
                "delta is 0, but Gaussian noise is private at no epsilon with delta 0. Try delta=1e-5.",
                argument="delta",
            )
        _ = self.standard_deviation

    @cached_property
    def standard_deviation(self) -> float:
        """Standard deviation sigma of the noise, in the units of the answers."""
        multiplier = self.noise_multiplier
        if multiplier is None:
            assert self.epsilon is not None
            assert self.delta is not None
            multiplier = noise_multiplier(self.epsilon, self.delta, self.calibration)
        return multiplier * self.sensitivity

    @property
    def mu(self) -> float:
        """Parameter of Gaussian DP: sensitivity / standard deviation."""
        return self.sensitivity / self.standard_deviation

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP(mu)`, exact; quoted at the delta of the calibration, if there was one."""
        return GaussianDP(self.mu, relation=self.relation).calibrated_at(self.delta)

    def exact_curve(self, n_moved: int) -> Guarantee:
        """Return the claim: only the L2 distance matters, and not how many answers share it."""
        return self.guarantee()

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal(shape)
        noise *= self.standard_deviation
        return noise

    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return -z^2 / (2 sigma^2) - ln(sigma sqrt(2 pi)); overwrites `noise`."""
        noise *= noise
        noise *= -0.5 / self.standard_deviation**2
        noise -= math.log(self.standard_deviation) + 0.5 * math.log(2.0 * math.pi)
        return noise
