"""Ordered floats of one format: position 0 is 0.0, position 1 the next float, position -1 the previous one."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FloatLadder:
    """Floats by position in their order; the position of a positive float is its bits, read as a whole number.

    Args:
        bits: number of bits of the format: 16, 32 or 64.
        n_below_infinity: position of infinity: number of floats from 0.0 on.
    """

    bits: int
    n_below_infinity: int

    def at(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the floats at these positions; infinity beyond the last."""
        sizes = (
            np.minimum(np.abs(positions), self.n_below_infinity).astype(f"i{self.bits // 8}").view(f"f{self.bits // 8}")
        )
        return np.where(positions < 0, -sizes, sizes)

    def place(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the positions of these floats."""
        sizes: NDArray[np.int64] = np.abs(values).view(f"i{self.bits // 8}").astype(np.int64)
        return np.where(values < 0, -sizes, sizes)


LADDERS = MappingProxyType(
    {
        "float16": FloatLadder(16, 0x7C00),
        "float32": FloatLadder(32, 0x7F80_0000),
        "float64": FloatLadder(64, 0x7FF0_0000_0000_0000),
    }
)
