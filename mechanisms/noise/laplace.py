"""Laplace noise on a number or a vector of numbers."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np

from ..accounting import LaplaceDP, PureMechanism, self_composed
from ..accounting.numerics.laplace import laplace_log_density
from ..core import Floats, Guarantee, Outputs, Positive, Relation, positive, whole
from .base import NoisyQuery, PureNoise
from .queries.base import AnyQuery


@dataclass(frozen=True)
class Laplace(PureNoise):
    """Laplace mechanism: each answer plus independent Laplace noise of scale b = sensitivity / epsilon.

    Density of the noise: exp(-|z| / b) / (2 b), standard deviation sqrt(2) b.

    Args:
        epsilon: the claim, > 0.
        sensitivity: largest L1 distance between the answers on neighbours, > 0.
        n_queries: number of answers, >= 1.
        query: computes the answers from the dataset; None when the dataset is the vector of answers.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Guarantees:
        * epsilon-DP (Dwork, McSherry, Nissim and Smith 2006, proposition 1).
        * The whole curve of the claim is exact, for vectors too: it is the curve of a single answer that moves by
          `sensitivity`, and the worst case, in which only one answer moves, attains it. No other change of the answers
          is worse. Let F_t(a) be the largest true positive rate at false positive rate a between noise and noise
          shifted by t (in units of b). Two answers can be moved by s and by t one after the other, so that no test does
          better than F_t(F_s(a)). Threshold tests are optimal here, because the likelihood ratio is monotone, and for
          them F_t(F_s(a)) = F_{s+t}(a); by induction no vector with the same L1 length does better.

    Not protected against: attacks on floating-point numbers (Mironov 2012).

    Example:
        >>> mechanism = Laplace(epsilon=0.5, sensitivity=2.0)
        >>> mechanism.scale
        4.0
        >>> mechanism.release(10.0, 3, np.random.default_rng(0)).values.shape
        (3,)
        >>> round(mechanism.guarantee().epsilon(0.0), 12)
        0.5
    """

    epsilon: Positive
    _: KW_ONLY
    sensitivity: float = 1.0
    n_queries: int = 1
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    @property
    def scale(self) -> float:
        """Scale b of the noise, in the units of the answers."""
        return self.sensitivity / self.epsilon

    def guarantee(self) -> Guarantee:
        """Return `LaplaceDP(epsilon)`, exact."""
        return LaplaceDP(self.epsilon, relation=self.relation)

    def exact_curve(self, n_moved: int) -> Guarantee:
        """Return the curve of `n_moved` answers of epsilon / n_moved each; exact up to 1e-4 in epsilon an answer."""
        return self_composed(LaplaceDP(self.epsilon / n_moved, relation=self.relation), n_moved)

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        return draw_laplace(self.scale, shape, rng)

    def _noise_log_density(self, noise: Floats) -> Floats:
        return laplace_log_density(noise, self.scale)


@dataclass(frozen=True)
class PrefixSums(Laplace):
    """Laplace noise on each answer, then the running sums: noisy counts up to each position.

    The sums are computed from the noisy answers only, so that the guarantee of `Laplace` holds; the noisy answers are
    the differences of the sums, so that the exact curve of `Laplace` holds as well.

    Args:
        epsilon: the claim, > 0.
        sensitivity: largest L1 distance between the answers, before they are summed, on neighbours, > 0.

    Guarantees:
        * epsilon-DP and the exact curve of `Laplace`: post-processing, and back (Dwork and Roth 2014, proposition 2.1).

    Example:
        >>> mechanism = PrefixSums(epsilon=1.0, n_queries=3)
        >>> mechanism.release([300.0, 0.0, 600.0], 2, np.random.default_rng(0)).values.round(1)
        array([[300. , 300.3, 897.5],
               [293.9, 291.2, 892.8]])
    """

    def add_to(self, answers: Floats, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` vectors of running sums: shape `(size, n_queries)`, or `(size,)` for one query."""
        values = super().add_to(answers, size, rng).values
        return Outputs(values if values.ndim == 1 else np.cumsum(values, axis=1, out=values))

    def log_density_around(self, answers: Floats, outputs: Outputs) -> Floats:
        """Return the log density of the differences of each output, shape `(size,)`."""
        values = outputs.values
        noisy = values if values.ndim == 1 else np.diff(values, axis=1, prepend=0.0)
        return super().log_density_around(answers, Outputs(noisy))


class LaplaceQuery(PureMechanism, NoisyQuery):
    """Laplace noise of scale n_moved / epsilon on the answers of one query, each of which one record moves by 1."""

    epsilon: Positive

    @cached_property
    def noise(self) -> Laplace:
        """Laplace noise for L1 sensitivity `n_moved`."""
        return Laplace(self.epsilon, sensitivity=self.n_moved, relation=self.relation)

    @property
    def scale(self) -> float:
        """Scale of the noise, n_moved / epsilon."""
        return self.noise.scale


def draw_laplace(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw Laplace noise as the difference of two exponentials, which is faster than `Generator.laplace`."""
    noise = rng.standard_exponential(shape)
    noise -= rng.standard_exponential(shape)
    noise *= scale
    return noise


def orthant_probabilities(epsilon: float, n_queries: int) -> tuple[float, float]:
    """Return the probabilities, on side 0 and side 1, of the event that shows basic composition tight.

    Each of `n_queries` answers is 1 more on side 1, and has Laplace noise of scale n_queries / epsilon: epsilon /
    n_queries each, epsilon in total. Every point of the orthant in which all outputs reach the larger answers has a
    likelihood ratio of e^epsilon, so that no smaller epsilon holds. The event is rare, though: 2^-n_queries on side 1.
    Typical outputs have a far smaller likelihood ratio, which advanced composition exploits.

    Args:
        epsilon: epsilon of all queries together, > 0.
        n_queries: number of queries, >= 1.

    Example:
        >>> p0, p1 = orthant_probabilities(1.0, 5)
        >>> p1, round(math.log(p1 / p0), 12)
        (0.03125, 1.0)
    """
    positive(epsilon=epsilon)
    whole(1, n_queries=n_queries)
    return math.exp(-epsilon) * 0.5**n_queries, 0.5**n_queries
