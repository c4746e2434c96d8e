"""A few outputs of each side that fell into an event, and counts of a simple rule, for the report of a refuted claim.

The first outputs in the order of the plan are kept, so that they do not depend on workers or on interruptions. They are
text, and enter no statistic; neither do the counts of a rule, which was fixed on the pilot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...attacks.distinguishing.simple_rules import SimpleRule
from ...mechanisms.adapters.functions.guard import cut, in_words
from ...mechanisms.core import Floats, OutputNames, Outputs
from .array_files import Arrays, Expected
from .plan import Chunk

N_KEPT_OUTPUTS = 3
"""Number of outputs of each side that are kept per event, and as many of its complement."""
MAX_EVENTS = 4
"""Largest number of thresholds whose events are followed."""


@dataclass(frozen=True)
class Followed:
    """An event of which outputs are kept.

    Args:
        threshold: of the score.
        rule: rule on the output that stands for it, and is counted; None for none.
    """

    threshold: float
    rule: SimpleRule | None = None


def examples(outputs: Outputs, scores: Floats, followed: Sequence[Followed], names: OutputNames) -> Arrays:
    """Return the first outputs of a chunk that reach each threshold, and the first that do not, as text.

    The number of outputs for which a rule holds is added. `names` are those of the numbers of an output.
    """
    arrays: Arrays = {}
    for number, event in enumerate(followed):
        for above in (True, False):
            rows = np.flatnonzero((scores >= event.threshold) == above)[:N_KEPT_OUTPUTS]
            texts = [_safe_text(outputs, int(row), names) for row in rows]
            arrays[_name(number, above)] = np.array(texts, dtype=np.str_)
        if event.rule is not None:
            holds = event.rule.holds(outputs, scores, event.threshold)
            arrays[_count_name(number)] = np.array([np.count_nonzero(holds)])
    return arrays


def expected_examples(size: int, n_thresholds: int) -> dict[str, Expected]:
    """Return the types and shapes of `examples` of a chunk of so many runs."""
    texts = Expected("U", (range(min(N_KEPT_OUTPUTS, size) + 1),))
    counts = {_count_name(number): Expected("i", (1,), most=size, optional=True) for number in range(n_thresholds)}
    return {_name(number, above): texts for number in range(n_thresholds) for above in (True, False)} | counts


def _safe_text(outputs: Outputs, row: int, names: OutputNames) -> str:
    """Return one output as text, or the error if that fails: an example must not stop an audit."""
    try:
        return text(outputs, row, names)
    except Exception as error:
        return cut(f"<cannot be shown: {in_words(error)}>")


def text(outputs: Outputs, row: int, names: OutputNames) -> str:
    """Return one output as text: the label of an exceptional output, a number, or the first numbers of several.

    >>> text(Outputs(np.array([[0.1, 2.0]])), 0, OutputNames())
    '[0.1, 2.0]'
    """
    if outputs.events is not None and outputs.events[row]:
        return cut(str(outputs.events[row]))
    return names.row(outputs.values[row])


def _name(number: int, above: bool) -> str:
    return f"{'above' if above else 'below'}_{number}"


def _count_name(number: int) -> str:
    return f"rule_{number}"


class Examples:
    """The examples from the evaluation chunks of one audit, added in any order."""

    def __init__(self) -> None:
        self.followed: tuple[Followed, ...] = ()
        self._parts: dict[tuple[str, int], dict[int, list[str]]] = {}
        self._counts: dict[tuple[str, int], dict[int, tuple[int, int]]] = {}

    def follow(
        self, thresholds: Sequence[float], rule_of: Callable[[float], SimpleRule | None] = lambda _: None
    ) -> tuple[Followed, ...]:
        """Follow the events of these thresholds from now on, if they are few; return the followed events."""
        distinct = tuple(dict.fromkeys(thresholds))
        few = distinct if len(distinct) <= MAX_EVENTS else ()
        self.followed = tuple(Followed(threshold, rule_of(threshold)) for threshold in few)
        return self.followed

    def add(self, chunk: Chunk, arrays: Arrays) -> None:
        """Add one finished chunk; only the first chunks with an example are kept."""
        for number in range(len(self.followed)):
            for above in (True, False):
                texts = arrays.get(_name(number, above))
                if texts is None or not len(texts):
                    continue
                parts = self._parts.setdefault((_name(number, above), chunk.side), {})
                parts[chunk.index] = texts.tolist()
                if len(parts) > N_KEPT_OUTPUTS:
                    del parts[max(parts)]
            if (count := arrays.get(_count_name(number))) is not None:
                counts = self._counts.setdefault((_count_name(number), chunk.side), {})
                counts[chunk.index] = chunk.size, int(count[0])

    def of(self, threshold: float, *, above: bool) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Return the first outputs of side 0 and of side 1 in one event; None if the event was not followed."""
        number = self._number(threshold)
        if number is None:
            return None
        name = _name(number, above)
        out, in_ = (self._parts.get((name, side), {}) for side in (0, 1))
        return _first(out), _first(in_)

    def rule(self, threshold: float, *, above: bool, n_runs: int) -> tuple[SimpleRule, tuple[int, int]] | None:
        """Return the rule that stands for an event, and its counts in the first `n_runs` runs of each side, or None."""
        number = self._number(threshold)
        rule = None if number is None else self.followed[number].rule
        if number is None or rule is None or rule.above is not above:
            return None
        out, in_ = (_counted(self._counts.get((_count_name(number), side), {}), n_runs) for side in (0, 1))
        return None if out is None or in_ is None else (rule, (out, in_))

    def _number(self, threshold: float) -> int | None:
        return next((i for i, event in enumerate(self.followed) if event.threshold == threshold), None)


def _counted(counts: dict[int, tuple[int, int]], n_runs: int) -> int | None:
    """Return the count in the first chunks that have `n_runs` runs together; None if they are not all known."""
    seen = total = 0
    for index in sorted(counts):
        if seen < n_runs:
            seen, total = seen + counts[index][0], total + counts[index][1]
    return total if seen == n_runs else None


def _first(parts: dict[int, list[str]]) -> tuple[str, ...]:
    return tuple(text for index in sorted(parts) for text in parts[index])[:N_KEPT_OUTPUTS]
