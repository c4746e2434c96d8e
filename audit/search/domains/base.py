"""The interface of a domain: read this first.

    Domain     the datasets that a search may use
      patterns    pairs to try first, the most revealing ones first
      random      a pair drawn at random
      near        a pair close to another one, for a local search
      neighbours  the datasets of a pair
      records     whether its datasets are collections of records, as `dpassay.mechanisms.core.records` checks them

These methods exchange a pair as a sketch: the common part of both sides and the difference, in plain values that can be
compared and changed. Every domain is a frozen dataclass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ....mechanisms.core import Neighbours, Relation

S = TypeVar("S")
"""Sketch of a pair: a frozen dataclass with a unique `repr`."""


class SearchDomain(ABC, Generic[S]):
    """Set of datasets that a search may use, and the neighbouring pairs that it tries."""

    records: ClassVar[bool]
    """True if the datasets are collections of records."""

    @abstractmethod
    def patterns(self, relation: Relation) -> Iterator[S]:
        """Yield the pairs to try first, the most revealing ones first; the same ones every time."""

    @abstractmethod
    def random(self, relation: Relation, rng: np.random.Generator) -> S:
        """Draw a random pair."""

    @abstractmethod
    def near(self, sketch: S, relation: Relation, rng: np.random.Generator) -> S:
        """Draw a pair that differs from `sketch` in one respect, or in a few."""

    @abstractmethod
    def neighbours(self, sketch: S, relation: Relation) -> Neighbours:
        """Return the two datasets of a sketch."""


def pick(choices: Sequence[Any], rng: np.random.Generator) -> Any:
    """Draw one of the choices; unlike `rng.choice` without a type conversion."""
    return choices[int(rng.integers(len(choices)))]
