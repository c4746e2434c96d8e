"""The gradient-product attack: each training step, compared with the canary's gradient at that step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ...mechanisms.core import AttackError, Floats, Outputs, one_of_names
from ...mechanisms.learning.base import AnyFloats, TrainingData, differing, shared
from ...mechanisms.learning.dp_sgd.capabilities import SupportsTrajectory, noise_strategy_of
from ..base import Scorer, Target
from .canary_attacks import TargetedAttack


def noisy_steps(learner: SupportsTrajectory, outputs: Outputs, divisor: float) -> Iterator[tuple[Floats, AnyFloats]]:
    """Yield for each step the parameters from which it starts, and its noisy sum, both `(size, n_parameters)`.

    Momentum and learning rates are undone; a projection is not.

    Args:
        learner: trainer that produced the trajectory.
        outputs: `(size, steps + 1, n_parameters)`.
        divisor: divisor of every noisy sum.
    """
    previous: AnyFloats | float = 0.0
    for step, rate in enumerate(learner.rates()):
        at = np.ascontiguousarray(outputs.values[:, step], dtype=np.float64)
        velocity = (at - outputs.values[:, step + 1]) * (divisor / float(rate))
        noisy_sum, previous = velocity - learner.momentum * previous, velocity
        yield at, noisy_sum


def log_ratio(rest: AnyFloats, shift: AnyFloats, variance: float, probability: float = 1.0) -> Floats:
    """Return the log likelihood ratio of noise plus a shift present with probability q, against noise alone, `(...)`.

    log(1 - q + q exp((<rest, shift> - |shift|^2 / 2) / variance)) for normal noise.

    Args:
        rest: a noisy sum minus its known part, `(..., n_parameters)`.
        shift: the shift that may be present, of the same shape.
        variance: variance of the noise in each coordinate.
        probability: q, the probability that the shift is present.
    """
    exponent = np.einsum("...p,...p->...", rest - 0.5 * shift, shift) / variance
    if probability == 1.0:
        return np.asarray(exponent)
    return np.asarray(np.logaddexp(np.log1p(-probability), np.log(probability) + exponent))


class Whitening:
    """Rows of C V, one for each call with a row of V: C makes the noise of `learner` independent.

    The rows of V stay as they are if the noise is independent, or if batches are random (`share` < 1).

    Args:
        learner: trainer whose noise is C^-1 Z.
        share: sampling probability.
    """

    def __init__(self, learner: SupportsTrajectory, share: float) -> None:
        self.strategy = None if share < 1.0 else noise_strategy_of(learner)
        self.rows: list[AnyFloats] = []

    def __call__(self, row: AnyFloats) -> AnyFloats:
        if self.strategy is None:
            return row
        self.rows.append(row)
        return np.asarray(np.tensordot(self.strategy[len(self.rows) - 1, : len(self.rows)], self.rows, axes=1))


@dataclass(frozen=True, kw_only=True)
class GradientProduct(TargetedAttack):
    """Score of a trajectory: products of the noisy sums that its steps leak and the canary's clipped gradients.

        others="unknown"    sum_t <S_t, g_t>,   S_t the noisy sum between theta_t and theta_(t+1)
        others="known"      sum_t log(1 - q + q exp((<S_t - q N_t, g_t> - |g_t|^2 / 2) / s^2))
                            s = noise_multiplier clip_norm

    g_t is the clipped gradient at theta_t of the record that only side 1 has, minus that of side 0; N_t the sum of the
    clipped gradients of the records that both sides have; q the sampling probability, 1 for full batches. With full
    batches and known others the score is the exact log likelihood ratio: no adversary who sees all iterates does
    better. For noise that is correlated between steps, both are multiplied by its strategy first, after which it is
    independent; with q < 1 the correlation is not used.

    Args:
        others: whether the adversary knows the other records, as the guarantee allows.

    Raises:
        ParameterError: another value of `others`.
        AttackError: not DP-SGD, no trajectory, or no noise with known others.

    Guarantees:
        * momentum and learning rates are undone; a projection is not, so steps that it shortened have less weight;
        * under Poisson sampling the sum of the others is taken at its mean: a fixed score, but not the best one.

    References:
        Nasr et al. (2023), "Tight auditing of differentially private machine learning", section 4 (inner products).

    Example:
        >>> from dpassay.attacks.canaries import Natural
        >>> from dpassay.mechanisms.learning.dp_sgd import DPSGD
        >>> from dpassay.mechanisms.learning.models import LogisticRegression
        >>> learner = DPSGD(LogisticRegression(2), steps=1, noise_multiplier=1.0, sampling="full-batch", batch_size=1,
        ...                 learning_rate=1.0, view="trajectory")
        >>> pair = Natural().pair((np.array([[0.6, 0.0], [2.0, 0.0]]), np.array([1, 0])), learner)
        >>> target, empty = Target(learner, pair), Outputs(np.empty((0, 2, 3)))
        >>> scorer = GradientProduct(others="unknown").fit(target, empty, empty, np.random.default_rng(0))
        >>> scorer.score(Outputs(np.array([[[0.0, 0.0, 0.0], [0.6, 0.0, 1.0]]]))).round(2).tolist()  # (-0.3, 0, -0.5)
        [0.68]
    """

    views: ClassVar[tuple[str, ...]] = ("trajectory",)
    capability: ClassVar[Any] = SupportsTrajectory

    others: Annotated[str, one_of_names("known", "unknown")] = "known"

    def _learner(self, target: Target) -> SupportsTrajectory:
        """Return the trainer; raise `AttackError` if the other records are known and there is no noise."""
        learner: SupportsTrajectory = super()._learner(target)
        if self.others == "known" and not learner.noise_multiplier:
            raise AttackError(
                "noise_multiplier is 0: steps without noise have no likelihood ratio. Use others='unknown'."
            )
        return learner

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        learner, neighbours = self._learner(target), target.neighbours
        only0, only1 = differing(neighbours)
        both = shared(neighbours) if self.others == "known" else None
        n_records = len(TrainingData.of(neighbours.d1))
        return GradientProductScorer(learner, only0, only1, both, float(learner.scheme.divisor or n_records))


@dataclass(frozen=True, eq=False)
class GradientProductScorer:
    """Scorer that sums the products of all steps.

    Args:
        learner: trainer that produced the trajectory.
        only0, only1: the records in which the sides differ.
        both: the records that both sides have; None if they are unknown.
        divisor: divisor of every noisy sum.
    """

    learner: SupportsTrajectory
    only0: TrainingData
    only1: TrainingData
    both: TrainingData | None
    divisor: float

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs` `(size, steps + 1, n_parameters)`, shape `(size,)`."""
        total = np.zeros(len(outputs))
        share = self.learner.scheme.inclusion_probability
        variance = (self.learner.noise_multiplier * self.learner.clip_norm) ** 2
        sum_of_others = None if self.both is None else self.learner.clipped_sum_of(self.both)
        independent = [Whitening(self.learner, share) for _ in range(3)]
        for at, noisy_sum in noisy_steps(self.learner, outputs, self.divisor):
            g1, g0 = (self.learner.clipped_gradient(data, at) for data in (self.only1, self.only0))
            if sum_of_others is None:
                total += np.einsum("rp,rp->r", noisy_sum, g1 - g0)
            else:
                sums = (noisy_sum - share * sum_of_others(at), g1, g0)
                residual, *shifts = (whiten(rows) for whiten, rows in zip(independent, sums, strict=True))
                ratios = [log_ratio(residual, shift, variance, share) for shift in shifts]
                total += ratios[0] - ratios[1]
        return np.where(np.isnan(total), 0.0, total)
