"""All blocks that have the published tables: the fewer, the larger the leak; one block reveals every person.

If no block has them, `conflict` finds minimal sets of published cells that contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....mechanisms.core import AttackError, Ints, number, plural, whole
from ....mechanisms.literature.query_release.tables.domain import CensusDomain
from .encoding import Encoding, encode
from .integer_programme import DEFAULT_TIME_LIMIT, Deadline, NoGoodCuts, SolverStatus
from .published import PublishedCell, PublishedTables

MAX_STEPS = 5_000
"""Number of blocks that are tried around a block that was found."""


@dataclass(frozen=True, eq=False)
class Solutions:
    """Blocks that have some tables, and whether the list is complete.

    Args:
        domain: domain of a person.
        blocks: `(n_people, 1 + n_attributes)` each, people in the order of their types; no two are the same people.
        ended: "complete" if there are no others, otherwise the reason why the search stopped: "limit" or "time limit".
        seconds: time taken.
    """

    domain: CensusDomain
    blocks: tuple[Ints, ...]
    ended: str
    seconds: float

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[Ints]:
        return iter(self.blocks)

    @property
    def complete(self) -> bool:
        """True if the list is complete."""
        return self.ended == "complete"

    @property
    def unique(self) -> bool:
        """True if there is exactly one block: every person in it is revealed with certainty."""
        return self.complete and len(self.blocks) == 1

    @property
    def inconsistent(self) -> bool:
        """True if no block has these tables."""
        return self.complete and not self.blocks

    @property
    def certain(self) -> Ints:
        """People who are in every one of these blocks; certain only if the list is complete."""
        if not self.blocks:
            return self.domain.block_of(np.zeros(self.domain.n_types, dtype=np.int64))
        histograms = [self.domain.histogram(block) for block in self.blocks]
        return self.domain.block_of(np.minimum.reduce(histograms))

    def __str__(self) -> str:
        n = len(self.blocks)
        if self.inconsistent:
            return "no block has these tables: they contradict each other, see conflict(published)"
        if self.unique:
            return "exactly 1 block has these tables: every person in it is revealed"
        if self.complete:
            people = plural(len(self.blocks[0]), "person", "people")
            return f"exactly {n} blocks have these tables; they share {len(self.certain)} of {people}"
        why = (
            "the search stopped at the limit"
            if self.ended == "limit"
            else f"time ran out after {number(self.seconds)} s"
        )
        if n == 0:
            return f"{why}, before a block was found: nothing is known. Give more seconds"
        return f"at least {n} block{'s have' if n > 1 else ' has'} these tables: {why}, and there may be more"


def solve(published: PublishedTables, *, limit: int = 1000, seconds: float = DEFAULT_TIME_LIMIT) -> Solutions:
    """Return the blocks that have some tables, each once.

    Args:
        published: the tables.
        limit: largest number of blocks, >= 1. limit=2 suffices to decide whether there is more than one.
        seconds: time limit, > 0; the blocks found until then are returned.

    Returns:
        Solutions. Every block is checked: its tables, computed again, are the published ones.

    Raises:
        AttackError: no count bounds the number of people, or a median is published without the size of its group.

    Example:
        >>> from dpassay.mechanisms.literature.query_release.tables import CensusDomain, group, rows_of, TableSet
        >>> domain = CensusDomain({"sex": ("female", "male")})
        >>> block = domain.people([(8, "female"), (36, "female"), (66, "female"), (40, "male")])
        >>> tables = TableSet(domain, rows_of([group(), group(sex="female")]))
        >>> solutions = solve(PublishedTables.about(tables, block))
        >>> print(solutions, "-", domain.shown(solutions.certain))
        exactly 35 blocks have these tables; they share 2 of 4 people - ['36 female', '40 male']
    """
    whole(1, limit=limit)
    deadline = Deadline(seconds)
    encoding = encode(published, deadline=deadline)
    blocks: dict[bytes, Ints] = {}
    rows, cuts = encoding.rows.copy(), NoGoodCuts(encoding.types, total_fixed=encoding.total_fixed)
    ended = "limit"
    while len(blocks) < limit:
        answer = rows.solve(deadline=deadline)
        if answer.columns is None or answer.status is not SolverStatus.FOUND:
            ended = "complete" if answer.status is SolverStatus.INFEASIBLE else "time limit"
            break
        n_before = len(blocks)
        _explore(published, checked(encoding, answer.columns[encoding.types]), blocks, limit, deadline)
        for block in list(blocks.values())[n_before:]:
            cuts.add(rows, published.domain.histogram(block))
    return Solutions(published.domain, tuple(blocks.values()), ended, deadline.spent)


def _explore(
    published: PublishedTables, start: Ints, blocks: dict[bytes, Ints], limit: int, deadline: Deadline
) -> None:
    """Add `start` to `blocks`, and the blocks reached from it by moving the ages of two people apart or together."""
    waiting = [start]
    blocks[start.tobytes()] = start
    while waiting and len(blocks) < limit and deadline.left > 0.0:
        for block in _similar(published, waiting.pop()):
            key = block.tobytes()
            if key not in blocks and len(blocks) < limit:
                blocks[key] = block
                waiting.append(block)


def _similar(published: PublishedTables, block: Ints) -> Ints:
    """Return blocks with the same tables in which one of two people is d years older, and the other d years younger."""
    older, younger = np.nonzero(~np.eye(len(block), dtype=np.bool_))
    low, high = published.domain.ages
    max_years = int(np.clip(MAX_STEPS // max(len(older), 1), 1, high - low))
    years = np.arange(1, max_years + 1)
    pair = np.repeat(older, max_years), np.repeat(younger, max_years)
    blocks = np.repeat(block[None], len(pair[0]), axis=0)
    run, change = np.arange(len(blocks)), np.tile(years, len(older))
    blocks[run, pair[0], 0] += change
    blocks[run, pair[1], 0] -= change
    blocks = blocks[((blocks[..., 0] >= low) & (blocks[..., 0] <= high)).all(axis=1)]
    blocks = blocks[published.fit(blocks)]
    order = np.argsort(published.domain.types(blocks), axis=1)
    return np.take_along_axis(blocks, order[..., None], axis=1)


def checked(encoding: Encoding, histogram: Ints) -> Ints:
    """Return the block of a histogram, checked; raise `AttackError` if its tables are not the published ones."""
    block = encoding.published.domain.block_of(histogram)
    if not encoding.published.hold_for(block):
        raise AttackError(
            "the solver HiGHS gave a block that does not have the published tables, within its tolerance of 1e-6. Give "
            "means and percentages with fewer digits, or smaller groups."
        )
    return block


@dataclass(frozen=True)
class Conflict:
    """Published cells that cannot all be true.

    Args:
        cells: cells that contradict each other.
        minimal: whether without any one of them the others are consistent; False if time ran out.
        n_people: a number of people known from elsewhere, which is part of the contradiction; or None.
    """

    cells: tuple[PublishedCell, ...]
    minimal: bool
    n_people: int | None = None

    def __str__(self) -> str:
        known = f"With {plural(self.n_people, 'person', 'people')}, these" if self.n_people is not None else "These"
        lines = [f"{known} published cells contradict each other:", *(f"  {cell}" for cell in self.cells)]
        lines.append(
            "No block has them all; without any one of them the others are consistent."
            if self.minimal
            else "No block has them all. Time ran out: some of them may not be needed."
        )
        return "\n".join(lines)


def conflict(published: PublishedTables, *, seconds: float = DEFAULT_TIME_LIMIT) -> Conflict | None:
    """Return published cells that contradict each other; None if some block has all cells, or if time ran out.

    Deletion filter (Chinneck and Dravnieks 1991): halves, then single cells are removed if the rest still
    contradict each other; the remaining set is minimal. There may be other contradictions.

    Args:
        published: the tables.
        seconds: time limit, > 0.

    Example:
        >>> from dpassay.mechanisms.literature.query_release.tables import CensusDomain, GroupCount, MeanAge, group
        >>> domain = CensusDomain({"sex": ("female", "male")})
        >>> women, men = group(sex="female"), group(sex="male")
        >>> cells = {GroupCount(): 7, MeanAge(): 38.0, GroupCount(women): 4, GroupCount(men): 4, MeanAge(men): 44.0}
        >>> print(conflict(PublishedTables.of(domain, cells)))
        These published cells contradict each other:
          the number of all people is 7
          the number of female is 4
          the number of male is 4
        No block has them all; without any one of them the others are consistent.
    """
    deadline = Deadline(seconds)
    cells = list(published.cells)
    bound = float(sum(c.value or 0.0 for c in cells) + published.tables.threshold + (published.n_people or 0) + 1)
    if _contradict(published, cells, bound, deadline) is not True:
        return None
    minimal, width = True, max(1, len(cells) // 2)
    while width:
        start = 0
        while start < len(cells):
            rest = cells[:start] + cells[start + width :]
            contradiction = _contradict(published, rest, bound, deadline)
            minimal &= contradiction is not None
            if contradiction:
                cells = rest
            else:
                start += width
        width //= 2
    return Conflict(tuple(cells), minimal, published.n_people)


def _contradict(
    published: PublishedTables, cells: list[PublishedCell], bound: float, deadline: Deadline
) -> bool | None:
    """Return True if no block has these cells, False if one does; None if time ran out."""
    if not cells:
        return False
    rows = encode(published.keeping(cells), deadline=deadline, bound=bound).rows
    feasible = rows.solve(deadline=deadline).feasible
    return None if feasible is None else not feasible
