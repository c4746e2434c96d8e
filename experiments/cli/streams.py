"""Standard streams that tolerate write errors, so that these do not change the exit code by accident."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast


class Tolerant:
    """Text stream that discards output after a write error, which is stored in `error`.

    Later output goes to the null device, so that Python does not fail when it exits.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write the text, or discard it after an error."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._drop(error)
        except ValueError:  # the stream is closed
            self._drop(OSError(errno.EBADF, os.strerror(errno.EBADF)))
        return len(text)

    def flush(self) -> None:
        """Flush the stream, or discard its buffer after an error."""
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
    """Make stdout and stderr tolerant, with the null device for each closed stream, and return the two."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # otherwise the next opened file would get this number, and be written to
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    out, err = (_tolerant(stream, number) for number, stream in ((1, sys.stdout), (2, sys.stderr)))
    sys.stdout, sys.stderr = cast("tuple[TextIO, TextIO]", (out, err))
    return out, err


def _tolerant(stream: TextIO | Tolerant | None, number: int) -> Tolerant:
    return stream if isinstance(stream, Tolerant) else Tolerant(_stream(stream, number))


def _stream(existing: TextIO | None, number: int) -> TextIO:
    """Return the stream, which escapes characters that its encoding lacks."""
    stream = existing or open(number, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return stream
