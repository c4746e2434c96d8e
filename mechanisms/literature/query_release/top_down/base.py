"""Base class of TopDown with discrete Gaussian and with geometric noise.

    measurements = answers of all queries at all nodes + integer noise
    released: the measurements and the invariants; tables are computed from these only

A pair of neighbours must agree on the invariants: `InvariantNeighbours` lists the changes that this allows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Annotated, ClassVar

import numpy as np

from ....accounting import ExactDP
from ....accounting.numerics.binomial import convolved_logs
from ....core.arrays import Floats, Ints
from ....core.base import Dataset, LogDensity, Neighbours, Outputs, example
from ....core.constraints import AddOrReplace, one_of_names
from ....core.errors import NeighboursError, ParameterError
from ....core.guarantee import Guarantee
from ....core.records import RecordsMechanism
from ....core.relation import Relation
from ....noise.discrete_gaussian import DiscreteGaussian
from ....noise.geometric import Geometric
from ....noise.queries.domain import Domain
from .geography import LEVELS, Geography, Invariant, LevelQuery, Where, where_of
from .plan import TopDownPlan
from .post_processing import TopDownPostProcessing


@dataclass(frozen=True, eq=False)
class InvariantNeighbours:
    """Pairs of a plan: two types of people, or one added type; a type is a county and a possible cell.

    Under replace_one a person of one type becomes one of another; the pair agrees on the invariants if each invariant
    counts both types or neither. Under add_remove, the pair agrees if no invariant counts the person.

    Args:
        plan: the queries and the invariants.
        relation: add_remove or replace_one.

    Raises:
        ParameterError: no pair agrees on the invariants, or the invariants determine a query.
    """

    plan: TopDownPlan
    relation: Relation

    def __post_init__(self) -> None:
        moved = np.zeros(len(self.plan.queries), dtype=bool)
        for types in self._groups_of_types():
            labels = self._labels[:, types]
            moved |= self._adds | (labels != labels[:, :1]).any(axis=1)
        if not moved.any():
            raise ParameterError(
                f"under {self.relation.value!r} no two datasets agree on the invariants and differ in the "
                "measurements: everything is public. Remove some invariants"
                + (", or relation='replace_one'." if self._adds else "."),
                argument="invariants",
            )
        if not moved.all():
            query = self.plan.queries[int(np.argmin(moved))]
            raise ParameterError(
                f"queries must not be public: {query} follow from the invariants, or never differ under "
                f"{self.relation.value!r}, and need no noise. Leave this query out.",
                argument="queries",
            )

    @property
    def n_changed_cells(self) -> int:
        """Number of cells of an affected query that change by one: the previous and the new cell of the person."""
        return 1 if self._adds else 2

    @cached_property
    def furthest(self) -> tuple[int | None, int]:
        """Two types, or None and one type, that change queries with the largest total budget share."""
        if self._adds:
            return None, int(next(self._groups_of_types())[0])
        shares = np.array([query.share for query in self.plan.queries])
        best, best_pair = -1, (0, 0)
        for types in self._groups_of_types():
            for position, first in enumerate(types[:-1]):
                others = types[position + 1 :]
                moved = shares @ (self._labels[:, others] != self._labels[:, [first]])
                if moved.max() > best:
                    best, best_pair = int(moved.max()), (int(first), int(others[np.argmax(moved)]))
                if best == shares.sum():
                    return best_pair
        return best_pair

    @cached_property
    def affected_queries(self) -> tuple[int, ...]:
        """Indices of the queries that the furthest types change."""
        first, second = self.furthest
        if first is None:
            return tuple(range(len(self.plan.queries)))
        return tuple(np.flatnonzero(self._labels[:, first] != self._labels[:, second]).tolist())

    @property
    def _adds(self) -> bool:
        return self.relation is Relation.ADD_REMOVE

    @cached_property
    def _counties(self) -> Ints:
        """County of each type."""
        return np.repeat(np.arange(self.plan.geography.n_nodes("county")), len(self.plan.cells))

    def pair(self, kind0: int | None, kind1: int) -> Neighbours:
        """Return a pair of one person of type `kind0`, or no record for None, and one person of type `kind1`."""
        no_records = np.zeros((0, len(self.plan.domain.names) + 1), dtype=np.int64)
        d0, d1 = (no_records if kind is None else self._record(kind) for kind in (kind0, kind1))
        return Neighbours(d0, d1, self.relation)

    def _record(self, kind: int) -> Ints:
        """Return the record of a person of a type, `(1, 1 + n_attributes)`: county and attributes."""
        cell = self.plan.cells[[kind % len(self.plan.cells)]]
        return np.hstack([self._counties[[kind]][:, None], self.plan.domain.records_in(cell)])

    @cached_property
    def _labels(self) -> Ints:
        """Index of the number of each query that counts each type, shape `(n_queries, n_types)`."""
        labels = []
        for query, margin in zip(self.plan.queries, self.plan.margins, strict=True):
            nodes = self.plan.geography.of_counties(query.level)
            labels.append((nodes[:, None] * (margin.max() + 1) + margin).ravel())
        return np.array(labels)

    @cached_property
    def invariant_labels(self) -> Ints:
        """Index of the number of each invariant that counts each type, -1 for none, `(n_invariants, n_types)`."""
        labels = [
            np.where(kind, self.plan.geography.of_counties(invariant.level)[:, None], -1).ravel()
            for invariant, kind in zip(self.plan.invariants, self.plan.kinds, strict=True)
        ]
        return np.array(labels, dtype=np.int64).reshape(len(labels), len(self._counties))

    def _groups_of_types(self) -> Iterator[Ints]:
        """Yield the groups of types with equal invariants; under add_remove, the types that no invariant counts."""
        if self._adds:
            free = np.flatnonzero((self.invariant_labels == -1).all(axis=0))
            if len(free):
                yield free
            return
        _, group = np.unique(self.invariant_labels, axis=1, return_inverse=True)
        order = np.argsort(group.reshape(-1), kind="stable")
        for types in np.split(order, np.cumsum(np.bincount(group.reshape(-1)))[:-1]):
            if len(types) > 1:
                yield types


VIEWS = ("measurements", "tables")
"""Parts of a release that can be observed."""
MAX_LOSSES = 2**17
"""Largest number of privacy losses for which the exact curve is computed."""
PEOPLE = Domain((("relationship", 3), ("age", 3), ("white", 2), ("other", 2)))
"""Default domain: householder, partner, other; below 15, 15 to 64, older; and two flags of race."""
TWO_STATES = Geography((2, 3))
ADULT_PARTNERS: Where = (("relationship", (0, 1)), ("age", (0,)))
NO_RACE: Where = (("white", (0,)), ("other", (0,)))
AGES = ("relationship", "age")
DETAIL = PEOPLE.names


@dataclass(frozen=True, kw_only=True)
class TopDown(RecordsMechanism):
    """Base class of the TopDown mechanisms; see `GaussianTopDown` for the options.

    Attributes:
        omitted_probability: probability of the outcomes of one number that `_log_changed_count` leaves out.
    """

    _example = example(
        geography=[1, 2],
        domain={"sex": 2, "age": 2},
        structural_zeros=[{"sex": [0], "age": [1]}],
        queries=[{"level": "nation", "attributes": ["age"]}, {"level": "county", "share": 2}],
        invariants=[{"level": "state"}],
    )

    omitted_probability: ClassVar[float] = 0.0

    geography: Geography = TWO_STATES
    domain: Domain = PEOPLE
    structural_zeros: tuple[Where, ...] = (ADULT_PARTNERS, NO_RACE)
    queries: tuple[LevelQuery, ...] = tuple(
        LevelQuery(level, names, share) for level in LEVELS for names, share in ((AGES, 1), (DETAIL, 2))
    )
    invariants: tuple[Invariant, ...] = (Invariant("state"), Invariant("county", (("relationship", (0,)),)))
    view: Annotated[str, one_of_names(*VIEWS)] = "measurements"
    relation: AddOrReplace = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "geography", Geography.of(self.geography))
        object.__setattr__(self, "domain", Domain.of(self.domain))
        object.__setattr__(self, "structural_zeros", tuple(where_of(zero) for zero in self.structural_zeros))
        object.__setattr__(self, "queries", tuple(LevelQuery.of(query) for query in self.queries))
        object.__setattr__(self, "invariants", tuple(Invariant.of(invariant) for invariant in self.invariants))
        _ = self.invariant_neighbours

    @cached_property
    def plan(self) -> TopDownPlan:
        """Public plan of the release, independent of the data."""
        return TopDownPlan(self.geography, self.domain, self.structural_zeros, self.queries, self.invariants)

    @cached_property
    def invariant_neighbours(self) -> InvariantNeighbours:
        """Possible changes of the measurements by one person."""
        return InvariantNeighbours(self.plan, self.relation)

    @cached_property
    def affected_shares(self) -> int:
        """Sum of the budget shares of the queries that one person can change together."""
        return sum(self.queries[index].share for index in self.invariant_neighbours.affected_queries)

    @abstractmethod
    def _noise(self, query: LevelQuery, n_queries: int) -> DiscreteGaussian | Geometric:
        """Return the noise of a query, as a mechanism on a vector of integers."""

    @abstractmethod
    def _log_changed_count(self, query: LevelQuery) -> Floats:
        """Return the log law of one number that increases by 1, on outcomes 0, ..., n - 1.

        The privacy loss increases in equal steps over the outcomes, and the law of the other side is the reverse.
        """

    @property
    @abstractmethod
    def standard_deviations(self) -> tuple[float, ...]:
        """Standard deviation of the noise of each query."""

    @cached_property
    def laws(self) -> tuple[DiscreteGaussian | Geometric, ...]:
        """Noise mechanism of each query."""
        return tuple(self._noise(query, n) for query, n in zip(self.queries, self.plan.sizes, strict=True))

    @cached_property
    def post_processing(self) -> TopDownPostProcessing:
        """Post-processing from outputs to tables."""
        return TopDownPostProcessing(self.plan, tuple(deviation**-2 for deviation in self.standard_deviations))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return integers: measurements and then invariants, `(size, n)`, or tables, `(size, n_counties, n_cells)`."""
        counts = self.plan.counts(dataset)
        noisy = [
            law.add_to(answers, size, rng).values
            for law, answers in zip(self.laws, self.plan.answers(counts), strict=True)
        ]
        public = [np.tile(values, (size, 1)).astype(np.int64) for values in self.plan.public(counts)]
        outputs = np.hstack([*noisy, *public])
        return Outputs(outputs if self.view == "measurements" else self.county_tables(outputs))

    def county_tables(self, outputs: Ints) -> Ints:
        """Return the integer tables `(size, n_counties, n_cells)` from measurements and invariants `(size, n)`."""
        tables = np.zeros((len(outputs), self.geography.n_nodes("county"), self.domain.n_cells), dtype=np.int64)
        if len(outputs):
            tables[:, :, self.plan.cells] = np.rint(self.post_processing.tables(outputs.astype(np.float64))["county"])
        return tables

    def variances(self) -> dict[str, Floats]:
        """Return for each level the variance of each number of the least-squares tables, `(n_nodes, n_possible)`."""
        return self.post_processing.variances(self.standard_deviations)

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact; None for the tables."""
        return self if self.view == "measurements" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf for other invariants."""
        counts, values = self.plan.counts(dataset), np.asarray(outputs.values)
        noisy, public = np.split(values, [self.plan.n_measured], axis=1)
        log_probabilities = np.zeros(len(values))
        parts = np.split(noisy, np.cumsum(self.plan.sizes)[:-1], axis=1)
        for law, part, answers in zip(self.laws, parts, self.plan.answers(counts), strict=True):
            log_probabilities += law.log_density_around(answers, Outputs(part))
        agrees = (public == np.concatenate([*self.plan.public(counts), []])).all(axis=1)
        return np.where(agrees, log_probabilities, -np.inf)

    def worst_case(self) -> Neighbours:
        """Return a pair of one person who changes queries with the largest budget share, and no invariant."""
        return self.invariant_neighbours.pair(*self.invariant_neighbours.furthest)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.plan.counts(dataset)

    def _check_pair(self, neighbours: Neighbours) -> None:
        super()._check_pair(neighbours)
        public = [self.plan.public(self.plan.counts(neighbours.side(side))) for side in (0, 1)]
        self._check_agreement(*public)

    def _check_agreement(self, public0: list[Floats], public1: list[Floats]) -> None:
        for invariant, values0, values1 in zip(self.invariants, public0, public1, strict=True):
            if not np.array_equal(values0, values1):
                node = int(np.argmax(values0 != values1))
                raise NeighboursError(
                    f"the pair differs in an invariant: d0 has {invariant.counted(values0[node])} in "
                    f"{invariant.level} {node}, d1 has {values1[node]:g}. Invariants are published exactly, so that "
                    "the claim holds only for pairs that agree on all of them. Give such a pair, or remove the "
                    "invariant.",
                    argument="d1",
                )

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the measurements on the worst case; None for tables or too many losses.

        The loss of a number is a whole multiple of a unit that is proportional to the share of its query; the law of
        the sum is a convolution.
        """
        if self.view != "measurements":
            return None
        affected = [
            self.queries[index]
            for index in self.invariant_neighbours.affected_queries
            for _ in range(self.invariant_neighbours.n_changed_cells)
        ]
        laws = [_spread(self._log_changed_count(query), query.share) for query in affected]
        if sum(map(len, laws)) > MAX_LOSSES:
            return None
        law = reduce(convolved_logs, sorted(laws, key=len))
        possible = (law > -np.inf) | (law[::-1] > -np.inf)
        log0, log1 = law[::-1][possible], law[possible]
        if self.omitted_probability:
            log_omitted = np.log(len(affected) * self.omitted_probability)
            log0, log1 = np.append(log0, [log_omitted, -np.inf]), np.append(log1, [-np.inf, log_omitted])
        return ExactDP.of_logs(log0, log1, relation=self.relation)


def _spread(log_law: Floats, share: int) -> Floats:
    """Return the log law of an integer times `share` from the log law of the integer."""
    log_probabilities = np.full(share * (len(log_law) - 1) + 1, -np.inf)
    log_probabilities[::share] = log_law
    return log_probabilities
