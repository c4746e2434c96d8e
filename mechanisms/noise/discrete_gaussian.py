"""Discrete Gaussian noise on whole numbers: Gaussian noise without floating-point attacks."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..accounting import ConcentratedDP, ExactDP
from ..core import Dataset, Floats, Guarantee, Outputs, ParameterError, Positive, PositiveInt, Relation
from .base import AdditiveNoise, check_whole
from .queries.base import AnyQuery

MAX_SIGMA = 2.0**17
MAX_LISTED_SENSITIVITY = 10_000_000
"""Largest sensitivity for which all outputs of the law are listed."""
LISTED_DEVIATIONS = 12.0
"""Outputs are listed up to this many sigma from the answers; those beyond have a probability below 1e-31."""


@dataclass(frozen=True)
class DiscreteGaussian(AdditiveNoise):
    """Discrete Gaussian mechanism: each integer answer plus independent discrete Gaussian noise.

    Pr[Z = z] is proportional to exp(-z^2 / (2 sigma^2)) on the integers, sigma = noise multiplier * sensitivity. Its
    variance is at most sigma^2; for sigma >= 1 the relative difference is below 1e-6.

    Args:
        noise_multiplier: sigma / sensitivity, > 0; sigma itself is at most 2^17.
        sensitivity: largest L2 distance between the answers on neighbours, a whole number >= 1.
        n_queries: number of answers, >= 1.
        query: computes the answers from the dataset; None when the dataset is the vector of answers.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Guarantees:
        * One answer: the claim is the whole exact curve, computed from the law, up to 1e-31 in delta.
        * Several: sensitivity^2 / (2 sigma^2)-concentrated DP (Canonne, Kamath and Steinke 2020, theorem 14). The exact
          guarantee is the curve of the worst case, in which a single answer moves; at sensitivity 1 there is no other.
        * Outputs are whole numbers that every answer reaches. The noise is drawn by the rejection of the exact sampler,
          `exact_samplers.discrete_gaussian`, with floats as coins here: probabilities are accurate to about 1e-15.

    Example:
        >>> mechanism = DiscreteGaussian(noise_multiplier=2.0)
        >>> mechanism.release(5, 4, np.random.default_rng(0)).values.dtype.kind
        'i'
        >>> round(mechanism.guarantee().epsilon(1e-5), 4)
        2.0113
    """

    noise_multiplier: Positive
    _: KW_ONLY
    sensitivity: PositiveInt = 1
    n_queries: int = 1
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    norm: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        sensitivity: object = self.sensitivity
        if isinstance(sensitivity, float) and sensitivity.is_integer():
            object.__setattr__(self, "sensitivity", int(sensitivity))
        super().__post_init__()
        if self.sigma > MAX_SIGMA:
            raise ParameterError(
                f"noise_multiplier * sensitivity must be at most {MAX_SIGMA:g}, but is {self.sigma:g}. Count in "
                "larger units, or use Gaussian.",
                argument="noise_multiplier",
            )
        if self.sensitivity > MAX_LISTED_SENSITIVITY:
            raise ParameterError(
                f"sensitivity must be at most {MAX_LISTED_SENSITIVITY:,}, but is {self.sensitivity:,}: the exact curve "
                "lists all outputs between the two answers. Count in larger units, or use Gaussian.",
                argument="sensitivity",
            )

    @property
    def sigma(self) -> float:
        """Parameter of the noise, in the units of the answers."""
        return self.noise_multiplier * self.sensitivity

    def guarantee(self) -> Guarantee:
        """Return the exact curve for one answer, concentrated DP for several."""
        if self.n_queries == 1:
            return self.exact_guarantee()
        return ConcentratedDP(0.5 / self.noise_multiplier**2, relation=self.relation)

    def exact_guarantee(self) -> ExactDP:
        """Return the exact curve on the worst case; outputs beyond the listed ones count as revealing the side."""
        reach = math.ceil(LISTED_DEVIATIONS * self.sigma)
        law = self._noise_log_density(np.arange(-reach, self.sensitivity + reach + 1.0))
        beyond = -0.5 * (reach / self.sigma) ** 2
        log0, log1 = np.append(law, [beyond, -np.inf]), np.append(law[::-1], [-np.inf, beyond])
        return ExactDP.of_logs(log0, log1, relation=self.relation)

    def answers(self, dataset: Dataset) -> Floats:
        return check_whole(super().answers(dataset), instead="Gaussian")

    def add_to(self, answers: Floats, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy copies of `answers`, int64, shape `(size, *answers.shape)`."""
        return Outputs(super().add_to(answers, size, rng).values.astype(np.int64))

    def log_density_around(self, answers: Floats, outputs: Outputs) -> Floats:
        """Return the log probability of each output, shape `(size,)`; -inf if it is not an integer."""
        log_probability = super().log_density_around(answers, outputs)
        if outputs.values.dtype.kind in "iu":
            return log_probability
        fractional = (outputs.values != np.rint(outputs.values)).reshape(len(log_probability), -1).any(axis=1)
        return np.where(fractional, -np.inf, log_probability)

    @cached_property
    def _log_total(self) -> float:
        """Logarithm of sum_z exp(-z^2 / (2 sigma^2)): for sigma >= 4, of sigma sqrt(2 pi), up to a relative e^-300."""
        if self.sigma >= 4.0:
            return math.log(self.sigma) + 0.5 * math.log(2.0 * math.pi)
        z = np.arange(-200.0, 201.0)
        return math.log(float(np.exp(-0.5 * (z / self.sigma) ** 2).sum()))

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw discrete Laplace noise, accepted with the probability of Canonne, Kamath and Steinke, algorithm 3."""
        noise = np.empty(math.prod(shape))
        pending = np.arange(len(noise))
        while len(pending):
            candidates = self._candidates(len(pending), rng)
            distance = np.abs(candidates) - self.sigma**2 * self._rate
            accepted = rng.standard_exponential(len(candidates)) >= 0.5 * (distance / self.sigma) ** 2
            noise[pending[accepted]] = candidates[accepted]
            pending = pending[~accepted]
        return noise.reshape(shape)

    @property
    def _rate(self) -> float:
        """Rate of the discrete Laplace noise from which candidates are drawn: 1 / (floor(sigma) + 1)."""
        return 1.0 / (math.floor(self.sigma) + 1)

    def _candidates(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw `n` differences of two geometric variables, each an exponential rounded down."""
        draws = np.floor(rng.standard_exponential((2, n)) / self._rate)
        return np.asarray(draws[0] - draws[1])

    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return -z^2 / (2 sigma^2) - ln sum exp(...); overwrites `noise`."""
        noise *= noise
        noise *= -0.5 / self.sigma**2
        noise -= self._log_total
        return noise
