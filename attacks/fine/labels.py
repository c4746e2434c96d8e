"""Log odds of labels: frequent ones by their own counts, rare ones together with those that were seen as often.

A label that the pilot saw once on side 1 says little by itself. But a thousand such labels do: leave out one run of the
pilot at a time, and ask what its label would have looked like without it. A label seen once in all would have been new,
so that these runs tell how likely a new label is on each side (Good 1953, with Turing's idea); a label seen twice on
side 1 would have been seen once there, and so on. Where too few runs are left to ask, a label keeps its own counts.

References:
    Good (1953), "The population frequencies of species and the estimation of population parameters", Biometrika 40.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.table import log_odds_of_counts
from .rules import Floats

Counts = NDArray[np.int64]

RARE = 8
"""Pilot runs with a label below which it is rare; and runs that a class of labels needs."""


@dataclass(frozen=True, eq=False)
class LabelOdds:
    """Log odds of side 1 that labels have on a pilot; those of one side only are infinite, from `RARE` runs on.

    Args:
        counts: `(2, n_labels)` pilot runs of each label on the two sides.
        own: `(n_labels,)` log odds of their own counts.
        classes: `(RARE, RARE)` log odds of a label seen so often on side 0 and on side 1; NaN where too few runs tell.
        anything: log odds of any label at all.
    """

    counts: Counts
    own: Floats
    classes: Floats
    anything: float

    @classmethod
    def learn(cls, counts: Counts, n: tuple[int, int]) -> LabelOdds:
        """From the `(2, n_labels)` runs of each label on a pilot of `n` runs a side, events or not."""
        seen = np.zeros((2, RARE, RARE))
        for side in (0, 1):
            left = counts.copy()
            left[side] -= 1
            told = (left[side] >= 0) & (left.sum(axis=0) < RARE)
            np.add.at(seen[side], (left[0, told], left[1, told]), counts[side, told])
        classes = np.where(seen.sum(axis=0) >= RARE, _odds(seen, n), np.nan)
        together = _odds(counts.sum(axis=1, keepdims=True), n)
        return cls(counts, _odds(counts, n), classes, float(together[0]))

    def of_labels(self) -> Floats:
        """Of each label, for fresh runs: shape `(n_labels,)`."""
        return self._of(self.counts, self.own)

    def of_new(self) -> float:
        """Of a label that the pilot did not see."""
        told = float(self.classes[0, 0])
        return self.anything if np.isnan(told) else told

    def left_out(self, labels: Counts, side: int) -> Floats:
        """Of pilot runs of a side with these labels, each as if it had not been there itself; shape as `labels`."""
        counts = self.counts[:, labels]
        counts[side] -= 1
        return self._of(counts, self.own[labels])

    @property
    def by_class(self) -> bool:
        """Whether any class of labels is told apart."""
        return not bool(np.isnan(self.classes).all())

    def _of(self, counts: Counts, own: Floats) -> Floats:
        rare = counts.sum(axis=0) < RARE
        told = self.classes[tuple(np.where(rare, counts, 0))]
        return np.where(rare & ~np.isnan(told), told, own)


def _odds(counts: NDArray[Any], n: tuple[int, int]) -> Floats:
    """Smoothed log odds; infinite for events of one side only that happened `RARE` times (false alarm 2^-7)."""
    odds = log_odds_of_counts(counts[0], counts[1], *n)
    odds[(counts[0] == 0) & (counts[1] >= RARE)] = np.inf
    odds[(counts[1] == 0) & (counts[0] >= RARE)] = -np.inf
    return odds


__all__ = ["LabelOdds"]
