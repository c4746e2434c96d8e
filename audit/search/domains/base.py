"""The interface of a domain: read this first.

    Domain     which datasets a search may take
      patterns    pairs that experience says to try first, the most telling ones first
      random      a pair drawn at random
      near        a pair close to another one, for a local search
      neighbours  the datasets of a pair
      records     whether its datasets are collections of records, as `dpassay.mechanisms.records` checks them

Between the four, a pair is a `Sketch`: what is common to both sides and what differs, in plain values that can be
compared and changed. Every domain is a frozen dataclass: what was declared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ....mechanisms.base import Neighbours
from ....mechanisms.relation import Relation

S = TypeVar("S")
"""A pair before it is datasets: a frozen dataclass whose `repr` tells it from every other one."""


class Domain(ABC, Generic[S]):
    """Which datasets a search may take, and which neighbouring pairs it tries among them."""

    records: ClassVar[bool]
    """Whether its datasets are collections of records."""

    @abstractmethod
    def patterns(self, relation: Relation) -> Iterator[S]:
        """Pairs to try first, the most telling ones first; the same ones every time."""

    @abstractmethod
    def random(self, relation: Relation, rng: np.random.Generator) -> S:
        """A pair drawn at random."""

    @abstractmethod
    def near(self, sketch: S, relation: Relation, rng: np.random.Generator) -> S:
        """A pair that differs from `sketch` in one respect, or in a few."""

    @abstractmethod
    def neighbours(self, sketch: S, relation: Relation) -> Neighbours:
        """The two datasets."""


def pick(choices: Sequence[Any], rng: np.random.Generator) -> Any:
    """One of the choices; unlike `rng.choice` it leaves it as it is."""
    return choices[int(rng.integers(len(choices)))]


__all__ = ["Domain", "pick"]
