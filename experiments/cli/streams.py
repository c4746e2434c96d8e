"""Standard streams that may be closed, full, or read by nobody: they never decide about an exit code by accident."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast


class Tolerant:
    """A text stream that drops what cannot be written; `error` says why.

    The rest of the output is led to the null device, so that Python does not stumble over it when it exits.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Writes, or drops."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._drop(error)
        except ValueError:  # it was closed
            self._drop(OSError(errno.EBADF, os.strerror(errno.EBADF)))
        return len(text)

    def flush(self) -> None:
        """Flushes, or drops."""
        try:
            self._stream.flush()
        except OSError as error:
            self._drop(error)
        except ValueError:
            self._drop(OSError(errno.EBADF, os.strerror(errno.EBADF)))

    def _drop(self, error: OSError) -> None:
        self.error = self.error or error
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_streams() -> tuple[Tolerant, Tolerant]:
    """Makes stdout and stderr tolerant, opening the null device for each stream that was closed. Returns the two."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # whatever is opened next would take its number, and be written to
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    out, err = (_tolerant(stream, number) for number, stream in ((1, sys.stdout), (2, sys.stderr)))
    sys.stdout, sys.stderr = cast("tuple[TextIO, TextIO]", (out, err))
    return out, err


def _tolerant(stream: TextIO | Tolerant | None, number: int) -> Tolerant:
    return stream if isinstance(stream, Tolerant) else Tolerant(_stream(stream, number))


def _stream(found: TextIO | None, number: int) -> TextIO:
    """The stream, which shows what its encoding lacks as an escape."""
    stream = found or open(number, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return stream
