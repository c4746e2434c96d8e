"""The interfaces of this room: read this first.

An attack turns outputs into scores. Higher score = side 1 = "the record was in". Stated once, true everywhere.

    Attack   learns from pilot outputs of both sides ...
    Scorer   ... how to score outputs that it has never seen

A scorer is fixed before the first evaluation trial runs; that is what makes the scores of evaluation trials
independent and identically distributed on each side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.base import Mechanism, Neighbours, Outputs


class Scorer(Protocol):
    """A fixed function from outputs to scores. Pickles, so that it can travel to workers."""

    def score(self, outputs: Outputs) -> NDArray[np.float64]:
        """One score a run, shape `(size,)`, higher = side 1; never NaN, +-inf allowed."""
        ...


class Attack(ABC):
    """A way to tell side 1 from side 0. Subclasses are frozen dataclasses whose fields are the options."""

    learns: ClassVar[bool] = True
    """False when the scorer does not depend on the pilot outputs: fewer pilot trials are then enough."""

    minimum_pilot: ClassVar[int] = 1
    """Fewest pilot outputs a side from which `fit` learns; with fewer it raises `AttackError`."""

    def against(self, mechanism: Mechanism, neighbours: Neighbours) -> Self:
        """This attack, told what it attacks; raises `AttackError` if it cannot. Most attacks need nothing."""
        return self

    def suits(self, mechanism: Mechanism, neighbours: Neighbours) -> bool:
        """Whether "auto" may take this attack here.

        Mechanism and pair decide, before anything runs, so that the choice needs no correction.
        """
        return False

    @abstractmethod
    def fit(self, outputs0: Outputs, outputs1: Outputs, rng: np.random.Generator) -> Scorer:
        """The scorer learned from pilot outputs of side 0 and side 1."""
