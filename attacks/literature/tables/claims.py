"""Claims about a block that hold for every block with the published tables.

A claim is certain if and only if no block has the tables and violates the claim: the programme with its negation is
infeasible. No list of all solutions is needed. (Liu et al. 2025, generate then verify.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ....mechanisms.core import AttackError, Ints, NonNegativeInt, ParameterError, check_fields, whole
from ....mechanisms.literature.query_release.tables.domain import Group
from .encoding import Encoding, encode
from .integer_programme import DEFAULT_TIME_LIMIT, ConstraintRow, Deadline, SolverStatus, row
from .published import PublishedTables
from .solutions import checked


class Certainty(StrEnum):
    """Status of a claim, given the published tables."""

    CERTAIN = "certain"
    IMPOSSIBLE = "impossible"
    OPEN = "open"
    UNDECIDED = "time ran out"


@dataclass(frozen=True)
class Claim:
    """Bounds on the number of people of a group in the block; see `at_least_one`, `count_is` and `none_of`.

    Args:
        people: the group.
        least: smallest number of people, >= 0.
        most: largest number of people; None for no limit.

    Example:
        >>> from dpassay.mechanisms.literature.query_release.tables import group
        >>> print(at_least_one(group(sex="female", ages=84)))
        at least 1 female aged 84
    """

    people: Group
    least: NonNegativeInt = 0
    most: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.most is not None:
            whole(self.least, most=self.most)
        elif self.least == 0:
            raise ParameterError(
                "least must be at least 1, or most be given: the claim is always true.", argument="least"
            )

    def __str__(self) -> str:
        if self.least == self.most:
            return f"exactly {self.most} {self.people}" if self.most else f"no person {self.people}"
        ends = [f"at least {self.least}"] * (self.least > 0) + [f"at most {self.most}"] * (self.most is not None)
        return f"{' and '.join(ends)} {self.people}"


def at_least_one(people: Group) -> Claim:
    """Return the claim that at least one person of the group is in the block."""
    return Claim(people, 1)


def count_is(count: int, people: Group) -> Claim:
    """Return the claim that exactly `count` people of the group are in the block."""
    return Claim(people, count, count)


def none_of(people: Group) -> Claim:
    """Return the claim that no person of the group is in the block."""
    return count_is(0, people)


def decide(published: PublishedTables, claim: Claim, *, seconds: float = DEFAULT_TIME_LIMIT) -> Certainty:
    """Decide whether all blocks with these tables meet a claim, none does, or some do.

    Raises:
        AttackError: no block has these tables, so that every claim would hold; or as for `solve`.
        ParameterError: an impossible group.

    Example:
        >>> from dpassay.mechanisms.literature.query_release.tables import CensusDomain, group, rows_of, TableSet
        >>> domain = CensusDomain({"sex": ("female", "male")})
        >>> block = domain.people([(8, "female"), (36, "female"), (66, "female"), (40, "male")])
        >>> published = PublishedTables.about(TableSet(domain, rows_of([group(), group(sex="female")])), block)
        >>> man = at_least_one(group(sex="male", ages=40))
        >>> for claim in (man, count_is(1, group(ages=8)), none_of(group(ages=110))):
        ...     print(claim, "-", decide(published, claim))
        at least 1 male aged 40 - certain
        exactly 1 aged 8 - open
        no person aged 110 - certain
    """
    deadline = Deadline(seconds)
    encoding = encode(published, deadline=deadline)
    members = encoding.members(claim.people)
    claim_feasible = _feasible(
        encoding, [row(members, 1.0, claim.least, np.inf if claim.most is None else claim.most)], deadline
    )
    below = [row(members, 1.0, high=claim.least - 1.0)] if claim.least else []
    above = [row(members, 1.0, low=claim.most + 1.0)] if claim.most is not None else []
    negations_feasible = [_feasible(encoding, [negation], deadline) for negation in (*below, *above)]
    if claim_feasible is False and not any(feasible is not False for feasible in negations_feasible):
        raise AttackError(
            "no block has these tables, so that every claim would hold: they contradict each other. See "
            "conflict(published).",
            argument="published",
        )
    if claim_feasible is False:
        return Certainty.IMPOSSIBLE
    if all(feasible is False for feasible in negations_feasible):
        return Certainty.CERTAIN if claim_feasible else Certainty.UNDECIDED
    return Certainty.OPEN if claim_feasible and any(negations_feasible) else Certainty.UNDECIDED


def _feasible(encoding: Encoding, extra: list[ConstraintRow], deadline: Deadline) -> bool | None:
    """Return True if a block meets the rows, False if none does; None if time ran out."""
    rows = encoding.rows.copy()
    rows.add(*extra)
    return rows.solve(deadline=deadline).feasible


@dataclass(frozen=True, eq=False)
class CertainPeople:
    """People who live in every block with the published tables.

    Args:
        people: people proved to be in every block, shape `(n_certain, 1 + n_attributes)`.
        open: people for whom time ran out.
        block: one block that has the tables.
        seconds: time taken.
    """

    people: Ints
    open: Ints
    block: Ints
    seconds: float


def certain_people(published: PublishedTables, *, seconds: float = DEFAULT_TIME_LIMIT) -> CertainPeople:
    """Return the people who are certainly in the block, without listing all blocks that have the tables.

    A first block is found. Each person in it is then excluded in turn: if no block has the tables without that person,
    the person is certain; otherwise the block that is found shows which others are not.

    Args:
        published: the tables.
        seconds: time limit, > 0; people proved until then are returned.

    Raises:
        AttackError: no block has these tables, or none was found in time; or as for `solve`.
    """
    deadline = Deadline(seconds)
    encoding = encode(published, deadline=deadline)
    answer = encoding.rows.solve(deadline=deadline)
    if answer.columns is None:
        why = (
            "no block has these tables"
            if answer.status is SolverStatus.INFEASIBLE
            else "time ran out before one was found"
        )
        raise AttackError(f"no person can be identified: {why}. See conflict(published), or give more seconds.")
    first = answer.columns[encoding.types]
    block = checked(encoding, first)
    proved, possible = np.zeros_like(first), first.copy()
    for answer_columns, type_index in _excluded(encoding, proved, possible, deadline):
        if answer_columns is None:
            proved[type_index] = possible[type_index]
        else:
            np.minimum(possible, answer_columns, out=possible)
    domain = published.domain
    return CertainPeople(domain.block_of(proved), domain.block_of(possible - proved), block, deadline.spent)


def _excluded(
    encoding: Encoding, proved: Ints, possible: Ints, deadline: Deadline
) -> Iterator[tuple[Ints | None, int]]:
    """Yield for each possibly certain type a block with fewer people of it than any before, or None."""
    while True:
        undecided = np.flatnonzero(possible > proved)
        if not len(undecided):
            return
        type_index = int(undecided[0])
        rows = encoding.rows.copy()
        rows.add(row([type_index], 1.0, high=possible[type_index] - 1.0))
        answer = rows.solve(objective=(possible > proved).astype(np.float64), deadline=deadline)
        if answer.status is SolverStatus.INFEASIBLE:
            yield None, type_index
        elif answer.columns is None:
            return
        else:
            yield answer.columns[encoding.types], type_index
