"""Tables that are exact, or computed after people of different blocks were swapped: no guarantee in either case."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..base import Dataset, Mechanism, Neighbours, Outputs
from ..errors import ParameterError
from ..guarantees import ApproximateDP
from ..guarantees.base import Guarantee
from ..records import check_records
from ..relation import Relation
from ..validation import unit_interval
from .census import census_tables
from .domain import Ints
from .tables import Tables


@dataclass(frozen=True)
class SwappedTables(Mechanism):
    """Published tables; before, people trade places with people of other blocks, so that no row is surely true.

    In each run people who agree in the attributes `matched` and in being adults (18) are paired at random, but for one
    or two of each such class; each pair trades blocks with probability `share`. The numbers of adults and of the values
    that are matched stay as they are in every block.
    With share 0 the tables are exact. Records were swapped before the tables of 1990, 2000 and 2010 of the United
    States were made, at a rate that was kept secret (McKenna 2018).

    Args:
        tables: what is published.
        share: probability that a pair trades, in [0, 1]; about half as many leave their block where there are two
            blocks of the same size, more where there are many.
        place: the attribute that is traded; ignored for share 0.
        matched: attributes in which a pair agrees.

    Guarantees:
        * none. What the swap leaves in place is published as it is, and everybody else's data may be known.

    Example:
        >>> mechanism = SwappedTables(share=0.1)
        >>> values = mechanism.release(mechanism.worst_case().d1, 3, np.random.default_rng(0)).values
        >>> values.shape, f"{mechanism.guarantee().delta(5.0):.6f}"
        ((3, 41), '1.000000')
    """

    tables: Tables = field(default_factory=lambda: census_tables(n_blocks=2))
    _: KW_ONLY
    share: float = 0.1
    place: str = "block"
    matched: tuple[str, ...] = ()
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        unit_interval(share=self.share)
        object.__setattr__(self, "matched", tuple(self.matched))
        known = [name for name, _ in self.tables.domain.attributes]
        for argument, name in (*(("matched", name) for name in self.matched), ("place", self.place)):
            if name not in known and not (argument == "place" and self.share == 0.0):
                raise ParameterError(
                    f"{argument} must be an attribute of the domain ({', '.join(known)}), but is {name!r}.",
                    argument=argument,
                )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """The tables of each run, shape `(size, n_statistics)`; -1 where a cell is suppressed or undefined."""
        block = self.tables.domain.checked(dataset)
        if self.share == 0.0:
            return Outputs(np.repeat(self.tables.of(block[None]), size, axis=0))
        return Outputs(self.tables.of(self.swapped(block, size, rng)))

    def swapped(self, block: Ints, size: int, rng: np.random.Generator) -> Ints:
        """`size` blocks after the swap, shape `(size, *block.shape)`."""
        keys = self._classes(block) + rng.random((size, len(block)))
        order = np.argsort(keys, axis=1)
        classes = np.take_along_axis(np.broadcast_to(self._classes(block), keys.shape), order, axis=1)
        first, second = order[:, : len(block) // 2 * 2 : 2], order[:, 1::2]
        trade = (classes[:, : len(block) // 2 * 2 : 2] == classes[:, 1::2]) & (rng.random(first.shape) < self.share)
        partner = np.tile(np.arange(len(block)), (size, 1))
        run, pair = np.nonzero(trade)
        partner[run, first[run, pair]] = second[run, pair]
        partner[run, second[run, pair]] = first[run, pair]
        blocks = np.repeat(block[None], size, axis=0)
        blocks[..., self._place] = block[partner, self._place]
        return blocks

    def guarantee(self) -> Guarantee:
        """Nothing is promised: delta is 1, but for rounding."""
        return ApproximateDP(0.0, 1.0 - 2**-53, self.relation)

    def exact_guarantee(self) -> None:
        """Not known where people are swapped."""

    def worst_case(self) -> Neighbours:
        """Three people of the oldest age, of the first and the last kind; the third is of the one or of the other."""
        kinds = self.tables.domain.every_type[self.tables.domain.n_ages - 1 :: self.tables.domain.n_ages]
        d0, d1 = kinds[[0, -1, -1]], kinds[[0, -1, 0]]
        return Neighbours(d0, d1, self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        for side in (0, 1):
            self.tables.domain.checked(neighbours.side(side))
        check_records(neighbours)
        return self

    @cached_property
    def _place(self) -> int:
        return 1 + [name for name, _ in self.tables.domain.attributes].index(self.place)

    def _classes(self, block: Ints) -> NDArray[np.int64]:
        """The number of the class within which each person is paired."""
        classes = (block[:, 0] >= 18).astype(np.int64)
        for column, (name, values) in enumerate(self.tables.domain.attributes, start=1):
            if name in self.matched:
                classes = classes * len(values) + block[:, column]
        return np.asarray(classes)
