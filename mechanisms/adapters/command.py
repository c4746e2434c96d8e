"""Executables in any language as mechanisms."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from ..core import Dataset, ParameterError, Positive, ReleaseError, check_fields, plural
from .functions.forms import RaisedException

BATCH_SECONDS = 600.0
"""Default time limit of one batch in seconds."""
MAX_STDERR_LENGTH = 500
"""Number of final characters of stderr that are shown for a failed program."""


@dataclass(frozen=True)
class Command:
    r"""Function of many runs that calls a program; pass it to `FunctionMechanism`, or to `audit`.

    The program is started once for each batch of runs. It reads one JSON object from its standard input,

        {"dataset": ..., "size": 1000, "seed": 123456789}

    and writes `size` lines to its standard output, each the outcome of one run as JSON: a number, a list, an object,
    a string, null or NaN. It should draw all of its randomness from the seed, so that an audit can be repeated; a
    program that does not can still be audited.

    Args:
        line: the command line, such as "Rscript release.R"; split as in a POSIX shell, but no shell runs it.
        timeout: time limit of one batch in seconds, > 0. When it expires, the program and the processes that it has
            started are killed; these processes are also killed when the program has ended.

    Raises:
        ParameterError: an empty or unfinished command line.
        ReleaseError: when called: the program cannot be started, fails, takes too long, or writes something else.

    Example:
        >>> import sys
        >>> program = "import json, sys; q = json.load(sys.stdin); print('1.5\\n' * q['size'])"
        >>> Command(shlex.join([sys.executable, "-c", program]))([1, 2], 3, np.random.default_rng(0))
        [1.5, 1.5, 1.5]
    """

    line: str
    timeout: Positive = BATCH_SECONDS

    def __post_init__(self) -> None:
        check_fields(self)
        try:
            words = shlex.split(self.line)
        except ValueError as error:
            raise ParameterError(
                f"line must be a command line, but {self.line!r} is not: {error}.", argument="line"
            ) from error
        if not words:
            raise ParameterError(
                "line must be a command line, such as 'Rscript release.R', but is empty.", argument="line"
            )

    @property
    def __name__(self) -> str:
        """Command line, for messages."""
        return self.line

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of each file that the command line names; a program that is found by its name is not among them."""
        named = {word: Path(word) for word in shlex.split(self.line)}
        return {word: sha256(file.read_bytes()).hexdigest() for word, file in named.items() if _is_file(file)}

    def __call__(self, dataset: Dataset, size: int, rng: np.random.Generator) -> list[Any]:
        """Return the outcomes of `size` runs."""
        request = {"dataset": dataset, "size": size, "seed": int(rng.integers(2**53))}
        try:
            request_text = json.dumps(request, default=_plain)
        except (TypeError, ValueError, RecursionError) as error:
            raise ReleaseError(f"the dataset cannot be sent to {self.line!r} as JSON: {error}.") from error
        lines = [line for line in self._ask(request_text).split("\n") if line.strip()]
        if len(lines) != size:
            raise ReleaseError(
                f"{self.line!r} was asked for size={plural(size, 'run')} and wrote {plural(len(lines), 'line')}: "
                "expected one per run."
            )
        return [self._outcome(line) for line in lines]

    def _ask(self, request: str) -> str:
        """Return the output of the program for the input `request`; raise `ReleaseError` if it fails."""
        code, out, stderr_tail = self._started(request)
        if code != 0:
            raise ReleaseError(f"{self.line!r} ended with exit code {code}. The end of its stderr: {stderr_tail}")
        return out

    def _started(self, request: str, **environment: str) -> tuple[int, str, str]:
        """Return exit code, output and the end of stderr of the program for the input `request`.

        The program runs in a separate process group and writes to files, so that neither a child process that it
        leaves running nor input that it does not read can block the caller; the rest of the group is killed at the end.
        """
        with TemporaryFile() as stdin, TemporaryFile() as out, TemporaryFile() as err:
            stdin.write(request.encode())
            stdin.seek(0)
            code = self._run(stdin, out, err, environment)
            out.seek(0)
            err.seek(max(0, err.seek(0, os.SEEK_END) - 4 * MAX_STDERR_LENGTH))
            stderr_tail = err.read().decode("utf-8", "replace").strip()[-MAX_STDERR_LENGTH:] or "nothing"
            try:
                return code, out.read().decode(errors="strict" if code == 0 else "replace"), stderr_tail
            except UnicodeDecodeError as error:
                raise ReleaseError(f"{self.line!r} wrote output that is not UTF-8 ({error}). Write UTF-8.") from error

    def _run(self, stdin: IO[bytes], out: IO[bytes], err: IO[bytes], environment: dict[str, str]) -> int:
        """Return the exit code of the program."""
        try:
            process = subprocess.Popen(
                shlex.split(self.line),
                stdin=stdin,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env=os.environ | environment,
            )
        except (OSError, ValueError) as error:
            raise ReleaseError(
                f"{self.line!r} cannot be started: {getattr(error, 'strerror', None) or error}. Check the path."
            ) from error
        overdue = threading.Event()

        def stop() -> None:
            overdue.set()  # before the kill: under load the process may be seen to end before the clock expires
            end_group(process)

        alarm = threading.Timer(self.timeout, stop)
        alarm.daemon = True
        alarm.start()
        try:
            code = process.wait()
        finally:
            alarm.cancel()
            end_group(process)
        if code < 0 and overdue.is_set():
            raise ReleaseError(
                f"{self.line!r} took longer than timeout={self.timeout:g} seconds for a batch. Give it more time, "
                "or find out why it hangs."
            )
        return code

    def _outcome(self, line: str) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ReleaseError(
                f"{self.line!r} wrote {line[:80]!r}, which is not JSON. Write one JSON value per line."
            ) from error


