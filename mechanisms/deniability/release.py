"""A synthetic record is made of a record, and released if enough other records could have given it."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ..errors import NeighboursError, ParameterError, plural
from ..guarantees import ExactDP
from ..guarantees.base import Guarantee
from ..noise.laplace import draw_laplace
from ..queries.base import Floats
from ..records import check_records
from ..relation import Relation
from .definition import buckets
from .network import Ints
from .seeds import SeedBasedSynthesis, SeedGenerator
from .theorem import DeniabilityDP, pass_log_probability

NOT_RELEASED = -1
"""The output of a run that releases nothing."""
LARGEST = 2**16
"""Outputs up to which the chance that nothing is released is added up over all of them."""


@dataclass(frozen=True)
class DeniableRelease(Mechanism):
    """One synthetic record, released if at least k records are as plausible as its source, up to noise.

        seed d      uniform on the dataset;  y = M(d)
        bucket      the records d_a whose Pr[y = M(d_a)] lies in the same interval (gamma^-(i + 1), gamma^-i]
        released    if the bucket holds k' >= k + Laplace(1 / epsilon0) records, the seed among them

    and, whatever the data, only in half of the runs. (Bindschaedler, Shokri and Gunter 2017, mechanism 1 with privacy
    test 2; the half is ours.)

    The published mechanism has a guarantee for what it releases, and none for whether it does: with n records that all
    pass and one that cannot, nothing is released in 1 run of n + 1, and never without it. Where half of the runs are
    withheld at random, the outcome "nothing" has a probability of at least 1/2, and what it gives away is covered: if a
    law F on the records keeps (epsilon, delta) for all sets of records, then F / 2, completed by "nothing", keeps it
    for all events.

    Args:
        generator: makes y of a seed; public, or privately learned from other records.
        k: records that a released record should have, >= 2.
        gamma: largest ratio of the probabilities of two records of a bucket, > 1.
        epsilon0: of the noise of the threshold, > 0.
        t: None: the claim is the whole curve of the theorem; a whole number 1 <= t < k: its statement for this t, an
            (epsilon, delta) that composes with others (`Repeated`).
        relation: add_remove or replace_one; the theorem holds for both.

    The output is the number of a cell of the domain (`generator.domain.records_in` turns it into a record), or -1 where
    nothing is released.

    Guarantees:
        * `DeniabilityDP(k, gamma, epsilon0)`, for all events; under add_remove for datasets of k records at least.
        * The output law is exact. Where the domain has more than 65,536 cells, that of "nothing" is not computed.

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
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        if self.relation is Relation.ZERO_OUT:
            raise ParameterError(argument="relation", value=self.relation.value, allowed="be add_remove or replace_one")
        if not isinstance(self.generator, SeedGenerator):
            raise ParameterError(
                argument="generator", value=self.generator, allowed="be a SeedGenerator, such as SeedBasedSynthesis()"
            )
        self.guarantee()

    @property
    def withheld(self) -> float:
        """Share of the runs in which nothing is released whatever the data."""
        return 0.5

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` numbers of cells, or -1, shape `(size,)`."""
        cells = self._cells(dataset)
        seeds = cells[rng.integers(len(cells), size=size)]
        outputs = self.generator.draw(seeds, rng)
        _, _, crowds = self._levels(outputs, cells)
        own = np.take_along_axis(crowds, self.generator.levels(outputs, seeds)[:, np.newaxis], axis=1)[:, 0]
        given = self._passes(own - self.k, rng) & (rng.random(size) >= self.withheld)
        return Outputs(np.where(given, outputs, NOT_RELEASED))

    def _passes(self, excess: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether k' records pass, of each excess k' - k."""
        return np.asarray(excess >= draw_laplace(1.0 / self.epsilon0, excess.shape, rng))

    def _log_pass(self, excess: Floats) -> Floats:
        """Log probability of it."""
        return pass_log_probability(excess, self.epsilon0)

    def _log_fail(self, excess: Floats) -> Floats:
        """Log probability that they do not."""
        return pass_log_probability(-np.asarray(excess), self.epsilon0)

    def _cells(self, dataset: Dataset) -> Ints:
        cells = self.generator.cells(dataset)
        if not len(cells):
            raise ParameterError("the dataset must hold a record to make others of, but is empty.", argument="dataset")
        return cells

    def _levels(self, outputs: Ints, cells: Ints) -> tuple[Floats, Floats, Floats]:
        """Log probability, number of records, and number of records of the bucket, at each level of each output."""
        log_p = self.generator.log_levels(outputs)
        counts = self.generator.counts(outputs, cells)
        bucket = buckets(log_p, self.gamma)
        same = bucket[:, :, np.newaxis] == bucket[:, np.newaxis, :]
        return log_p, counts, (same * counts[:, np.newaxis, :]).sum(axis=2)

    def output_law(self) -> LogDensity | None:
        """Its own, see `log_density`; None where the domain is large."""
        return self if self.generator.n_outputs <= LARGEST else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log probability of each output under `dataset`, shape `(size,)`; -inf for what is no output."""
        cells, values = self._cells(dataset), np.asarray(outputs.values)
        possible = (values >= 0) & (values < self.generator.n_outputs) & (values == np.floor(values))
        found = np.full(values.shape, -np.inf)
        known, at = np.unique(values[possible].astype(np.int64), return_inverse=True)
        found[possible] = self.log_released(known, cells)[at]
        nothing = values == NOT_RELEASED
        if nothing.any():
            found[nothing] = self.log_not_released(cells)
        return found

    def log_released(self, outputs: Ints, cells: Ints) -> Floats:
        """Log probability that each of `outputs` is released, from the records `cells`; for domains of any size."""
        log_p, counts, crowds = self._levels(outputs, cells)
        with np.errstate(divide="ignore"):
            each = log_p + np.log(counts) + self._log_pass(crowds - self.k)
        return np.asarray(logsumexp(each, axis=1) - math.log(len(cells)) + math.log1p(-self.withheld))

    def log_not_released(self, cells: Ints) -> float:
        """Log probability that nothing is released, a sum over all outputs."""
        log_p, counts, crowds = self._levels(np.arange(self.generator.n_outputs), cells)
        with np.errstate(divide="ignore"):
            failed = logsumexp(log_p + np.log(counts) + self._log_fail(crowds - self.k)) - math.log(len(cells))
            return float(np.logaddexp(np.log(self.withheld), math.log1p(-self.withheld) + failed))

    def log_law(self, dataset: Dataset) -> Floats:
        """Log probabilities of all outputs, that of "nothing" last, shape `(n_outputs + 1,)`."""
        cells = self._cells(dataset)
        released = self.log_released(np.arange(self.generator.n_outputs), cells)
        return np.append(released, self.log_not_released(cells))

    def law(self, dataset: Dataset) -> Floats:
        """Probabilities of all outputs, in the order of `log_law`."""
        return np.exp(self.log_law(dataset))

    def guarantee(self) -> Guarantee:
        """`DeniabilityDP(k, gamma, epsilon0)`, or what it says of t."""
        theorem = DeniabilityDP(self.k, self.gamma, self.epsilon0, self.relation)
        return theorem if self.t is None else theorem.at(self.t)

    def worst_case(self) -> Neighbours:
        """k - 1 records of one kind, and k + 1 of another; side 1 has a k-th of the first, added or in place of one."""
        first, other = self.generator.two_records()
        return self._pair(first, self.k - 1, other, self.k + 1)

    def _pair(self, kind: Dataset, n_kind: int, other: Dataset, n_other: int) -> Neighbours:
        """So many records of two kinds; side 1 has one more of the first."""
        d0 = np.concatenate([np.repeat(kind, n_kind, axis=0), np.repeat(other, n_other, axis=0)])
        rest = d0 if self.relation is Relation.ADD_REMOVE else d0[:-1]
        return Neighbours(d0, np.concatenate([kind, rest]), self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """The exact curve of `worst_case()`; None where the domain is large."""
        if self.generator.n_outputs > LARGEST:
            return None
        pair = self.worst_case()
        return ExactDP.of_logs(self.log_law(pair.d0), self.log_law(pair.d1), self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        sizes = [len(self._cells(neighbours.side(side))) for side in (0, 1)]
        if self.relation is Relation.ADD_REMOVE and min(sizes) < self.k:
            raise NeighboursError(
                f"each side must have k = {plural(self.k, 'record')} at least, which the theorem asks for, but one "
                f"has {min(sizes)}. Give more records, or a smaller k.",
                argument="k",
            )
        check_records(neighbours)
        return self
