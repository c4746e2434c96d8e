"""Tables as an integer programme, whose solutions are the histograms over types of people with these tables.

Columns are whole numbers x[t] >= 0, the number of people of each type t in the block. People are not ordered, so
that two solutions are two different blocks, never two orders of one. The statistics of N people are encoded as

    count         sum of x = the value; if suppressed, 0 to threshold - 1
    mean          N low <= sum of ages x <= N high, where [low, high] rounds to the value
    percentage    N low <= 100 sum of x <= N high, with the N of the larger group
    median        the middle people have ages l <= u, one of the pairs whose mean (l + u) / 2 rounds to the value

For the median let C(a) be the number of people of the group aged at most a, and k1 = ceil(N/2), k2 = floor(N/2) + 1 the
ranks of the middle people by age. With a binary for each pair (l, u), and L(a), U(a) the sums of those
with l <= a and with u <= a,

    k1 L(a) + (k2 - k1) U(a)  <=  C(a)  <=  k1 - 1 + (k2 - k1) L(a) + (N - k2 + 1) U(a)      for every age a

states that the k1-th person is aged l and the k2-th u. If one pair is possible, no binary is needed. (Garfinkel, Abowd
and Martindale 2019 encode people one by one, and order equal people by age; a histogram needs no order.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import AttackError, Floats, Ints
from ....mechanisms.literature.query_release.tables.domain import Group
from ....mechanisms.literature.query_release.tables.statistics import GroupCount, GroupShare, MeanAge, MedianAge
from .integer_programme import Deadline, Rows, SolverStatus, row
from .published import PublishedCell, PublishedTables

Members = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Integer programme whose first `n_types` columns are the histogram.

    Args:
        published: the tables.
        rows: columns and rows of the programme.
        total_fixed: whether the number of people is known.
    """

    published: PublishedTables
    rows: Rows
    total_fixed: bool

    @property
    def types(self) -> NDArray[np.intp]:
        """Columns of the histogram."""
        return np.arange(self.published.domain.n_types, dtype=np.intp)

    def members(self, people: Group) -> Members:
        """Return the columns of a group."""
        return np.flatnonzero(self.published.domain.members(people))


def encode(published: PublishedTables, *, deadline: Deadline | None = None, bound: float | None = None) -> Encoding:
    """Return the programme of some tables.

    Args:
        published: the tables.
        deadline: time limit for computing the sizes of groups that have a median and no count.
        bound: largest number of people of one type; None to derive it from the counts. With a bound, medians of groups
            of unknown size are left out.

    Raises:
        AttackError: no count bounds the number of people, or a median is published without the size of its group.
    """
    return _Encoder(published, bound).encoding(deadline)


