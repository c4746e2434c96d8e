"""Exceptional outputs are scored, never dropped: an event that happens more often on one side is itself a leak.

    mark         rows with NaN or infinity become events
    fit_scorer   trains an attack on the ordinary pilot rows and learns a score for each event

The score of an event. Scores rank outputs by how strongly they point to side 1, and events must be ranked too. Each
label has its smoothed log odds on the pilot, and so has each quantile bin of the ordinary scores. A label is placed
between the bins where the order of log odds is violated least; above or below all bins if its log odds are more
extreme. A label that is equally frequent on both sides thus gets a score in the middle and does not blur the ordinary
outputs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import AttackError, Bools, Floats, OutputNames, Outputs, plural
from ..base import Attack, Scorer, Target
from ..learners.table import log_odds_of_counts
from .low_level.labels import LabelOdds
from .low_level.text_forms import FormOdds, form_in_words

Labels = NDArray[np.str_]
Shape = tuple[int, ...]

N_BINS = 32
EXCEPTIONAL_TEXTS = ("", "nan", "inf", "-inf")
MAX_LABEL_LENGTH = 60
MAX_EVENTS_SHOWN = 3  # events that a description names
TEXT = "text "  # beginning of the label of a text
_TEXT_FORM = "aaaa "  # beginning of the form of a text
_WORD = re.compile(r"\w+")


def mark(outputs: Outputs) -> Outputs:
    """Return `outputs` with each row that has NaN or an infinity turned into an event; the same object if no row has.

    Labels are "nan", "inf" and "-inf"; for outputs of several numbers they contain the positions in the flattened
    output, as in "nan at 0, 3; inf at 1": a position that occurs on one side only is also a leak. The row is filled
    with zeros.

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
    """Return the scorer of `attack`, learned from pilot outputs, that also scores events.

    Args:
        attack: an attack that can be used on `target`.
        target: mechanism and pair under attack.
        pilot0, pilot1: pilot outputs of side 0 and side 1, events included.
        rng: random generator for training the attack.

    Returns:
        A scorer of any outputs of the mechanism. Ordinary rows get the score of the attack, which is trained on the
        ordinary pilot rows only. The log odds of a label of the pilot are placed among those scores, or are the score
        themselves if the pilot has no ordinary row. Rare and new labels have the log odds of their kind (`LabelOdds`),
        or of all events together; +inf if the pilot has no event. Outputs whose shape does not occur in the pilot are
        events too.

    Raises:
        AttackError: the attack cannot be trained on these pilot outputs.

    Guarantees:
        * every run has a score, never NaN;
        * without events the scores are those of the attack, at the cost of a check for NaN.

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
    base = ConstantScorer() if starved else attack.fit(target, ordinary0, ordinary1, rng)
    pilot = _Pilot((marked0, marked1), (ordinary0, ordinary1), (labels0, labels1), shapes)
    without_low_bits = getattr(base, "without_low_bits", None)
    if without_low_bits is None:
        return _with_events(base, pilot)
    base = replace(cast(Any, base), without_low_bits=None)
    return replace(_with_events(base, pilot), without_low_bits=_with_events(without_low_bits, pilot))


@dataclass(frozen=True, eq=False)
class _Pilot:
    """Pilot outputs of both sides, with their ordinary rows and labels."""

    marked: tuple[Outputs, Outputs]
    ordinary: tuple[Outputs, Outputs]
    labels: tuple[Labels, Labels]
    shapes: tuple[Shape, ...] | None


def _with_events(base: Scorer, pilot: _Pilot) -> EventScorer:
    """Return a scorer of ordinary rows, with a score for each event of the pilot."""
    (ordinary0, ordinary1), (labels0, labels1), shapes = pilot.ordinary, pilot.labels, pilot.shapes
    held_out = getattr(base, "held_out", None)
    if held_out is not None:
        base = replace(cast(Any, base), held_out=None)
    if not len(labels0) + len(labels1):
        return EventScorer(base, shapes, held_out=held_out)
    scores = held_out or tuple(base.score(rows) if len(rows) else np.empty(0) for rows in (ordinary0, ordinary1))
    n_pilot = len(pilot.marked[0]), len(pilot.marked[1])
    names, label_index = np.unique(np.concatenate([labels0, labels1]), return_inverse=True)
    label_index0, label_index1 = label_index[: len(labels0)], label_index[len(labels0) :]
    counts = np.stack([np.bincount(side, minlength=len(names)) for side in (label_index0, label_index1)])
    odds, forms = LabelOdds.learn(counts, n_pilot), FormOdds.learn(names, counts, n_pilot)
    places_of_names = np.where(counts.sum(axis=0) == 1, forms.places(names), -1)
    event_log_odds = [
        odds.of_labels(),
        np.array([odds.of_new()]),
        forms.of_new(),
        *(
            _left_out(odds, forms, index, places_of_names[index], side)
            for side, index in enumerate((label_index0, label_index1))
        ),
    ]
    places = _places(np.concatenate(event_log_odds), scores, n_pilot)
    label_scores, new_label_score, form_scores, *left_out = np.split(
        places, np.cumsum([len(part) for part in event_log_odds[:-1]])
    )
    if held_out is not None or odds.by_class or len(forms.forms):
        held_out = cast(Any, tuple(map(_together, pilot.marked, (shapes, shapes), scores, left_out)))
    known, unseen = names.astype(np.str_), float(new_label_score[0])
    return EventScorer(base, shapes, known, label_scores, unseen, held_out, forms=forms, form_scores=form_scores)


def _left_out(odds: LabelOdds, forms: FormOdds, labels: Any, places: Any, side: int) -> Floats:
    """Return the log odds of pilot runs of a side, each computed without that run, by its form if that is frequent."""
    log_odds = odds.left_out(labels, side)
    log_odds[places >= 0] = forms.left_out(places[places >= 0], side)
    return log_odds


def _together(marked: Outputs, shapes: tuple[Shape, ...] | None, ordinary: Floats, events: Floats) -> Floats:
    """Return the scores of ordinary rows and of events, in the order of the outputs."""
    ordinary_rows = _ordinary(marked, shapes)[0]
    scores = np.empty(len(marked))
    scores[ordinary_rows], scores[~ordinary_rows] = ordinary, events
    return scores


@dataclass(frozen=True)
class ConstantScorer:
    """Scorer that gives every output 0: for pilots with too few ordinary rows to learn from."""

    def score(self, outputs: Outputs) -> Floats:
        return np.zeros(len(outputs))


@dataclass(frozen=True, eq=False)
class EventScorer:
    """An attack's scorer, and a score for each event.

    Args:
        base: scores ordinary rows.
        shapes: shapes of ordinary outputs: the shape common to both sides; empty if the sides differ in shape; None, so
            that any shape is ordinary, if the pilot has no ordinary row.
        labels: `(n_labels,)` events of the pilot, sorted.
        label_scores: `(n_labels,)` their scores.
        unseen: score of every other event, unless its form is known.
        held_out: scores of the pilot outputs of each side distributed like those of fresh outputs, if the scorer is
                overfitted to them; None otherwise.
        without_low_bits: the scorer without rules on the low bits of floats, if there are some; None otherwise.
        forms: forms of new events; None for none.
        form_scores: `(n_forms,)` their scores.
    """

    base: Scorer
    shapes: tuple[Shape, ...] | None
    labels: Labels | None = None
    label_scores: Floats | None = None
    unseen: float = np.inf
    held_out: tuple[Floats, Floats] | None = None
    without_low_bits: EventScorer | None = None
    forms: FormOdds | None = None
    form_scores: Floats | None = None

    def score(self, outputs: Outputs) -> Floats:
        """Return the scores of `outputs`, shape `(size,)`, higher = side 1; never NaN."""
        outputs = mark(outputs)
        if outputs.events is None and (self.shapes is None or outputs.values.shape[1:] in self.shapes):
            return self._base_score(outputs)
        ordinary, events = _ordinary(outputs, self.shapes)
        scores = np.empty(len(outputs))
        if ordinary.any():
            scores[ordinary] = self._base_score(Outputs(outputs.values[ordinary]))
        scores[~ordinary] = self._event_scores(events[~ordinary])
        return scores

    @property
    def scores_log_ratios(self) -> bool:
        """True if the scores are log likelihood ratios under a known law, those of all outputs of the pilot."""
        return self.labels is None and getattr(self.base, "scores_log_ratios", False)

    def score_pilot(self, pilot0: Outputs, pilot1: Outputs) -> tuple[Floats, Floats]:
        """Return scores of the scorer's pilot outputs, distributed like those of fresh outputs."""
        return self.held_out or (self.score(pilot0), self.score(pilot1))

    def describe(self, threshold: float, *, above: bool = True) -> str:
        """Describe the outputs that score at or above the threshold, or below; "" if there is nothing to describe."""
        base = getattr(self.base, "describe", None)
        description = "" if base is None else str(base(threshold, above=above))
        if self.labels is None or self.label_scores is None:
            return description
        if threshold == (np.inf if above else -np.inf):  # exceptional outputs only
            description = ""
        inside = (self.label_scores >= threshold) == above
        labels = self.labels[inside].tolist()
        if words := _common_words(labels, self.labels[~inside].tolist()):
            events = (
                f"a text with the words {' and '.join(map(repr, words))} ({len(labels):,} texts of the pilot, no other)"
            )
            return " or ".join(part for part in (description, events) if part)
        more = f" or {len(labels) - MAX_EVENTS_SHOWN:,} more" * (len(labels) > MAX_EVENTS_SHOWN)
        events = f"the event {' or '.join(map(repr, labels[:MAX_EVENTS_SHOWN]))}{more}" if labels else ""
        if self.forms is not None and self.form_scores is not None:
            forms = self.forms.forms[(self.form_scores >= threshold) == above].tolist()
            new = [f"a text {form_in_words(form)}" for form in forms if form.startswith(_TEXT_FORM)]
            more = f" or {plural(len(new) - MAX_EVENTS_SHOWN, 'further form')}" * (len(new) > MAX_EVENTS_SHOWN)
            events = f"{' or '.join(new[:MAX_EVENTS_SHOWN])}{more}" if new else events
        return " or ".join(part for part in (description, events) if part)

    def describes_outputs(self, threshold: float, *, above: bool = True) -> bool:
        """Return whether `describe` says which outputs are in an event, and not only which scores."""
        describes = getattr(self.base, "describes_outputs", None)
        if describes is None or (self.labels is not None and threshold == (np.inf if above else -np.inf)):
            return hasattr(self.base, "describe")
        return bool(describes(threshold, above=above))

    def with_names(self, names: OutputNames) -> EventScorer:
        """Return the scorer, with names of the numbers of an output for descriptions, if its base uses names."""
        if not hasattr(self.base, "names"):
            return self
        return replace(self, base=replace(cast(Any, self.base), names=names))

    def _event_scores(self, events: Labels) -> Floats:
        """Return the score of each label."""
        if self.labels is None or self.label_scores is None:
            return np.full(len(events), self.unseen)
        index = np.searchsorted(self.labels, events).clip(max=len(self.labels) - 1)
        known = self.labels[index] == events
        scores = np.where(known, self.label_scores[index], self.unseen)
        if self.forms is not None and self.form_scores is not None and not known.all() and len(self.form_scores):
            places = self.forms.places(events[~known])
            scores[~known] = np.where(places >= 0, self.form_scores[places], self.unseen)
        return scores

    def _base_score(self, outputs: Outputs) -> Floats:
        """Return the scores of `base`, checked for shape and NaN."""
        scores = np.asarray(self.base.score(outputs), dtype=np.float64)
        if scores.shape != (len(outputs),):
            raise AttackError(
                f"{type(self.base).__name__}.score must return one number per run, shape ({len(outputs)},), but "
                f"returned shape {scores.shape}."
            )
        if scores.size and np.isnan(scores.max()):
            raise AttackError(
                f"{type(self.base).__name__}.score returned NaN for an ordinary output. Give every output a number, "
                "+-inf if it settles the side, 0 if it carries no information."
            )
        return scores


