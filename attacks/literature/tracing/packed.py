"""Rows of people packed at one bit per attribute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....mechanisms.core import Floats, ParameterError, plural
from ....mechanisms.literature.studies.populations import check_people

BYTES_PER_BLOCK = 4096
"""Number of bytes per person whose tables are built at once: 256 numbers each."""
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class PackedPeople:
    """Rows of zeros and ones, eight columns per byte: a million columns of 10,000 people are 1.25 GB.

    Sums over columns are looked up eight columns at a time: for each byte there is a table of its 256 possible sums
    (the method of the four Russians).

    Args:
        bits: `(ceil(n_attributes / 8), n_people)`, uint8: byte i of a person has columns 8 i to 8 i + 7, the first in
            the highest bit; bits beyond the last column are 0.
        n_attributes: number of columns.

    References:
        Arlazarov, Dinic, Kronrod, Faradzev (1970).

    Example:
        >>> packed = PackedPeople.of([[1, 0, 1], [0, 0, 1]])
        >>> packed.bits.tolist(), packed.products(np.array([1.0, 10.0, 100.0])).tolist()
        ([[160, 32]], [101.0, 100.0])
    """

    bits: NDArray[np.uint8]
    n_attributes: int

    def __post_init__(self) -> None:
        needed = -(-self.n_attributes // 8)
        if self.bits.ndim != 2 or self.bits.dtype != np.uint8 or len(self.bits) != needed:
            raise ParameterError(
                f"bits must be uint8 of shape ({needed}, n_people) for {plural(self.n_attributes, 'column')}, but are "
                f"{self.bits.dtype} of shape {self.bits.shape}. PackedPeople.of(people) makes them.",
                argument="bits",
            )

    @classmethod
    def of(cls, people: ArrayLike) -> PackedPeople:
        """Pack rows of zeros and ones, shape `(n_people, n_attributes)`."""
        rows = np.asarray(people)
        rows = check_people(rows, rows.shape[-1] if rows.ndim else 0)
        return cls(np.ascontiguousarray(np.packbits(rows.astype(bool), axis=1).T), rows.shape[1])

    @classmethod
    def of_blocks(cls, blocks: Iterable[ArrayLike]) -> PackedPeople:
        """Pack blocks of people, `(some people, n_attributes)` each, so that not all rows need to be in memory."""
        packed = [cls.of(block) for block in blocks]
        return cls(np.concatenate([part.bits for part in packed], axis=1), packed[0].n_attributes)

    def __len__(self) -> int:
        return int(self.bits.shape[1])

    def products(self, slopes: Floats) -> Floats:
        """Return sum_j slopes_j y_j of each person: `(n_people,)` for `(d,)`, `(runs, n_people)` for `(runs, d)`."""
        if slopes.shape[-1] != self.n_attributes:
            raise ParameterError(
                f"people have {plural(self.n_attributes, 'column')}, but {slopes.shape[-1]:,} are published.",
                argument="people",
            )
        if slopes.ndim > 1:
            return np.stack([self.products(row) for row in slopes])
        padded = np.zeros(8 * len(self.bits))
        padded[: self.n_attributes] = slopes
        sums, looked_up = np.zeros(len(self)), np.empty(len(self))
        for start in range(0, len(self.bits), BYTES_PER_BLOCK):
            tables = padded[8 * start : 8 * (start + BYTES_PER_BLOCK)].reshape(-1, 8) @ _BITS.T
            for table, column in zip(tables, self.bits[start : start + BYTES_PER_BLOCK], strict=True):
                np.take(table, column, out=looked_up, mode="clip")
                sums += looked_up
        return sums
