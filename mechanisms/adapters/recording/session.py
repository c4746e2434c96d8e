"""Recording session: while a tape runs, known primitives are replaced by recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from . import libraries, standard
from .tape import Tape, on


@contextmanager
def running(tape: Tape) -> Iterator[Tape]:
    """Run `tape`: until the end, every known primitive is recorded on it, or replayed from it."""
    with ExitStack() as stack:
        for substitution in (*standard.substitutions(), *libraries.substitutions()):
            stack.enter_context(substitution)
        yield stack.enter_context(on(tape))
