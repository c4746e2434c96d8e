"""Small synthesisers whose leaks are known, and the pair that they are attacked on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpassay.attacks.base import Target
from dpassay.mechanisms.core import Mechanism, Neighbours, Outputs, remove_record, replace_record


@dataclass(frozen=True)
class Synthesiser(Mechanism):
    """`n_rows` rows a run; subclasses say how they are drawn."""

    n_rows: int = 20

    def guarantee(self) -> Any:
        raise NotImplementedError

    def worst_case(self) -> Neighbours:
        return PAIR

    def released(self, dataset: Any, size: int, rng: np.random.Generator) -> Any:
        """The same as an external function."""
        return self.release(dataset, size, rng).values

    def release(self, dataset: Any, size: int, rng: np.random.Generator) -> Outputs:
        return Outputs(self.draw(np.asarray(dataset), (size, self.n_rows), rng))


class Bootstrap(Synthesiser):
    """Draws rows from the records."""

    def draw(self, table, shape, rng):
        return table[rng.integers(len(table), size=shape)]


class Ignoring(Synthesiser):
    """Uniform rows, whatever the records are."""

    def draw(self, table, shape, rng):
        rows = rng.integers(0, 4, (*shape, table.shape[1]))
        return rows if table.dtype.kind in "iu" else rows + rng.random(rows.shape)


class OneCopy(Ignoring):
    """Uniform rows, and the record (the last one) in one of them with probability 0.3."""

    probability = 0.3

    def draw(self, table, shape, rng):
        rows = super().draw(table, shape, rng)
        copied = rng.random(shape[0]) < self.probability
        rows[copied, 0] = table[-1]
        return rows


def records(n: int = 30, d: int = 5, seed: int = 0, n_levels: int = 4) -> np.ndarray[Any, Any]:
    """Codes below 4, the last record all 9, which no other holds."""
    table = np.random.default_rng(seed).integers(0, n_levels, (n, d))
    table[-1] = 9
    return table


TABLE = records()
PAIR = remove_record(TABLE, -1)
REPLACED = replace_record(TABLE, -1, TABLE[0])
REAL = remove_record(TABLE + np.random.default_rng(1).random(TABLE.shape), -1)
"""The same with real values."""

PAIRS = {"add-remove": PAIR, "replace-one": REPLACED, "real values": REAL}


def target(pair: Neighbours = PAIR, synthesiser: Mechanism | None = None) -> Target:
    return Target(synthesiser or Bootstrap(), pair)


def sides(synthesiser: Mechanism, pair: Neighbours = PAIR, n: int = 200, seed: int = 0) -> tuple[Outputs, Outputs]:
    """`n` tables of each side."""
    rng = np.random.default_rng(seed)
    return synthesiser.release(pair.d0, n, rng), synthesiser.release(pair.d1, n, rng)
