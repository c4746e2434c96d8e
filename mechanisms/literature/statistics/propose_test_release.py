"""The median with little noise, released only if a private test finds it stable on all nearby datasets."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from ...accounting import ApproximateDP
from ...accounting.numerics.laplace import laplace_log_cdf, log_laplace
from ...core.arrays import Floats
from ...core.base import Data, Dataset, Neighbours, Outputs
from ...core.constraints import Positive
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism, check_worst_case
from ...core.relation import Relation
from ...noise.laplace import draw_laplace
from .laplace_choice import LaplaceChoiceDP
from .median_sensitivity import BoundedMedian


@dataclass(frozen=True)
class ProposeTestRelease(RecordsMechanism):
    """Propose-test-release of a median: a bound on its local sensitivity is proposed, tested, and used.

        distance  = fewest replacements after which the local sensitivity exceeds `bound`
        refused     if distance + Laplace(2 / epsilon) <= (2 / epsilon) ln(1 / (2 delta))
        otherwise   median + Laplace(2 bound / epsilon)

    (Dwork and Lei 2009; in the form of Vadhan 2017, proposition 3.2.)

    Args:
        epsilon, delta: the claim; epsilon > 0, 0 < delta < 1/2.
        bound: the proposed bound on the local sensitivity, > 0, at most half of upper - lower.
        lower, upper: public bounds of the values, lower < upper.

    Guarantees:
        * (epsilon, delta)-DP under replace_one. The distance moves by at most 1 between neighbours, which takes
          epsilon / 2. If it is 0, an answer is released with probability at most delta; if it is not, the median of a
          neighbour is at most `bound` away, which takes the other half.
        * Both halves are attained together, by an answer for datasets that are usually refused.

    Example:
        >>> mechanism = ProposeTestRelease(epsilon=1.0, delta=1e-3, bound=0.1)
        >>> stable, unstable = [0.5] * 101, [0.0] * 50 + [1.0] * 51
        >>> mechanism.distance(stable), mechanism.distance(unstable)
        (50, 0)
        >>> mechanism.answer_probability(stable) > 1 - 1e-7, round(mechanism.answer_probability(unstable), 9)
        (True, 0.001)
    """

    _dataset = Data.REALS

    epsilon: Positive = 1.0
    delta: Positive = 1e-3
    _: KW_ONLY
    bound: Positive = 0.1
    lower: float = 0.0
    upper: float = 1.0
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.median
        if not (self.delta < 0.5 and 2.0 * self.bound <= self.upper - self.lower):
            raise ParameterError(
                f"delta must be below 1/2 and bound at most half of upper - lower, but they are {self.delta!r} and "
                f"{self.bound!r}. Larger values make the test void.",
                argument="delta" if self.delta >= 0.5 else "bound",
            )

    @property
    def median(self) -> BoundedMedian:
        """The median and its sensitivities."""
        return BoundedMedian(self.lower, self.upper)

    @property
    def threshold(self) -> float:
        """Threshold of the noisy distance, (2 / epsilon) ln(1 / (2 delta)): datasets at or below it are refused."""
        return 2.0 / self.epsilon * math.log(0.5 / self.delta)

    @property
    def scale(self) -> float:
        """Noise scale of an answer, 2 bound / epsilon."""
        return 2.0 * self.bound / self.epsilon

    def distance(self, dataset: Dataset) -> int:
        """Return the fewest replacements after which the local sensitivity exceeds `bound`."""
        return self.median.distance(dataset, self.bound)

    def answer_probability(self, dataset: Dataset) -> float:
        """Return the probability that the dataset is not refused."""
        return math.exp(self._log_chances(dataset)[1])

    def _log_chances(self, dataset: Dataset) -> Floats:
        """Return the log probabilities that the dataset is refused, and that it is not."""
        scaled_margin = (self.distance(dataset) - self.threshold) * self.epsilon / 2.0
        return laplace_log_cdf(np.array([-scaled_margin, scaled_margin]))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` pairs, shape `(size, 2)`: (1, noisy median), or (0, 0) for a refusal."""
        noisy_distances = self.distance(dataset) + draw_laplace(2.0 / self.epsilon, (size,), rng)
        answers = self.median(dataset) + draw_laplace(self.scale, (size,), rng)
        answered = noisy_distances > self.threshold
        return Outputs(np.column_stack([answered.astype(np.float64), np.where(answered, answers, 0.0)]))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`; log probability of a refusal."""
        answered, answers = np.asarray(outputs.values, dtype=np.float64).T
        log_refused, log_answered = self._log_chances(dataset)
        density = log_answered + log_laplace(answers, self.median(dataset), self.scale)
        return np.asarray(np.where(answered == 1.0, density, log_refused))

    def guarantee(self) -> Guarantee:
        """Return `ApproximateDP(epsilon, delta)`."""
        return ApproximateDP(self.epsilon, self.delta, self.relation)

    def worst_case(self) -> Neighbours:
        """Return a pair with equally many values at `bound` and at 2 `bound` above `lower`; one value moves up.

        The median moves by `bound`. A jump to `lower` would be larger on side 1, so side 1 is one replacement nearer to
        instability. The number of records makes both sides about as often refused as answered.
        """
        check_worst_case(2.0 * self.threshold, epsilon=self.epsilon)
        half = max(1, math.floor(self.threshold))
        near, far = self.lower + self.bound, self.lower + 2.0 * self.bound
        d0: Floats = np.repeat([near, far], half)
        d1: Floats = np.repeat([near, far], [half - 1, half + 1])
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee:
        pair = self.worst_case()
        log0, log1 = (self._log_chances(d) for d in (pair.d0, pair.d1))
        distance = abs(self.median(pair.d1) - self.median(pair.d0)) / self.scale
        return LaplaceChoiceDP.of_logs(log0, log1, [0.0, distance], self.relation)