@dataclass(frozen=True)
class PlainCommand(Command):
    """Like `Command`, for a program without knowledge of this library: a dataset as input, one release per line.

    It reads the dataset from its standard input, one record per line: a number, the numbers of a vector separated by
    blanks, or a text; for any other dataset one line of JSON. Each line that it writes is one release: a number,
    several numbers separated by blanks or commas, JSON, or any other text. It is started again until there are enough
    lines; additional lines are ignored.

    Its environment has DPASSAY_RUNS, the number of lines still needed, and DPASSAY_SEED, new for every
    start. The program may use them, which is faster and makes runs repeatable, or ignore them. A start that fails
    counts as a release after the lines that it wrote: the exception `ProgramFailed` with its exit code, or signal; a
    start that writes nothing counts as the empty text.

    Raises:
        ReleaseError: when called: the program cannot be started, or takes longer than `timeout` seconds.

    Example:
        >>> PlainCommand("awk '{total += $1} END {print total, NR}'")([1.5, 2.5], 2, np.random.default_rng(0))
        [[4.0, 2.0], [4.0, 2.0]]
    """

    def __call__(self, dataset: Dataset, size: int, rng: np.random.Generator) -> list[Any]:
        """Return `size` releases."""
        dataset_text, releases = _as_lines(dataset), list[Any]()
        while len(releases) < size:
            environment = {"DPASSAY_RUNS": str(size - len(releases)), "DPASSAY_SEED": str(int(rng.integers(2**31)))}
            code, out, _ = self._started(dataset_text, **environment)
            releases += [self._outcome(line) for line in out.splitlines() if line.strip()] or (
                [""] if code == 0 else []
            )
            if code != 0:
                releases.append(
                    RaisedException("ProgramFailed", f"exit code {code}" if code > 0 else f"signal {-code}")
                )
        return releases[:size]

    def _outcome(self, line: str) -> Any:
        with suppress(ValueError, RecursionError):
            return json.loads(line)
        with suppress(ValueError):
            numbers = [float(word) for word in line.replace(",", " ").split()]
            return numbers[0] if len(numbers) == 1 else numbers
        return line.strip()


def _is_file(path: Path) -> bool:
    with suppress(OSError, ValueError):  # such as a word that is too long for a name
        return path.is_file() and os.access(path, os.R_OK)
    return False


def _as_lines(dataset: Dataset) -> str:
    """Return a dataset as text, one record per line."""
    plain = dataset.tolist() if isinstance(dataset, np.ndarray | np.generic) else dataset
    records = plain if isinstance(plain, list | tuple) else [plain]
    return "".join(f"{_as_line(record)}\n" for record in records)


def _as_line(record: Any) -> str:
    if isinstance(record, str):
        return record
    if isinstance(record, list | tuple) and all(isinstance(entry, int | float) for entry in record):
        return " ".join(map(repr, record))
    return json.dumps(record, default=_plain)


def end_group(process: subprocess.Popen[Any]) -> None:
    """Kill a program and all processes that it has started, except for those that left its group."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _plain(value: Any) -> Any:
    """Return arrays and numbers of numpy as JSON values."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
