"""A few outputs of each side that fell into an event, for the report of a refuted claim.

The first outputs in the order of the plan are kept, so that they do not depend on workers or on interruptions. They are
text, and enter no statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...mechanisms.adapters.functions.forms import ResultForm
from ...mechanisms.adapters.functions.guard import cut, in_words
from ...mechanisms.adapters.functions.outcomes import BELOW_ZERO
from ...mechanisms.core import Floats, Outputs, plural
from .array_files import Arrays, Expected
from .plan import Chunk

N_KEPT_OUTPUTS = 3
"""Number of outputs of each side that are kept per event, and as many of its complement."""
MAX_EVENTS = 4
"""Largest number of thresholds whose events are followed."""
MAX_COMPONENTS = 8
"""Largest number of components of an output that are shown."""


def examples(outputs: Outputs, scores: Floats, thresholds: Sequence[float], form: ResultForm | None = None) -> Arrays:
    """Return the first outputs of a chunk that reach each threshold, and the first that do not, as text.

    `form` describes the layout of the results of a function.
    """
    arrays: Arrays = {}
    for number, threshold in enumerate(thresholds):
        for above in (True, False):
            rows = np.flatnonzero((scores >= threshold) == above)[:N_KEPT_OUTPUTS]
            texts = [_safe_text(outputs, int(row), form) for row in rows]
            arrays[_name(number, above)] = np.array(texts, dtype=np.str_)
    return arrays


def expected_examples(size: int, n_thresholds: int) -> dict[str, Expected]:
    """Return the types and shapes of `examples` of a chunk of so many runs."""
    texts = Expected("U", (range(min(N_KEPT_OUTPUTS, size) + 1),))
    return {_name(number, above): texts for number in range(n_thresholds) for above in (True, False)}


def _safe_text(outputs: Outputs, row: int, form: ResultForm | None) -> str:
    """Return one output as text, or the error if that fails: an example must not stop an audit."""
    try:
        return text(outputs, row, form)
    except Exception as error:
        return cut(f"<cannot be shown: {in_words(error)}>")


def text(outputs: Outputs, row: int, form: ResultForm | None = None) -> str:
    """Return one output as text: the label of an exceptional output, a number, or the first numbers of several.

    >>> text(Outputs(np.array([[0.1, 2.0]])), 0)
    '[0.1, 2.0]'
    """
    if outputs.events is not None and outputs.events[row]:
        return cut(str(outputs.events[row]))
    values = outputs.values[row]
    if np.ndim(values) == 0:
        return _number(values)
    parts, label = (np.ravel(values).tolist(), "") if form is None or form.plain else form.parts(values)
    more = f", ... {plural(len(parts), 'number')}" if len(parts) > MAX_COMPONENTS else ""
    return f"{f'{cut(label)}: ' if label else ''}[{', '.join(map(_number, parts[:MAX_COMPONENTS]))}{more}]"


def _number(value: Any) -> str:
    """Return all digits of a number; the placeholder of -0.0 as "-0.0"."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return plain
    return "-0.0" if plain == BELOW_ZERO else repr(plain)


def _name(number: int, above: bool) -> str:
    return f"{'above' if above else 'below'}_{number}"


class Examples:
    """The examples from the evaluation chunks of one audit, added in any order."""

    def __init__(self) -> None:
        self.thresholds: tuple[float, ...] = ()
        self._parts: dict[tuple[str, int], dict[int, list[str]]] = {}

    def follow(self, thresholds: Sequence[float]) -> tuple[float, ...]:
        """Follow the events of these thresholds from now on, if they are few; return the followed thresholds."""
        distinct = tuple(dict.fromkeys(thresholds))
        self.thresholds = distinct if len(distinct) <= MAX_EVENTS else ()
        return self.thresholds

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk; only the first chunks with an example are kept."""
        for number in range(len(self.thresholds)):
            for above in (True, False):
                texts = arrays.get(_name(number, above))
                if texts is None or not len(texts):
                    continue
                parts = self._parts.setdefault((_name(number, above), chunk.side), {})
                parts[chunk.index] = texts.tolist()
                if len(parts) > N_KEPT_OUTPUTS:
                    del parts[max(parts)]

    def of(self, threshold: float, *, above: bool) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Return the first outputs of side 0 and of side 1 in one event; None if the event was not followed."""
        if threshold not in self.thresholds:
            return None
        name = _name(self.thresholds.index(threshold), above)
        out, in_ = (self._parts.get((name, side), {}) for side in (0, 1))
        return _first(out), _first(in_)


def _first(parts: dict[int, list[str]]) -> tuple[str, ...]:
    return tuple(text for index in sorted(parts) for text in parts[index])[:N_KEPT_OUTPUTS]
