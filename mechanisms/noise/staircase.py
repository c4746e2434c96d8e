"""Staircase noise: the smallest expected noise that epsilon-DP allows."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ..accounting import ExactDP
from ..core import Floats, OpenUnit, ParameterError, Positive, Relation
from .base import PureNoise
from .queries.base import AnyQuery


@dataclass(frozen=True)
class Staircase(PureNoise):
    """Staircase mechanism: one answer plus noise whose density falls in steps, by e^epsilon every `sensitivity`.

        density(z) = a e^(-k epsilon)          for z in [k, k + gamma) sensitivities
                     a e^(-(k + 1) epsilon)    for z in [k + gamma, k + 1) sensitivities,     k = 0, 1, ...

    symmetric in z, with a = (1 - e^-epsilon) / (2 sensitivity (gamma + e^-epsilon (1 - gamma))). With gamma = 1 /
    (1 + e^(epsilon / 2)) no epsilon-DP noise has a smaller E|noise|, which is then sensitivity e^(epsilon / 2) /
    (e^epsilon - 1), against the sensitivity / epsilon of Laplace noise: far less for large epsilon.

    Args:
        epsilon: the claim, > 0.
        gamma: width of the upper step, in sensitivities, strictly between 0 and 1; None for the smallest E|noise|.
        sensitivity: largest distance between the answers on neighbours, > 0.
        query: computes the answer from the dataset; None when the dataset is the answer.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Guarantees:
        * epsilon-DP for one answer (Geng and Viswanath 2016). There is no `n_queries`: for any change of an
          answer, densities differ by e^epsilon at the edges of the steps, so that two answers that share the
          sensitivity would lose 2 epsilon.
        * `exact_guarantee` is the curve of answers a full `sensitivity` apart.

    References:
        Geng and Viswanath (2016), "The optimal noise-adding mechanism in differential privacy": density, algorithm 1,
        and the gamma of the smallest E|noise|.

    Example:
        >>> mechanism = Staircase(epsilon=3.0)
        >>> round(mechanism.step, 4), round(mechanism.expected_size, 4)  # Laplace noise: 0.3333
        (0.1824, 0.2348)
    """

    epsilon: Positive
    _: KW_ONLY
    gamma: OpenUnit | None = None
    sensitivity: float = 1.0
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE
    n_queries: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon > 700.0:
            raise ParameterError(argument="epsilon", value=self.epsilon, allowed="be at most 700")

    @property
    def step(self) -> float:
        """Width of the upper step, in sensitivities: gamma, or its default."""
        return 1.0 / (1.0 + math.exp(0.5 * self.epsilon)) if self.gamma is None else self.gamma

    @property
    def expected_size(self) -> float:
        """Expected absolute noise E|noise|, in the units of the answers, from the density."""
        b, gamma = math.exp(-self.epsilon), self.step
        within = 0.5 * (gamma**2 + b * (1.0 - gamma**2)) / (gamma + b * (1.0 - gamma))
        return self.sensitivity * (b / -math.expm1(-self.epsilon) + within)

    def exact_guarantee(self) -> ExactDP:
        """Return the exact curve of answers `sensitivity` apart.

        Between the answers, both densities are constant on at most three pieces; outside, they differ by e^epsilon.
        """
        narrow = self.step < 0.5
        end = self.step if narrow else 1.0 - self.step
        down = np.array([0.0, float(narrow), 1.0])  # steps down on the pieces, of which the outer two are `end` wide
        with np.errstate(divide="ignore"):
            inner = (
                self._log_top + np.log(self.sensitivity * np.array([end, 1.0 - 2.0 * end, end])) - self.epsilon * down
            )
        law = np.concatenate([[-math.log(2.0)], inner, [-math.log(2.0) - self.epsilon]])
        return ExactDP.of_logs(law, law[::-1], relation=self.relation)

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw a sign, the number of whole sensitivities, the step and the position on the step (algorithm 1)."""
        b, gamma = math.exp(-self.epsilon), self.step
        n_steps = np.floor(rng.standard_exponential(shape) / self.epsilon)
        on_step = rng.random(shape)
        upper = rng.random(shape) * (gamma + (1.0 - gamma) * b) < gamma
        noise = n_steps + np.where(upper, gamma * on_step, gamma + (1.0 - gamma) * on_step)
        return noise * np.where(rng.integers(0, 2, size=shape), self.sensitivity, -self.sensitivity)

    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return ln a - epsilon times the number of steps down."""
        size = np.abs(noise) / self.sensitivity
        turns = np.floor(size)
        down = turns + (size - turns >= self.step)
        return np.asarray(self._log_top - self.epsilon * down)

    @property
    def _log_top(self) -> float:
        """Log density ln a on the highest step."""
        level = self.step + math.exp(-self.epsilon) * (1.0 - self.step)
        return math.log(-math.expm1(-self.epsilon)) - math.log(2.0 * self.sensitivity * level)
