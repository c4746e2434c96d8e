"""The interfaces of this room: read this first.

An attack turns outputs into scores. Higher score = side 1 = "the record was in". Stated once, true everywhere.

    Target   what is attacked: a mechanism and a pair
    Attack   learns from pilot outputs of both sides of a target ...
    Scorer   ... how to score outputs that it has never seen

An attack has four public members; a subclass gives `fit`, and overrides the others where it is more particular:

    minimum_pilot   fewest pilot outputs a side that it learns from; 0: it learns nothing
    check           refuses a target that it cannot be used on, before anything runs
    supports        whether "auto" may take it there
    fit             the scorer, learned from pilot outputs

A scorer is fixed before the first evaluation trial runs; that is what makes the scores of evaluation trials
independent and identically distributed on each side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.base import Mechanism, Neighbours, Outputs
from ..mechanisms.errors import AttackError


class Scorer(Protocol):
    """A fixed function from outputs to scores. Pickles, so that it can travel to workers."""

    def score(self, outputs: Outputs) -> NDArray[np.float64]:
        """One score a run, shape `(size,)`, higher = side 1; never NaN, +-inf allowed."""
        ...


@dataclass(frozen=True, eq=False)
class Target:
    """What is attacked: `mechanism`, fitted to the pair, and the pair, `neighbours`."""

    mechanism: Mechanism
    neighbours: Neighbours


class Attack(ABC):
    """A way to tell side 1 from side 0. Subclasses are frozen dataclasses whose fields are the options."""

    minimum_pilot: ClassVar[int] = 1
    """Fewest ordinary pilot outputs a side from which `fit` learns; with fewer it raises `AttackError`. 0: the scorer
    does not depend on them, and fewer pilot trials are enough."""

    def check(self, target: Target) -> None:  # noqa: B027 - most attacks can be used everywhere
        """Raises `AttackError`, with the reason, where it cannot be used on `target`; so does `fit`."""

    def supports(self, target: Target) -> bool:
        """Whether "auto" may take this attack here: by default, wherever it can be used.

        The target decides, before anything runs, so that the choice needs no correction.
        """
        try:
            self.check(target)
        except AttackError:
            return False
        return True

    @abstractmethod
    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """The scorer of outputs of `target`, learned from pilot outputs of side 0 and side 1."""
