"""A few outputs of each side that fell into an event: what a person looks at first where a claim is refuted.

The first ones of the plan are kept, so that they do not depend on workers or on interruptions. They are text, and
counted nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...mechanisms.base import Outputs
from ...mechanisms.errors import plural
from ...mechanisms.external.forms import Form
from ...mechanisms.external.labels import cut, in_words
from ...mechanisms.external.outcomes import BELOW_ZERO
from ..evidence.scores import Floats
from .plan import Chunk
from .reduction import Reduction
from .store import Arrays

KEPT = 3
"""Outputs of each side that are kept of an event, and as many of its complement."""
MOST = 4
"""Thresholds, at most, whose events are followed."""
LONGEST = 8
"""Numbers of an output that are shown."""


def examples(outputs: Outputs, scores: Floats, thresholds: Sequence[float], form: Form | None = None) -> Arrays:
    """The first outputs of a chunk that reach each threshold, and the first that do not, as text; `form` is how the
    results of a function are laid out."""
    kept: Arrays = {}
    for place, threshold in enumerate(thresholds):
        for above in (True, False):
            rows = np.flatnonzero((scores >= threshold) == above)[:KEPT]
            kept[_name(place, above)] = np.array([_shown(outputs, int(row), form) for row in rows], dtype=np.str_)
    return kept


def _shown(outputs: Outputs, row: int, form: Form | None) -> str:
    """One output as text; where that fails, why: an example is no reason to lose an audit."""
    try:
        return text(outputs, row, form)
    except Exception as error:
        return cut(f"<cannot be shown: {in_words(error)}>")


def text(outputs: Outputs, row: int, form: Form | None = None) -> str:
    """One output: the name of an exceptional one, a number, or the first numbers of several.

    >>> text(Outputs(np.array([[0.1, 2.0]])), 0)
    '[0.1, 2.0]'
    """
    if outputs.events is not None and outputs.events[row]:
        return cut(str(outputs.events[row]))
    values = outputs.values[row]
    if np.ndim(values) == 0:
        return _number(values)
    parts, label = (np.ravel(values).tolist(), "") if form is None or form.plain else form.parts(values)
    more = f", ... {plural(len(parts), 'number')}" if len(parts) > LONGEST else ""
    return f"{f'{cut(label)}: ' if label else ''}[{', '.join(map(_number, parts[:LONGEST]))}{more}]"


def _number(value: Any) -> str:
    """All digits of a number; -0.0 as itself, and not as what stands for it."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return plain
    return "-0.0" if plain == BELOW_ZERO else repr(plain)


def _name(place: int, above: bool) -> str:
    return f"{'above' if above else 'below'}_{place}"


class Examples:
    """Collects them from the evaluation chunks of one audit, in any order."""

    def __init__(self) -> None:
        self.thresholds: tuple[float, ...] = ()
        self._parts: dict[tuple[str, int], dict[int, list[str]]] = {}

    def follow(self, thresholds: Sequence[float]) -> tuple[float, ...]:
        """Which events are followed from now on: those of these thresholds, where they are few."""
        found = tuple(dict.fromkeys(thresholds))
        self.thresholds = found if len(found) <= MOST else ()
        return self.thresholds

    def noting(self, into: Reduction) -> Reduction:
        """`into`, and examples are noted on the way."""
        return _Noting(into, self)

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished chunk; of all of them only the first ones that hold an example are kept."""
        for place in range(len(self.thresholds)):
            for above in (True, False):
                found = arrays.get(_name(place, above))
                if found is None or not len(found):
                    continue
                parts = self._parts.setdefault((_name(place, above), chunk.side), {})
                parts[chunk.index] = found.tolist()
                if len(parts) > KEPT:
                    del parts[max(parts)]

    def of(self, threshold: float, *, above: bool) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The first outputs of side 0 and of side 1 in one event; None where it was not followed."""
        if threshold not in self.thresholds:
            return None
        name = _name(self.thresholds.index(threshold), above)
        out, in_ = (self._parts.get((name, side), {}) for side in (0, 1))
        return _first(out), _first(in_)


def _first(parts: dict[int, list[str]]) -> tuple[str, ...]:
    return tuple(one for index in sorted(parts) for one in parts[index])[:KEPT]


class _Noting:
    """A reduction that notes examples before it hands chunks on."""

    def __init__(self, into: Reduction, kept: Examples) -> None:
        self._into = into
        self._kept = kept

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """One finished chunk."""
        self._kept.add(chunk, arrays)
        self._into.add(chunk, arrays)


__all__ = ["Examples", "examples"]
