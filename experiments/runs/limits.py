"""Limits on the resources of a configuration: too little memory is an error, a long step is announced.

No mechanism needs an estimate of its resources. Memory is limited to the available amount, so the first allocation
beyond it fails; time is extrapolated from the first chunks, see `dpassay.audit.trials.execution`; a step that takes
longer than `SECONDS` is announced, with the extreme numbers of the configuration.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...audit.trials.progress import ProgressBar
from ...mechanisms.core import number
from ...mechanisms.core.errors import ConfigError, DpassayError
from ...mechanisms.core.memory import available_memory, lacks_memory, no_more_than_available
from ...mechanisms.core.number_text import in_units
from ..config.schema import Config

SECONDS = 60.0
"""Duration after which a running step is announced."""
LARGE, ASTRONOMICAL = 1e6, 1e15
"""Numbers above these, or below their reciprocals, are extreme or astronomical."""
_MOST = 5


@contextmanager
def within_limits(config: Config) -> Iterator[None]:
    """Raise an error for too little memory or numbers beyond float range, with the extreme numbers.

    Raises:
        ConfigError: replaces `MemoryError`; `ArithmeticError` if a number is extreme; and any error if a number is
            astronomical.
    """
    available = available_memory()
    try:
        with no_more_than_available():
            yield
    except DpassayError:
        raise
    except Exception as error:
        extreme = extremes(config.resolved())
        numbers = f" Extreme numbers in it: {', '.join(extreme)}." if extreme else ""
        if lacks_memory(error):
            raise ConfigError(
                f"this configuration needs more memory than is available ({str(error).rstrip('.') or 'MemoryError'}; "
                f"{in_units(available)} were available).{numbers} Reduce a size."
            ) from error
        beyond = extreme if isinstance(error, ArithmeticError) else extremes(config.resolved(), large=ASTRONOMICAL)
        if beyond:
            raise ConfigError(
                f"this configuration cannot be computed ({error}).{numbers} Bring them closer to 1."
            ) from error
        raise


@contextmanager
def announced(
    what: str, config: Config, report_line: Callable[[str], None] | None, bar: ProgressBar | bool = False
) -> Iterator[None]:
    """Announce a step that takes longer than `SECONDS`, unless its progress bar has moved."""

    def announce() -> None:
        if report_line is None or (isinstance(bar, ProgressBar) and bar.moved):
            return
        extreme = extremes(config.resolved())
        numbers = f" Extreme numbers in the configuration: {', '.join(extreme)}." if extreme else ""
        report_line(f"{what}: still running after {number(SECONDS)} seconds.{numbers}")

    timer = threading.Timer(SECONDS, announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def extremes(table: Mapping[str, Any], *, large: float = LARGE) -> list[str]:
    """Return "key = value" of the most extreme numbers of a configuration, without seeds.

    >>> extremes({"seed": 10**9, "mechanism": {"rounds": 10**12, "epsilon": 1.0}})
    ['mechanism.rounds = 1,000,000,000,000']
    """
    sizes = [(max(abs(value), 1.0 / abs(value)), key, value) for key, value in _numbers(table, "") if value]
    extreme = sorted((entry for entry in sizes if entry[0] >= large), reverse=True)
    return [
        f"{key} = {value:,}" if isinstance(value, int) else f"{key} = {number(value)}"
        for _, key, value in extreme[:_MOST]
    ]


def _numbers(value: Any, key: str) -> Iterator[tuple[str, int | float]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name != "seed":
                yield from _numbers(item, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield key, value


__all__ = ["announced", "extremes", "within_limits"]
