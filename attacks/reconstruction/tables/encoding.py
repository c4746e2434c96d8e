"""Tables as an integer programme: which histograms over types of people have them.

Columns are whole numbers x[t] >= 0, how many people of each type t live in the block. People have no names in it, so
that two solutions are two different blocks and never two listings of one. What is published about N people says

    count         sum of x = the value; where it is suppressed, 0 to threshold - 1
    mean          N low <= sum of ages x <= N high, where what lies in [low, high] rounds to the value
    percentage    N low <= 100 sum of x <= N high, with the N of the larger group
    median        the middle people have ages l <= u, one of the pairs whose mean (l + u) / 2 rounds to the value

For the median let C(a) be the number of people of the group aged at most a, and k1 = ceil(N/2), k2 = floor(N/2) + 1 the
places of the middle people in the order of age. With a binary for each pair (l, u), and L(a), U(a) the sums of those
with l <= a and with u <= a,

    k1 L(a) + (k2 - k1) U(a)  <=  C(a)  <=  k1 - 1 + (k2 - k1) L(a) + (N - k2 + 1) U(a)      for every age a

says that the k1-th person is aged l and the k2-th u. Where one pair is possible, no binary is needed. (Garfinkel, Abowd
and Martindale 2019 encode people one by one, and order equal ones by age; a histogram needs no order.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.errors import AttackError
from ....mechanisms.tables.domain import Group, Ints
from ....mechanisms.tables.statistics import GroupCount, GroupShare, MeanAge, MedianAge
from .integer_programme import Deadline, Rows, Status, row
from .published import Cell, PublishedTables

Members = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Rows whose first `n_types` columns are the histogram.

    Args:
        published: what they say.
        rows: columns and rows.
        total_fixed: whether the number of people is known.
    """

    published: PublishedTables
    rows: Rows
    total_fixed: bool

    @property
    def types(self) -> NDArray[np.intp]:
        """The columns of the histogram."""
        return np.arange(self.published.domain.n_types, dtype=np.intp)

    def members(self, people: Group) -> Members:
        """The columns of a group."""
        return np.flatnonzero(self.published.domain.members(people))