class _Encoder:
    def __init__(self, published: PublishedTables, bound: float | None) -> None:
        self.published, self.domain, self.bound = published, published.domain, bound
        self.threshold = published.tables.threshold
        self.members = {g: np.flatnonzero(m) for g, m in published.tables.members.items()}
        self.ages = self.domain.every_type[:, 0]
        self.sizes: dict[bytes, int] = {}
        self.rows = Rows()

    def encoding(self, deadline: Deadline | None) -> Encoding:
        counts = [c for c in self.published.cells if isinstance(c.statistic, GroupCount)]
        self.rows.new(self.domain.n_types, self._upper(counts))
        all_types = np.arange(self.domain.n_types)
        if self.published.n_people is not None:
            self._fix_size(all_types, self.published.n_people)
        for cell in self.published.cells:
            self._bound_size(cell)
        for cell in self.published.cells:
            if cell.value is not None and isinstance(cell.statistic, GroupShare):
                members = self.members[cell.statistic.people]
                hundred = np.full(len(members), 100, dtype=np.int64)
                self._between(members, hundred, self.members[cell.statistic.of_group], cell, cell.value)
            elif cell.value is not None and isinstance(cell.statistic, MeanAge):
                members = self.members[cell.statistic.people]
                self._between(members, self.ages[members], members, cell, cell.value)
        for cell in self.published.cells:
            if cell.value is not None and isinstance(cell.statistic, MedianAge):
                self._median(cell, cell.statistic, cell.value, deadline)
        return Encoding(self.published, self.rows, all_types.tobytes() in self.sizes)

    def _fix_size(self, members: Members, size: int) -> None:
        self.rows.add(row(members, 1.0, size, size))
        self.sizes[members.tobytes()] = size

    def _bound_size(self, cell: PublishedCell) -> None:
        """Add the rows on the size of the group of a cell, from its value or its suppression."""
        members = self.members[cell.statistic.people]
        base = self.members[cell.statistic.base]
        if isinstance(cell.statistic, GroupCount) and cell.value is not None:
            self._fix_size(members, int(cell.value))
        elif isinstance(cell.statistic, GroupCount):
            self.rows.add(row(members, 1.0, float(self.published.tables.zeros_shown), self.threshold - 1.0))
        elif cell.value is not None:
            self.rows.add(row(members, 1.0, low=self.threshold), row(base, 1.0, low=1.0))
        else:
            hidden, max_size = (members, self.threshold - 1) if self.threshold > 0 else (base, 0)
            self.rows.add(row(hidden, 1.0, high=max_size))

    def _upper(self, counts: list[PublishedCell]) -> Floats:
        """Return the largest number of people of each type."""
        max_people = np.inf if self.published.n_people is None else float(self.published.n_people)
        upper = np.full(self.domain.n_types, max_people if self.bound is None else min(max_people, self.bound))
        for cell in counts:
            size = self.threshold - 1.0 if cell.value is None else cell.value
            members = self.members[cell.statistic.people]
            upper[members] = np.minimum(upper[members], size)
        if np.isinf(upper).any():
            example = self.domain.shown(self.domain.every_type[np.isinf(upper)][:1])[0]
            raise AttackError(
                f"too few statistics: no count bounds the number of people, for instance of {example!r}. Add the "
                "number of all people to the tables, or give n_people.",
                argument="n_people",
            )
        return upper

    def _between(self, members: Members, numbers: Ints, base: Members, cell: PublishedCell, value: float) -> None:
        """Add the rows for published ratio = sum of `numbers` over members / size of base."""
        rounding = cell.statistic.rounding  # type: ignore[attr-defined]
        if (size := self.sizes.get(base.tobytes())) is not None:
            low, high = rounding.whole_numbers(value, max(size, 1))
            self.rows.add(row(members, numbers, low, high))
            return
        low, high, at_low, at_high = rounding.interval(value)
        columns = np.union1d(members, base)
        weights, inside = np.zeros(self.domain.n_types, dtype=np.int64), np.isin(columns, base)
        weights[members] = numbers
        for end, closed, sign in ((low, at_low, 1), (high, at_high, -1)):
            end = Fraction(end)
            exact = sign * (weights[columns] * end.denominator - inside * end.numerator)
            self.rows.add(row(columns, exact, low=0.0 if closed else 1.0))

    def _median(self, cell: PublishedCell, median: MedianAge, value: float, deadline: Deadline | None) -> None:
        members = self.members[median.people]
        size = self.sizes.get(members.tobytes())
        if size is None:
            if self.bound is not None:
                return
            size = self.sizes[members.tobytes()] = self._computed_size(members, cell, deadline)
        if size == 0:
            self.rows.add(row(members[:1], 1.0, low=1.0))  # an empty group has no median: no block has these tables
            return
        pairs = self._pairs(median, value, size, self.ages[members])
        if len(pairs) == 1:
            self._fixed_middle(members, size, *pairs[0])
        else:
            self._free_middle(members, size, pairs)

    def _computed_size(self, members: Members, cell: PublishedCell, deadline: Deadline | None) -> int:
        """Return the size of a group by the other rows; raise `AttackError` if they do not determine it."""
        ends = [self.rows.solve(objective=_indicator(members, sign), deadline=deadline) for sign in (1.0, -1.0)]
        sizes = [
            int(a.columns[members].sum()) for a in ends if a.status is SolverStatus.FOUND and a.columns is not None
        ]
        if any(a.status is SolverStatus.INFEASIBLE for a in ends):
            return 0  # the other rows are infeasible
        if len(sizes) < 2 or sizes[0] != sizes[1]:
            possible = f"any number from {sizes[0]} to {sizes[1]}" if len(sizes) == 2 else "not found in time"
            raise AttackError(
                f"{cell.statistic} is published, but the number of these people is {possible}. Add their count to the "
                "tables, or leave the median out.",
                argument="tables",
            )
        return sizes[0]

    @staticmethod
    def _pairs(median: MedianAge, value: float, size: int, ages: Ints) -> list[tuple[int, int]]:
        """Return the possible pairs of ages of the two middle people, or of the middle one twice."""
        smallest, largest = median.rounding.whole_numbers(value, 2)
        youngest, oldest = int(ages.min()), int(ages.max())
        if size % 2:
            return [
                (s // 2, s // 2) for s in range(smallest, largest + 1) if s % 2 == 0 and youngest <= s // 2 <= oldest
            ]
        return [
            (low, s - low) for s in range(smallest, largest + 1) for low in range(max(youngest, s - oldest), s // 2 + 1)
        ]

    def _fixed_middle(self, members: Members, size: int, low: int, high: int) -> None:
        """Require at most k1 - 1 people below `low`, and at least k1 up to it; the same for `high`."""
        ages, ranks = self.ages[members], ((size + 1) // 2, size // 2 + 1)
        for rank, age in zip(ranks, (low, high), strict=True):
            self.rows.add(row(members[ages < age], 1.0, high=rank - 1.0))
            self.rows.add(row(members[ages <= age], 1.0, low=rank))

    def _free_middle(self, members: Members, size: int, pairs: list[tuple[int, int]]) -> None:
        """Add the rows of the module's docstring; C(a) has a separate column, which keeps the rows short."""
        binaries = self.rows.new(len(pairs), 1.0)
        self.rows.add(row(binaries, 1.0, 1.0, 1.0))
        if not pairs:
            return
        low, high = np.array(pairs).T
        k1, k2 = (size + 1) // 2, size // 2 + 1
        ages = self.ages[members]
        first, last = int(low.min()) - 1, int(high.max())
        span = last - first + 1
        total, lower, upper = (
            self.rows.new(span, size, whole=False),
            *(self.rows.new(span, 1.0, whole=False) for _ in range(2)),
        )
        for i, age in enumerate(range(first, last + 1)):
            up_to = members[ages == age] if i else members[ages <= age]
            for running, added in ((total, up_to), (lower, binaries[low == age]), (upper, binaries[high == age])):
                previous = running[i - 1 : i] if i else running[:0]
                columns = [*added, *previous, running[i]]
                self.rows.add(row(columns, [*np.ones(len(columns) - 1), -1.0], 0.0, 0.0))
            columns = [total[i], lower[i], upper[i]]
            self.rows.add(row(columns, [1.0, -k1, k1 - k2], low=0.0))
            self.rows.add(row(columns, [1.0, k1 - k2, k2 - 1 - size], high=k1 - 1.0))


def _indicator(columns: Members, sign: float) -> Floats:
    cost = np.zeros(int(columns.max()) + 1)
    cost[columns] = sign
    return cost
