"""A mechanism that runs on a secret random sample of the records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs, Workers, known_law
from ..errors import ParameterError, RelationError
from ..guarantees.base import Floats, Guarantee
from ..guarantees.profile import ProfileGuarantee
from ..noise.laplace import Laplace
from ..queries.base import column_of
from ..queries.counts import Count
from ..records import check_records
from ..relation import Relation
from ..validation import finite, one_of, positive, unit_interval, whole
from .parallel import moves_by_all

RELATIONS = {"poisson": Relation.ADD_REMOVE, "fixed-size": Relation.REPLACE_ONE}
MOST_SAMPLES = 10_000
"""Different samples that are summed over for a density."""
LARGEST_SIMPLE = 1.256431
"""Largest epsilon with e^epsilon - 1 <= 2 epsilon."""

COUNT = Laplace(1.0, query=Count())


@dataclass(frozen=True)
class Subsampled(Mechanism):
    """Privacy amplification by subsampling: the mechanism sees a random sample, and nobody sees which.

    "poisson": each record is in the sample with probability `rate`, independently. "fixed-size": `rate` times the
    number of records, without replacement. Records have no order and are numbers.

    Args:
        base: a mechanism on an array of numbers; its guarantee holds for add_remove (poisson) or replace_one
            (fixed-size).
        rate: q in (0, 1].
        sampling: "poisson" or "fixed-size".
        n_records: records on side 1 of `worst_case()`, >= 1; the sample of a fixed size must be a whole number of them.
        record, other: value of the record in question, and of all others. They should move the answers of the base as
            far as they may, and not at all.

    Raises:
        ParameterError: a value out of range.
        RelationError: the guarantee of the base holds for a relation that this sampling does not amplify by this
            formula.

    Guarantees:
        * delta(t) = q delta_base(log(1 + (e^t - 1) / q)): (epsilon, delta)-DP becomes
          (log(1 + q (e^epsilon - 1)), q delta)-DP, at every point of the curve (Balle, Barthe and Gaboardi 2018,
          theorems 8 and 9). On the worst case it is exact where the base is: an output comes from the law with the
          record with probability q, and else from the law without it.

    Example:
        >>> mechanism = Subsampled(rate=0.1)  # a count of epsilon 1
        >>> round(mechanism.guarantee().epsilon(0.0), 6)  # ln(1 + 0.1 (e - 1))
        0.158565
    """

    base: Mechanism = COUNT
    _: KW_ONLY
    rate: float = 0.1
    sampling: str = "poisson"
    n_records: int = 1
    record: float = 1.0
    other: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism):
            raise ParameterError(f"base must be a Mechanism, but is {self.base!r}.", argument="base")
        positive(rate=self.rate)
        unit_interval(rate=self.rate)
        one_of(RELATIONS, sampling=self.sampling)
        whole(1, n_records=self.n_records)
        finite(record=self.record, other=self.other)
        relation = RELATIONS[self.sampling]
        object.__setattr__(self, "relation", relation)
        if self.base.relation is not relation:
            raise RelationError(
                f"{self.sampling} sampling amplifies guarantees under {relation.value!r}, but the base has "
                f"{self.base.relation.value!r}. State it with relation={relation.value!r}.",
                argument="base",
            )
        if self.sampling == "fixed-size":
            _ = self._sample_size(self.n_records)

    @property
    def workers(self) -> Workers:
        """As the base."""
        return self.base.workers

    def _sample_size(self, n_records: int) -> int:
        """Records in a sample of a fixed size, a whole number >= 1."""
        size = self.rate * n_records
        if round(size) < 1 or abs(size - round(size)) > 1e-9:
            raise ParameterError(
                f"rate times the number of records must be a whole number >= 1, but {self.rate!r} of {n_records} is "
                f"{size:g}. Choose them to match.",
                argument="rate",
            )
        return round(size)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` outputs of the base, each on its own sample. Equal samples are run together."""
        values, counts = _distinct(dataset)
        found, which = np.unique(self._draw(counts, size, rng), axis=0, return_inverse=True)
        which = which.ravel()
        outputs: NDArray[np.generic] | None = None
        events = np.full(size, "", dtype=object)
        for i, sample in enumerate(found if size else np.zeros((1, len(values)), dtype=np.int64)):
            runs = np.flatnonzero(which == i)
            part = self.base.release(np.repeat(values, sample), len(runs), rng)
            outputs = np.zeros((size, *part.values.shape[1:]), part.values.dtype) if outputs is None else outputs
            outputs[runs] = part.values
            if part.events is not None:
                events[runs] = part.events
        assert outputs is not None
        return Outputs(outputs, events.astype(np.str_) if (events != "").any() else None)

    def _draw(self, counts: NDArray[np.int64], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """How many records of each value are in the sample, shape `(size, n_values)`."""
        if self.sampling == "poisson":
            return rng.binomial(counts, self.rate, (size, len(counts)))
        return rng.multivariate_hypergeometric(counts, self._sample_size(int(counts.sum())), size)

    def output_law(self) -> LogDensity | None:
        """The mixture over all samples, where the law of the base is known."""
        return None if self.base.output_law() is None else self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density of each output under `dataset`, shape `(size,)`.

        Raises:
            ParameterError: more than 10,000 different samples.
        """
        law = known_law(self.base)
        values, counts = _distinct(dataset)
        n_samples = math.prod(int(count) + 1 for count in counts)
        if n_samples > MOST_SAMPLES:
            raise ParameterError(
                f"the dataset has {n_samples:,} different samples, over which a density cannot be summed. Choose "
                "attack='classifier', or a dataset with fewer different records.",
                argument="dataset",
            )
        samples = np.array(list(product(*(range(int(count) + 1) for count in counts))), dtype=np.int64).reshape(
            n_samples, len(counts)
        )
        weights = self._log_weights(samples, counts)
        possible = np.flatnonzero(weights > -np.inf)
        terms = [weights[i] + law.log_density(outputs, np.repeat(values, samples[i])) for i in possible]
        return np.asarray(logsumexp(terms, axis=0))

    def _log_weights(self, samples: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
        """Log probability of each sample, shape `(n_samples,)`."""
        ways = (gammaln(counts + 1.0) - gammaln(samples + 1.0) - gammaln(counts - samples + 1.0)).sum(axis=1)
        taken, n = samples.sum(axis=1), int(counts.sum())
        if self.sampling == "poisson":
            with np.errstate(divide="ignore", invalid="ignore"):
                left = np.where(taken == n, 0.0, (n - taken) * np.log1p(-self.rate))
            return np.asarray(ways + taken * math.log(self.rate) + left)
        m = self._sample_size(n)
        all_ways = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
        return np.where(taken == m, ways - all_ways, -np.inf)

    def guarantee(self) -> Guarantee:
        """The curve of the base, amplified."""
        return SubsampledDP(self.base.guarantee(), self.rate, self.relation, exact=False)

    def worst_case(self) -> Neighbours:
        """`n_records` records on side 1, of which one is `record`; it is missing on side 0, or `other`."""
        d1 = np.append(np.full(self.n_records - 1, self.other), self.record)
        d0 = d1[:-1] if self.relation is Relation.ADD_REMOVE else np.full(self.n_records, self.other)
        return Neighbours(d0, d1, self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """The amplified exact curve of the base, where the record moves its answer as far as it may, and the others do
        not move it at all; None elsewhere."""
        exact, pair = self.base.exact_guarantee(), self.worst_case()
        alike = self.n_records == 1 or moves_nothing(self.base, self.other)
        if exact is None or not alike or not moves_by_all(self.base, pair.d0, pair.d1):
            return None
        return SubsampledDP(exact, self.rate, self.relation, exact=True)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        check_records(neighbours)
        return self


@dataclass(frozen=True, eq=False, repr=False)
class SubsampledDP(ProfileGuarantee):
    """delta(t) = q delta_base(log(1 + (e^t - 1) / q)): the curve of a mechanism on a secret sample.

    Args:
        base: the curve of the mechanism, of which each point is amplified.
        rate: q in (0, 1].
        relation: add_remove for Poisson samples, replace_one for samples of a fixed size.
        exact: True when this is the curve of a pair.
    """

    base: Guarantee
    rate: float
    relation: Relation | None = None
    exact: bool = False

    @property
    def default_delta(self) -> float | None:
        """q times that of the base."""
        quoted = self.base.default_delta
        return None if quoted is None else self.rate * quoted

    def _delta(self, epsilon: Floats) -> Floats:
        inner = np.where(epsilon > 700.0, epsilon - math.log(self.rate), np.log1p(np.expm1(epsilon) / self.rate))
        return self.rate * np.asarray(self.base.delta(inner))

    def _epsilon(self, delta: Floats) -> Floats:
        inner = delta / self.rate
        found = np.asarray(self.base.epsilon(np.minimum(inner, np.nextafter(1.0, 0.0))))
        large = found + math.log(self.rate)
        epsilon = np.where(found > 700.0, large, np.log1p(self.rate * np.expm1(np.minimum(found, 700.0))))
        return np.where(inner >= 1.0, 0.0, epsilon)

    def _parameters(self) -> Mapping[str, object]:
        return {"base": str(self.base), "rate": self.rate}


def simplified_epsilon(epsilon: float, rate: float) -> float:
    """2 q epsilon, the simplified form of log(1 + q (e^epsilon - 1)), which it bounds where e^epsilon - 1 <= 2 epsilon.

    Args:
        epsilon: of the mechanism, in (0, 1.256431].
        rate: q in (0, 1].

    Raises:
        ParameterError: beyond that the form is no bound.

    Example:
        >>> simplified_epsilon(1.0, 0.01), round(math.log1p(0.01 * math.expm1(1.0)), 7)
        (0.02, 0.0170369)
    """
    positive(epsilon=epsilon, rate=rate)
    unit_interval(rate=rate)
    if epsilon > LARGEST_SIMPLE:
        raise ParameterError(
            f"epsilon must be at most {LARGEST_SIMPLE} for the form 2 rate epsilon, but is {epsilon!r}: beyond, "
            "e^epsilon - 1 exceeds 2 epsilon. Use log(1 + rate (e^epsilon - 1)).",
            argument="epsilon",
        )
    return 2.0 * rate * epsilon


def moves_nothing(base: Mechanism, other: float) -> bool:
    """Whether a record of that value leaves the answer of an additive mechanism as it is."""
    return moves_by(base, other) == 0.0


def moves_by(base: Mechanism, other: float) -> float:
    """How far one more record of that value moves the answers of an additive mechanism; inf for another mechanism."""
    answers = getattr(base, "answers", None)
    if answers is None:
        return math.inf
    return float(np.abs(np.atleast_1d(answers(np.array([other])) - answers(np.zeros(0)))).max())


def _distinct(dataset: Dataset) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
    """The different records and how often each occurs."""
    values, counts = np.unique(np.asarray(column_of(dataset, None)), return_counts=True)
    return values, counts.astype(np.int64)