def _common_words(inside: list[str], outside: list[str]) -> list[str]:
    """Return the words that all texts of an event share and no other text has, at most three; empty for one text.

    >>> _common_words(["text 'red for Ada'", "text 'blue for Ada'"], ["text 'red'", "raised KeyError: 'Ada'"])
    ['for', 'Ada']
    """
    if len(inside) < 2 or not all(label.startswith(TEXT) for label in inside):
        return []
    words = [_WORD.findall(label.removeprefix(TEXT)) for label in inside]
    others = {word for label in outside if label.startswith(TEXT) for word in _WORD.findall(label.removeprefix(TEXT))}
    shared = set.intersection(*map(set, words)) - others
    return [word for word in dict.fromkeys(words[0]) if word in shared][:MAX_EVENTS_SHOWN]


def _exceptional(rows: NDArray[Any]) -> NDArray[np.int8]:
    """Return the kind of each number: 0 for finite, or the index of its name in `EXCEPTIONAL_TEXTS`."""
    above = rows.real > 0
    return np.select([np.isfinite(rows), np.isnan(rows), above], [0, 1, 2], 3).astype(np.int8)


def _pattern_label(pattern: NDArray[np.int8]) -> str:
    """Return the label of a row with these exceptional values."""
    if len(pattern) == 1:
        return EXCEPTIONAL_TEXTS[pattern[0]]
    positions_by_kind = [(EXCEPTIONAL_TEXTS[k], np.flatnonzero(pattern == k)) for k in (1, 2, 3)]
    label = "; ".join(
        f"{name} at {', '.join(map(str, positions))}" for name, positions in positions_by_kind if len(positions)
    )
    if len(label) <= MAX_LABEL_LENGTH:
        return label
    return f"{label[: MAX_LABEL_LENGTH - 13]}... #{blake2b(label.encode(), digest_size=4).hexdigest()}"


