"""Tape of the random primitives that a program calls: recorded on one dataset, replayed on a neighbouring one.

On the replay every noisy value is the recorded one: a primitive with data as input returns its recorded result, and
noise that is added to data is moved by as much as the data move (`as_noisy.py`). So everything that a program computes
from noisy values, including branches, is the same in both runs. Remaining differences depend on the data in another
way: the number of calls, the scale of the noise, the output. (The method of Cebere et al. 2026, which replays the
noise, with the alignment of Zhang and Kifer 2017, which replays the noisy values.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core import Floats, Guarantee
from .charges import input_change
from .noisy import RecordedDraw, as_noisy

__tracebackhide__ = True  # pytest shows the lines of the program, not those of this module

LOCATION_SCALE = frozenset({"laplace", "normal", "gumbel", "logistic", "cauchy", "multivariate_normal"})
"""Primitives whose result is location + scale * noise, to be added to something."""
CHOICE_PRIMITIVES = frozenset({"choice", "permutation", "shuffle", "sample"})
"""Primitives that choose or order, and add no noise."""
SOURCES = frozenset({"numpy", "scipy.stats", "random"})
"""Libraries whose primitives return noise, and not a noisy value."""
MAX_CALLS = 100_000
"""Largest number of calls of a tape."""


@dataclass(frozen=True, eq=False)
class PrimitiveCall:
    """One call of a primitive.

    Args:
        source: library of the primitive, such as "numpy".
        name: name of the primitive, as in numpy, such as "laplace", or of its class.
        parameters: public parameters, such as the scale; they must not depend on the data.
        fed: its data-dependent input, such as a value or a location; None if it has none.
        result: the returned value.
        sensitivity: sensitivity passed to the primitive; None if there is none.
        charge: its privacy cost, as a function of its inputs on both sides; None if unknown.
    """

    source: str
    name: str
    parameters: Mapping[str, Any]
    fed: Any
    result: Any
    sensitivity: float | None = None
    charge: Callable[[Any, Any], Guarantee] | None = None

    def __str__(self) -> str:
        return f"{self.source} {self.name}"

    @property
    def additive(self) -> bool:
        """True for noise that is added to a location, which may be 0."""
        return self.name in LOCATION_SCALE

    def distance(self, other: PrimitiveCall) -> Floats:
        """Return the move of the centre of the noise from the other call to this one, for each number of the result."""
        steps = input_change(other.fed, self.fed)
        with suppress(ValueError), np.errstate(all="ignore"):
            steps = np.where(np.ravel(np.less(self.fed, other.fed)), -steps, steps)
        shape = np.shape(self.fed) if np.shape(self.fed) == np.shape(other.fed) else (steps.size,)
        with suppress(ValueError):
            return np.broadcast_to(steps.reshape(shape), np.shape(self.result)).ravel()
        return np.full(np.size(self.result), np.inf)

    @property
    def per_record(self) -> bool:
        """True if it may be drawn for each record: its input has no data, and it is not added to something."""
        return self.fed is None and not self.additive


@dataclass(eq=False)
class Tape:
    """Calls of one run, and the calls that are replayed in it.

    Args:
        script: the tape whose results are replayed in order; None when recording.
        follow: True to move noise so that noisy values stay as recorded.
        nudge: indices of calls whose results are moved, with the moves, to find what depends on them.

    Attributes:
        calls: calls so far.
        draws: draws whose use is followed, by the index of their call.
        parted: index of the first call that differs from the script; None so far.
    """

    script: Tape | None = None
    follow: bool = True
    nudge: Mapping[int, Any] = field(default_factory=dict)
    calls: list[PrimitiveCall] = field(default_factory=list)
    draws: dict[int, RecordedDraw] = field(default_factory=dict)
    parted: int | None = None
    _inside: bool = False

    def played(self, make: Callable[[Any], PrimitiveCall], draw: Callable[[], Any]) -> Any:
        """Return the result of a primitive: that of the script while the program follows it, otherwise a new one.

        Args:
            make: function from the result to the call.
            draw: function that draws a new result; primitives that it calls are not recorded.
        """
        if self._inside or len(self.calls) >= MAX_CALLS:
            return draw()
        self._inside = True
        try:
            call = self._replayed(make, draw)
            if call is None:
                call = make(draw())
        finally:
            self._inside = False
        index = len(self.calls)
        self.calls.append(call)
        if index in self.nudge:
            return np.add(call.result, np.reshape(self.nudge[index], np.shape(call.result)))[()]
        return self._followed(index, call)

    def _followed(self, index: int, call: PrimitiveCall) -> Any:
        """Return the result, with its use followed if it is noise."""
        result = call.result.copy() if isinstance(call.result, (np.ndarray, list)) else call.result
        if call.source not in SOURCES or call.name in CHOICE_PRIMITIVES or not self.follow:
            return result
        recorded_tape = self.script if self.script is not None and self.parted is None else None
        followed, draw = as_noisy(result, None if recorded_tape is None else recorded_tape.draws.get(index))
        if draw is not None:
            self.draws[index] = draw
            if recorded_tape is not None and call.additive:
                draw.settled |= call.distance(recorded_tape.calls[index]) != 0.0
        return followed

    def _replayed(self, make: Callable[[Any], PrimitiveCall], draw: Callable[[], Any]) -> PrimitiveCall | None:
        index = len(self.calls)
        if self.parted is not None or self.script is None:
            return None
        if index < len(self.script.calls):
            recorded = self.script.calls[index]
            call = make(recorded.result)
            if (call.source, call.name) == (recorded.source, recorded.name):
                if call.parameters.get("shape") == recorded.parameters.get("shape"):
                    return call
                if call.per_record:
                    return make(_lengthened(recorded.result, draw()))
        self.parted = index
        return None


def _lengthened(recorded: Any, fresh: Any) -> Any:
    """Return draws for a number of records that differs from the recorded one: old records keep their draws."""
    if not (isinstance(recorded, np.ndarray) and isinstance(fresh, np.ndarray)):
        return fresh
    n = min(len(recorded), len(fresh))
    if recorded.shape[1:] == fresh.shape[1:]:
        fresh[:n] = recorded[:n]
    return fresh


_local = threading.local()


def active_tape() -> Tape | None:
    """Return the active tape of this thread, or None."""
    return getattr(_local, "tape", None)


@contextmanager
def on(tape: Tape) -> Iterator[Tape]:
    """Activate `tape` in this thread until the end."""
    before = active_tape()
    _local.tape = tape
    try:
        yield tape
    finally:
        _local.tape = before


@contextmanager
def replaced(owner: Any, name: str, substitute: Any) -> Iterator[None]:
    """Replace the attribute `name` of `owner` by `substitute` until the end."""
    inherited = name not in vars(owner)
    before = getattr(owner, name) if inherited else vars(owner)[name]
    setattr(owner, name, substitute)
    try:
        yield
    finally:
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
