"""Events of learned scores in terms of the output: a rule on one number, or the few parts that the event depends on.

    SimpleRule    "output['kind'] is 'ok'": a rule on one number of the output, fixed on the pilot
    OutputSample        outputs of both sides, in which such a rule is found, or the parts of the output that matter

Descriptions only: no score, no threshold and no bound depends on them.

A rule on one number is used if on the pilot it distinguishes the sides about as well as the event does. The effect is
the difference of the scores of the two sides: Pr[score of side 1 > score of side 0] - Pr[<], on runs that no attack has
seen. The share of some parts of the output is what remains of the effect if all other parts are exchanged between
random runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...mechanisms.core import Bools, Floats, Ints, OutputNames, Outputs, number, percent
from ..learners.features import as_matrix
from ..learners.table import log_odds_of_counts
from .events import EventScorer, mark
from .threshold import superiority

MAX_SAMPLE_ENTRIES = 400_000
"""Largest number of pilot numbers of both sides that are searched for a rule."""
MIN_SAMPLE_ROWS = 500
MAX_VALUES = 20
"""Largest number of distinct values of a number that a rule lists."""
MAX_VALUES_SHOWN = 5
MAX_SEARCHED = 256
"""Largest number of numbers of an output that are searched for a rule."""
MAX_LISTED_CODES = 200
"""Largest number of texts in a rule."""
MIN_LOG_RATIO, MIN_RATE = 0.75, 0.75
"""Shares of the event's log ratio of rates, and of its rate on the likelier side, that a rule must reach."""
MIN_SHARE = 0.75
"""Share of the effect that the named parts must have."""
MIN_DEVIATIONS = 5.0
"""Smallest effect whose parts are named, in standard deviations of the effect without a difference."""
N_EXCHANGES = 3
"""Number of random exchanges over which a share is averaged."""
MAX_PARTS, MAX_CANDIDATES = 3, 12
"""Largest numbers of parts that are named, and of parts that are tried."""

Interval = tuple[float, float]
Hits = tuple[int, int]


@dataclass(frozen=True)
class SimpleRule:
    """Rule on one number of the output that stands for an event of scores; exceptional outputs are judged by the score.

    Args:
        index: index of the number in the flattened output; None if there is only one.
        above: whether the event is {score >= threshold} or its complement.
        shape: shape of an output.
        exact: whether the rule and the event agreed on each pilot output that was compared.
        values: values of the number in the event; empty for intervals.
        others: its other values in the pilot.
        intervals: of the number, ends included.
    """

    index: int | None
    above: bool
    shape: tuple[int, ...]
    exact: bool
    values: tuple[float, ...] = ()
    others: tuple[float, ...] = ()
    intervals: tuple[Interval, ...] = ()

    def holds(self, outputs: Outputs, scores: Floats, threshold: float) -> Bools:
        """Return for each output whether the rule holds."""
        in_event: Bools = (scores >= threshold) == self.above
        if outputs.values.shape[1:] != self.shape:
            return in_event
        holds = self._holds(as_matrix(outputs.values)[:, self.index or 0])
        return holds if outputs.events is None else np.asarray(np.where(outputs.events == "", holds, in_event))

    def _holds(self, column: Floats) -> Bools:
        if not self.intervals:
            return np.isin(column, self.values)
        return _within(column, self.intervals)

    def describe(self, names: OutputNames) -> str:
        """Describe the outputs for which the rule holds.

        >>> rule = SimpleRule(3, True, (9,), True, intervals=((2.5, math.inf),))
        >>> rule.describe(OutputNames())
        'coordinate 3 is at least 2.5'
        """
        name = names.name(self.index)
        if self.intervals:
            return f"{name} is {' or '.join(interval_in_words(*ends) for ends in self.intervals)}"
        if len(self.values) <= len(self.others) or len(self.others) > MAX_VALUES_SHOWN:
            return f"{name} is {self._listed(self.values, names)}"
        return f"{name} is not {self._listed(self.others, names)}"

    def _listed(self, values: Sequence[float], names: OutputNames) -> str:
        shown = " or ".join(names.value(self.index, value) for value in values[:MAX_VALUES_SHOWN])
        return f"{shown} or {len(values) - MAX_VALUES_SHOWN:,} more" if len(values) > MAX_VALUES_SHOWN else shown