def encode(published: PublishedTables, *, deadline: Deadline | None = None, bound: float | None = None) -> Encoding:
    """The programme of some tables.

    Args:
        published: the tables.
        deadline: until when the sizes of groups may be worked out that have a median and no count.
        bound: most people of one type; None for what the counts say. With a bound, medians of groups of unknown size
            are left out.

    Raises:
        AttackError: no count bounds how many people there are, or a median stands without the size of its group.
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
        everybody = np.arange(self.domain.n_types)
        if self.published.n_people is not None:
            self._known(everybody, self.published.n_people)
        for cell in self.published.cells:
            self._size(cell)
        for cell in self.published.cells:
            if cell.value is not None and isinstance(cell.statistic, GroupShare):
                self._share(cell, cell.statistic, cell.value)
            elif cell.value is not None and isinstance(cell.statistic, MeanAge):
                self._mean(cell.statistic, cell.value)
        for cell in self.published.cells:
            if cell.value is not None and isinstance(cell.statistic, MedianAge):
                self._median(cell, cell.statistic, cell.value, deadline)
        return Encoding(self.published, self.rows, everybody.tobytes() in self.sizes)

    def _known(self, members: Members, size: int) -> None:
        self.rows.add(row(members, 1.0, size, size))
        self.sizes[members.tobytes()] = size

    def _size(self, cell: Cell) -> None:
        """What a cell says about the size of its group, by its value or by being suppressed."""
        members = self.members[cell.statistic.people]
        base = self.members[cell.statistic.base]
        if isinstance(cell.statistic, GroupCount) and cell.value is not None:
            self._known(members, int(cell.value))
        elif isinstance(cell.statistic, GroupCount):
            self.rows.add(row(members, 1.0, float(self.published.tables.zeros_shown), self.threshold - 1.0))
        elif cell.value is not None:
            self.rows.add(row(members, 1.0, low=self.threshold), row(base, 1.0, low=1.0))
        else:
            hidden, most = (members, self.threshold - 1) if self.threshold > 0 else (base, 0)
            self.rows.add(row(hidden, 1.0, high=most))

    def _upper(self, counts: list[Cell]) -> NDArray[np.float64]:
        """Most people of each type."""
        most = np.inf if self.published.n_people is None else float(self.published.n_people)
        upper = np.full(self.domain.n_types, most if self.bound is None else min(most, self.bound))
        for cell in counts:
            size = self.threshold - 1.0 if cell.value is None else cell.value
            members = self.members[cell.statistic.people]
            upper[members] = np.minimum(upper[members], size)
        if np.isinf(upper).any():
            example = self.domain.shown(self.domain.every_type[np.isinf(upper)][:1])[0]
            raise AttackError(
                f"too few statistics: no count bounds how many people there are, for instance of {example!r}. Add the "
                "number of all people to the tables, or give n_people.",
                argument="n_people",
            )
        return upper

    def _between(self, members: Members, numbers: NDArray[np.int64], base: Members, cell: Cell, value: float) -> None:
        """Published ratio = sum of `numbers` over members / size of base."""
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

    def _mean(self, cell: MeanAge, value: float) -> None:
        members = self.members[cell.people]
        self._between(members, self.ages[members], members, Cell(cell, value), value)

    def _share(self, cell: Cell, share: GroupShare, value: float) -> None:
        members = self.members[share.people]
        hundred = np.full(len(members), 100, dtype=np.int64)
        self._between(members, hundred, self.members[share.of_group], cell, value)

    def _median(self, cell: Cell, median: MedianAge, value: float, deadline: Deadline | None) -> None:
        members = self.members[median.people]
        size = self.sizes.get(members.tobytes())
        if size is None:
            if self.bound is not None:
                return
            size = self.sizes[members.tobytes()] = self._worked_out(members, cell, deadline)
        if size == 0:
            self.rows.add(row(members[:1], 1.0, low=1.0))  # nobody has a median: no block has these tables
            return
        pairs = self._pairs(median, value, size, self.ages[members])
        if len(pairs) == 1:
            self._fixed_middle(members, size, *pairs[0])
        else:
            self._free_middle(members, size, pairs)

    def _worked_out(self, members: Members, cell: Cell, deadline: Deadline | None) -> int:
        """The size of a group, from the other rows; `AttackError` where they leave it open."""
        ends = [self.rows.solve(objective=_indicator(members, sign), deadline=deadline) for sign in (1.0, -1.0)]
        sizes = [int(a.columns[members].sum()) for a in ends if a.status is Status.FOUND and a.columns is not None]
        if any(a.status is Status.INFEASIBLE for a in ends):
            return 0  # the other rows contradict each other already
        if len(sizes) < 2 or sizes[0] != sizes[1]:
            seen = f"anything from {sizes[0]} to {sizes[1]}" if len(sizes) == 2 else "not found in time"
            raise AttackError(
                f"{cell.statistic} is published, but the number of these people is {seen}. Add their count to the "
                "tables, or leave the median out.",
                argument="tables",
            )
        return sizes[0]

    @staticmethod
    def _pairs(median: MedianAge, value: float, size: int, ages: Ints) -> list[tuple[int, int]]:
        """The ages that the two middle people, or the middle one twice, may have."""
        least, most = median.rounding.whole_numbers(value, 2)
        youngest, oldest = int(ages.min()), int(ages.max())
        if size % 2:
            return [(s // 2, s // 2) for s in range(least, most + 1) if s % 2 == 0 and youngest <= s // 2 <= oldest]
        return [(low, s - low) for s in range(least, most + 1) for low in range(max(youngest, s - oldest), s // 2 + 1)]

    def _fixed_middle(self, members: Members, size: int, low: int, high: int) -> None:
        """At most k1 - 1 people below `low`, at least k1 up to it; the same for `high`."""
        ages, places = self.ages[members], ((size + 1) // 2, size // 2 + 1)
        for place, age in zip(places, (low, high), strict=True):
            self.rows.add(row(members[ages < age], 1.0, high=place - 1.0))
            self.rows.add(row(members[ages <= age], 1.0, low=place))

    def _free_middle(self, members: Members, size: int, pairs: list[tuple[int, int]]) -> None:
        """The rows of the module's docstring; C(a) has a column of its own, which keeps the rows short."""
        chosen = self.rows.new(len(pairs), 1.0)
        self.rows.add(row(chosen, 1.0, 1.0, 1.0))
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
            for running, new in ((total, up_to), (lower, chosen[low == age]), (upper, chosen[high == age])):
                before = running[i - 1 : i] if i else running[:0]
                columns = [*new, *before, running[i]]
                self.rows.add(row(columns, [*np.ones(len(columns) - 1), -1.0], 0.0, 0.0))
            columns = [total[i], lower[i], upper[i]]
            self.rows.add(row(columns, [1.0, -k1, k1 - k2], low=0.0))
            self.rows.add(row(columns, [1.0, k1 - k2, k2 - 1 - size], high=k1 - 1.0))


def _indicator(columns: Members, sign: float) -> NDArray[np.float64]:
    cost = np.zeros(int(columns.max()) + 1)
    cost[columns] = sign
    return cost
