"""Base class of TopDown with discrete Gaussian and with geometric noise.

measurements = answers of all queries at all nodes + integer noise
released: the measurements and the invariants; tables are computed from these only
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...accounting import ExactDP
from ...accounting.numerics.binomial import convolved_logs
from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...core.constraints import one_of_names
from ...core.errors import NeighboursError, ParameterError
from ...core.records import check_records
from ...core.relation import Relation
from ...noise.discrete_gaussian import DiscreteGaussian
from ...noise.geometric import Geometric
from ...noise.queries.domain import Domain
from .geography import LEVELS, Geography
from .neighbouring_moves import Moves
from .plan import TopDownPlan
from .processing import TopDownTables
from .queries import Invariant, LevelQuery, Where, where_of

VIEWS = ("measurements", "tables")
"""Parts of a release that can be observed."""
LISTED = 2**17
"""Largest number of privacy losses for which the exact curve is computed."""
PEOPLE = Domain((("relationship", 3), ("age", 3), ("white", 2), ("other", 2)))
"""Default domain: householder, partner, other; below 15, 15 to 64, older; and two flags of race."""
TWO_STATES = Geography((2, 3))
ADULT_PARTNERS: Where = (("relationship", (0, 1)), ("age", (0,)))
NO_RACE: Where = (("white", (0,)), ("other", (0,)))
AGES = ("relationship", "age")
DETAIL = PEOPLE.names


@dataclass(frozen=True, kw_only=True)
class TopDown(Mechanism):
    """Base class of the TopDown mechanisms; see `GaussianTopDown` for the options.

    Attributes:
        unlisted: probability of the outcomes of one number that `_log_towards` leaves out.
    """

    unlisted: ClassVar[float] = 0.0

    geography: Geography = TWO_STATES
    domain: Domain = PEOPLE
    structural_zeros: tuple[Where, ...] = (ADULT_PARTNERS, NO_RACE)
    queries: tuple[LevelQuery, ...] = tuple(
        LevelQuery(level, names, share) for level in LEVELS for names, share in ((AGES, 1), (DETAIL, 2))
    )
    invariants: tuple[Invariant, ...] = (Invariant("state"), Invariant("county", (("relationship", (0,)),)))
    view: Annotated[str, one_of_names(*VIEWS)] = "measurements"
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "geography", Geography.of(self.geography))
        object.__setattr__(self, "domain", Domain.of(self.domain))
        object.__setattr__(self, "structural_zeros", tuple(where_of(zero) for zero in self.structural_zeros))
        object.__setattr__(self, "queries", tuple(LevelQuery.of(query) for query in self.queries))
        object.__setattr__(self, "invariants", tuple(Invariant.of(invariant) for invariant in self.invariants))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        if self.relation is Relation.ZERO_OUT:
            raise ParameterError(argument="relation", value=self.relation.value, allowed="be replace_one or add_remove")
        _ = self.moves

    @cached_property
    def plan(self) -> TopDownPlan:
        """Public plan of the release, independent of the data."""
        return TopDownPlan(self.geography, self.domain, self.structural_zeros, self.queries, self.invariants)

    @cached_property
    def moves(self) -> Moves:
        """Possible changes of the measurements by one person."""
        return Moves(self.plan, self.relation)

    @cached_property
    def parts_moved(self) -> int:
        """Sum of the budget shares of the queries that one person can change together."""
        return sum(self.queries[index].share for index in self.moves.moved)

    @abstractmethod
    def _noise(self, query: LevelQuery, n_queries: int) -> DiscreteGaussian | Geometric:
        """Return the noise of a query, as a mechanism on a vector of integers."""

    @abstractmethod
    def _log_towards(self, query: LevelQuery) -> Floats:
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
    def processing(self) -> TopDownTables:
        """Post-processing from outputs to tables."""
        return TopDownTables(self.plan, tuple(deviation**-2 for deviation in self.standard_deviations))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return integers: measurements and then invariants, `(size, n)`, or tables, `(size, n_counties, n_cells)`."""
        counts = self.plan.counts(dataset)
        noisy = [
            law.release(_vector(answers), size, rng).values.reshape(size, len(answers))
            for law, answers in zip(self.laws, self.plan.answers(counts), strict=True)
        ]
        public = [np.tile(values, (size, 1)).astype(np.int64) for values in self.plan.public(counts)]
        outputs = np.hstack([*noisy, *public])
        return Outputs(outputs if self.view == "measurements" else self.county_tables(outputs))

    def county_tables(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the integer tables `(size, n_counties, n_cells)` from measurements and invariants `(size, n)`."""
        tables = np.zeros((len(outputs), self.geography.n_nodes("county"), self.domain.n_cells), dtype=np.int64)
        if len(outputs):
            tables[:, :, self.plan.cells] = np.rint(self.processing.tables(outputs.astype(np.float64))["county"])
        return tables

    def variances(self) -> dict[str, Floats]:
        """Return for each level the variance of each number of the least-squares tables, `(n_nodes, n_possible)`."""
        return self.processing.variances(self.standard_deviations)

    def output_law(self) -> LogDensity | None:
        """Return self, whose `log_density` is exact; None for the tables."""
        return self if self.view == "measurements" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Return the log probability of each output under `dataset`, shape `(size,)`; -inf for other invariants."""
        counts, values = self.plan.counts(dataset), np.asarray(outputs.values)
        noisy, public = np.split(values, [self.plan.n_measured], axis=1)
        log_probabilities = np.zeros(len(values))
        parts = np.split(noisy, np.cumsum(self.plan.sizes)[:-1], axis=1)
        for law, part, answers in zip(self.laws, parts, self.plan.answers(counts), strict=True):
            log_probabilities += law.log_density(Outputs(part if part.shape[1] > 1 else part[:, 0]), _vector(answers))
        agrees = (public == np.concatenate([*self.plan.public(counts), []])).all(axis=1)
        return np.where(agrees, log_probabilities, -np.inf)

    def worst_case(self) -> Neighbours:
        """Return a pair of one person who changes queries with the largest budget share, and no invariant."""
        return self.moves.pair(*self.moves.furthest)

    def bind(self, neighbours: Neighbours) -> Mechanism:
        super().bind(neighbours)
        check_records(neighbours)
        public = [self.plan.public(self.plan.counts(neighbours.side(side))) for side in (0, 1)]
        self._check_agreement(*public)
        return self

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

    def _exact(self) -> ExactDP | None:
        """Return the exact curve of the measurements on the worst case; None if there are too many losses.

        The loss of a number is a whole multiple of a unit that is proportional to the share of its query; the law of
        the sum is a convolution.
        """
        moved = [self.queries[index] for index in self.moves.moved for _ in range(self.moves.cells_moved)]
        laws = [_spread(self._log_towards(query), query.share) for query in moved]
        if sum(map(len, laws)) > LISTED:
            return None
        law = reduce(convolved_logs, sorted(laws, key=len))
        possible = (law > -np.inf) | (law[::-1] > -np.inf)
        log0, log1 = law[::-1][possible], law[possible]
        if self.unlisted:
            log_unlisted = np.log(len(moved) * self.unlisted)
            log0, log1 = np.append(log0, [log_unlisted, -np.inf]), np.append(log1, [-np.inf, log_unlisted])
        return ExactDP.of_logs(log0, log1, relation=self.relation)


def _spread(log_law: Floats, share: int) -> Floats:
    """Return the log law of an integer times `share` from the log law of the integer."""
    log_probabilities = np.full(share * (len(log_law) - 1) + 1, -np.inf)
    log_probabilities[::share] = log_law
    return log_probabilities


def _vector(answers: Floats) -> Any:
    """Return answers in the form that noise mechanisms expect: a scalar for one answer."""
    return answers if len(answers) > 1 else answers[0]
