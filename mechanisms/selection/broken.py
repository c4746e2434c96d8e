"""Intentionally broken selection: noisy maxima, the exponential mechanism, hyper-parameter tuning."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from ..accounting import ExactDP
from ..accounting.broken import BrokenPureDP
from ..accounting.numerics.laplace import laplace_log_cdf, log_laplace
from ..core.arrays import Floats
from ..core.base import Dataset, Mechanism, Neighbours, Outputs
from ..core.constraints import Positive, PositiveInt, at_least
from ..core.errors import ParameterError
from ..core.guarantee import Guarantee
from ..core.relation import Relation
from ..noise.queries.answers import check_distance, check_pair, check_query, evaluate, refuse_worst_case
from ..noise.queries.base import AnyQuery
from .exponential import Exponential
from .laws import TAIL_SCALES
from .noisy_max import NOISES, ReportNoisyMax

_N_CELLS = 5_000


@dataclass(frozen=True)
class _MaxValue(BrokenPureDP, Mechanism):
    """Base class: the largest of the utilities with noise of scale 2 sensitivity / epsilon.

    The claim is correct for the position of the maximum.
    """

    epsilon: Positive
    n_candidates: PositiveInt
    _: KW_ONLY
    sensitivity: Positive = 1.0
    query: AnyQuery | None = None
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_query(self, norm=math.inf, n_name="n_candidates")

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

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log of the derivative of the product of the distribution functions, shape `(size,)`."""
        z = outputs.values[:, np.newaxis] / self.scale - self.scores(dataset)
        below = self._log_cdf(z)
        with np.errstate(invalid="ignore"):
            density = below.sum(axis=1) + logsumexp(self._log_density(z) - below, axis=1) - math.log(self.scale)
        return np.asarray(np.where(np.isneginf(below).any(axis=1), -np.inf, density))

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
        above = np.append(0.0, np.geomspace(1e-4, TAIL_SCALES, 2 * _N_CELLS))
        ends = np.concatenate([np.linspace(0.0, shift, _N_CELLS)[:-1], shift + above])
        laws: list[Floats] = []
        for centre in (0.0, shift):
            log_below = self.n_candidates * self._log_cdf(ends - centre)
            below, beyond = np.exp(log_below), -np.expm1(log_below)
            inner = np.where(below[1:] < 0.5, np.diff(below), -np.diff(beyond))
            laws.append(np.concatenate([below[:1], inner, beyond[-1:]]))
        return ExactDP(laws[0], laws[1], relation=self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        check_pair(neighbours, self.query, self.scores, sensitivity=self.sensitivity / self.scale, norm=math.inf)


@dataclass(frozen=True)
class LaplaceMaxValue(_MaxValue):
    """Broken: report noisy max with Laplace noise that returns the largest noisy utility, not its position.

    The value is released without a comparison: below all utilities its density is a product of n_candidates
    factors, each of which changes by e^(epsilon/2). The claim is epsilon, but the release is
    (n_candidates epsilon / 2)-DP, if all utilities may change.

    Args:
        epsilon: the claim, > 0; false from 3 candidates on.
        n_candidates: number of candidates, >= 1.
        sensitivity, query, relation: as for `ReportNoisyMax`.

    Example:
        >>> broken = LaplaceMaxValue(epsilon=0.1, n_candidates=5)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 9)
        (0.1, 0.25)
    """

    cause = "The proof of report noisy max covers the position of the maximum only."
    source = "Ding, Wang, Wang, Zhang and Kifer (2018), algorithm 7."
    correct_class = ReportNoisyMax

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return NOISES["laplace"].draw(rng, shape)

    def _log_cdf(self, z: Floats) -> Floats:
        return laplace_log_cdf(z)

    def _log_density(self, z: Floats) -> Floats:
        return log_laplace(z)


@dataclass(frozen=True)
class ExponentialMaxValue(_MaxValue):
    """Broken: report noisy max with one-sided exponential noise that returns the largest noisy utility.

    Values between the largest utilities of the two sides are possible on one side only, so that epsilon is infinite.
    Where all utilities change that event has probability (1 - e^(-epsilon/2))^n_candidates.

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

    cause = "No output lies below the largest utility, which the proof for the position does not cover."
    source = "Ding, Wang, Wang, Zhang and Kifer (2018), algorithm 8."
    correct_class = ReportNoisyMax

    def twin(self) -> ReportNoisyMax:
        """Return the position of the maximum, with exponential noise."""
        correct: ReportNoisyMax = super().twin()
        return replace(correct, noise="exponential")

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return NOISES["exponential"].draw(rng, shape)

    def _log_cdf(self, z: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(-np.maximum(z, 0.0))))

    def _log_density(self, z: Floats) -> Floats:
        return np.asarray(-np.maximum(z, 0.0))


@dataclass(frozen=True)
class HalvedScoreSensitivity(BrokenPureDP, Mechanism):
    """Broken: selection by the difference of two errors, with the sensitivity of a single error.

    Candidate y is scored by model error - public error, the gain from measuring the private data. Each error
    changes by up to `sensitivity` between neighbours, and they may change in opposite directions, so that the score
    changes by twice that. The claim is epsilon, but the release is 2 epsilon-DP.

    Args:
        epsilon: the claim, > 0; half of the true epsilon.
        n_candidates: number of candidates, >= 2; the dataset is an array `(2, n_candidates)` of model errors and public
            errors, the output the index of a candidate.
        sensitivity: largest change of any single error between neighbours, > 0.
        relation: the neighbouring relation that `sensitivity` and the claim hold for.

    Example:
        >>> broken = HalvedScoreSensitivity(epsilon=0.5, n_candidates=2)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 6)
        (0.5, 0.8)
    """

    cause = "The sensitivity of one error is used for the score, a difference of two."
    source = "The joint selection of marginals in mbi, pull request 65."

    epsilon: Positive
    n_candidates: Annotated[int, at_least(2)]
    _: KW_ONLY
    sensitivity: Positive = 1.0
    relation: Relation = Relation.ADD_REMOVE

    def twin(self) -> Exponential:
        """Return the exponential mechanism on the scores, with their sensitivity."""
        doubled = 2.0 * self.sensitivity
        return Exponential(self.epsilon, self.n_candidates, sensitivity=doubled, relation=self.relation)

    @property
    def choice(self) -> Exponential:
        """Exponential mechanism on the scores, with its true epsilon and sensitivity."""
        return replace(self.twin(), epsilon=2.0 * self.epsilon)

    def errors(self, dataset: Dataset) -> Floats:
        """Return model errors and public errors, shape `(2, n_candidates)`."""
        errors = np.asarray(dataset, dtype=np.float64)
        if errors.shape != (2, self.n_candidates):
            raise ParameterError(
                f"the dataset must hold model errors and public errors, shape {(2, self.n_candidates)}, but has shape "
                f"{errors.shape}.",
                argument="dataset",
            )
        return errors

    def scores(self, dataset: Dataset) -> Floats:
        """Return model error - public error of each candidate, shape `(n_candidates,)`."""
        model, public = self.errors(dataset)
        return np.asarray(model - public)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the indices of `size` candidates selected independently, shape `(size,)`."""
        return self.choice.release(self.scores(dataset), size, rng)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, shape `(size,)`."""
        return self.choice.log_density(outputs, self.scores(dataset))

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `Exponential` with 2 epsilon."""
        return self.choice.exact_guarantee()

    def worst_case(self) -> Neighbours:
        """Return the pair of `Exponential`, with half of each change in the model errors, half in the public ones."""
        pair = self.choice.worst_case()
        step = 0.5 * np.subtract(pair.d1, pair.d0)
        start = np.stack([pair.d0, np.zeros(self.n_candidates)])
        return Neighbours(start, start + np.stack([step, -step]), self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        errors0, errors1 = self.errors(neighbours.d0).ravel(), self.errors(neighbours.d1).ravel()
        check_distance(errors0, errors1, sensitivity=self.sensitivity, norm=math.inf)
