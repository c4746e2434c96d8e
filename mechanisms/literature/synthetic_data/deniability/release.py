"""Release of a synthetic record generated from a seed record, if enough other records could have produced it."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from scipy.special import logsumexp

from ....accounting import ExactDP
from ....core.arrays import Bools, Floats, Ints
from ....core.base import Dataset, LogDensity, Neighbours, Outputs
from ....core.constraints import AddOrReplace
from ....core.errors import NeighboursError, ParameterError, plural
from ....core.guarantee import Guarantee
from ....core.records import RecordsMechanism
from ....core.relation import Relation
from ....noise.laplace import draw_laplace
from .plausible_deniability import DeniabilityDP, likelihood_buckets, pass_log_probability
from .seeds import SeedBasedSynthesis, SeedGenerator

NOT_RELEASED = -1
"""Output of a run that releases nothing."""
MAX_SUMMED_OUTPUTS = 2**16
"""Largest number of outputs for which the probability of releasing nothing is computed as a sum over all of them."""


@dataclass(frozen=True)
class DeniableRelease(RecordsMechanism):
    """One synthetic record, released if at least k records are as plausible as its source, up to noise.

        seed d      uniform on the dataset;  y = M(d)
        bucket      the records d_a whose Pr[y = M(d_a)] lies in the same interval (gamma^-(i + 1), gamma^-i]
        released    if the bucket holds k' >= k + Laplace(1 / epsilon0) records, including the seed

    and, whatever the data, only in half of the runs. (Bindschaedler, Shokri and Gunter 2017, mechanism 1 with privacy
    test 2; withholding half of the runs is added here.)

    The published mechanism has a guarantee for the released records, but none for the event that nothing is released:
    with n records that all pass and one that cannot, nothing is released in 1 of n + 1 runs, and never without this
    record. If half of the runs are withheld at random, the outcome "nothing" has a probability of at least 1/2, and its
    leak is covered: if a law F on the records satisfies (epsilon, delta) for all sets of records, then F / 2, completed
    by "nothing", satisfies it for all events.

    Args:
        generator: draws y from a seed; public, or privately learned from other records.
        k: number of records that could have produced a released record, >= 2.
        gamma: largest ratio of the probabilities of two records of a bucket, > 1.
        epsilon0: epsilon of the noise on the threshold, > 0.
        t: None: the claim is the whole curve of the theorem; a whole number 1 <= t < k: its statement for this t, an
            (epsilon, delta) that composes with others (`Repeated`).
        relation: add_remove or replace_one; the theorem holds for both.

    The output is the number of a cell of the domain (`generator.domain.records_in` turns it into a record), or -1 if
    nothing is released.

    Guarantees:
        * `DeniabilityDP(k, gamma, epsilon0)`, for all events; under add_remove for datasets of at least k records.
        * The output law is exact. If the domain has more than 65,536 cells, the law of "nothing" is not computed.

    Example:
        >>> mechanism = DeniableRelease(k=20, gamma=2.0, epsilon0=1.0)
        >>> round(mechanism.guarantee().epsilon(1e-6), 4), round(mechanism.exact_guarantee().epsilon(1e-6), 4)
        (1.2877, 1.0266)
    """

    generator: SeedGenerator = field(default_factory=SeedBasedSynthesis)
    k: int = 20
    _: KW_ONLY
    gamma: float = 2.0
    epsilon0: float = 1.0
    t: int | None = None
    relation: AddOrReplace = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.generator, SeedGenerator):
            raise ParameterError(
                argument="generator", value=self.generator, allowed="be a SeedGenerator, such as SeedBasedSynthesis()"
            )
        self.guarantee()

    @property
    def withheld(self) -> float:
        """Share of the runs that release nothing, independently of the data."""
        return 0.5

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` cell numbers, or -1 for no release, shape `(size,)`."""
        cells = self._cells(dataset)
        seeds = cells[rng.integers(len(cells), size=size)]
        outputs = self.generator.draw(seeds, rng)
        _, _, bucket_sizes = self._levels(outputs, cells)
        seed_bucket_sizes = np.take_along_axis(
            bucket_sizes, self.generator.levels(outputs, seeds)[:, np.newaxis], axis=1
        )[:, 0]
        released = self._passes(seed_bucket_sizes - self.k, rng) & (rng.random(size) >= self.withheld)
        return Outputs(np.where(released, outputs, NOT_RELEASED))

    def _passes(self, excess: Floats, rng: np.random.Generator) -> Bools:
        """Return True where k' records pass the test, for each excess k' - k."""
        return np.asarray(excess >= draw_laplace(1.0 / self.epsilon0, excess.shape, rng))

    def _log_pass(self, excess: Floats) -> Floats:
        """Return the log probability that k' records pass, for each excess k' - k."""
        return pass_log_probability(excess, self.epsilon0)

    def _log_fail(self, excess: Floats) -> Floats:
        """Return the log probability that k' records fail, for each excess k' - k."""
        return pass_log_probability(-np.asarray(excess), self.epsilon0)

    def _cells(self, dataset: Dataset) -> Ints:
        cells = self.generator.cells(dataset)
        if not len(cells):
            raise ParameterError("the dataset must hold at least one seed record, but is empty.", argument="dataset")
        return cells

    def _levels(self, outputs: Ints, cells: Ints) -> tuple[Floats, Floats, Floats]:
        """Return log probability, number of records, and number in the bucket, at each level of each output."""
        log_p = self.generator.log_levels(outputs)
        counts = self.generator.counts(outputs, cells)
        bucket = likelihood_buckets(log_p, self.gamma)
        same_bucket = bucket[:, :, np.newaxis] == bucket[:, np.newaxis, :]
        return log_p, counts, (same_bucket * counts[:, np.newaxis, :]).sum(axis=2)

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact; None if the domain is large."""
        return self if self.generator.n_outputs <= MAX_SUMMED_OUTPUTS else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, `(size,)`; -inf for an impossible output."""
        cells, values = self._cells(dataset), np.asarray(outputs.values)
        possible = (values >= 0) & (values < self.generator.n_outputs) & (values == np.floor(values))
        log_probabilities = np.full(values.shape, -np.inf)
        distinct, index = np.unique(values[possible].astype(np.int64), return_inverse=True)
        log_probabilities[possible] = self.log_released(distinct, cells)[index]
        nothing = values == NOT_RELEASED
        if nothing.any():
            log_probabilities[nothing] = self.log_not_released(cells)
        return log_probabilities

    def log_released(self, outputs: Ints, cells: Ints) -> Floats:
        """Return the log probability that each of `outputs` is released, for the records `cells`; any domain size."""
        log_p, counts, bucket_sizes = self._levels(outputs, cells)
        with np.errstate(divide="ignore"):
            log_terms = log_p + np.log(counts) + self._log_pass(bucket_sizes - self.k)
        return np.asarray(logsumexp(log_terms, axis=1) - math.log(len(cells)) + math.log1p(-self.withheld))

    def log_not_released(self, cells: Ints) -> float:
        """Return the log probability that nothing is released, as a sum over all outputs."""
        log_p, counts, bucket_sizes = self._levels(np.arange(self.generator.n_outputs), cells)
        with np.errstate(divide="ignore"):
            failed = logsumexp(log_p + np.log(counts) + self._log_fail(bucket_sizes - self.k)) - math.log(len(cells))
            return float(np.logaddexp(np.log(self.withheld), math.log1p(-self.withheld) + failed))

    def log_law(self, dataset: Dataset) -> Floats:
        """Return log probabilities of all outputs, with "nothing" last, shape `(n_outputs + 1,)`."""
        cells = self._cells(dataset)
        released = self.log_released(np.arange(self.generator.n_outputs), cells)
        return np.append(released, self.log_not_released(cells))

    def law(self, dataset: Dataset) -> Floats:
        """Return probabilities of all outputs, in the order of `log_law`."""
        return np.exp(self.log_law(dataset))

    def guarantee(self) -> Guarantee:
        """Return `DeniabilityDP(k, gamma, epsilon0)`, or its statement for t."""
        theorem = DeniabilityDP(self.k, self.gamma, self.epsilon0, self.relation)
        return theorem if self.t is None else theorem.at(self.t)

    def worst_case(self) -> Neighbours:
        """Return k - 1 records of one kind and k + 1 of another; side 1 has one more of the first kind.

        This record is added, or replaces one of the other kind.
        """
        first, other = self.generator.two_records()
        return self._pair(first, self.k - 1, other, self.k + 1)

    def _pair(self, kind: Dataset, n_kind: int, other: Dataset, n_other: int) -> Neighbours:
        """Return a pair with `n_kind` and `n_other` records of two kinds; side 1 has one more of the first kind."""
        d0 = np.concatenate([np.repeat(kind, n_kind, axis=0), np.repeat(other, n_other, axis=0)])
        rest = d0 if self.relation is Relation.ADD_REMOVE else d0[:-1]
        return Neighbours(d0, np.concatenate([kind, rest]), self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of `worst_case()`; None if the domain is large."""
        if self.generator.n_outputs > MAX_SUMMED_OUTPUTS:
            return None
        pair = self.worst_case()
        return ExactDP.of_logs(self.log_law(pair.d0), self.log_law(pair.d1), self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self._cells(dataset)

    def _check_pair(self, neighbours: Neighbours) -> None:
        super()._check_pair(neighbours)
        sizes = [len(self._cells(neighbours.side(side))) for side in (0, 1)]
        if self.relation is Relation.ADD_REMOVE and min(sizes) < self.k:
            raise NeighboursError(
                f"each side must have at least k = {plural(self.k, 'record')}, as the theorem requires, but one "
                f"has {min(sizes)}. Use more records, or a smaller k.",
                argument="k",
            )
