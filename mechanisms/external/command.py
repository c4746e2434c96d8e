"""Any executable as a mechanism, in whatever language it is written."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from ..base import Dataset
from ..errors import ParameterError, ReleaseError, plural
from ..validation import positive
from .forms import Raised

BATCH_SECONDS = 600.0
"""That one batch may take, unless it is said otherwise."""
LAST_WORDS = 500
"""Characters of its stderr that are shown of a program that failed."""


@dataclass(frozen=True)
class Command:
    """A function of many runs that asks a program: give it to `FunctionMechanism`, or to `audit`.

    The program is started once for each batch of runs. It reads one JSON object from its standard input,

        {"dataset": ..., "size": 1000, "seed": 123456789}

    and writes `size` lines to its standard output, each the outcome of one run as JSON: a number, a list, an object,
    a string, null or NaN. It should draw all of its randomness from the seed, so that an audit can be repeated; one
    that does not is audited just as well.

    Args:
        line: the command line, such as "Rscript release.R"; split as a POSIX shell does, but no shell runs it.
        timeout: seconds that one batch may take, > 0. Then the program is killed, and so are the processes that it has
            started; these are also killed when the program itself has ended.

    Raises:
        ParameterError: an empty or unfinished command line.
        ReleaseError: when called: the program cannot be started, fails, takes too long, or writes something else.

    Example:
        >>> import sys
        >>> program = "import json, sys; q = json.load(sys.stdin); print('1.5\\\\n' * q['size'])"
        >>> Command(shlex.join([sys.executable, "-c", program]))([1, 2], 3, np.random.default_rng(0))
        [1.5, 1.5, 1.5]
    """

    line: str
    timeout: float = BATCH_SECONDS

    def __post_init__(self) -> None:
        positive(timeout=self.timeout)
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
        """The command line, for messages."""
        return self.line

    def __call__(self, dataset: Dataset, size: int, rng: np.random.Generator) -> list[Any]:
        """The outcomes of `size` runs."""
        request = {"dataset": dataset, "size": size, "seed": int(rng.integers(2**53))}
        try:
            asked = json.dumps(request, default=_plain)
        except (TypeError, ValueError, RecursionError) as error:
            raise ReleaseError(f"the dataset cannot be sent to {self.line!r} as JSON: {error}.") from error
        lines = [line for line in self._ask(asked).split("\n") if line.strip()]
        if len(lines) != size:
            raise ReleaseError(
                f"{self.line!r} was asked for size={plural(size, 'run')} and wrote {plural(len(lines), 'line')}: "
                "expected one a run."
            )
        return [self._outcome(line) for line in lines]

    def _ask(self, request: str) -> str:
        """What the program writes when it reads `request`; raises `ReleaseError` where it fails."""
        code, out, last = self._started(request)
        if code != 0:
            raise ReleaseError(f"{self.line!r} ended with exit code {code}. Its last words on stderr: {last}")
        return out

    def _started(self, request: str, **environment: str) -> tuple[int, str, str]:
        """Exit code of the program, what it wrote, and its last words on stderr, when it reads `request`.

        It is a process group of its own and writes to files, so that neither a child that it leaves behind nor what it
        does not read can hold it up; whatever is left of the group in the end is killed.
        """
        with TemporaryFile() as asked, TemporaryFile() as out, TemporaryFile() as err:
            asked.write(request.encode())
            asked.seek(0)
            code = self._run(asked, out, err, environment)
            out.seek(0)
            err.seek(max(0, err.seek(0, os.SEEK_END) - 4 * LAST_WORDS))
            last = err.read().decode("utf-8", "replace").strip()[-LAST_WORDS:] or "nothing"
            try:
                return code, out.read().decode(errors="strict" if code == 0 else "replace"), last
            except UnicodeDecodeError as error:
                raise ReleaseError(f"{self.line!r} wrote what is not UTF-8 ({error}). Write UTF-8.") from error

    def _run(self, asked: IO[bytes], out: IO[bytes], err: IO[bytes], environment: dict[str, str]) -> int:
        """The exit code of the program."""
        try:
            process = subprocess.Popen(
                shlex.split(self.line),
                stdin=asked,
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
            overdue.set()  # before the kill: a machine under load may see the end before the clock does
            _end_group(process)

        alarm = threading.Timer(self.timeout, stop)
        alarm.daemon = True
        alarm.start()
        try:
            code = process.wait()
        finally:
            alarm.cancel()
            _end_group(process)
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
                f"{self.line!r} wrote {line[:80]!r}, which is not JSON. Write one JSON value a line."
            ) from error


@dataclass(frozen=True)
class PlainCommand(Command):
    """As `Command`, for a program that knows nothing of this library: a dataset in, one release a line out.

    It reads the dataset from its standard input, one record a line: a number, the numbers of a vector with blanks
    between them, or a text; of anything else one line of JSON. Each line that it writes is one release: a number,
    several with blanks or commas between them, JSON, or any other text, which is a release too. It is started again
    until there are enough lines; what it writes beyond them is left out.

    Its environment says DPASSAY_RUNS, the number of lines that are still wanted, and DPASSAY_SEED, fresh for every
    start. It may heed them, which is faster and can be repeated, or not. A start that fails is a release after the
    lines that it wrote: the exception `ProgramFailed` with its exit code, or signal; one that writes nothing is the
    empty text.

    Raises:
        ReleaseError: when called: the program cannot be started, or takes longer than `timeout` seconds.

    Example:
        >>> PlainCommand("awk '{total += $1} END {print total, NR}'")([1.5, 2.5], 2, np.random.default_rng(0))
        [[4.0, 2.0], [4.0, 2.0]]
    """

    def __call__(self, dataset: Dataset, size: int, rng: np.random.Generator) -> list[Any]:
        """`size` releases."""
        asked, found = _as_lines(dataset), list[Any]()
        while len(found) < size:
            wanted = {"DPASSAY_RUNS": str(size - len(found)), "DPASSAY_SEED": str(int(rng.integers(2**31)))}
            code, out, _ = self._started(asked, **wanted)
            found += [self._outcome(line) for line in out.splitlines() if line.strip()] or ([""] if code == 0 else [])
            if code != 0:
                found.append(Raised("ProgramFailed", f"exit code {code}" if code > 0 else f"signal {-code}"))
        return found[:size]

    def _outcome(self, line: str) -> Any:
        with suppress(ValueError, RecursionError):
            return json.loads(line)
        with suppress(ValueError):
            numbers = [float(word) for word in line.replace(",", " ").split()]
            return numbers[0] if len(numbers) == 1 else numbers
        return line.strip()


def _as_lines(dataset: Dataset) -> str:
    """A dataset as text, one record a line."""
    plain = dataset.tolist() if isinstance(dataset, np.ndarray | np.generic) else dataset
    records = plain if isinstance(plain, list | tuple) else [plain]
    return "".join(f"{_as_line(record)}\n" for record in records)


def _as_line(record: Any) -> str:
    if isinstance(record, str):
        return record
    if isinstance(record, list | tuple) and all(isinstance(entry, int | float) for entry in record):
        return " ".join(map(repr, record))
    return json.dumps(record, default=_plain)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kills a program and all the processes that it has started, but for those that left its group."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON")
