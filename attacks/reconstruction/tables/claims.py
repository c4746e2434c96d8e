"""What is certain: claims about a block that hold for every block with the published tables.

A claim is certain exactly if no block has the tables and not the claim: the programme with the negation of the claim is
infeasible. No list of all solutions is needed. (Liu et al. 2025, generate then verify.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ....mechanisms.errors import AttackError, ParameterError
from ....mechanisms.tables.domain import Group, Ints
from ....mechanisms.validation import positive, whole
from .encoding import Encoding, encode
from .integer_programme import LONGEST, Deadline, Row, Status, row
from .published import PublishedTables
from .solutions import checked


class Certainty(StrEnum):
    """What the published tables say about a claim."""

    CERTAIN = "certain"
    IMPOSSIBLE = "impossible"
    OPEN = "open"
    UNDECIDED = "time ran out"


@dataclass(frozen=True)
class Claim:
    """At least and at most so many people of a group live in the block; see `somebody`, `exactly` and `nobody`.

    Args:
        people: the group.
        least: >= 0.
        most: None for no limit.

    Example:
        >>> from dpassay.mechanisms.tables import group
        >>> print(somebody(group(sex="female", ages=84)))
        at least 1 female aged 84
    """

    people: Group
    least: int = 0
    most: int | None = None

    def __post_init__(self) -> None:
        whole(0, least=self.least)
        if self.most is not None:
            whole(self.least, most=self.most)
        elif self.least == 0:
            raise ParameterError(
                "least must be at least 1, or most be given: the claim says nothing.", argument="least"
            )

    def __str__(self) -> str:
        if self.least == self.most:
            return f"exactly {self.most} {self.people}" if self.most else f"nobody {self.people}"
        ends = [f"at least {self.least}"] * (self.least > 0) + [f"at most {self.most}"] * (self.most is not None)
        return f"{' and '.join(ends)} {self.people}"


def somebody(people: Group) -> Claim:
    """At least one person of the group lives in the block."""
    return Claim(people, 1)


def exactly(count: int, people: Group) -> Claim:
    """Exactly so many people of the group live in the block."""
    return Claim(people, count, count)


def nobody(people: Group) -> Claim:
    """Nobody of the group lives in the block."""
    return exactly(0, people)


def decide(published: PublishedTables, claim: Claim, *, seconds: float = LONGEST) -> Certainty:
    """Whether every block with these tables meets a claim, none does, or some do.

    Raises:
        AttackError: no block has these tables, so that every claim about it would hold; and as `solve`.
        ParameterError: a group that cannot be.

    Example:
        >>> from dpassay.mechanisms.tables import CensusDomain, group, rows_of, Tables
        >>> domain = CensusDomain({"sex": ("female", "male")})
        >>> block = domain.people([(8, "female"), (36, "female"), (66, "female"), (40, "male")])
        >>> published = PublishedTables.about(Tables(domain, rows_of([group(), group(sex="female")])), block)
        >>> for claim in (somebody(group(sex="male", ages=40)), exactly(1, group(ages=8)), nobody(group(ages=110))):
        ...     print(claim, "-", decide(published, claim))
        at least 1 male aged 40 - certain
        exactly 1 aged 8 - open
        nobody aged 110 - certain
    """
    positive(seconds=seconds)
    deadline = Deadline(seconds)
    encoding = encode(published, deadline=deadline)
    members = encoding.members(claim.people)
    held = _feasible(encoding, [row(members, 1.0, claim.least, np.inf if claim.most is None else claim.most)], deadline)
    below = [row(members, 1.0, high=claim.least - 1.0)] if claim.least else []
    above = [row(members, 1.0, low=claim.most + 1.0)] if claim.most is not None else []
    missed = [_feasible(encoding, [other], deadline) for other in (*below, *above)]
    if held is False and not any(m is not False for m in missed):
        raise AttackError(
            "no block has these tables, so that every claim would hold: they contradict each other. See "
            "conflict(published).",
            argument="published",
        )
    if held is False:
        return Certainty.IMPOSSIBLE
    if all(m is False for m in missed):
        return Certainty.CERTAIN if held else Certainty.UNDECIDED
    return Certainty.OPEN if held and any(missed) else Certainty.UNDECIDED


def _feasible(encoding: Encoding, extra: list[Row], deadline: Deadline) -> bool | None:
    """Whether a block meets the rows; None where time ran out."""
    rows = encoding.rows.copy()
    rows.add(*extra)
    status = rows.solve(deadline=deadline).status
    return {Status.FOUND: True, Status.INFEASIBLE: False, Status.TIME_LIMIT: None}[status]


@dataclass(frozen=True, eq=False)
class CertainPeople:
    """People who live in every block with the published tables.

    Args:
        people: proved, shape `(n_certain, 1 + n_attributes)`.
        open: people of whom time did not allow to say it.
        block: one block that has the tables.
        seconds: what it took.
    """

    people: Ints
    open: Ints
    block: Ints
    seconds: float


def certain_people(published: PublishedTables, *, seconds: float = LONGEST) -> CertainPeople:
    """Who lives in the block for certain, without listing all blocks that have the tables.

    A first block is found. Everybody in it is then denied in turn: if no block has the tables without that person, the
    person is certain; else the block that is found shows which others are not.

    Args:
        published: the tables.
        seconds: time limit, > 0; what was proved until then is returned.

    Raises:
        AttackError: no block has these tables, or none was found in time; and as `solve`.
    """
    positive(seconds=seconds)
    deadline = Deadline(seconds)
    encoding = encode(published, deadline=deadline)
    answer = encoding.rows.solve(deadline=deadline)
    if answer.columns is None:
        why = "no block has these tables" if answer.status is Status.INFEASIBLE else "time ran out before one was found"
        raise AttackError(f"nobody can be named: {why}. See conflict(published), or give more seconds.")
    first = answer.columns[encoding.types]
    block = checked(encoding, first)
    proved, maybe = np.zeros_like(first), first.copy()
    for answer_columns, at in _denials(encoding, proved, maybe, deadline):
        if answer_columns is None:
            proved[at] = maybe[at]
        else:
            np.minimum(maybe, answer_columns, out=maybe)
    domain = published.domain
    return CertainPeople(domain.block_of(proved), domain.block_of(maybe - proved), block, deadline.spent)


def _denials(encoding: Encoding, proved: Ints, maybe: Ints, deadline: Deadline) -> Iterator[tuple[Ints | None, int]]:
    """For each type that may be certain: a block with fewer of it than any so far, None where there is none."""
    while True:
        left = np.flatnonzero(maybe > proved)
        if not len(left):
            return
        at = int(left[0])
        rows = encoding.rows.copy()
        rows.add(row([at], 1.0, high=maybe[at] - 1.0))
        answer = rows.solve(objective=(maybe > proved).astype(np.float64), deadline=deadline)
        if answer.status is Status.INFEASIBLE:
            yield None, at
        elif answer.columns is None:
            return
        else:
            yield answer.columns[encoding.types], at
