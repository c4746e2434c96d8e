"""A histogram over a domain that may be unknown: small counts are not released."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from ...accounting import ApproximateDP, ExactDP
from ...accounting.numerics.binomial import response_logs
from ...core.arrays import Floats
from ...core.base import Dataset, Neighbours, Outputs
from ...core.constraints import AddOrReplace, OpenUnit, Positive, at_least, one_of_names
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism, check_worst_case
from ...core.relation import Relation
from ...noise.geometric import Geometric
from ...noise.queries.base import column_of


@dataclass(frozen=True)
class StabilityHistogram(RecordsMechanism):
    """Stability-based histogram: every positive count gets geometric noise, and is listed if it exceeds a threshold.

    Pr[Z = z] is proportional to a^|z| with a = e^(-epsilon / s), where s is 1 when a record is added or removed and 2
    when it is replaced; the threshold is T = ceil((s / epsilon) ln(1 / delta)). Empty categories are never listed, so
    time and memory do not depend on the domain. (Korolova, Kenthapadi, Mishra and Ntoulas 2009; Vadhan 2017,
    section 3.3.)

    In this implementation records are category numbers, and an output has one entry per category, 0 if it is not
    listed, so that an audit can compare outputs.

    Args:
        epsilon, delta: the claim; epsilon > 0, 0 < delta < 1.
        n_categories: number of categories 0, 1, ..., >= 2; the guarantee does not depend on it.
        case: the pair of the worst case: "large", counts above the threshold, which attain epsilon where no delta is
            left; or "unique", a category with a single record, which attains delta.
        relation: add_remove or replace_one.

    Guarantees:
        * (epsilon, delta)-DP: a category with a single record is listed with probability a^T / (1 + a) < delta, and
          never without this record; all other changes are those of geometric noise.

    Example:
        >>> mechanism = StabilityHistogram(epsilon=1.0, delta=1e-6)
        >>> mechanism.threshold, f"{mechanism.unique_probability:.4g}"
        (28, '5.176e-07')
    """

    epsilon: Positive = 1.0
    delta: OpenUnit = 1e-6
    _: KW_ONLY
    n_categories: Annotated[int, at_least(2)] = 2
    case: Annotated[str, one_of_names("large", "unique")] = "large"
    relation: AddOrReplace = Relation.REPLACE_ONE

    @property
    def n_moved(self) -> int:
        """Number of counts that one record can move, s."""
        return 2 if self.relation is Relation.REPLACE_ONE else 1

    @property
    def threshold(self) -> int:
        """Threshold T: counts up to it are not listed."""
        return math.ceil(self.n_moved / self.epsilon * math.log(1.0 / self.delta))

    @property
    def unique_probability(self) -> float:
        """Probability that a category with a single record is listed: a^T / (1 + a)."""
        return math.exp(float(self._noise._log_tail(np.array(self._least_listed - 1.0))))

    @property
    def _least_listed(self) -> int:
        """Smallest noisy count that is listed."""
        return self.threshold + 1

    @cached_property
    def _noise(self) -> Geometric:
        return Geometric(self.epsilon / self.n_moved)

    def counts(self, dataset: Dataset) -> Floats:
        """Return the number of records in each category, shape `(n_categories,)`."""
        values = np.asarray(column_of(dataset, None))
        out_of_range = values.dtype.kind not in "iuf" or not np.all((values >= 0) & (values < self.n_categories))
        if out_of_range or not np.all(values == np.floor(values)):
            raise ParameterError(
                f"the dataset must be category numbers from 0 to {self.n_categories - 1}, shape (n_records,), but is "
                f"{dataset!r}.",
                argument="dataset",
            )
        return np.bincount(values.astype(np.int64), minlength=self.n_categories).astype(np.float64)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` histograms, int64 of shape `(size, n_categories)`; 0 for a category that is not listed."""
        counts = self.counts(dataset)
        noisy = self._noise._draw((size, self.n_categories), rng) + counts
        noisy[(noisy < self._least_listed) | (counts == 0.0)] = 0.0
        return Outputs(noisy.astype(np.int64))

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf where impossible."""
        values, counts = np.asarray(outputs.values, dtype=np.float64), self.counts(dataset)
        listed, present = values != 0.0, counts > 0.0
        log_probability = self._noise._noise_log_density(values - counts)
        log_unlisted = self._noise._log_tail(counts - (self._least_listed - 1))  # Pr[Z <= T - count], as Z is symmetric
        log_probability = np.where(listed, log_probability, np.where(present, log_unlisted, 0.0))
        possible = ~listed | (present & (values >= self._least_listed) & (values == np.floor(values)))
        return np.asarray(np.where(possible, log_probability, -np.inf).sum(axis=1))

    def guarantee(self) -> Guarantee:
        """Return `ApproximateDP(epsilon, delta)`."""
        return ApproximateDP(self.epsilon, self.delta, self.relation)

    def worst_case(self) -> Neighbours:
        """Return one more record in category 0, or a record in category 0 on side 1 and in category 1 on side 0."""
        large = self.threshold + 1
        check_worst_case(2.0 * large, epsilon=self.epsilon)
        others = np.repeat([0, 1], large if self.case == "large" else [0, large])
        d1 = np.append(others, 0)
        d0 = np.append(others, 1) if self.relation is Relation.REPLACE_ONE else others
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee:
        """Return the exact curve of `worst_case()`.

        For each count that moves only two outcomes matter: at most the smaller count or more; or listed or not if the
        smaller count is 0.
        """
        response = response_logs(1, self.epsilon / self.n_moved)
        p, relation = self.unique_probability, self.relation
        if self.case == "unique":
            curve = ExactDP([1.0, 0.0], [1.0 - p, p], relation)
        else:
            curve = ExactDP.of_logs(response[::-1], response, relation)
        return curve.product(ExactDP.of_logs(response, response[::-1])) if relation is Relation.REPLACE_ONE else curve
