"""Exceptional outputs are scored, never dropped: an event that happens more often on one side is a leak by itself.

    mark         rows with NaN or infinity become events
    fit_scorer   trains an attack on the ordinary pilot rows and learns where each event stands among its scores

Where an event stands. Scores rank outputs by how strongly they point to side 1, and so must events. Each label has its
smoothed log odds on the pilot; the ordinary scores, cut into quantile bins, have theirs; the label is put between the
bins where it is least out of order, above or below all of them where it is more extreme than all. A label that happens
equally often on both sides thus lands in the middle, where it does not blur what the ordinary outputs show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.base import Outputs
from ..mechanisms.errors import AttackError
from .base import Attack, Scorer, Target
from .fine.labels import LabelOdds
from .models.table import log_odds_of_counts

Floats = NDArray[np.float64]
Labels = NDArray[np.str_]
Shape = tuple[int, ...]

N_BINS = 32
EXCEPTIONAL = ("", "nan", "inf", "-inf")
LONGEST_LABEL = 60
SHOWN = 3  # events that a description names


def mark(outputs: Outputs) -> Outputs:
    """`outputs` with every row that holds NaN or an infinity turned into an event; the same object if none does.

    Labels are "nan", "inf" and "-inf"; for outputs of several numbers they say where in the flattened output, as in
    "nan at 0, 3; inf at 1": the same place on one side only is a leak too. The row itself is filled with zeros.

    Example:
        >>> mark(Outputs(np.array([0.5, np.nan, -np.inf]))).events.tolist()
        ['', 'nan', '-inf']
    """
    values = outputs.values
    if values.dtype.kind not in "fc" or np.isfinite(values).all():
        return outputs
    rows = values.reshape(len(values), -1)
    exceptional = ~np.isfinite(rows).all(axis=1)
    patterns, at = np.unique(_exceptional(rows[exceptional]), axis=0, return_inverse=True)
    labels = np.array([_pattern_label(pattern) for pattern in patterns], dtype=np.str_)
    events = np.full(len(rows), "", dtype=labels.dtype)
    events[exceptional] = labels[at.ravel()]
    if outputs.events is not None:
        events = np.where(outputs.events != "", outputs.events, events)
    ordinary = values.copy()
    ordinary[exceptional] = 0
    return Outputs(ordinary, events)


def fit_scorer(
    attack: Attack, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator
) -> EventScorer:
    """The scorer of `attack`, learned from pilot outputs, that also scores events.

    Args:
        attack: one that can be used on `target`.
        target: what is attacked.
        pilot0, pilot1: pilot outputs of side 0 and side 1, events included.
        rng: for what is random in the training of the attack.

    Returns:
        A scorer of any outputs of the mechanism. Ordinary rows get the score of the attack, which was trained on the
        ordinary pilot rows alone. A label seen on the pilot gets the place that its log odds have among those scores,
        and these themselves if the pilot had no ordinary row; rare labels, and one never seen, have those of their kind
        (`LabelOdds`), or of all events together; +inf if the pilot had none. Outputs of another shape than the pilot's
        are events too.

    Raises:
        AttackError: the attack cannot be trained on these pilot outputs.

    Guarantees:
        * every run has a score, never NaN;
        * without events the scores are those of the attack, and cost no more than a look for NaN.

    Example:
        >>> from dpassay.attacks.distinguishing import Threshold
        >>> from dpassay.mechanisms import Laplace
        >>> rng = np.random.default_rng(0)
        >>> out, in_ = rng.normal(size=100), rng.normal(size=100)
        >>> in_[:10] = np.nan
        >>> target = Target(Laplace(epsilon=1.0), Laplace(epsilon=1.0).worst_case())
        >>> scorer = fit_scorer(Threshold(), target, Outputs(out), Outputs(in_), rng)
        >>> float(scorer.score(Outputs(np.array([np.nan])))[0])
        inf
    """
    marked0, marked1 = mark(pilot0), mark(pilot1)
    shapes = _common_shapes(marked0, marked1)
    (ordinary0, labels0), (ordinary1, labels1) = _split(marked0, shapes), _split(marked1, shapes)
    starved = min(len(ordinary0), len(ordinary1)) < attack.minimum_pilot <= min(len(pilot0), len(pilot1))
    base = Indifferent() if starved else attack.fit(target, ordinary0, ordinary1, rng)
    pilot = _Pilot((marked0, marked1), (ordinary0, ordinary1), (labels0, labels1), shapes)
    without_low_bits = getattr(base, "without_low_bits", None)
    if without_low_bits is None:
        return _with_events(base, pilot)
    base = replace(cast(Any, base), without_low_bits=None)
    return replace(_with_events(base, pilot), without_low_bits=_with_events(without_low_bits, pilot))


@dataclass(frozen=True, eq=False)
class _Pilot:
    """Pilot outputs of both sides, and the ordinary rows and the labels among them."""

    marked: tuple[Outputs, Outputs]
    ordinary: tuple[Outputs, Outputs]
    labels: tuple[Labels, Labels]
    shapes: tuple[Shape, ...] | None


def _with_events(base: Scorer, pilot: _Pilot) -> EventScorer:
    """A scorer of ordinary rows, with a place for each event of the pilot."""
    (ordinary0, ordinary1), (labels0, labels1), shapes = pilot.ordinary, pilot.labels, pilot.shapes
    held_out = getattr(base, "held_out", None)
    if held_out is not None:
        base = replace(cast(Any, base), held_out=None)
    if not len(labels0) + len(labels1):
        return EventScorer(base, shapes, held_out=held_out)
    scores = held_out or tuple(base.score(rows) if len(rows) else np.empty(0) for rows in (ordinary0, ordinary1))
    n = len(pilot.marked[0]), len(pilot.marked[1])
    names, at = np.unique(np.concatenate([labels0, labels1]), return_inverse=True)
    at0, at1 = at[: len(labels0)], at[len(labels0) :]
    odds = LabelOdds.learn(np.stack([np.bincount(side, minlength=len(names)) for side in (at0, at1)]), n)
    asked = [odds.of_labels(), np.array([odds.of_new()]), odds.left_out(at0, 0), odds.left_out(at1, 1)]
    places = _places(np.concatenate(asked), scores, n)
    label_scores, new, *left_out = np.split(places, np.cumsum([len(part) for part in asked[:-1]]))
    if held_out is not None or odds.by_class:
        held_out = cast(Any, tuple(map(_together, pilot.marked, (shapes, shapes), scores, left_out)))
    return EventScorer(base, shapes, names.astype(np.str_), label_scores, float(new[0]), held_out)


def _together(marked: Outputs, shapes: tuple[Shape, ...] | None, ordinary: Floats, events: Floats) -> Floats:
    """The scores of ordinary rows and of events, each in its place among the outputs."""
    at = _ordinary(marked, shapes)[0]
    scores = np.empty(len(marked))
    scores[at], scores[~at] = ordinary, events
    return scores


@dataclass(frozen=True)
class Indifferent:
    """Scores every output 0: for pilots with so many events that too few ordinary rows are left to learn from."""

    def score(self, outputs: Outputs) -> Floats:
        """Zeros, shape `(size,)`."""
        return np.zeros(len(outputs))


@dataclass(frozen=True, eq=False)
class EventScorer:
    """An attack's scorer, and a score for each event.

    Args:
        base: scores ordinary rows.
        shapes: of one ordinary output: the one that both sides share; none, if they differ in it; None, and then any
            shape is ordinary, if the pilot had no ordinary row.
        labels: `(n_labels,)` events of the pilot, sorted.
        label_scores: `(n_labels,)` their scores.
        unseen: score of every other event.
        held_out: scores of the pilot outputs of each side as fresh ones would have them, where they were learned by
            heart; None elsewhere.
        without_low_bits: the scorer without rules on the low bits of floats, where there are some; None elsewhere.
    """

    base: Scorer
    shapes: tuple[Shape, ...] | None
    labels: Labels | None = None
    label_scores: Floats | None = None
    unseen: float = np.inf
    held_out: tuple[Floats, Floats] | None = None
    without_low_bits: EventScorer | None = None

    def score(self, outputs: Outputs) -> Floats:
        """Scores of `outputs`, shape `(size,)`, higher = side 1; never NaN."""
        outputs = mark(outputs)
        if outputs.events is None and (self.shapes is None or outputs.values.shape[1:] in self.shapes):
            return self._base_score(outputs)
        ordinary, events = _ordinary(outputs, self.shapes)
        scores = np.empty(len(outputs))
        if ordinary.any():
            scores[ordinary] = self._base_score(Outputs(outputs.values[ordinary]))
        scores[~ordinary] = self._event_scores(events[~ordinary])
        return scores

    def score_pilot(self, pilot0: Outputs, pilot1: Outputs) -> tuple[Floats, Floats]:
        """Scores of the pilot outputs that this was learned from, as fresh ones would have them."""
        return self.held_out or (self.score(pilot0), self.score(pilot1))

    def describe(self, threshold: float, *, above: bool = True) -> str:
        """Which outputs score at or above the threshold, or below, in words; "" where the score is all there is."""
        base = getattr(self.base, "describe", None)
        said = "" if base is None else str(base(threshold, above=above))
        if self.labels is None or self.label_scores is None:
            return said
        there = self.labels[(self.label_scores >= threshold) == above].tolist()
        more = f" or {len(there) - SHOWN:,} more" * (len(there) > SHOWN)
        events = f"the event {' or '.join(map(repr, there[:SHOWN]))}{more}" if there else ""
        return " or ".join(part for part in (said, events) if part)

    def _event_scores(self, events: Labels) -> Floats:
        """The score of each label."""
        if self.labels is None or self.label_scores is None:
            return np.full(len(events), self.unseen)
        at = np.searchsorted(self.labels, events).clip(max=len(self.labels) - 1)
        return np.where(self.labels[at] == events, self.label_scores[at], self.unseen)

    def _base_score(self, outputs: Outputs) -> Floats:
        """The base's scores, held to the contract of a scorer."""
        scores = np.asarray(self.base.score(outputs), dtype=np.float64)
        if scores.shape != (len(outputs),):
            raise AttackError(
                f"{type(self.base).__name__}.score must return one number a run, shape ({len(outputs)},), but returned "
                f"shape {scores.shape}."
            )
        if scores.size and np.isnan(scores.max()):
            raise AttackError(
                f"{type(self.base).__name__}.score returned NaN for an ordinary output. Give every output a number, "
                "+-inf if it settles the side, 0 if it says nothing."
            )
        return scores


