"""What a configuration asks for beyond what there is: refused where it is memory, announced where it is time.

Nothing is estimated for each mechanism by hand. Memory is limited to what is available, so that the first allocation
beyond it is refused; time is extrapolated from the first chunks, see `dpassay.audit.trials.execution`; a step that is
not over after `SECONDS` is announced, with the numbers of the configuration that are extreme.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...audit.trials.progress import Bar
from ...mechanisms.errors import ConfigError, DpassayError
from ...mechanisms.memory import available_memory, in_units, lacks_memory, no_more_than_available
from ..config.schema import Config

SECONDS = 60.0
"""After which a step that is not over is announced."""
LARGE, ASTRONOMICAL = 1e6, 1e15
"""Numbers beyond these, or below one divided by these, are extreme or astronomical."""
_MOST = 5


@contextmanager
def within_limits(config: Config) -> Iterator[None]:
    """Refuse what needs more memory than there is, or numbers that no float holds; name the extreme numbers.

    Raises:
        ConfigError: instead of `MemoryError`; of `ArithmeticError` where a number is extreme; of any error where one is
            astronomical.
    """
    room = available_memory()
    try:
        with no_more_than_available():
            yield
    except DpassayError:
        raise
    except Exception as error:
        found = extremes(config.resolved())
        numbers = f" Extreme numbers in it: {', '.join(found)}." if found else ""
        if lacks_memory(error):
            raise ConfigError(
                f"this configuration needs more memory than there is ({str(error).rstrip('.') or 'MemoryError'}; "
                f"{in_units(room)} were available).{numbers} Reduce a size."
            ) from error
        beyond = found if isinstance(error, ArithmeticError) else extremes(config.resolved(), large=ASTRONOMICAL)
        if beyond:
            raise ConfigError(
                f"this configuration cannot be computed ({error}).{numbers} Bring them closer to 1."
            ) from error
        raise


@contextmanager
def announced(what: str, config: Config, tell: Callable[[str], None] | None, bar: Bar | bool = False) -> Iterator[None]:
    """Say so if a step is not over after `SECONDS`, unless its bar has moved: that says how long it takes itself."""

    def announce() -> None:
        if tell is None or (isinstance(bar, Bar) and bar.moved):
            return
        found = extremes(config.resolved())
        numbers = f" Extreme numbers in the configuration: {', '.join(found)}." if found else ""
        tell(f"{what}: not over after {SECONDS:g} seconds.{numbers}")

    timer = threading.Timer(SECONDS, announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def extremes(table: Mapping[str, Any], *, large: float = LARGE) -> list[str]:
    """Return "key = value" of the most extreme numbers of a configuration, seeds aside.

    >>> extremes({"seed": 10**9, "mechanism": {"rounds": 10**12, "epsilon": 1.0}})
    ['mechanism.rounds = 1,000,000,000,000']
    """
    found = [(max(abs(value), 1.0 / abs(value)), key, value) for key, value in _numbers(table, "") if value]
    extreme = sorted((one for one in found if one[0] >= large), reverse=True)
    return [
        f"{key} = {value:,}" if isinstance(value, int) else f"{key} = {value:g}" for _, key, value in extreme[:_MOST]
    ]


def _numbers(value: Any, key: str) -> Iterator[tuple[str, int | float]]:
    if isinstance(value, Mapping):
        for name, inside in value.items():
            if name != "seed":
                yield from _numbers(inside, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from _numbers(inside, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield key, value


__all__ = ["announced", "extremes", "within_limits"]
