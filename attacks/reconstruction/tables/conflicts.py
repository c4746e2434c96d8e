"""Inconsistent tables: minimal sets of published cells that contradict each other."""

from __future__ import annotations

from dataclasses import dataclass

from ....mechanisms.core.errors import plural
from ....mechanisms.core.validation import positive
from .encoding import encode
from .integer_programme import LONGEST, Deadline, SolverStatus
from .published import PublishedCell, PublishedTables


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


def conflict(published: PublishedTables, *, seconds: float = LONGEST) -> Conflict | None:
    """Return published cells that contradict each other; None if some block has all cells, or if time ran out.

    Deletion filter (Chinneck and Dravnieks 1991): halves, then single cells are removed if the rest still
    contradict each other; the remaining set is minimal. There may be other contradictions.

    Args:
        published: the tables.
        seconds: time limit, > 0.

    Example:
        >>> from dpassay.mechanisms.query_release.tables import CensusDomain, GroupCount, MeanAge, group
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
    positive(seconds=seconds)
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
    status = rows.solve(deadline=deadline).status
    return {SolverStatus.FOUND: False, SolverStatus.INFEASIBLE: True, SolverStatus.TIME_LIMIT: None}[status]
