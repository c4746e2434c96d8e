"""The event that decided, as a rule on outputs that needs no attack: for somebody who counts it again.

    labels      exceptional outputs, by what they are called
    intervals   of single numbers: between neighbouring outputs of the runs that the rule was read from
    atoms       vectors that come again: the ones whose score was high enough

A rule is read from the scores of some runs, so that it follows the attack where these runs went, and stops there. More
is not needed: whoever counts it on fresh runs has fixed it beforehand, and a bound from these counts is a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...attacks.base import Scorer
from ...mechanisms.base import Outputs

MOST_INTERVALS, MOST_ATOMS = 100, 500
"""A rule with more of them says nothing to a reader, and is none."""


@dataclass(frozen=True)
class Rule:
    """The event {score >= threshold} on outputs.

    Args:
        labels: exceptional outputs in it.
        intervals: for single numbers; None where outputs are no single numbers.
        atoms: for vectors; None where outputs are single numbers.
    """

    labels: tuple[str, ...] = ()
    intervals: tuple[tuple[float, float], ...] | None = None
    atoms: tuple[tuple[float, ...], ...] | None = None


def rule_of(scorer: Scorer, out: Outputs, in_: Outputs, threshold: float) -> Rule | None:
    """The rule that these outputs of both sides show; None where none is in the event, or it is too long to be one."""
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
        return Rule(labels)
    if values.ndim == 1:
        intervals = _intervals(values.astype(np.float64), inside)
        return None if len(intervals) > MOST_INTERVALS else Rule(labels, intervals=intervals)
    if not inside.any():
        return Rule(labels, atoms=())
    rows = values.reshape(len(values), math.prod(values.shape[1:]))
    atoms = np.unique(rows[inside], axis=0).tolist()
    if len(atoms) > MOST_ATOMS or 2 * len(np.unique(rows, axis=0)) > len(values):
        return None
    return Rule(labels, atoms=tuple(tuple(map(float, atom)) for atom in atoms))


def _events(outputs: Outputs) -> Any:
    return np.full(len(outputs), "") if outputs.events is None else outputs.events


def _intervals(values: Any, inside: Any) -> tuple[tuple[float, float], ...]:
    """Of each row of neighbours in the event, the least and the largest; without end beyond the last ones."""
    at = np.argsort(values, kind="stable")
    values, inside = values[at], inside[at]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
    found = []
    for first, end in edges.reshape(-1, 2).tolist():
        low = -np.inf if first == 0 else float(values[first])
        high = np.inf if end == len(values) else float(values[end - 1])
        found.append((low, high))
    return tuple(found)


__all__ = ["Rule", "rule_of"]