def _common_shapes(outputs0: Outputs, outputs1: Outputs) -> tuple[Shape, ...] | None:
    """Return the shapes of ordinary outputs; see `EventScorer.shapes`."""
    all_shapes = (
        o.values.shape[1:] for o in (outputs0, outputs1) if len(o) and (o.events is None or (o.events == "").any())
    )
    shapes = tuple(set(all_shapes))
    if not shapes:
        return None
    return shapes if len(shapes) == 1 else ()


def _ordinary(outputs: Outputs, shapes: tuple[Shape, ...] | None) -> tuple[Bools, Labels]:
    """Return a mask of the ordinary rows, and the label of each row; rows of a shape not in `shapes` are events."""
    events, shape = outputs.labels, outputs.values.shape[1:]
    if shapes is not None and shape not in shapes:
        events = np.where(events == "", f"shape {shape}", events)
    return events == "", events


def _split(outputs: Outputs, shapes: tuple[Shape, ...] | None) -> tuple[Outputs, Labels]:
    """Return the ordinary rows, and the labels of the others."""
    ordinary, events = _ordinary(outputs, shapes)
    if ordinary.all():
        return Outputs(outputs.values), events[:0]
    return Outputs(outputs.values[ordinary]), events[~ordinary]


def _places(log_odds: Floats, ordinary: tuple[Floats, Floats], n: tuple[int, int]) -> Floats:
    """Return for each of `log_odds` the score that is least out of order among the pilot's `ordinary` scores.

    A label placed below bin k is out of order with the bins below it that have higher log odds and with the bins from k
    on that have lower ones; summed over bins of equal size, this is a cumulative sum, and its minimum is the place.
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
    bin_index = np.argmin(np.column_stack([np.zeros(len(log_odds)), disorder]), axis=1)
    just_below = np.nextafter(edges, -np.inf)
    between: Floats = np.array([-np.inf, *just_below[1:], np.inf])
    return np.where(np.isfinite(log_odds), between[bin_index], log_odds)