def interval_in_words(low: float, high: float) -> str:
    """Return an interval in words.

    >>> interval_in_words(1.0, math.inf), interval_in_words(-math.inf, 2.5), interval_in_words(1.0, 2.5)
    ('at least 1', 'at most 2.5', 'from 1 to 2.5')
    """
    if math.isinf(high):
        return f"at least {number(low, 6)}" if math.isfinite(low) else "any"
    if math.isinf(low):
        return f"at most {number(high, 6)}"
    return number(low, 6) if low == high else f"from {number(low, 6)} to {number(high, 6)}"


@dataclass(frozen=True)
class Parts:
    """Parts of the output that hold most of the effect of an event.

    Args:
        names: the parts, that with the largest share first.
        share: share of the effect that remains without all other parts, in [0, 1].
    """

    names: tuple[str, ...]
    share: float

    @property
    def is_most(self) -> bool:
        """True if the parts hold most of the effect."""
        return self.share >= MIN_SHARE

    def __str__(self) -> str:
        """Return the parts in words.

        >>> str(Parts(("coordinate 3", "coordinate 7"), 0.971))
        'mostly coordinate 3 and coordinate 7 (97 % of the effect)'
        """
        return f"mostly {' and '.join(self.names)} ({percent(self.share, 2)} of the effect)"


