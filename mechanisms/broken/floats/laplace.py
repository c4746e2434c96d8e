"""Intentionally broken Laplace noise: the textbook formula, computed in floats."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...accounting import PureDP
from ...core.arrays import Floats
from ...core.base import Dataset, Outputs
from ...core.constraints import Positive, at_least, check_fields, one_of_names
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.base import AdditiveNoise
from ...noise.laplace import laplace_log_density
from ...noise.queries.base import AnyQuery
from .preimages import Indices, n_preimages
from .tables import ENUMERABLE, curve_of_outputs

SAMPLERS = ("sign", "inverse-cdf", "numpy")
LOG_OF_C = np.frompyfunc(math.log, 1, 1)
"""Logarithm of the C library, elementwise: that of numpy differs in the last bit for one number in 300."""


@dataclass(frozen=True)
class FloatLaplace(AdditiveNoise):
    """Broken: Laplace noise from uniform numbers that are multiples of 2^-bits, in 64-bit floats.

    Bug: the proof is about real numbers, the code uses floats. A uniform number takes 2^bits values, so that from an
    answer x only some of the floats can be reached, and the gaps between them depend on x. An output that only one of
    two neighbours can give distinguishes them with certainty: epsilon is infinite. (Mironov 2012.)

        sampler        release                                      U
        sign           x + scale * sign * ln(U)                     in (0, 1], and a fair sign
        inverse-cdf    x + scale * ln(2 U)          for U < 1/2     in (0, 1)
                       x - scale * ln(2 - U - U)    from 1/2 on
        numpy          x + rng.laplace(0, scale)                    as inverse-cdf with 53 bits

    Args:
        epsilon: the claim, > 0.
        sensitivity, n_queries, query, relation: as for `Laplace`.
        sampler: "sign", "inverse-cdf" or "numpy", which is `numpy.random.Generator.laplace`.
        bits: number of bits of the uniform numbers, 2 to 53; 53 is `Generator.random`, few bits a cheap generator.

    Guarantees:
        * The output law is the law of the floats: the number of uniform numbers that give an output, and -inf exactly
          where there is none. It uses the logarithm of this machine, `numpy.log` or for "numpy" that of C, which is
          monotone; another one may round the last bit differently.
        * `exact_guarantee` up to 16 bits, by listing all outputs; for more bits the curve is unknown, except that
          epsilon is infinite.

    Example:
        >>> broken = FloatLaplace(epsilon=0.1)
        >>> rng = np.random.default_rng(0)
        >>> outputs = broken.release(1.0, 1000, rng)
        >>> impossible = np.isneginf(broken.log_density(outputs, 0.0))
        >>> bool(np.isneginf(broken.log_density(outputs, 1.0)).any()), bool(impossible.mean() > 0.5)
        (False, True)
    """

    epsilon: Positive
    _: KW_ONLY
    sensitivity: float = 1.0
    n_queries: int = 1
    sampler: Annotated[str, one_of_names(*SAMPLERS)] = "sign"
    bits: Annotated[int, at_least(2)] = 53
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    norm: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.bits > 53:
            raise ParameterError(argument="bits", value=self.bits, allowed="be at most 53, those of Generator.random")
        if self.sampler == "numpy" and self.bits != 53:
            raise ParameterError(argument="bits", value=self.bits, allowed="be 53 for sampler='numpy'")
        super().__post_init__()

    @property
    def scale(self) -> float:
        """Scale of the noise, in the units of the answers."""
        return self.sensitivity / self.epsilon

    @property
    def n_draws(self) -> int:
        """Number of equally likely draws: of U and of the sign."""
        return 2 << self.bits if self.sampler == "sign" else (1 << self.bits) - 1

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of all outputs of the worst case, up to 16 bits; None with more."""
        if self.bits > ENUMERABLE:
            return None
        noise = self.noise(np.arange(self.n_draws))
        return curve_of_outputs(noise, noise + self.sensitivity, relation=self.relation)

    def noise(self, draws: Indices) -> Floats:
        """Return the noise of each draw, an index from 0 to `n_draws` - 1: it is non-decreasing in the index."""
        n = 1 << self.bits
        if self.sampler == "sign":
            below = draws < n
            u = np.where(below, draws + 1, 2 * n - draws) / n
        else:
            u = (draws + 1) / n
            below = u < 0.5
            u = np.where(below, u + u, 2.0 - u - u)
        log = np.asarray(LOG_OF_C(u), dtype=np.float64) if self.sampler == "numpy" else np.log(u)
        return np.asarray(log * np.where(below, self.scale, -self.scale))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf where no draw gives it."""
        values = outputs.values.reshape(len(outputs), -1)
        answers = np.broadcast_to(np.atleast_1d(self.answers(dataset)), values.shape).ravel()
        counts = self._n_draws_of(values.ravel(), answers).reshape(values.shape)
        with np.errstate(divide="ignore"):
            each = np.log(counts) - math.log(self.n_draws)
        return np.asarray(each.sum(axis=1))

    def _n_draws_of(self, values: Floats, answers: Floats) -> Indices:
        """Return the number of draws that turn each answer into the value at the same index."""
        half = 0.5 * np.spacing(np.abs(values))
        low, high = (self._draw_near(values - answers + step) for step in (-half, half))
        return n_preimages(lambda k: self.noise(k) + answers, self.n_draws, values, low, high)

    def _draw_near(self, noise: Floats) -> Indices:
        """Return the index of a draw with approximately this noise."""
        tail = np.exp(np.minimum(-np.abs(noise) / self.scale, 0.0))
        tail *= self.n_draws / 2.0
        return np.where(noise < 0.0, tail, self.n_draws - tail).astype(np.int64)

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        if self.sampler == "numpy":
            return rng.laplace(0.0, self.scale, size=shape)
        return self.noise(rng.integers(0, self.n_draws, size=shape))

    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return the log density of the intended real noise."""
        return laplace_log_density(noise, self.scale)
