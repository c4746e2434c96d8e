"""Base classes of mechanisms that run one other mechanism, their `base`.

Combinator      runs the base, on the dataset or on records of it
OnSameDataset   runs the base on the dataset itself
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from ..core import Data, Mechanism, Neighbours, Workers, instance_of


class Combinator(Mechanism):
    """A mechanism that runs one other mechanism, with the same relation and the same kind of workers."""

    base: Mechanism

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relation", self.base.relation)

    @property
    def workers(self) -> Workers:
        """Kind of workers of the base mechanism."""
        return self.base.workers


@dataclass(frozen=True)
class OnSameDataset(Combinator):
    """A mechanism that runs the base on its own dataset: the worst case of the base is also its worst case."""

    _dataset = Data.ANSWERS

    base: Annotated[Mechanism, instance_of(Mechanism, "Laplace(epsilon=0.1)")]

    def worst_case(self) -> Neighbours:
        """Return the worst case of the base mechanism."""
        return self.base.worst_case()

    def bind(self, neighbours: Neighbours) -> Any:
        """Return this mechanism with the base fitted to the pair."""
        base = self.base.bind(neighbours)
        return self if base is self.base else replace(self, base=base)