@dataclass(frozen=True, eq=False)
class OutputSample:
    """Outputs of both sides, to describe events of `scorer`: of the pilot for rules, fresh ones for parts.

    Args:
        scorer: scorer of the events.
        rows: `(n, n_numbers)` ordinary outputs, flattened.
        shape: shape of an output.
        sides: `(n,)` side of each row.
        scores: `(n,)` their scores.
        exceptional: scores of the exceptional outputs of side 0 and of side 1.
        names: names of the numbers of an output.
    """

    scorer: EventScorer
    rows: Floats
    shape: tuple[int, ...]
    sides: Ints
    scores: Floats
    exceptional: tuple[Floats, Floats]
    names: OutputNames

    @classmethod
    def of(cls, scorer: EventScorer, side0: Outputs, side1: Outputs, names: OutputNames) -> OutputSample | None:
        """Return the first outputs of both sides; None if the sides have no ordinary outputs of one shape."""
        width = max(1, int(np.prod(side0.values.shape[1:])))
        n = max(MIN_SAMPLE_ROWS, MAX_SAMPLE_ENTRIES // (2 * width))
        rows, scores, exceptional = [], [], []
        for side in (side0, side1):
            first = mark(Outputs(side.values[:n], None if side.events is None else side.events[:n]))
            ordinary = np.full(len(first), True) if first.events is None else first.events == ""
            of_all = np.asarray(scorer.score(first), dtype=np.float64)
            rows.append(first.values[ordinary])
            scores.append(of_all[ordinary])
            exceptional.append(of_all[~ordinary])
        shape, n_rows = rows[0].shape[1:], [len(part) for part in rows]
        if rows[1].shape[1:] != shape or not all(n_rows) or rows[0].dtype.kind not in "biuf":
            return None
        sides = np.repeat(np.array([0, 1]), n_rows)
        return cls(
            scorer,
            as_matrix(np.concatenate(rows)),
            shape,
            sides,
            np.concatenate(scores),
            (exceptional[0], exceptional[1]),
            names,
        )

    def rule(self, threshold: float, *, above: bool) -> SimpleRule | None:
        """Return the rule on one number that agrees best with an event, if it distinguishes the sides as well."""
        if self.rows.shape[1] == 1 and self.scorer.describes_outputs(threshold, above=above):
            return None
        in_event = (self.scores >= threshold) == above
        if in_event.all() or not in_event.any():
            return None
        of_event = self._hits(in_event, threshold, above=above)
        best, agreement = None, (-1.0, False)
        for index in self._screened(in_event):
            rule = self._candidate(index, in_event, above=above, is_code=self.names.is_code(index))
            if rule is None:
                continue
            holds = rule._holds(self.rows[:, index])
            agrees = float((holds == in_event).mean()), not rule.intervals  # a list of values rather than an interval
            if agrees > agreement and self._as_well(self._hits(holds, threshold, above=above), of_event):
                best, agreement = rule, agrees
        if best is None:
            return None
        only = None if self.shape == () else best.index
        return SimpleRule(only, above, self.shape, agreement[0] == 1.0, best.values, best.others, best.intervals)

    def parts(self) -> Parts | None:
        """Return the fewest parts of the output that hold most of the effect; None if there are none."""
        if self.rows.shape[1] < 2 or not self._has_effect:
            return None
        for name_of in (self.names.name, self.names.part):
            groups: dict[str, list[int]] = {}
            for index in range(self.rows.shape[1]):
                groups.setdefault(name_of(index), []).append(index)
            if len(groups) > 1 and (found := self._fewest(groups)) is not None:
                return found
        return None

    def share(self, index: int) -> Parts | None:
        """Return the part of one number, with its share of the effect; None if it cannot be measured."""
        name = self.names.name(index)
        kept = [other for other in range(self.rows.shape[1]) if self.names.name(other) == name]
        if len(kept) == self.rows.shape[1] or not self._has_effect:
            return None
        return Parts((name,), self._share(kept))

    def _fewest(self, groups: dict[str, list[int]]) -> Parts | None:
        relevance = self._relevance(self.sides == 1)
        of_groups = [float(relevance[indices].max()) for indices in groups.values()]
        tried = [list(groups)[i] for i in np.argsort(np.negative(of_groups), kind="stable")[:MAX_CANDIDATES]]
        chosen: list[str] = []
        while tried and len(chosen) < min(MAX_PARTS, len(groups) - 1):
            kept = [index for name in chosen for index in groups[name]]
            shares = [self._share([*kept, *groups[name]]) for name in tried]
            best = int(np.argmax(shares))
            chosen.append(tried.pop(best))
            if (parts := Parts(tuple(chosen), shares[best])).is_most:
                return parts
        return None

    @cached_property
    def _effect(self) -> float:
        return superiority(self.scores[self.sides == 0], self.scores[self.sides == 1])

    @property
    def _has_effect(self) -> bool:
        n0, n1 = (int((self.sides == side).sum()) for side in (0, 1))
        return abs(self._effect) >= MIN_DEVIATIONS * math.sqrt((n0 + n1 + 1) / (3.0 * n0 * n1))

    def _share(self, kept: Sequence[int]) -> float:
        """Return the share of the effect that remains if all numbers but `kept` are exchanged between random runs."""
        rng, effects = np.random.default_rng(0), []
        for _ in range(N_EXCHANGES):
            rows = self.rows[rng.permutation(len(self.rows))]
            rows[:, list(kept)] = self.rows[:, list(kept)]
            outputs = Outputs(rows.reshape(len(rows), *self.shape))
            scores = np.asarray(self.scorer.base.score(outputs), dtype=np.float64)
            effects.append(superiority(scores[self.sides == 0], scores[self.sides == 1]))
        return min(1.0, max(0.0, float(np.mean(effects)) / self._effect))

    def _relevance(self, in_event: Bools) -> Floats:
        """Return for each number its correlation, or that of its distance from the median, with the event."""
        return np.maximum(
            *(_correlations(part, in_event) for part in (self.rows, np.abs(self.rows - np.median(self.rows, axis=0))))
        )

    def _screened(self, in_event: Bools) -> list[int]:
        """Return the numbers that are searched for a rule: all, or the most relevant ones if there are many."""
        if self.rows.shape[1] <= MAX_SEARCHED:
            return list(range(self.rows.shape[1]))
        return sorted(np.argsort(-self._relevance(in_event), kind="stable")[:MAX_SEARCHED].tolist())

    def _hits(self, ordinary: Bools, threshold: float, *, above: bool) -> Hits:
        """Return the hits of each side, exceptional outputs included."""
        hits = [
            int((ordinary & (self.sides == side)).sum() + ((self.exceptional[side] >= threshold) == above).sum())
            for side in (0, 1)
        ]
        return hits[0], hits[1]

    def _as_well(self, of_rule: Hits, of_event: Hits) -> bool:
        """Return whether a rule distinguishes the sides about as well as the event."""
        n = [int((self.sides == side).sum()) + len(self.exceptional[side]) for side in (0, 1)]
        likelier = int(of_event[1] * n[0] > of_event[0] * n[1])
        out, in_ = (np.array([hits[side] for hits in (of_rule, of_event)]) for side in (1 - likelier, likelier))
        ratios = log_odds_of_counts(out, in_, n[1 - likelier], n[likelier]).tolist()
        return ratios[0] >= MIN_LOG_RATIO * ratios[1] > 0.0 and of_rule[likelier] >= MIN_RATE * of_event[likelier]

    def _candidate(self, index: int, in_event: Bools, *, above: bool, is_code: bool) -> SimpleRule | None:
        """Return the rule on one number that agrees best with an event; None if there is none."""
        column = self.rows[:, index]
        if (column == column[0]).all():
            return None
        levels, level_index = np.unique(column, return_inverse=True)
        if is_code and len(levels) > MAX_LISTED_CODES:
            return None
        if len(levels) <= MAX_VALUES or is_code:
            share = np.bincount(level_index, weights=in_event) / np.bincount(level_index)
            values, others = levels[share >= 0.5].tolist(), levels[share < 0.5].tolist()
            return SimpleRule(index, above, (), False, tuple(values), tuple(others)) if values and others else None
        intervals = max(_matched(column, int(in_event.sum())), key=lambda ends: _agreement(column, ends, in_event))
        return SimpleRule(index, above, (), False, intervals=intervals)


def _matched(column: Floats, n: int) -> Iterator[tuple[Interval, ...]]:
    """Yield the ends, the middle and the two tails of a column, each with about `n` of its values."""
    centre = float(np.median(column))
    low, high = np.partition(column, n - 1)[n - 1], np.partition(column, len(column) - n)[len(column) - n]
    distance = np.abs(column - centre)
    near, far = np.partition(distance, n - 1)[n - 1], np.partition(distance, len(column) - n)[len(column) - n]
    yield ((float(high), math.inf),)
    yield ((-math.inf, float(low)),)
    yield ((centre - float(near), centre + float(near)),)
    yield (-math.inf, centre - float(far)), (centre + float(far), math.inf)


def _agreement(column: Floats, intervals: tuple[Interval, ...], in_event: Bools) -> float:
    return float((_within(column, intervals) == in_event).mean())


def _within(column: Floats, intervals: tuple[Interval, ...]) -> Bools:
    inside: Bools = np.logical_or.reduce([(low <= column) & (column <= high) for low, high in intervals])
    return inside


def _correlations(columns: Floats, in_event: Bools) -> Floats:
    """Return the absolute correlation of each column with an event; 0 for a constant column."""
    spread = np.maximum(np.abs(columns).max(axis=0), np.finfo(np.float64).tiny)
    scaled = columns / spread
    centred = scaled - scaled.mean(axis=0)
    product = np.abs((in_event - in_event.mean()) @ centred)
    return np.asarray(product / np.maximum(np.sqrt((centred**2).sum(axis=0)), 1e-9))
