"""From outputs to columns of numbers, exceptional outputs included."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.base import Outputs
from ..events import mark
from ..features import Features, Featuriser, check_kind

Floats = NDArray[np.float64]

MOST_LABELS = 32
"""Events with a column of their own: the most frequent ones of the pilot."""


@dataclass(frozen=True, eq=False)
class EventColumns:
    """The columns of `Features`, and after them, where the pilot had events, 0 or 1: is it an event, and which one?

    In the columns of ordinary outputs an event has zeros, and in those of labels an event that the pilot never saw.

    Args:
        features: makes the columns of ordinary outputs; None where the pilot had none.
        n_columns: how many these are.
        labels: events with a column of their own; none where the pilot had no event, and then there is no column of
            events at all.
    """

    features: Features | None
    n_columns: int
    labels: tuple[str, ...]

    @classmethod
    def learn(cls, kind: str | Featuriser, pilot: Outputs) -> EventColumns:
        """Centre and scale of ordinary outputs, and the most frequent events."""
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
        """`(size, n_columns)`, and more where there are events."""
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
    """`(size,)` labels, "" for an ordinary output."""
    return np.full(len(outputs), "") if outputs.events is None else outputs.events
