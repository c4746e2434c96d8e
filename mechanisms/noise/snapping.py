"""Snapping: Laplace noise, rounded so coarsely that the low-order bits do not leak the data."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..accounting import ExactDP
from ..accounting.numerics.laplace import laplace_log_density, log_laplace_mass
from ..core import Floats, Guarantee, Neighbours, Outputs, ParameterError, Positive, Relation
from .base import PureNoise, sum_of_answers
from .queries.base import AnyQuery

ROUNDING_SHARE = 2.0**-49
"""Increase of the sensitivity of an answer by floating-point arithmetic, as a share of `bound` (Mironov 2012)."""
FRACTION_BITS = 52
"""Number of bits of the fraction of a float."""
MAX_CELLS = 10_000_000
"""Largest number of rounding cells between two answers for which the exact curve is computed."""


@dataclass(frozen=True)
class Snapping(PureNoise):
    """Snapping mechanism: clamp, add Laplace noise, round to a multiple of a power of two, and clamp again.

        release = clamp(round(clamp(answer) + scale * sign * ln(U))),     scale = (sensitivity + 2^-49 bound) / epsilon

    to [-bound, bound], with U uniform at full precision and rounding to multiples of `granularity`, the least power of
    two that is not below the scale. Naive Laplace noise in floats leaks the answer that it was added to, since only
    some floats can be reached from each answer; with snapping all answers reach the same outputs.

    Args:
        epsilon: the claim, > 0.
        sensitivity: largest L1 distance between the answers on neighbours, > 0.
        n_queries: number of answers, >= 1; each adds 2^-49 bound.
        bound: answers and outputs are clamped to [-bound, bound]; more than scale + sensitivity, below 2^46 scale.
        query: computes the answers from the dataset; None when the dataset is the vector of answers.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Guarantees:
        * epsilon-DP in floating-point arithmetic (Mironov 2012, theorem 1, there for sensitivity 1 and one answer),
          for a logarithm that is correctly rounded. The logarithm of numpy can be wrong in the last bit, which the
          rounding to `granularity` hides unless a sum falls within 2^-50 of the middle between two multiples.
        * `exact_guarantee` and the output law assume real arithmetic: they use the probabilities that Laplace noise
          gives to the rounding cells.

    References:
        Mironov (2012), "On significance of the least significant bits for differential privacy".

    Example:
        >>> mechanism = Snapping(epsilon=0.1)
        >>> mechanism.granularity, round(mechanism.scale, 9)
        (16.0, 10.0)
        >>> mechanism.release(3.0, 4, np.random.default_rng(1)).values.tolist()
        [0.0, 0.0, 16.0, 0.0]
    """

    epsilon: Positive
    _: KW_ONLY
    sensitivity: float = 1.0
    n_queries: int = 1
    bound: Positive = 100.0
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        low = self.sensitivity * (1.0 + 1.0 / self.epsilon)
        if not low * (1.0 + ROUNDING_SHARE * self.n_queries) < self.bound < 2.0**46 * self.sensitivity / self.epsilon:
            raise ParameterError(
                f"bound must lie above scale + sensitivity = {low:g} and below 2^46 scale, but is {self.bound:g}. "
                f"Set bound={10 * low:g}, or what the answers need if that is more.",
                argument="bound",
            )

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise, in the units of the answers."""
        return (self.sensitivity + self.n_queries * ROUNDING_SHARE * self.bound) / self.epsilon

    @property
    def granularity(self) -> float:
        """Smallest power of two that is not below the scale: outputs are multiples of it, or +-bound."""
        fraction, exponent = math.frexp(self.scale)
        return math.ldexp(1.0, exponent - (fraction == 0.5))

    @property
    def last_edge(self) -> float:
        """Edge of the last rounding cell: sums above it become `bound`."""
        return (math.ceil(self.bound / self.granularity) - 0.5) * self.granularity

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the worst case; None where it has more than ten million rounding cells.

        The law has the cells between the two answers, and one output for all cells on either side.
        """
        if self.sensitivity > MAX_CELLS * self.granularity:
            return None
        steps = np.arange(math.ceil(self.sensitivity / self.granularity) + 1)
        edges = np.multiply(self.granularity, steps, dtype=np.float64)
        edges = edges[edges <= self.last_edge - 0.5 * self.granularity]
        edges = np.pad(edges, 1, constant_values=(-np.inf, np.inf))
        ends = edges[:-1], edges[1:]
        log0, log1 = (log_laplace_mass(ends[0] - s, ends[1] - s, self.scale) for s in (0.0, self.sensitivity))
        return ExactDP.of_logs(log0, log1, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return answers of which the first moves by `sensitivity` from the edge of a rounding cell."""
        pair = super().worst_case()
        start = np.zeros(np.shape(pair.d0))
        start[(0,) * start.ndim] = 0.5 * self.granularity
        return Neighbours(np.add(pair.d0, start)[()], np.add(pair.d1, start)[()], pair.relation)

    def add_to(self, answers: Floats, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` snapped copies of `answers`, shape `(size, *answers.shape)`."""
        values = super().add_to(answers, size, rng).values
        values /= self.granularity
        np.rint(values, out=values)
        values *= self.granularity
        return Outputs(np.clip(values, -self.bound, self.bound, out=values))

    def _centre(self, answers: Floats) -> Floats:
        return np.clip(answers, -self.bound, self.bound)

    def log_density_around(self, answers: Floats, outputs: Outputs) -> Floats:
        """Return the log probability of each output, shape `(size,)`; -inf where impossible."""
        values, half = outputs.values, 0.5 * self.granularity
        centre = self._centre(answers)
        inside, ends = np.abs(values) < self.bound, np.abs(values) == self.bound
        low = np.where(ends, self.last_edge, np.abs(values) - half)
        high = np.where(ends, np.inf, np.abs(values) + half)
        shift = np.where(values < 0.0, -centre, centre)
        log_mass = log_laplace_mass(low - shift, high - shift, self.scale)
        log_mass[~(ends | (inside & (values % self.granularity == 0.0)))] = -np.inf
        return sum_of_answers(log_mass)

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        noise = np.log(full_precision_uniform(shape, rng))
        noise *= np.where(rng.integers(0, 2, size=shape), self.scale, -self.scale)
        return noise

    def _noise_log_density(self, noise: Floats) -> Floats:
        return laplace_log_density(noise, self.scale)


def full_precision_uniform(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw uniform floats in (0, 1), each with the probability of the gap above it (Mironov 2012).

    `Generator.random` gives only multiples of 2^-53: below 1/2 it leaves out most floats, and so does -ln(U). Here the
    exponent is the position of the first 1 among fair bits, and the fraction after it has all its 52 bits.
    """
    fraction = rng.integers(0, 1 << FRACTION_BITS, size=shape) * 2.0**-FRACTION_BITS
    uniforms: Floats = np.ldexp(1.0 + fraction, -rng.geometric(0.5, size=shape))
    return uniforms
