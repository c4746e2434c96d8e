"""The interfaces of this package: read this first.

An attack turns outputs into scores. Everywhere, a higher score means side 1: the record was in.

    Target   mechanism and pair under attack
    Attack   learns from pilot outputs of both sides of a target ...
    Scorer   ... how to score outputs that it has never seen

An attack has four public members; a subclass implements `fit`, and overrides the others where needed:

    minimum_pilot   smallest number of pilot outputs per side that `fit` needs; 0: `fit` learns nothing
    check           rejects a target that the attack cannot be used on, before anything runs
    supports        whether "auto" may choose it for a target
    fit             returns the scorer, learned from pilot outputs

A scorer is fixed before the first evaluation trial runs; this makes the scores of evaluation trials
independent and identically distributed on each side.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from ..mechanisms.core import AttackError, Floats, Mechanism, Neighbours, Options, Outputs, plural


class Scorer(Protocol):
    """A fixed function from outputs to scores. Scorers are pickled for the workers.

    A scorer may have further members, which are looked up by name:

        held_out   scores of the pilot outputs of each side, distributed like those of fresh outputs, for a scorer
                   overfitted to the pilot outputs; thresholds are chosen on these scores, which are then removed
        without_low_bits   the scorer learned from the same pilot outputs without the low bits of floats, for a
                   scorer that uses them; it lets a result report what is shown without low bits
        describe   `(threshold, *, above) -> str`: description of the outputs that score at or above the threshold,
                   or below; "" if there is nothing to describe
        describes_outputs   `(threshold, *, above) -> bool`: whether `describe` says which outputs these are, and not
                   only which scores they have; without this member it does
        scores_log_ratios   True if each score is the log likelihood ratio of its output under a known law; the choice
                   of thresholds uses this where the pilot does not contradict it
        names      `OutputNames`, names of the numbers of an output; set once the pilot has been run, for `describe`
    """

    def score(self, outputs: Outputs) -> Floats:
        """Return one score per run, shape `(size,)`, higher = side 1; never NaN, +-inf allowed."""
        ...


@dataclass(frozen=True, eq=False)
class Target:
    """Mechanism and pair under attack; `mechanism` is what `bind` returned for `neighbours`."""

    mechanism: Mechanism
    neighbours: Neighbours


class Attack(Options):
    """Base class of attacks, which distinguish side 1 from side 0.

    Subclasses are frozen dataclasses whose fields are the options.
    """

    minimum_pilot: ClassVar[int] = 1
    """Smallest number of ordinary pilot outputs per side that `fit` needs; with fewer it raises `AttackError`. 0: the
    scorer does not depend on them."""

    def check(self, target: Target) -> None:
        """Raise `AttackError`, with the reason, if this attack cannot be used on `target`; so does `fit`."""

    def supports(self, target: Target) -> bool:
        """Return True if "auto" may choose this attack: by default, if `check` passes.

        The answer depends only on the target, not on outputs, so the choice needs no correction.
        """
        try:
            self.check(target)
        except AttackError:
            return False
        return True

    def _check_pilot(self, pilot0: Outputs, pilot1: Outputs, advice: str = "Raise trials.") -> None:
        """Raise `AttackError`, with advice, if a side has fewer than `minimum_pilot` pilot outputs."""
        if min(len(pilot0), len(pilot1)) < self.minimum_pilot:
            needed = plural(self.minimum_pilot, "ordinary pilot output")
            raise AttackError(
                f"{type(self).__name__} needs at least {needed} per side to learn from, a part of the trials, "
                f"but got {len(pilot0)} and {len(pilot1)}. {advice}"
            )

    @abstractmethod
    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """Learn to score outputs of `target`.

        Args:
            target: the mechanism and the pair.
            pilot0, pilot1: pilot outputs of side 0 and side 1, which are never counted in a bound.
            rng: random generator of a randomised attack.

        Returns:
            A scorer of evaluation outputs.

        Raises:
            AttackError: the attack cannot be used on `target`, or there are too few ordinary pilot outputs.
        """
