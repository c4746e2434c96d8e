"""Intentionally broken Gaussian noise: computed in floats, two numbers at a time."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...accounting import GaussianDP
from ...core.arrays import Floats
from ...core.base import Dataset, Outputs
from ...core.constraints import Positive, at_least, check_fields, one_of_names
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.base import AdditiveNoise
from ...noise.queries.base import AnyQuery
from .pairs import SAMPLERS, PairSampler
from .tables import curve_of_outputs

ENUMERABLE = 8
"""Largest number of bits of each of the two uniform numbers for which all outputs are listed."""


@dataclass(frozen=True)
class FloatGaussian(AdditiveNoise):
    """Broken: Gaussian noise from pairs of uniform numbers that are multiples of 2^-bits, in 64-bit floats.

    Bug: as in `FloatLaplace`, the noise takes few values. Two uniform numbers yield two Gaussian ones, and both are
    released. From an output and hypothetical answers an observer computes the uniform numbers; where no nearby pair
    gives this output exactly, the hypothesis is refuted. (Jin, McMurtry, Rubinstein and Ohrimenko 2022.)

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
        if self.bits > ENUMERABLE:
            return None
        noise = self._pairs.every()
        return curve_of_outputs(
            _complex(noise), _complex(noise + np.array([self.sensitivity, 0.0])), relation=self.relation
        )

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf where no draw gives it."""
        values = outputs.values.reshape(-1, 2)
        answers = np.broadcast_to(self.answers(dataset).reshape(-1, 2), (len(outputs), self.n_queries // 2, 2))
        answers = answers.reshape(-1, 2)
        each = self._listed(values, answers) if self.bits <= ENUMERABLE else self._pairs.log_mass(values, answers)
        return np.asarray(each.reshape(len(outputs), -1).sum(axis=1))

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
