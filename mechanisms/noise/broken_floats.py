"""Intentionally broken noise in floats: correct in real numbers, but the floats leak the answer.

`LoopCountReleased` leaks it through the running time of its sampler. The arithmetic of the output laws is in
`dpassay.mechanisms.noise.float_samplers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..accounting import ExactDP, GaussianDP
from ..accounting.broken import Broken, BrokenPureDP
from ..accounting.numerics.laplace import laplace_log_density
from ..core.arrays import Bools, Floats
from ..core.base import Dataset, Mechanism, Neighbours, Outputs, example
from ..core.constraints import Positive, at_least, check_fields, one_of_names
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from .base import AdditiveNoise
from .discrete_gaussian import DiscreteGaussian
from .float_samplers import (
    MAX_ENUMERATED_BITS,
    SAMPLER_LADDERS,
    SAMPLERS,
    FloatLadder,
    Indices,
    PairSampler,
    curve_of_outputs,
    first_index,
    n_preimages,
)
from .geometric import Geometric
from .grid import GridLaplace
from .queries.base import AnyQuery
from .snapping import Snapping, full_precision_uniform

LAPLACE_SAMPLERS = ("sign", "inverse-cdf", "numpy")
LOG_OF_C = np.frompyfunc(math.log, 1, 1)
"""Logarithm of the C library, elementwise: that of numpy differs in the last bit for one number in 300."""


@dataclass(frozen=True)
class FloatLaplace(BrokenPureDP, AdditiveNoise):
    """Broken: Laplace noise from uniform numbers that are multiples of 2^-bits, in 64-bit floats.

    A uniform number takes 2^bits values, so that from an answer x only some of the floats can be reached, and the
    gaps between them depend on x. An output that only one of two neighbours can give distinguishes them with
    certainty: epsilon is infinite.

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

    _example = example(bits=12)

    cause = "The proof is about real numbers, the code uses floats."
    source = "Mironov (2012)."
    correct_class = Snapping

    epsilon: Positive
    _: KW_ONLY
    sensitivity: float = 1.0
    n_queries: int = 1
    sampler: Annotated[str, one_of_names(*LAPLACE_SAMPLERS)] = "sign"
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

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of all outputs of the worst case, up to 16 bits; None with more."""
        if self.bits > MAX_ENUMERATED_BITS:
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

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf where no draw gives it."""
        values = outputs.values.reshape(len(outputs), -1)
        answers = np.broadcast_to(np.atleast_1d(self.answers(dataset)), values.shape).ravel()
        counts = self._n_draws_of(values.ravel(), answers).reshape(values.shape)
        with np.errstate(divide="ignore"):
            log_p = np.log(counts) - math.log(self.n_draws)
        return np.asarray(log_p.sum(axis=1))

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


MAX_ENUMERATED_PAIR_BITS = 8
"""Largest number of bits of each of the two uniform numbers for which all outputs are listed."""


