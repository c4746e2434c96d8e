"""The deciding event as a rule on outputs that needs no attack, so that a third party can count it.

    labels      names of exceptional outputs
    intervals   of single numbers: between adjacent outputs of the runs that define the rule
    atoms       repeated vectors: those whose score is high enough

A rule is derived from the scores of some runs, and agrees with the attack on these runs only. This suffices: on fresh
runs the rule is fixed beforehand, so a bound from these counts is valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....attacks.base import Scorer
from ....mechanisms.core import Outputs

MOST_INTERVALS, MOST_ATOMS = 100, 500
"""Largest numbers of intervals and of atoms; a longer rule is discarded as unreadable."""


@dataclass(frozen=True)
class EventRule:
    """The event {score >= threshold}, as a rule on outputs.

    Args:
        labels: exceptional outputs in it.
        intervals: for single numbers; None where outputs are no single numbers.
        atoms: for vectors; None where outputs are single numbers.
    """

    labels: tuple[str, ...] = ()
    intervals: tuple[tuple[float, float], ...] | None = None
    atoms: tuple[tuple[float, ...], ...] | None = None


def rule_of(scorer: Scorer, out: Outputs, in_: Outputs, threshold: float) -> EventRule | None:
    """Return the rule derived from these outputs; None if no output is in the event, or the rule is too long."""
    if out.values.shape[1:] != in_.values.shape[1:]:
        return None
    values = np.concatenate([out.values, in_.values])
    events = np.concatenate([_events(out), _events(in_)])
    reached = np.concatenate([np.asarray(scorer.score(part)) >= threshold for part in (out, in_)])
    if not reached.any():
        return None
    labels = tuple(sorted({str(event) for event in events[reached] if event}))
    ordinary = events == ""
    values, inside = values[ordinary], reached[ordinary]
    if not len(values):
        return EventRule(labels)
    if values.ndim == 1:
        intervals = _intervals(values.astype(np.float64), inside)
        return None if len(intervals) > MOST_INTERVALS else EventRule(labels, intervals=intervals)
    if not inside.any():
        return EventRule(labels, atoms=())
    rows = values.reshape(len(values), math.prod(values.shape[1:]))
    atoms = np.unique(rows[inside], axis=0).tolist()
    if len(atoms) > MOST_ATOMS or 2 * len(np.unique(rows, axis=0)) > len(values):
        return None
    return EventRule(labels, atoms=tuple(tuple(map(float, atom)) for atom in atoms))


def _events(outputs: Outputs) -> Any:
    return np.full(len(outputs), "") if outputs.events is None else outputs.events


def _intervals(values: Any, inside: Any) -> tuple[tuple[float, float], ...]:
    """Return the range of each run of adjacent values in the event; unbounded beyond the extreme values."""
    at = np.argsort(values, kind="stable")
    values, inside = values[at], inside[at]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
    intervals = []
    for first, end in edges.reshape(-1, 2).tolist():
        low = -np.inf if first == 0 else float(values[first])
        high = np.inf if end == len(values) else float(values[end - 1])
        intervals.append((low, high))
    return tuple(intervals)
