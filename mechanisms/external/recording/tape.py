"""A tape of the random primitives that a program calls: recorded on one dataset, replayed on a neighbouring one.

On the replay every noisy value is the recorded one: a primitive that is fed data returns what it returned, and noise
that is added to data is moved by as much as the data move (`noisy.py`). So whatever a program computes from noisy
values, branches included, is the same in both runs. What still differs between them depends on the data in another
way: the number of calls, the scale of the noise, the output. (The method of Cebere et al. 2026, which replays the
noise, with the alignment of Zhang and Kifer 2017, which replays what the noise hides.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...guarantees.base import Guarantee
from .charges import moved
from .noisy import Draw, Floats, noisy

__tracebackhide__ = True  # pytest shows the lines of the program, and not what runs it

LOCATION_SCALE = frozenset({"laplace", "normal", "gumbel", "logistic", "cauchy", "multivariate_normal"})
"""Primitives whose result is location + scale * noise: noise that is meant to be added to something."""
PICKS = frozenset({"choice", "permutation", "shuffle", "sample"})
"""Primitives that choose or order, and hide nothing by noise."""
SOURCES = frozenset({"numpy", "scipy.stats", "random"})
"""Whose primitives return noise, and not a value that is noisy already."""
MOST = 100_000
"""Calls that a tape holds."""


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a primitive.

    Args:
        source: whose it is, such as "numpy".
        name: of the primitive, in the words of numpy, such as "laplace", or of its class.
        parameters: public ones, such as the scale; they must not depend on the data.
        fed: what it takes of the data, such as a value to be noised or a location; None where it takes nothing.
        result: what it returned.
        sensitivity: that the primitive was told; None where it is told none.
        charge: what it gives away, as a function of what it is fed on either side; None where that is not known.
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
        """Whether it is noise that is added to a location, which may be 0."""
        return self.name in LOCATION_SCALE

    def distance(self, other: Call) -> Floats:
        """How far what noise is drawn around moves from the other call to this one, for each number of the result."""
        steps = moved(other.fed, self.fed)
        with suppress(ValueError), np.errstate(all="ignore"):
            steps = np.where(np.ravel(np.less(self.fed, other.fed)), -steps, steps)
        shape = np.shape(self.fed) if np.shape(self.fed) == np.shape(other.fed) else (steps.size,)
        with suppress(ValueError):
            return np.broadcast_to(steps.reshape(shape), np.shape(self.result)).ravel()
        return np.full(np.size(self.result), np.inf)

    @property
    def per_record(self) -> bool:
        """Whether it may be drawn for each record: it is fed no data, and is not meant to be added to something."""
        return self.fed is None and not self.additive


@dataclass(eq=False)
class Tape:
    """The calls of one run, and those that are replayed in it.

    Args:
        script: the tape whose results are given again, in their order; None when recording.
        follow: whether noise is moved so that noisy values stay as they were recorded.
        nudge: places of calls whose results are moved, and by how much, to see what depends on them.

    Attributes:
        calls: made so far.
        draws: those of them whose use is followed, by their places.
        parted: place of the first call that is not that of the script; None so far.
    """

    script: Tape | None = None
    follow: bool = True
    nudge: Mapping[int, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    draws: dict[int, Draw] = field(default_factory=dict)
    parted: int | None = None
    _inside: bool = False

    def played(self, make: Callable[[Any], Call], draw: Callable[[], Any]) -> Any:
        """The result of a primitive: that of the script as long as the program keeps to it, else a fresh one.

        Args:
            make: the call, given its result.
            draw: makes a fresh result; primitives that it calls itself are not recorded.
        """
        if self._inside or len(self.calls) >= MOST:
            return draw()
        self._inside = True
        try:
            call = self._replayed(make, draw)
            if call is None:
                call = make(draw())
        finally:
            self._inside = False
        at = len(self.calls)
        self.calls.append(call)
        if at in self.nudge:
            return np.add(call.result, np.reshape(self.nudge[at], np.shape(call.result)))[()]
        return self._followed(at, call)

    def _followed(self, at: int, call: Call) -> Any:
        """The result, with its use followed if it is noise."""
        result = call.result.copy() if isinstance(call.result, (np.ndarray, list)) else call.result
        if call.source not in SOURCES or call.name in PICKS or not self.follow:
            return result
        before = self.script if self.script is not None and self.parted is None else None
        found, draw = noisy(result, None if before is None else before.draws.get(at))
        if draw is not None:
            self.draws[at] = draw
            if before is not None and call.additive:
                draw.settled |= call.distance(before.calls[at]) != 0.0
        return found

    def _replayed(self, make: Callable[[Any], Call], draw: Callable[[], Any]) -> Call | None:
        at = len(self.calls)
        if self.parted is not None or self.script is None:
            return None
        if at < len(self.script.calls):
            recorded = self.script.calls[at]
            call = make(recorded.result)
            if (call.source, call.name) == (recorded.source, recorded.name):
                if call.parameters.get("shape") == recorded.parameters.get("shape"):
                    return call
                if call.per_record:
                    return make(_lengthened(recorded.result, draw()))
        self.parted = at
        return None


def _lengthened(recorded: Any, fresh: Any) -> Any:
    """Draws for a number of records that differs from the recorded one: records keep theirs."""
    if not (isinstance(recorded, np.ndarray) and isinstance(fresh, np.ndarray)):
        return fresh
    n = min(len(recorded), len(fresh))
    if recorded.shape[1:] == fresh.shape[1:]:
        fresh[:n] = recorded[:n]
    return fresh


_local = threading.local()


def current() -> Tape | None:
    """The tape that is running in this thread; None without one."""
    return getattr(_local, "tape", None)


@contextmanager
def on(tape: Tape) -> Iterator[Tape]:
    """`tape` runs in this thread until the end."""
    before = current()
    _local.tape = tape
    try:
        yield tape
    finally:
        _local.tape = before


@contextmanager
def replaced(owner: Any, name: str, substitute: Any) -> Iterator[None]:
    """`substitute` in the place of the attribute `name` of `owner`, for a while."""
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