def _exceptional(rows: NDArray[Any]) -> NDArray[np.int8]:
    """What is wrong with each number: 0 nothing, or the place of its name in `EXCEPTIONAL`."""
    above = rows.real > 0
    return np.select([np.isfinite(rows), np.isnan(rows), above], [0, 1, 2], 3).astype(np.int8)


def _pattern_label(pattern: NDArray[np.int8]) -> str:
    """The label of a row with these exceptional values."""
    if len(pattern) == 1:
        return EXCEPTIONAL[pattern[0]]
    found = [(EXCEPTIONAL[k], np.flatnonzero(pattern == k)) for k in (1, 2, 3)]
    label = "; ".join(f"{name} at {', '.join(map(str, places))}" for name, places in found if len(places))
    if len(label) <= LONGEST_LABEL:
        return label
    return f"{label[: LONGEST_LABEL - 13]}... #{blake2b(label.encode(), digest_size=4).hexdigest()}"


def _common_shapes(outputs0: Outputs, outputs1: Outputs) -> tuple[Shape, ...] | None:
    """See `EventScorer.shapes`."""
    seen = (o.values.shape[1:] for o in (outputs0, outputs1) if len(o) and (o.events is None or (o.events == "").any()))
    shapes = tuple(set(seen))
    if not shapes:
        return None
    return shapes if len(shapes) == 1 else ()


