"""Log odds of labels: frequent labels by their counts, rare labels pooled with labels of equal counts.

A label that the pilot has once on side 1 is weak evidence, but a thousand such labels are strong evidence: leave out
one pilot run at a time and consider the counts of its label without it. A label with one occurrence would have been
new, so these runs estimate how likely a new label is on each side (Good 1953, with Turing's idea); a label seen twice
on side 1 would have been seen once there, and so on. If too few runs are available, a label keeps the log odds of its
counts.

References:
    Good (1953), "The population frequencies of species and the estimation of population parameters", Biometrika 40.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core import Floats, Ints
from ...learners.table import log_odds_of_counts

Counts = Ints

MIN_LABEL_RUNS = 8
"""Number of pilot runs below which a label is rare; also the smallest number of runs of a class of labels."""


@dataclass(frozen=True, eq=False)
class LabelOdds:
    """Log odds of side 1 of labels on a pilot; infinite for labels of one side only with `MIN_LABEL_RUNS` runs or more.

    Args:
        counts: `(2, n_labels)` pilot runs of each label on the two sides.
        own: `(n_labels,)` log odds computed from `counts`.
        classes: `(MIN_LABEL_RUNS, MIN_LABEL_RUNS)` log odds of a label by its counts on side 0 and side 1; NaN where
            there are too few runs.
        anything: log odds of all labels together.
    """

    counts: Counts
    own: Floats
    classes: Floats
    anything: float

    @classmethod
    def learn(cls, counts: Counts, n: tuple[int, int]) -> LabelOdds:
        """Learn from the `(2, n_labels)` runs of each label on a pilot of `n` runs per side, ordinary runs included."""
        class_counts = np.zeros((2, MIN_LABEL_RUNS, MIN_LABEL_RUNS))
        for side in (0, 1):
            remaining = counts.copy()
            remaining[side] -= 1
            rare = (remaining[side] >= 0) & (remaining.sum(axis=0) < MIN_LABEL_RUNS)
            np.add.at(class_counts[side], (remaining[0, rare], remaining[1, rare]), counts[side, rare])
        classes = np.where(class_counts.sum(axis=0) >= MIN_LABEL_RUNS, odds_of_counts(class_counts, n), np.nan)
        pooled = odds_of_counts(counts.sum(axis=1, keepdims=True), n)
        return cls(counts, odds_of_counts(counts, n), classes, float(pooled[0]))

    def of_labels(self) -> Floats:
        """Return the log odds of each label, for fresh runs: shape `(n_labels,)`."""
        return self._of(self.counts, self.own)

    def of_new(self) -> float:
        """Return the log odds of a label that is not in the pilot."""
        log_odds = float(self.classes[0, 0])
        return self.anything if np.isnan(log_odds) else log_odds

    def left_out(self, labels: Counts, side: int) -> Floats:
        """Return the log odds of pilot runs of a side, each computed without that run; shape as `labels`."""
        counts = self.counts[:, labels]
        counts[side] -= 1
        return self._of(counts, self.own[labels])

    @property
    def by_class(self) -> bool:
        """True if any class of labels has separate log odds."""
        return not bool(np.isnan(self.classes).all())

    def _of(self, counts: Counts, own: Floats) -> Floats:
        rare = counts.sum(axis=0) < MIN_LABEL_RUNS
        class_odds = self.classes[tuple(np.where(rare, counts, 0))]
        return np.where(rare & ~np.isnan(class_odds), class_odds, own)


def odds_of_counts(counts: NDArray[Any], n: tuple[int, int]) -> Floats:
    """Return smoothed log odds; infinite for events of one side with `MIN_LABEL_RUNS` runs (false alarm 2^-7)."""
    odds = log_odds_of_counts(counts[0], counts[1], *n)
    odds[(counts[0] == 0) & (counts[1] >= MIN_LABEL_RUNS)] = np.inf
    odds[(counts[1] == 0) & (counts[0] >= MIN_LABEL_RUNS)] = -np.inf
    return odds
