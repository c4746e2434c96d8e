"""What both kinds of noise share.

measurements = answers of all queries at all nodes + noise on whole numbers
released: the measurements and the invariants; tables are made from these and nothing else
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ...errors import NeighboursError, ParameterError
from ...guarantees import ExactDP
from ...guarantees.numerics.binomial import convolved_logs
from ...noise.discrete.discrete_gaussian import DiscreteGaussian
from ...noise.discrete.geometric import Geometric
from ...queries.base import Floats
from ...queries.domain import Domain
from ...records import check_records
from ...relation import Relation
from ...validation import one_of
from .geography import LEVELS, Geography
from .moves import Moves
from .parts import Invariant, LevelQuery, Where, where_of
from .plan import Plan
from .processing import TopDownTables

VIEWS = ("measurements", "tables")
"""What is seen of a release."""
LISTED = 2**17
"""Most losses for which the exact curve is computed."""
PEOPLE = Domain((("relationship", 3), ("age", 3), ("white", 2), ("other", 2)))
"""Householder, partner, another; below 15, 15 to 64, older; and two flags of race."""
TWO_STATES = Geography((2, 3))
ADULT_PARTNERS: Where = (("relationship", (0, 1)), ("age", (0,)))
NO_RACE: Where = (("white", (0,)), ("other", (0,)))
AGES = ("relationship", "age")
DETAIL = PEOPLE.names


@dataclass(frozen=True, kw_only=True)
class TopDown(Mechanism):
    """Base of the two mechanisms: their options are those of `GaussianTopDown`.

    Attributes:
        unlisted: probability of outcomes that `_log_towards` leaves out, for one number.
    """

    unlisted: ClassVar[float] = 0.0

    geography: Geography = TWO_STATES
    domain: Domain = PEOPLE
    structural_zeros: tuple[Where, ...] = (ADULT_PARTNERS, NO_RACE)
    queries: tuple[LevelQuery, ...] = tuple(
        LevelQuery(level, names, share) for level in LEVELS for names, share in ((AGES, 1), (DETAIL, 2))
    )
    invariants: tuple[Invariant, ...] = (Invariant("state"), Invariant("county", (("relationship", (0,)),)))
    view: str = "measurements"
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "geography", Geography.of(self.geography))
        object.__setattr__(self, "domain", Domain.of(self.domain))
        object.__setattr__(self, "structural_zeros", tuple(where_of(zero) for zero in self.structural_zeros))
        object.__setattr__(self, "queries", tuple(LevelQuery.of(query) for query in self.queries))
        object.__setattr__(self, "invariants", tuple(Invariant.of(each) for each in self.invariants))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        one_of(VIEWS, view=self.view)
        if self.relation is Relation.ZERO_OUT:
            raise ParameterError(argument="relation", value=self.relation.value, allowed="be replace_one or add_remove")
        _ = self.moves

    @cached_property
    def plan(self) -> Plan:
        """What is public before the data are seen."""
        return Plan(self.geography, self.domain, self.structural_zeros, self.queries, self.invariants)

    @cached_property
    def moves(self) -> Moves:
        """What one person can move."""
        return Moves(self.plan, self.relation)

    @cached_property
    def parts_moved(self) -> int:
        """Parts of the budget that the queries have which one person can move together."""
        return sum(self.queries[which].share for which in self.moves.moved)

    @abstractmethod
    def _noise(self, query: LevelQuery, n_queries: int) -> DiscreteGaussian | Geometric:
        """The noise of a query, as a mechanism on a vector of whole numbers."""

    @abstractmethod
    def _log_towards(self, query: LevelQuery) -> Floats:
        """Log law of one number that moves up by 1, cut into outcomes 0, ..., n - 1 whose privacy loss grows in equal
        steps and which the other side has in reverse order."""

    @property
    @abstractmethod
    def standard_deviations(self) -> tuple[float, ...]:
        """Of the noise of each query."""

    @cached_property
    def laws(self) -> tuple[DiscreteGaussian | Geometric, ...]:
        """The noise of each query."""
        return tuple(self._noise(query, n) for query, n in zip(self.queries, self.plan.sizes, strict=True))

    @cached_property
    def processing(self) -> TopDownTables:
        """What makes tables of outputs."""
        return TopDownTables(self.plan, tuple(deviation**-2 for deviation in self.standard_deviations))

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Whole numbers: measurements and then invariants, `(size, n)`, or tables, `(size, n_counties, n_cells)`."""
        counts = self.plan.counts(dataset)
        noisy = [
            law.release(_vector(answers), size, rng).values.reshape(size, len(answers))
            for law, answers in zip(self.laws, self.plan.answers(counts), strict=True)
        ]
        public = [np.tile(values, (size, 1)).astype(np.int64) for values in self.plan.public(counts)]
        outputs = np.hstack([*noisy, *public])
        return Outputs(outputs if self.view == "measurements" else self.county_tables(outputs))

    def county_tables(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tables that measurements and invariants `(size, n)` lead to: `(size, n_counties, n_cells)`, whole."""
        found = np.zeros((len(outputs), self.geography.n_nodes("county"), self.domain.n_cells), dtype=np.int64)
        if len(outputs):
            found[:, :, self.plan.cells] = np.rint(self.processing.tables(outputs.astype(np.float64))["county"])
        return found

    def variances(self) -> dict[str, Floats]:
        """For each level the variance of each number of the least-squares tables, `(n_nodes, n_possible)`."""
        return self.processing.variances(self.standard_deviations)

    def output_law(self) -> LogDensity | None:
        """Its own, see `log_density`; None for the tables."""
        return self if self.view == "measurements" else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log probability of each output under `dataset`, shape `(size,)`; -inf where the invariants are others."""
        counts, values = self.plan.counts(dataset), np.asarray(outputs.values)
        noisy, public = np.split(values, [self.plan.n_measured], axis=1)
        found = np.zeros(len(values))
        parts = np.split(noisy, np.cumsum(self.plan.sizes)[:-1], axis=1)
        for law, part, answers in zip(self.laws, parts, self.plan.answers(counts), strict=True):
            found += law.log_density(Outputs(part if part.shape[1] > 1 else part[:, 0]), _vector(answers))
        agrees = (public == np.concatenate([*self.plan.public(counts), []])).all(axis=1)
        return np.where(agrees, found, -np.inf)

    def worst_case(self) -> Neighbours:
        """The person who moves queries of the largest share of the budget and no invariant; nobody else."""
        return self.moves.pair(*self.moves.furthest)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
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
                    "the claim holds only for pairs that agree on all of them. Give such a pair, or take the invariant "
                    "out.",
                    argument="d1",
                )

    def _exact(self) -> ExactDP | None:
        """The exact curve of the measurements on the worst case; None where it has too many losses to be listed.

        The loss of a number is a whole multiple of one unit, that of its query in proportion to the share, and a sum of
        these is convolved.
        """
        moved = [self.queries[which] for which in self.moves.moved for _ in range(self.moves.cells_moved)]
        laws = [_spread(self._log_towards(query), query.share) for query in moved]
        if sum(map(len, laws)) > LISTED:
            return None
        law = reduce(convolved_logs, sorted(laws, key=len))
        reached = (law > -np.inf) | (law[::-1] > -np.inf)
        log0, log1 = law[::-1][reached], law[reached]
        if self.unlisted:
            beyond = np.log(len(moved) * self.unlisted)
            log0, log1 = np.append(log0, [beyond, -np.inf]), np.append(log1, [-np.inf, beyond])
        return ExactDP.of_logs(log0, log1, relation=self.relation)


def _spread(log_law: Floats, share: int) -> Floats:
    """The law of a whole number times `share`, both in logarithms."""
    found = np.full(share * (len(log_law) - 1) + 1, -np.inf)
    found[::share] = log_law
    return found


def _vector(answers: Floats) -> Any:
    """As noise takes them: a number for one."""
    return answers if len(answers) > 1 else answers[0]