def _ordinary(outputs: Outputs, shapes: tuple[Shape, ...] | None) -> tuple[NDArray[np.bool_], Labels]:
    """Which rows are ordinary, and the label of each row; rows of a shape that is not in `shapes` are events."""
    events = np.full(len(outputs), "") if outputs.events is None else outputs.events
    found = outputs.values.shape[1:]
    if shapes is not None and found not in shapes:
        events = np.where(events == "", f"shape {found}", events)
    return events == "", events


def _split(outputs: Outputs, shapes: tuple[Shape, ...] | None) -> tuple[Outputs, Labels]:
    """The ordinary rows, and the labels of the others."""
    ordinary, events = _ordinary(outputs, shapes)
    if ordinary.all():
        return Outputs(outputs.values), events[:0]
    return Outputs(outputs.values[ordinary]), events[~ordinary]


def _places(log_odds: Floats, ordinary: tuple[Floats, Floats], n: tuple[int, int]) -> Floats:
    """The score that puts each of `log_odds` where it is least out of order among the pilot's `ordinary` scores.

    Put below bin k, a label is out of order with the bins below it that have higher log odds and with those from k on
    that have lower ones; summed over bins of equal size, this is a cumulative sum, and its minimum is the place.
    """
    scores = [np.sort(side) for side in ordinary]
    pooled = np.sort(np.concatenate(scores))
    if len(pooled) == 0:
        return log_odds
    edges = np.unique(pooled[np.linspace(0, len(pooled) - 1, N_BINS + 1).astype(int)[:-1]])
    counts0, counts1 = (np.diff(np.searchsorted(s, edges), append=len(s)) for s in scores)
    bins = log_odds_of_counts(counts0, counts1, *n)
    finite = np.where(np.isfinite(log_odds), log_odds, 0.0)
    disorder = np.cumsum((counts0 + counts1) * (bins - finite[:, None]), axis=1)
    place = np.argmin(np.column_stack([np.zeros(len(log_odds)), disorder]), axis=1)
    just_below = np.nextafter(edges, -np.inf)
    between: Floats = np.array([-np.inf, *just_below[1:], np.inf])
    return np.where(np.isfinite(log_odds), between[place], log_odds)
