"""Intentionally broken report noisy max: it returns the largest noisy value, not its position."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...accounting import ExactDP, PureDP
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import Positive, PositiveInt
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from ...noise.laplace import laplace_log_cdf
from ...noise.queries.answers import check_pair, check_query, evaluate, refuse_worst_case
from ...noise.queries.base import AnyQuery
from ...selection.laws import TAIL
from ...selection.noisy_max import NOISES

_CELLS = 5_000


@dataclass(frozen=True)
class _MaxValue(Mechanism):
    """Base class: the largest of the utilities with noise of scale 2 sensitivity / epsilon."""

    epsilon: Positive
    n_candidates: PositiveInt
    _: KW_ONLY
    sensitivity: Positive = 1.0
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", Relation.of(self.relation))
        check_query(
            self.query,
            sensitivity=self.sensitivity,
            relation=self.relation,
            norm=math.inf,
            n_answers=self.n_candidates,
            n_name="n_candidates",
        )

    @abstractmethod
    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Draw noise of scale 1."""

    @abstractmethod
    def _log_cdf(self, z: Floats) -> Floats:
        """Return log P(noise <= z)."""

    @abstractmethod
    def _log_density(self, z: Floats) -> Floats:
        """Return the log density of the noise; any value where it is impossible."""

    @property
    def scale(self) -> float:
        """Scale of the noise; correct for the position of the maximum."""
        return 2.0 * self.sensitivity / self.epsilon

    def scores(self, dataset: Dataset) -> Floats:
        """Return utilities / scale, shape `(n_candidates,)`."""
        utilities = evaluate(self.query, dataset, n_answers=self.n_candidates, n_name="n_candidates")
        return np.atleast_1d(utilities) / self.scale

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the largest noisy utility of each run, shape `(size,)`."""
        noisy = self._draw(rng, (size, self.n_candidates))
        noisy += self.scores(dataset)
        return Outputs(self.scale * noisy.max(axis=1))

    def output_law(self) -> LogDensity:
        """Return self, whose `log_density` is exact."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log of the derivative of the product of the distribution functions, shape `(size,)`."""
        z = outputs.values[:, np.newaxis] / self.scale - self.scores(dataset)
        below = self._log_cdf(z)
        with np.errstate(invalid="ignore"):
            density = below.sum(axis=1) + logsumexp(self._log_density(z) - below, axis=1) - math.log(self.scale)
        return np.asarray(np.where(np.isneginf(below).any(axis=1), -np.inf, density))

    def guarantee(self) -> Guarantee:
        """Return the claim, `PureDP(epsilon)`, which is correct for the position of the maximum."""
        return PureDP(self.epsilon, relation=self.relation)

    def worst_case(self) -> Neighbours:
        """Return utilities that are all 0 on `d0` and `sensitivity` on `d1`."""
        refuse_worst_case(type(self).__name__, self.query)
        return Neighbours(np.zeros(self.n_candidates), np.full(self.n_candidates, self.sensitivity), self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the curve of `worst_case()` from the probabilities of 15,000 cells.

        The curve is exact at delta 0, which the first cell determines, and elsewhere too small by less than 1e-6 in
        delta.
        """
        shift = self.sensitivity / self.scale
        above = np.append(0.0, np.geomspace(1e-4, TAIL, 2 * _CELLS))
        ends = np.concatenate([np.linspace(0.0, shift, _CELLS)[:-1], shift + above])
        laws: list[Floats] = []
        for centre in (0.0, shift):
            log_below = self.n_candidates * self._log_cdf(ends - centre)
            below, beyond = np.exp(log_below), -np.expm1(log_below)
            inner = np.where(below[1:] < 0.5, np.diff(below), -np.diff(beyond))
            laws.append(np.concatenate([below[:1], inner, beyond[-1:]]))
        return ExactDP(laws[0], laws[1], relation=self.relation)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        check_pair(neighbours, self.query, self.scores, sensitivity=self.sensitivity / self.scale, norm=math.inf)
        return self


@dataclass(frozen=True)
class LaplaceMaxValue(_MaxValue):
    """Broken: report noisy max with Laplace noise that returns the largest noisy utility, not its position.

    Bug: the proof of report noisy max covers the position of the maximum only. The value is released without a
    comparison: below all utilities its density is a product of n_candidates factors, each of which changes by
    e^(epsilon/2). The claim is epsilon, but the release is (n_candidates epsilon / 2)-DP, if all utilities may change.
    (Ding, Wang, Wang, Zhang and Kifer 2018, algorithm 7.) The correct twin is `ReportNoisyMax`.

    Args:
        epsilon: the claim, > 0; false from 3 candidates on.
        n_candidates: number of candidates, >= 1.
        sensitivity, query, relation: as for `ReportNoisyMax`.

    Example:
        >>> broken = LaplaceMaxValue(epsilon=0.1, n_candidates=5)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.1, 0.25)
    """

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return NOISES["laplace"].draw(rng, shape)

    def _log_cdf(self, z: Floats) -> Floats:
        return laplace_log_cdf(z)

    def _log_density(self, z: Floats) -> Floats:
        return np.asarray(-np.abs(z) - math.log(2.0))


@dataclass(frozen=True)
class ExponentialMaxValue(_MaxValue):
    """Broken: report noisy max with one-sided exponential noise that returns the largest noisy utility.

    Bug: as in `LaplaceMaxValue`, but worse: no output lies below the largest utility, so that values between the
    largest utilities of the two sides are possible on one side only. Epsilon is infinite; where all utilities change
    that event has probability (1 - e^(-epsilon/2))^n_candidates. (Ding, Wang, Wang, Zhang and Kifer 2018, algorithm 8.)
    The correct twin is `ReportNoisyMax` with noise="exponential".

    Args:
        epsilon: the claim, > 0; false.
        n_candidates: number of candidates, >= 1; the fewer, the easier to detect.
        sensitivity, query, relation: as for `ReportNoisyMax`.

    Example:
        >>> broken = ExponentialMaxValue(epsilon=0.1, n_candidates=1)
        >>> exact = broken.exact_guarantee()
        >>> exact.epsilon(0.0), round(exact.delta(20.0), 6)
        (inf, 0.048771)
    """

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return NOISES["exponential"].draw(rng, shape)

    def _log_cdf(self, z: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(-np.maximum(z, 0.0))))

    def _log_density(self, z: Floats) -> Floats:
        return np.asarray(-np.maximum(z, 0.0))
