"""A mechanism that runs on a secret random sample of the records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..accounting.kinds.profile import ProfileGuarantee
from ..accounting.numerics.binomial import log_choose
from ..core.arrays import Floats, Ints
from ..core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, known_law
from ..core.constraints import Finite, Positive, PositiveInt, instance_of, one_of_names
from ..core.errors import ParameterError, RelationError
from ..core.guarantee import Guarantee
from ..core.records import RecordsMechanism
from ..core.relation import Relation
from ..core.validation import positive, unit_interval
from ..noise.laplace import Laplace
from ..noise.queries.base import column_of
from ..noise.queries.counts import Count
from .base import Combinator
from .parallel import answer_shift, moves_every_answer

SAMPLING_RELATIONS = {"poisson": Relation.ADD_REMOVE, "fixed-size": Relation.REPLACE_ONE}
MAX_SAMPLES = 10_000
"""Largest number of distinct samples that a density is summed over."""
MAX_SIMPLE_EPSILON = 1.256431
"""Largest epsilon for which e^epsilon - 1 <= 2 epsilon."""

COUNT = Laplace(1.0, query=Count())


@dataclass(frozen=True)
class Subsampled(Combinator, RecordsMechanism):
    """Privacy amplification by subsampling: the mechanism runs on a random sample that is not released.

    "poisson": each record is in the sample with probability `rate`, independently. "fixed-size": a sample without
    replacement of `rate` times the number of records. Records are numbers, and their order has no meaning.

    Args:
        base: a mechanism on an array of numbers; its guarantee holds for add_remove (poisson) or replace_one
            (fixed-size).
        rate: q in (0, 1].
        sampling: "poisson" or "fixed-size".
        n_records: records on side 1 of `worst_case()`, >= 1; the size of a fixed-size sample must be a whole number.
        record, other: value of the record in question, and of all others. For an exact curve `record` must move the
            answers of the base by its full sensitivity, and `other` must not move them.

    Raises:
        ParameterError: a value out of range.
        RelationError: the guarantee of the base holds for a relation that this kind of sampling does not amplify.

    Guarantees:
        * delta(t) = q delta_base(log(1 + (e^t - 1) / q)): (epsilon, delta)-DP becomes
          (log(1 + q (e^epsilon - 1)), q delta)-DP, at every point of the curve (Balle, Barthe and Gaboardi 2018,
          theorems 8 and 9). On the worst case it is exact if the guarantee of the base is: an output has the law with
          the record with probability q, and otherwise the law without it.

    Example:
        >>> mechanism = Subsampled(rate=0.1)  # a count of epsilon 1
        >>> round(mechanism.guarantee().epsilon(0.0), 6)  # ln(1 + 0.1 (e - 1))
        0.158565
    """

    base: Annotated[Mechanism, instance_of(Mechanism, "Laplace(epsilon=0.1)")] = COUNT
    _: KW_ONLY
    rate: Positive = 0.1
    sampling: Annotated[str, one_of_names(*SAMPLING_RELATIONS)] = "poisson"
    n_records: PositiveInt = 1
    record: Finite = 1.0
    other: Finite = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        unit_interval(rate=self.rate)
        relation = SAMPLING_RELATIONS[self.sampling]
        if self.base.relation is not relation:
            raise RelationError(
                f"{self.sampling} sampling amplifies guarantees under {relation.value!r}, but the base has "
                f"{self.base.relation.value!r}. State it with relation={relation.value!r}.",
                argument="base",
            )
        if self.sampling == "fixed-size":
            _ = self._sample_size(self.n_records)

    def _sample_size(self, n_records: int) -> int:
        """Return the number of records in a fixed-size sample, a whole number >= 1."""
        size = self.rate * n_records
        if round(size) < 1 or abs(size - round(size)) > 1e-9:
            raise ParameterError(
                f"rate times the number of records must be a whole number >= 1, but {self.rate!r} of {n_records} is "
                f"{size:g}. Choose them to match.",
                argument="rate",
            )
        return round(size)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` outputs of the base, each on its own sample; equal samples are run together."""
        values, counts = _distinct(dataset)
        samples, sample_index = np.unique(self._draw(counts, size, rng), axis=0, return_inverse=True)
        sample_index = sample_index.ravel()
        outputs: NDArray[np.generic] | None = None
        events = np.full(size, "", dtype=object)
        for i, sample in enumerate(samples if size else np.zeros((1, len(values)), dtype=np.int64)):
            runs = np.flatnonzero(sample_index == i)
            part = self.base.release(np.repeat(values, sample), len(runs), rng)
            outputs = np.zeros((size, *part.values.shape[1:]), part.values.dtype) if outputs is None else outputs
            outputs[runs] = part.values
            if part.events is not None:
                events[runs] = part.events
        assert outputs is not None
        return Outputs(outputs, events.astype(np.str_) if (events != "").any() else None)

    def _draw(self, counts: Ints, size: int, rng: np.random.Generator) -> Ints:
        """Return the number of records of each value in each sample, shape `(size, n_values)`."""
        if self.sampling == "poisson":
            return rng.binomial(counts, self.rate, (size, len(counts)))
        return rng.multivariate_hypergeometric(counts, self._sample_size(int(counts.sum())), size)

    def output_law(self) -> LogDensity | None:
        """Return the mixture over all samples, or None if the output law of the base is unknown."""
        return None if self.base.output_law() is None else self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output under `dataset`, shape `(size,)`.

        Raises:
            ParameterError: there are more than 10,000 distinct samples.
        """
        law = known_law(self.base)
        values, counts = _distinct(dataset)
        n_samples = math.prod(int(count) + 1 for count in counts)
        if n_samples > MAX_SAMPLES:
            raise ParameterError(
                f"the dataset has {n_samples:,} distinct samples, over which a density cannot be summed. Choose "
                "attack='classifier', or a dataset with fewer distinct records.",
                argument="dataset",
            )
        samples = np.array(list(product(*(range(int(count) + 1) for count in counts))), dtype=np.int64).reshape(
            n_samples, len(counts)
        )
        weights = self._log_weights(samples, counts)
        possible = np.flatnonzero(weights > -np.inf)
        terms = [weights[i] + law.log_density(outputs, np.repeat(values, samples[i])) for i in possible]
        return np.asarray(logsumexp(terms, axis=0))

    def _log_weights(self, samples: Ints, counts: Ints) -> Floats:
        """Return the log probability of each sample, shape `(n_samples,)`."""
        ways = log_choose(counts, samples).sum(axis=1)
        n_sampled, n = samples.sum(axis=1), int(counts.sum())
        if self.sampling == "poisson":
            with np.errstate(divide="ignore", invalid="ignore"):
                log_prob_unsampled = np.where(n_sampled == n, 0.0, (n - n_sampled) * np.log1p(-self.rate))
            return np.asarray(ways + n_sampled * math.log(self.rate) + log_prob_unsampled)
        m = self._sample_size(n)
        return np.where(n_sampled == m, ways - log_choose(n, m), -np.inf)

    def guarantee(self) -> Guarantee:
        """Return the amplified curve of the base."""
        return SubsampledDP(self.base.guarantee(), self.rate, self.relation, exact=False)

    def worst_case(self) -> Neighbours:
        """Return `n_records` records on side 1, one of them `record`; on side 0 it is missing, or equals `other`."""
        d1 = np.append(np.full(self.n_records - 1, self.other), self.record)
        d0 = d1[:-1] if self.relation is Relation.ADD_REMOVE else np.full(self.n_records, self.other)
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the amplified exact curve of the base, or None if it is unknown.

        It is known if `record` moves the answer of the base by its full sensitivity and `other` does not move it.
        """
        exact, pair = self.base.exact_guarantee(), self.worst_case()
        if exact is None or not moves_every_answer(self.base, pair.d0, pair.d1):
            return None
        if self.n_records > 1 and answer_shift(self.base, np.zeros(0), np.array([self.other])) != 0.0:
            return None
        return SubsampledDP(exact, self.rate, self.relation, exact=True)


