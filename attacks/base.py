"""The interfaces of this package: read this first.

An attack turns outputs into scores. Everywhere, a higher score means side 1: the record was in.

    Target   what is attacked: a mechanism and a pair
    Attack   learns from pilot outputs of both sides of a target ...
    Scorer   ... how to score outputs that it has never seen

An attack has four public members; a subclass gives `fit`, and overrides the others where it is more particular:

    minimum_pilot   fewest pilot outputs a side that `fit` needs; 0: it learns nothing
    check           refuses a target that it cannot attack, before anything runs
    supports        whether "auto" may choose it for a target
    fit             the scorer, learned from pilot outputs

A scorer is fixed before the first evaluation trial runs; that is what makes the scores of evaluation trials
independent and identically distributed on each side.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.base import Mechanism, Neighbours, Outputs
from ..mechanisms.errors import AttackError
from ..mechanisms.validation import Options


class Scorer(Protocol):
    """A fixed function from outputs to scores. It can be pickled, since workers receive it.

    It may offer more, which is looked for by name:

        held_out   scores of the pilot outputs of each side, as fresh ones would have them, where it knows these outputs
                   too well to score them itself; thresholds are chosen on these, and then they are taken off
        without_low_bits   the scorer that the same pilot outputs give without a look at the low bits of floats, where
                   it looks at them; so that a result can say what is shown without them
        describe   `(threshold, *, above) -> str`: which outputs score at or above the threshold, or below, in words;
                   "" where there is nothing to say
    """

    def score(self, outputs: Outputs) -> NDArray[np.float64]:
        """One score a run, shape `(size,)`, higher = side 1; never NaN, +-inf allowed."""
        ...


@dataclass(frozen=True, eq=False)
class Target:
    """What is attacked: a pair, `neighbours`, and `mechanism` as `fitted_to` returned it for that pair."""

    mechanism: Mechanism
    neighbours: Neighbours


class Attack(metaclass=Options):
    """A way to tell side 1 from side 0. Subclasses are frozen dataclasses whose fields are the options."""

    minimum_pilot: ClassVar[int] = 1
    """Fewest ordinary pilot outputs a side that `fit` needs; with fewer it raises `AttackError`. 0: the scorer does not
    depend on them."""

    def check(self, target: Target) -> None:
        """Raises `AttackError`, with the reason, where this attack cannot be used on `target`; so does `fit`."""

    def supports(self, target: Target) -> bool:
        """Whether "auto" may choose this attack: by default, wherever `check` passes.

        It depends on the target alone, not on outputs, so that the choice needs no correction.
        """
        try:
            self.check(target)
        except AttackError:
            return False
        return True

    @abstractmethod
    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """Learns to score outputs of `target`.

        Args:
            target: the mechanism and the pair.
            pilot0, pilot1: pilot outputs of side 0 and side 1, which are not counted afterwards.
            rng: of a randomised attack.

        Returns:
            A scorer of evaluation outputs.

        Raises:
            AttackError: the attack cannot be used on `target`, or there are too few ordinary pilot outputs.
        """
