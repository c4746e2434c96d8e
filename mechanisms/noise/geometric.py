"""Two-sided geometric noise on whole numbers, also called discrete Laplace: no floating-point attacks."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..accounting import ExactDP
from ..accounting.numerics.binomial import response_logs
from ..core.arrays import Floats
from ..core.base import Dataset, Neighbours, Outputs
from ..core.constraints import Positive, PositiveInt
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from ..core.validation import whole
from .base import MAX_EXACT_INTEGER, PureNoise, check_whole, sum_of_answers
from .queries.base import AnyQuery

MAX_SCALE = 2.0**30
"""Largest noise scale, sensitivity / epsilon: above it, rounded exponentials of 53 bits leave out integers."""
MAX_LISTED_SENSITIVITY = 1_000_000
"""Largest sensitivity for which the law between the two answers is listed."""


@dataclass(frozen=True)
class Geometric(PureNoise):
    """Geometric mechanism: each integer answer plus independent two-sided geometric noise, optionally clamped.

    The noise is also called discrete Laplace noise.

    Pr[Z = z] = (1 - a) / (1 + a) * a^|z| on the integers, with a = exp(-epsilon / sensitivity); variance
    2 a / (1 - a)^2. With bounds, noisy answers below `lower` become `lower`, above `upper` `upper` (the truncated
    geometric mechanism).

    Args:
        epsilon: the claim, > 0.
        sensitivity: largest L1 distance between the answers on neighbours, a whole number >= 1.
        n_queries: number of answers, >= 1.
        lower, upper: whole numbers to which every noisy answer is clamped, at least `sensitivity` apart; None for no
            bound.
        query: computes the answers from the dataset; None when the dataset is the vector of answers.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Guarantees:
        * epsilon-DP (Ghosh, Roughgarden and Sundararajan 2012, who also give the truncated form).
        * The whole curve of the claim is exact. The likelihood ratio of outputs around 0 and around `sensitivity` is
          constant below the one and above the other, so merging each tail into one output preserves the curve and the
          law is finite: for the same reason, clamping to bounds that contain both answers does not change the curve.
          Vectors: as for `Laplace`, by threshold tests with randomised ties. Above a sensitivity of a million the claim
          is `PureDP(epsilon)`, not the curve.

    Raises:
        ParameterError: also where sensitivity / epsilon is above 2^30: sampled from floats, such noise leaves out
            integers, and can exceed 64 bits.

    Example:
        >>> mechanism = Geometric(epsilon=1.0)
        >>> mechanism.release(5, 4, np.random.default_rng(0)).values.dtype.kind
        'i'
        >>> round(mechanism.guarantee().epsilon(0.0), 12)
        1.0
    """

    epsilon: Positive
    _: KW_ONLY
    sensitivity: PositiveInt = 1
    n_queries: int = 1
    lower: int | None = None
    upper: int | None = None
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        sensitivity: object = self.sensitivity
        if isinstance(sensitivity, float) and sensitivity.is_integer():
            object.__setattr__(self, "sensitivity", int(sensitivity))
        super().__post_init__()
        for name in ("lower", "upper"):
            if getattr(self, name) is not None:
                whole(-int(MAX_EXACT_INTEGER), **{name: getattr(self, name)})
        if self.lower is not None and self.upper is not None and self.upper - self.lower < self.sensitivity:
            raise ParameterError(
                f"upper - lower must be at least sensitivity = {self.sensitivity}, but lower is {self.lower} and upper "
                f"{self.upper}: no two neighbours would lie within the bounds.",
                argument="upper",
            )
        if self.rate < 1.0 / MAX_SCALE:
            raise ParameterError(
                f"sensitivity / epsilon, the scale of the noise, must be at most 2^30, but is "
                f"{self.sensitivity / self.epsilon:g} with epsilon {self.epsilon!r} and sensitivity "
                f"{self.sensitivity}. Choose epsilon >= {self.sensitivity / MAX_SCALE:.3g}, count in larger units, "
                "or use Laplace.",
                argument=("epsilon", "sensitivity"),
            )

    @property
    def rate(self) -> float:
        """Decrease of the log probability per unit of |z|: epsilon / sensitivity."""
        return self.epsilon / self.sensitivity

    @property
    def ratio(self) -> float:
        """Ratio a = exp(-epsilon / sensitivity) of the probabilities of |z| + 1 and |z|."""
        return math.exp(-self.rate)

    def guarantee(self) -> Guarantee:
        """Return the exact curve, or `PureDP(epsilon)` where the sensitivity is above a million.

        The curve is that of the law with merged tails: outputs <= 0, 1, ..., sensitivity - 1, >= sensitivity.
        """
        if self.sensitivity > MAX_LISTED_SENSITIVITY:
            return super().guarantee()
        powers = -self.rate * np.arange(self.sensitivity + 1) - math.log1p(self.ratio)
        law = powers + math.log(-math.expm1(-self.rate))
        law[[0, -1]] = powers[[0, -1]]
        return ExactDP.of_logs(law, law[::-1], relation=self.relation)

    def exact_curve(self, n_moved: int) -> Guarantee | None:
        """Return the curve of `n_moved` answers that share the sensitivity: one answer, or several that move by 1."""
        if n_moved == self.sensitivity:
            return self.unit_curve()
        return self.exact_guarantee() if n_moved == 1 else None

    def unit_curve(self) -> ExactDP:
        """Return the exact curve of `sensitivity` answers that move by 1 each.

        Each is a randomised response of epsilon / sensitivity: only two outcomes matter, at most the smaller answer or
        above it. The number of responses that point to side 1 is binomial.
        """
        law = response_logs(self.sensitivity, self.rate)
        return ExactDP.of_logs(law[::-1], law, relation=self.relation)

    def answers(self, dataset: Dataset) -> Floats:
        return check_whole(super().answers(dataset), instead="Laplace")

    def worst_case(self) -> Neighbours:
        """Return answers c and c + sensitivity in the first coordinate, within the bounds."""
        pair = super().worst_case()
        start = float(self._start())
        return Neighbours(np.add(pair.d0, start)[()], np.add(pair.d1, start)[()], pair.relation)

    def _start(self) -> int:
        """Return the smaller answer of the worst case."""
        if self.lower is not None:
            return self.lower
        return 0 if self.upper is None else min(0, self.upper - self.sensitivity)

    def add_to(self, answers: Floats, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy copies of `answers`, int64, shape `(size, *answers.shape)`."""
        values = super().add_to(answers, size, rng).values
        if self.lower is not None or self.upper is not None:
            np.clip(values, self.lower, self.upper, out=values)
        return Outputs(values.astype(np.int64))

    def log_density_around(self, answers: Floats, outputs: Outputs) -> Floats:
        """Return the log probability of each output, shape `(size,)`; -inf where impossible."""
        values = outputs.values
        noise = np.subtract(values, answers, dtype=np.float64)
        whole_numbers = values.dtype.kind in "iu" or noise == np.rint(noise)
        log_p = self._noise_log_density(noise)
        if self.lower is not None:
            log_p = np.where(values == self.lower, self._log_tail(answers - self.lower), log_p)
            log_p[values < self.lower] = -np.inf
        if self.upper is not None:
            log_p = np.where(values == self.upper, self._log_tail(self.upper - answers), log_p)
            log_p[values > self.upper] = -np.inf
        log_p = np.where(whole_numbers, log_p, -np.inf) if whole_numbers is not True else log_p
        return sum_of_answers(log_p)

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw differences of two geometric variables, each an exponential rounded down."""
        noise = self._one_sided(shape, rng)
        noise -= self._one_sided(shape, rng)
        return noise

    def _one_sided(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw geometric variables G = floor(E / rate): Pr[G >= m] = Pr[E >= m rate] = a^m."""
        draws = rng.standard_exponential(shape)
        draws /= self.rate
        return np.floor(draws, out=draws)

    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return -|z| rate + ln((1 - a) / (1 + a)); overwrites `noise`."""
        np.abs(noise, out=noise)
        noise *= -self.rate
        noise += math.log(-math.expm1(-self.rate)) - math.log1p(self.ratio)
        return noise

    def _log_tail(self, distance: Floats) -> Floats:
        """Return ln Pr[Z >= distance]: Pr = a^d / (1 + a) for d > 0, else 1 - a^(1 - d) / (1 + a)."""
        far = -np.abs(distance) * self.rate - math.log1p(self.ratio)
        near = np.log1p(-np.exp(np.minimum(far - self.rate, 0.0)))
        return np.where(distance > 0, far, near)
