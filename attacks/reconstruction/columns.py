"""Columns of numbers, made from outputs, exceptional outputs included."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.base import Outputs
from ..distinguishing.events import mark
from ..learners.features import Features, Featuriser, check_kind

MOST_LABELS = 32
"""Largest number of events with a separate column: the most frequent ones of the pilot."""


@dataclass(frozen=True, eq=False)
class EventColumns:
    """Columns of `Features`, followed by indicator columns of events, if the pilot had any.

    An event is 0 in the columns of ordinary outputs; an event that is not in the pilot is 0 in the columns of labels.

    Args:
        features: makes the columns of ordinary outputs; None if the pilot had none.
        n_columns: number of columns of ordinary outputs.
        labels: events with a separate column; empty if the pilot had no event, and then there is no column of events.
    """

    features: Features | None
    n_columns: int
    labels: tuple[str, ...]

    @classmethod
    def learn(cls, kind: str | Featuriser, pilot: Outputs) -> EventColumns:
        """Learn centre and scale of ordinary outputs, and the most frequent events."""
        check_kind(kind)
        pilot = mark(pilot)
        events = _events(pilot)
        ordinary = pilot.values[events == ""]
        labels = tuple(label for label, _ in Counter(events[events != ""].tolist()).most_common(MOST_LABELS))
        if not len(ordinary):
            return cls(None, 0, labels)
        features = Features.learn(kind, ordinary, ordinary[:0])
        return cls(features, features.columns(ordinary[:1]).shape[1], labels)

    def columns(self, outputs: Outputs) -> Floats:
        """Return the columns, `(size, n_columns)`, and more if there are events."""
        outputs = mark(outputs)
        events = _events(outputs)
        ordinary = events == ""
        rows = np.zeros((len(outputs), self.n_columns))
        if self.features is not None and ordinary.any():
            rows[ordinary] = self.features.columns(outputs.values[ordinary])
        if not self.labels:
            return rows
        return np.column_stack([rows, ~ordinary, *(events == label for label in self.labels)])


def _events(outputs: Outputs) -> NDArray[np.str_]:
    """Return labels, `(size,)`, "" for an ordinary output."""
    return np.full(len(outputs), "") if outputs.events is None else outputs.events
