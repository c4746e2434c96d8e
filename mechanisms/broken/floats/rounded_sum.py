"""Intentionally broken addition: exact Laplace noise is added in floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP, PureDP
from ...core.arrays import Floats
from ...core.base import Dataset, Outputs
from ...core.constraints import Positive, one_of_names
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.base import AdditiveNoise
from ...noise.laplace import laplace_log_density
from ...noise.queries.base import AnyQuery
from ...noise.snapping import full_precision_uniform
from .ladder import LADDERS, FloatLadder
from .preimages import Indices, first_index
from .tables import curve_of_outputs

WIDE = 1 << 61
"""Number of floats on either side of a guess that are searched."""


@dataclass(frozen=True)
class RoundedSum(AdditiveNoise):
    """Broken: Laplace noise that is drawn exactly, correctly rounded to a float, and then added in floats.

    Bug: floats are denser near 0. The sum of an answer and a float has the spacing of the larger one, so that its last
    bits leak the magnitude of the answer: near 0, 0 + noise takes values that 1 + noise, a multiple of 2^-53, never
    takes. A better sampler of noise does not help; addition on a fixed grid does: `GridLaplace`. (Haney, Desfontaines,
    Hartman, Shrestha and Hay 2022.)

    Args:
        epsilon: the claim, > 0.
        sensitivity, n_queries, query, relation: as for `Laplace`.
        dtype: "float64", "float32" or "float16": format of answer, noise and sum.

    Guarantees:
        * The output law assumes that the noise takes each float with the probability of the real numbers that are
          rounded to it, and is -inf exactly where no float of noise gives the output. The noise is drawn from uniform
          numbers of full precision in 64 bits, and rounded.
        * `exact_guarantee` for float16, by listing all floats; for other formats the curve is unknown, except that
          epsilon is infinite.

    Example:
        >>> broken = RoundedSum(epsilon=1.0)
        >>> y = broken.release(0.0, 10_000, np.random.default_rng(0)).values
        >>> round(float(np.mean(y * 2.0**53 % 1.0 != 0.0)), 1)  # and 0 for 1.0 + noise
        0.3
    """

    epsilon: Positive
    _: KW_ONLY
    sensitivity: float = 1.0
    n_queries: int = 1
    dtype: Annotated[str, one_of_names(*LADDERS)] = "float64"
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    norm: ClassVar[float] = 1.0

    @property
    def scale(self) -> float:
        """Scale of the noise, in the units of the answers."""
        return self.sensitivity / self.epsilon

    @property
    def floats(self) -> FloatLadder:
        """Floats of `dtype`, in order."""
        return LADDERS[self.dtype]

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`."""
        return PureDP(self.epsilon, relation=self.relation)

    def exact_guarantee(self) -> ExactDP | None:
        """Return the exact curve of all outputs of the worst case in float16; None for other formats."""
        if self.dtype != "float16":
            return None
        top = self.floats.n_below_infinity
        noise = np.arange(-top + 1, top)
        masses = np.exp(self._log_mass(noise, noise + 1))
        outputs = [self._sum(noise, np.full(len(noise), answer)) for answer in (0.0, self.sensitivity)]
        return curve_of_outputs(*outputs, weights=masses / masses.sum(), relation=self.relation)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` noisy copies of the answers in `dtype`: shape `(size,)`, or `(size, n_queries)` for several."""
        answers = self.answers(dataset).astype(self.dtype)
        noise = self._draw((size, *answers.shape), rng).astype(self.dtype)
        return Outputs(noise + answers)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log probability of each output under `dataset`, `(size,)`; -inf where no noise gives it."""
        values = outputs.values.reshape(len(outputs), -1).astype(self.dtype)
        answers = np.broadcast_to(self.answers(dataset), values.shape).ravel()
        first, past = self._noise_of(values.ravel(), answers)
        return np.asarray(self._log_mass(first, past).reshape(values.shape).sum(axis=1))

    def _sum(self, noise: Indices, answers: Floats) -> NDArray[Any]:
        """Return the output for each float of noise, given by position."""
        return np.asarray(self.floats.at(noise) + answers.astype(self.dtype))

    def _noise_of(self, values: NDArray[Any], answers: Floats) -> tuple[Indices, Indices]:
        """Return the positions of the first float of noise that gives each value, and of the first that gives more."""
        with np.errstate(over="ignore"):
            half = 0.5 * np.spacing(np.abs(values)).astype(np.float64)
        exact = values.astype(np.float64) - answers.astype(self.dtype)
        first = self._first_of(lambda k: self._sum(k, answers) >= values, exact - half)
        return first, self._first_of(lambda k: self._sum(k, answers) > values, exact + half)

    def _first_of(self, reached: Callable[[Indices], NDArray[np.bool_]], near: Floats) -> Indices:
        """Return the position of the first float of noise at which `reached` holds, within 2^61 floats of `near`."""
        guess, top = self.floats.place(near.astype(self.dtype)), self.floats.n_below_infinity
        reach = min(WIDE, top)
        start = np.clip(guess - reach, -top, top - 2 * reach)
        return start + first_index(lambda k: reached(start + k), 2 * reach, guess - start)

    def _log_mass(self, first: Indices, past: Indices) -> Floats:
        """Return ln Pr[the noise is one of the floats from `first` to `past` - 1]; -inf where there is none.

        These floats are the rounded values of the real numbers from half a gap below the first to half a gap above the
        last. Distances are sums of gaps, which are exact, so that there is no cancellation.
        """
        low, high, under, over = (self.floats.at(k).astype(np.float64) for k in (first, past - 1, first - 1, past))
        start, stop = low - 0.5 * (low - under), high + 0.5 * (over - high)
        width = (high - low) + 0.5 * (low - under) + 0.5 * (over - high)
        astride = (start < 0.0) & (stop > 0.0)
        nearest = np.where(astride, 0.0, np.minimum(np.abs(start), np.abs(stop)))
        with np.errstate(divide="ignore", invalid="ignore"):
            one_side = np.log(-0.5 * np.expm1(-width / self.scale)) - nearest / self.scale
            left, right = np.minimum(start, 0.0) / self.scale, np.minimum(-stop, 0.0) / self.scale
            both = np.log(-0.5 * (np.expm1(left) + np.expm1(right)))
        return np.where(past <= first, -np.inf, np.where(astride, both, one_side))

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw noise from U of full precision near both 0 and 1: -ln(U) for U below 1/2, -ln(1 - U) above."""
        u = 0.5 * full_precision_uniform(shape, rng)
        size = np.where(rng.integers(0, 2, size=shape), -np.log(u), -np.log1p(-u))
        return size * np.where(rng.integers(0, 2, size=shape), self.scale, -self.scale)

    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return the log density of the intended real noise."""
        return laplace_log_density(noise, self.scale)
