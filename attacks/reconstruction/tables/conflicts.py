"""Tables that no block has: which published cells contradict each other."""

from __future__ import annotations

from dataclasses import dataclass

from ....mechanisms.errors import plural
from ....mechanisms.validation import positive
from .encoding import encode
from .integer_programme import LONGEST, Deadline, Status
from .published import Cell, PublishedTables


@dataclass(frozen=True)
class Conflict:
    """Published cells that cannot all be true.

    Args:
        cells: that contradict each other.
        minimal: whether any of them could be left out and the others would fit together; False where time ran out.
        n_people: a number of people known from elsewhere, which they contradict together with; or None.
    """

    cells: tuple[Cell, ...]
    minimal: bool
    n_people: int | None = None

    def __str__(self) -> str:
        known = f"With {plural(self.n_people, 'person', 'people')}, these" if self.n_people is not None else "These"
        lines = [f"{known} published cells contradict each other:", *(f"  {cell}" for cell in self.cells)]
        lines.append(
            "No block has them all; without any one of them the others fit together."
            if self.minimal
            else "No block has them all. Time ran out: some of them may have no part in it."
        )
        return "\n".join(lines)


def conflict(published: PublishedTables, *, seconds: float = LONGEST) -> Conflict | None:
    """The published cells that contradict each other; None if some block has all, or time ran out before.

    Deletion filter (Chinneck and Dravnieks 1991): halves, then single cells are left out for good where the rest still
    contradict each other; what remains is minimal. There may be other contradictions besides.

    Args:
        published: the tables.
        seconds: time limit, > 0.

    Example:
        >>> from dpassay.mechanisms.tables import CensusDomain, GroupCount, MeanAge, group
        >>> domain = CensusDomain({"sex": ("female", "male")})
        >>> women, men = group(sex="female"), group(sex="male")
        >>> cells = {GroupCount(): 7, MeanAge(): 38.0, GroupCount(women): 4, GroupCount(men): 4, MeanAge(men): 44.0}
        >>> print(conflict(PublishedTables.of(domain, cells)))
        These published cells contradict each other:
          the number of all people is 7
          the number of female is 4
          the number of male is 4
        No block has them all; without any one of them the others fit together.
    """
    positive(seconds=seconds)
    deadline = Deadline(seconds)
    cells = list(published.cells)
    bound = float(sum(c.value or 0.0 for c in cells) + published.tables.threshold + (published.n_people or 0) + 1)
    if _contradict(published, cells, bound, deadline) is not True:
        return None
    minimal, width = True, max(1, len(cells) // 2)
    while width:
        at = 0
        while at < len(cells):
            rest = cells[:at] + cells[at + width :]
            seen = _contradict(published, rest, bound, deadline)
            minimal &= seen is not None
            if seen:
                cells = rest
            else:
                at += width
        width //= 2
    return Conflict(tuple(cells), minimal, published.n_people)


def _contradict(published: PublishedTables, cells: list[Cell], bound: float, deadline: Deadline) -> bool | None:
    """Whether no block has these cells; None where time ran out."""
    if not cells:
        return False
    rows = encode(published.keeping(cells), deadline=deadline, bound=bound).rows
    status = rows.solve(deadline=deadline).status
    return {Status.FOUND: False, Status.INFEASIBLE: True, Status.TIME_LIMIT: None}[status]
