"""A tape of the random primitives that a program calls: recorded on one dataset, replayed on a neighbouring one.

On the replay every primitive returns what it returned when it was recorded, so that both runs see the same noise and
take the same way wherever the way depends on noisy values only. What still differs between the two runs, then, depends
on the data: the number of calls, the scale of the noise, and what was fed to it. (The method of Cebere et al. 2026.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...guarantees.base import Guarantee

LOCATION_SCALE = frozenset({"laplace", "normal", "gumbel", "logistic", "cauchy"})
"""Primitives whose result is location + scale * noise: on a replay the noise is the recorded one."""
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
        """Whether it is noise that is added to a location, which may be 0, and whose cost is known."""
        return self.charge is not None and self.name in LOCATION_SCALE


@dataclass(eq=False)
class Tape:
    """The calls of one run, and those that are replayed in it.

    Args:
        script: calls whose results are given again, in their order; empty when recording.
        shift: place of a call whose result is moved by `by`, in every coordinate; to see where its noise goes.

    Attributes:
        calls: made so far.
        parted: place of the first call that is not that of the script; None so far.
    """

    script: tuple[Call, ...] = ()
    shift: int | None = None
    by: float = 1.0
    calls: list[Call] = field(default_factory=list)
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
            call = self._replayed(make)
            if call is None:
                call = make(draw())
        finally:
            self._inside = False
        at = len(self.calls)
        self.calls.append(call)
        result = call.result
        return np.add(result, self.by)[()] if at == self.shift and _is_real(result) else _copied(result)

    def _replayed(self, make: Callable[[Any], Call]) -> Call | None:
        at = len(self.calls)
        if self.parted is not None or not self.script:
            return None
        if at < len(self.script):
            recorded = self.script[at]
            call = make(recorded.result)
            if (call.source, call.name) == (recorded.source, recorded.name) and _same_shape(call, recorded):
                return _again(call, recorded, make)
        self.parted = at
        return None


def _same_shape(call: Call, recorded: Call) -> bool:
    return bool(call.parameters.get("shape") == recorded.parameters.get("shape"))


def _again(call: Call, recorded: Call, make: Callable[[Any], Call]) -> Call:
    """The call with the recorded noise: around its own location and at its own scale, where it has these."""
    if call.name not in LOCATION_SCALE or "scale" not in call.parameters:
        return call
    before, now = recorded.parameters["scale"], call.parameters["scale"]
    if _equal(before, now) and _equal(recorded.fed, call.fed):
        return call
    with np.errstate(all="ignore"):
        noise = np.subtract(recorded.result, recorded.fed) / before
        return make((call.fed + np.nan_to_num(noise) * now)[()])


def _equal(one: Any, other: Any) -> bool:
    return bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True))


def _is_real(result: Any) -> bool:
    return np.asarray(result).dtype.kind == "f"


def _copied(result: Any) -> Any:
    return result.copy() if isinstance(result, (np.ndarray, list)) else result


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
