"""While a tape runs, the primitives that are known are replaced by ones that are recorded on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from . import libraries, standard
from .tape import Tape, on


@contextmanager
def running(tape: Tape) -> Iterator[Tape]:
    """Runs `tape`: until the end, every primitive that is known is recorded on it, or replayed from it."""
    with ExitStack() as stack:
        for place in (*standard.places(), *libraries.places()):
            stack.enter_context(place)
        yield stack.enter_context(on(tape))