@dataclass(frozen=True, eq=False, repr=False)
class SubsampledDP(ProfileGuarantee):
    """Curve of a mechanism on a secret sample: delta(t) = q delta_base(log(1 + (e^t - 1) / q)).

    Args:
        base: the curve of the mechanism; each of its points is amplified.
        rate: q in (0, 1].
        relation: add_remove for Poisson samples, replace_one for samples of a fixed size.
        exact: True if this is the exact curve of a pair.
    """

    base: Guarantee
    rate: float
    relation: Relation | None = None
    exact: bool = False

    @property
    def default_delta(self) -> float | None:
        """Default delta of the base times q."""
        base_delta = self.base.default_delta
        return None if base_delta is None else self.rate * base_delta

    def _delta(self, epsilon: Floats) -> Floats:
        inner = np.where(epsilon > 700.0, epsilon - math.log(self.rate), np.log1p(np.expm1(epsilon) / self.rate))
        return self.rate * np.asarray(self.base.delta(inner))

    def _epsilon(self, delta: Floats) -> Floats:
        inner = delta / self.rate
        base_epsilon = np.asarray(self.base.epsilon(np.minimum(inner, np.nextafter(1.0, 0.0))))
        large_epsilon = base_epsilon + math.log(self.rate)
        epsilon = np.where(
            base_epsilon > 700.0, large_epsilon, np.log1p(self.rate * np.expm1(np.minimum(base_epsilon, 700.0)))
        )
        return np.where(inner >= 1.0, 0.0, epsilon)

    def _parameters(self) -> Mapping[str, object]:
        return {"base": str(self.base), "rate": self.rate}


def simplified_epsilon(epsilon: float, rate: float) -> float:
    """Return 2 q epsilon, a simplified upper bound on log(1 + q (e^epsilon - 1)).

    It is a bound where e^epsilon - 1 <= 2 epsilon.

    Args:
        epsilon: epsilon of the mechanism, in (0, 1.256431].
        rate: q in (0, 1].

    Raises:
        ParameterError: `epsilon` is larger, where the simplified form is not a bound.

    Example:
        >>> simplified_epsilon(1.0, 0.01), round(math.log1p(0.01 * math.expm1(1.0)), 7)
        (0.02, 0.0170369)
    """
    positive(epsilon=epsilon, rate=rate)
    unit_interval(rate=rate)
    if epsilon > MAX_SIMPLE_EPSILON:
        raise ParameterError(
            f"epsilon must be at most {MAX_SIMPLE_EPSILON} for the form 2 rate epsilon, but is {epsilon!r}: above "
            "this, e^epsilon - 1 exceeds 2 epsilon. Use log(1 + rate (e^epsilon - 1)).",
            argument="epsilon",
        )
    return 2.0 * rate * epsilon


def _distinct(dataset: Dataset) -> tuple[NDArray[np.generic], Ints]:
    """Return the distinct records and the number of times that each occurs."""
    values, counts = np.unique(np.asarray(column_of(dataset, None)), return_counts=True)
    return values, counts.astype(np.int64)