@dataclass(frozen=True)
class FloatGaussian(Broken, AdditiveNoise):
    """Broken: Gaussian noise from pairs of uniform numbers that are multiples of 2^-bits, in 64-bit floats.

    Two uniform numbers yield two Gaussian ones, and both are released. From an output and hypothetical answers an
    observer computes the uniform numbers; where no nearby pair gives this output exactly, the hypothesis is
    refuted.

        sampler       noise / sigma                                        U, V
        box-muller    sqrt(-2 ln U) (cos 2 pi V, sin 2 pi V)               U in (0, 1], V in [0, 1)
        polar         (2 U - 1, 2 V - 1) sqrt(-2 ln(S) / S)                in [0, 1), drawn again unless 0 < S < 1 for
                                                                           S = (2 U - 1)^2 + (2 V - 1)^2

    Args:
        noise_multiplier: standard deviation / sensitivity, > 0.
        sensitivity, query, relation: as for `Gaussian`.
        n_queries: number of answers, even: each two share a pair of uniform numbers.
        sampler: "box-muller" or "polar" (the legacy `numpy.random.RandomState`).
        bits: number of bits of the uniform numbers, 4 to 53; 53 is `Generator.random`.

    Guarantees:
        * The output law is the law of the floats: the number of pairs that give an output, and -inf only where there
          is none. Where too many pairs are near to be counted, for answers far larger than the noise, it is the
          probability that Gaussian noise gives to the output, which is then possible.
        * `exact_guarantee` up to 8 bits, by listing all outputs; for more bits the curve is unknown, except that
          epsilon is infinite at every small delta.

    Example:
        >>> broken = FloatGaussian(noise_multiplier=2.0)
        >>> outputs = broken.release([1.0, 0.0], 200, np.random.default_rng(0))
        >>> impossible = np.isneginf(broken.log_density(outputs, [0.0, 0.0]))
        >>> bool(np.isneginf(broken.log_density(outputs, [1.0, 0.0])).any()), bool(impossible.mean() > 0.5)
        (False, True)
    """

    _example = example(bits=6)

    cause = "The noise takes few values, as in `FloatLaplace`."
    source = "Jin, McMurtry, Rubinstein and Ohrimenko (2022)."
    correct_class = DiscreteGaussian

    noise_multiplier: Positive
    _: KW_ONLY
    sensitivity: float = 1.0
    n_queries: int = 2
    sampler: Annotated[str, one_of_names(*SAMPLERS)] = "box-muller"
    bits: Annotated[int, at_least(4)] = 53
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    norm: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.bits > 53:
            raise ParameterError(argument="bits", value=self.bits, allowed="be at most 53, those of Generator.random")
        super().__post_init__()
        if self.n_queries % 2:
            raise ParameterError(argument="n_queries", value=self.n_queries, allowed="be even: noise is drawn in pairs")

    @property
    def standard_deviation(self) -> float:
        """Standard deviation sigma of the noise, in the units of the answers."""
        return self.noise_multiplier * self.sensitivity

    @cached_property
    def _pairs(self) -> PairSampler:
        return SAMPLERS[self.sampler](1 << self.bits, self.standard_deviation)

    def guarantee(self) -> Guarantee:
        """Return the claim, `GaussianDP(1 / noise_multiplier)`."""
        return GaussianDP(1.0 / self.noise_multiplier, relation=self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of all outputs of the worst case, up to 8 bits; None with more."""
        if self.bits > MAX_ENUMERATED_PAIR_BITS:
            return None
        noise = self._pairs.every()
        return curve_of_outputs(
            _complex(noise), _complex(noise + np.array([self.sensitivity, 0.0])), relation=self.relation
        )

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf where no draw gives it."""
        values = outputs.values.reshape(-1, 2)
        answers = np.broadcast_to(self.answers(dataset).reshape(-1, 2), (len(outputs), self.n_queries // 2, 2))
        answers = answers.reshape(-1, 2)
        log_p = (
            self._listed(values, answers)
            if self.bits <= MAX_ENUMERATED_PAIR_BITS
            else self._pairs.log_mass(values, answers)
        )
        return np.asarray(log_p.reshape(len(outputs), -1).sum(axis=1))

    def _listed(self, values: Floats, answers: Floats) -> Floats:
        """Return log probabilities from the list of all noise, for each pair of answers."""
        noise, log_mass = self._pairs.every(), np.empty(len(values))
        kinds, kind_of = np.unique(_complex(answers), return_inverse=True)
        for kind, answer in enumerate(kinds):
            rows = kind_of == kind
            outputs, counts = np.unique(_complex(noise + np.array([answer.real, answer.imag])), return_counts=True)
            observed = _complex(values[rows])
            index = np.minimum(np.searchsorted(outputs, observed), len(outputs) - 1)
            log_mass[rows] = np.where(outputs[index] == observed, np.log(counts[index] / len(noise)), -np.inf)
        return log_mass

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return self._pairs.draw(math.prod(shape) // 2, rng).reshape(shape)

    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return the log density of the intended real noise."""
        return np.asarray(-0.5 * (noise / self.standard_deviation) ** 2 - math.log(self.standard_deviation))


def _complex(pairs: Floats) -> NDArray[np.complex128]:
    """Return pairs of numbers as complex ones, which sort fast; -0.0 as 0.0."""
    return np.ascontiguousarray(pairs + 0.0).view(np.complex128)[:, 0]


SEARCHED_FLOATS = 1 << 61
"""Number of floats on either side of a guess that are searched."""


@dataclass(frozen=True)
class RoundedSum(BrokenPureDP, AdditiveNoise):
    """Broken: Laplace noise that is drawn exactly, correctly rounded to a float, and then added in floats.

    The sum of an answer and a float has the spacing of the larger one, so that its last bits leak the magnitude of
    the answer: near 0, 0 + noise takes values that 1 + noise, a multiple of 2^-53, never takes. A better sampler of
    noise does not help; addition on a fixed grid does: `GridLaplace`.

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

    _example = example(dtype="float16")

    cause = "Floats are denser near 0, and the sum of answer and noise is rounded to them."
    source = "Haney, Desfontaines, Hartman, Shrestha and Hay (2022)."
    correct_class = GridLaplace

    epsilon: Positive
    _: KW_ONLY
    sensitivity: float = 1.0
    n_queries: int = 1
    dtype: Annotated[str, one_of_names(*SAMPLER_LADDERS)] = "float64"
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
        return SAMPLER_LADDERS[self.dtype]

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

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
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

    def _first_of(self, reached: Callable[[Indices], Bools], near: Floats) -> Indices:
        """Return the position of the first float of noise at which `reached` holds, within 2^61 floats of `near`."""
        guess, top = self.floats.place(near.astype(self.dtype)), self.floats.n_below_infinity
        reach = min(SEARCHED_FLOATS, top)
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
        """Draw noise from U of full precision near both 0 and 1: -ln(U) for U below 1/2, -ln(1 - U) above.

        The logarithms have the precision of long doubles: in doubles, some libraries of C prefer certain last bits.
        """
        u = (0.5 * full_precision_uniform(shape, rng)).astype(np.longdouble)
        size = np.where(rng.integers(0, 2, size=shape), -np.log(u), -np.log1p(-u)).astype(np.float64)
        return size * np.where(rng.integers(0, 2, size=shape), self.scale, -self.scale)

    def _noise_log_density(self, noise: Floats) -> Floats:
        """Return the log density of the intended real noise."""
        return laplace_log_density(noise, self.scale)


@dataclass(frozen=True)
class LoopCountReleased(BrokenPureDP, Mechanism):
    """Broken: a noisy count, and the number of iterations of the sampling loop, which the running time reveals.

    Two-sided geometric noise, drawn as textbooks do: a sign, then a coin of heads probability a = exp(-epsilon) until
    the first tails, whose number of heads is |Z|; minus 0 is drawn again. Each toss is one iteration:

        iterations = |Z| + 1 + (rejected attempts),     each rejected with probability r = (1 - a) / 2

    The count is revealed up to the sign of Z: a count c and an output y need at least |y - c| + 1 iterations, so that a
    smaller number refutes c. A sampler with constant running time, such as `Geometric`, has no such side channel.

    Args:
        epsilon: the claim, > 0, which is correct for the noisy count without the running time.
        relation: the neighbouring relation.

    Guarantees:
        * The output law is exact; on neighbouring counts it has four classes of outputs, which give the exact curve.

    Example:
        >>> broken = LoopCountReleased(epsilon=0.1)
        >>> broken.exact_guarantee().epsilon([0.0, 0.4])
        array([inf, inf])
        >>> broken.release(5, 2, np.random.default_rng(0)).values.shape
        (2, 2)
    """

    cause = "The running time reveals the magnitude |Z| of the noise, and with the output the count."
    source = "Jin, McMurtry, Rubinstein and Ohrimenko (2022)."
    correct_class = Geometric

    epsilon: Positive
    _: KW_ONLY
    relation: Relation = Relation.ADD_REMOVE
    noise: Geometric = field(init=False, repr=False, compare=False)

    sensitivity: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "noise", Geometric(self.epsilon, relation=self.relation))

    @property
    def thrown_away(self) -> float:
        """Probability r that an attempt gives minus 0 and is rejected."""
        return -0.5 * math.expm1(-self.epsilon)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of counts c and c + 1.

        For one output |Z| differs by one between the sides, and the side whose |Z| is smaller needs one more rejected
        attempt: side 1 for outputs above c, side 0 for the others.
        """
        a, r = self.noise.ratio, self.thrown_away
        near, far = 1.0 / (1.0 + a), a / (1.0 + a)
        #               only side 1      both, above     both, below     only side 0
        p1 = np.array([near * (1.0 - r), near * r, far, 0.0])
        return ExactDP(p1[::-1], p1, relation=self.relation)

    def worst_case(self) -> Neighbours:
        return self.noise.worst_case()

    def bind(self, neighbours: Neighbours) -> Mechanism:
        self.noise.bind(neighbours)
        return self

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return noisy counts and numbers of iterations, int64, shape `(size, 2)`."""
        answer = self.noise.answers(dataset)
        noisy = self.noise.release(answer, size, rng).values
        n_rejected = rng.geometric(1.0 - self.thrown_away, size=size) - 1
        return Outputs(np.column_stack([noisy, np.abs(noisy - answer) + 1 + n_rejected]).astype(np.int64))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf for too few iterations."""
        noisy, iterations = outputs.values[:, 0], outputs.values[:, 1]
        n_rejected = iterations - 1 - np.abs(noisy - self.noise.answers(dataset))
        law = self.noise.log_density(Outputs(noisy), dataset) + math.log1p(-self.thrown_away)
        return np.where(n_rejected >= 0, law + n_rejected * math.log(self.thrown_away), -np.inf)
