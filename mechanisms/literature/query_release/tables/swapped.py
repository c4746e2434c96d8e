"""Tables that are exact, or computed after people of different blocks were swapped: no guarantee in either case."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np

from ....accounting import ApproximateDP
from ....core.arrays import Ints
from ....core.base import Dataset, Neighbours, Outputs
from ....core.constraints import UnitInterval
from ....core.errors import ParameterError
from ....core.guarantee import Guarantee
from ....core.records import RecordsMechanism
from ....core.registry import Tier
from ....core.relation import Relation
from .noisy import NoisyTables
from .table_set import TableSet, census_tables


@dataclass(frozen=True)
class SwappedTables(RecordsMechanism):
    """Published tables; people are first swapped between blocks, so that no row is certainly true.

    In each run people who agree in the attributes `matched` and in being adults (18 or older) are paired at random, up
    to one or two people per such class; each pair swaps blocks with probability `share`. The numbers of adults and of
    the values of matched attributes stay the same in every block.
    With share 0 the tables are exact. Records were swapped before the tables of 1990, 2000 and 2010 of the United
    States were made, at a rate that was kept secret (McKenna 2018).

    Args:
        tables: the published tables.
        share: probability that a pair swaps, in [0, 1]; about half as many people leave their block if there are two
            blocks of the same size, more if there are many.
        place: the attribute that is swapped; ignored for share 0.
        matched: attributes in which a pair agrees.

    Guarantees:
        * none. Anything that the swap leaves in place is published exactly, and all other data may be known.

    Example:
        >>> mechanism = SwappedTables(share=0.1)
        >>> values = mechanism.release(mechanism.worst_case().d1, 3, np.random.default_rng(0)).values
        >>> values.shape, f"{mechanism.guarantee().delta(5.0):.6f}"
        ((3, 41), '1.000000')
    """

    _tier = Tier.PROVISIONAL  # it claims nothing
    _example = NoisyTables._example

    tables: TableSet = field(default_factory=lambda: census_tables(n_blocks=2))
    _: KW_ONLY
    share: UnitInterval = 0.1
    place: str = "block"
    matched: tuple[str, ...] = ()
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "matched", tuple(self.matched))
        known = [name for name, _ in self.tables.domain.attributes]
        for argument, name in (*(("matched", name) for name in self.matched), ("place", self.place)):
            if name not in known and not (argument == "place" and self.share == 0.0):
                raise ParameterError(
                    f"{argument} must be an attribute of the domain ({', '.join(known)}), but is {name!r}.",
                    argument=argument,
                )

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the tables of each run, shape `(size, n_statistics)`; -1 for a suppressed or undefined cell."""
        block = self.tables.domain.checked(dataset)
        if self.share == 0.0:
            return Outputs(np.repeat(self.tables.of(block[None]), size, axis=0))
        return Outputs(self.tables.of(self.swapped(block, size, rng)))

    def swapped(self, block: Ints, size: int, rng: np.random.Generator) -> Ints:
        """Return `size` blocks after the swap, shape `(size, *block.shape)`."""
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
        """Return a void guarantee: delta is 1, up to rounding."""
        return ApproximateDP(0.0, 1.0 - 2**-53, self.relation)

    def exact_guarantee(self) -> None:
        """Return None: the exact curve is not known when people are swapped."""

    def worst_case(self) -> Neighbours:
        """Return three people of the highest age: one of the first kind, one of the last, and one who changes kind."""
        kinds = self.tables.domain.every_type[self.tables.domain.n_ages - 1 :: self.tables.domain.n_ages]
        d0, d1 = kinds[[0, -1, -1]], kinds[[0, -1, 0]]
        return Neighbours(d0, d1, self.relation)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = self.tables.domain.checked(dataset)

    @cached_property
    def _place(self) -> int:
        return 1 + [name for name, _ in self.tables.domain.attributes].index(self.place)

    def _classes(self, block: Ints) -> Ints:
        """Return the number of the pairing class of each person."""
        classes = (block[:, 0] >= 18).astype(np.int64)
        for column, (name, values) in enumerate(self.tables.domain.attributes, start=1):
            if name in self.matched:
                classes = classes * len(values) + block[:, column]
        return np.asarray(classes)
