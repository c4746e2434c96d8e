"""Any executable as a mechanism, in whatever language it is written."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanisms.base import Dataset
from mechanisms.errors import ParameterError, ReleaseError
from mechanisms.validation import positive


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
        timeout: seconds that one batch may take, > 0.

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
    timeout: float = 600.0

    def __post_init__(self) -> None:
        positive(timeout=self.timeout)
        try:
            words = shlex.split(self.line)
        except ValueError as error:
            raise ParameterError(f"line must be a command line, but {self.line!r} is not: {error}.") from error
        if not words:
            raise ParameterError("line must be a command line, such as 'Rscript release.R', but is empty.")

    @property
    def __name__(self) -> str:
        """The command line, for messages."""
        return self.line

    def __call__(self, dataset: Dataset, size: int, rng: np.random.Generator) -> list[Any]:
        """The outcomes of `size` runs."""
        request = {"dataset": dataset, "size": size, "seed": int(rng.integers(2**53))}
        lines = [line for line in self._ask(json.dumps(request, default=_plain)).splitlines() if line.strip()]
        if len(lines) != size:
            raise ReleaseError(
                f"{self.line!r} was asked for size={size} runs and wrote {len(lines)} lines: expected one a run."
            )
        return [self._outcome(line) for line in lines]

    def _ask(self, request: str) -> str:
        """What the program writes when it reads `request`."""
        try:
            done = subprocess.run(
                shlex.split(self.line), input=request, capture_output=True, text=True, timeout=self.timeout, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ReleaseError(
                f"{self.line!r} took longer than timeout={self.timeout:g} seconds for a batch."
            ) from error
        except OSError as error:
            raise ReleaseError(
                f"{self.line!r} cannot be started: {error.strerror or error}. Check the path."
            ) from error
        if done.returncode != 0:
            last = done.stderr.strip()[-500:] or "nothing"
            raise ReleaseError(
                f"{self.line!r} ended with exit code {done.returncode}. Its last words on stderr: {last}"
            )
        return done.stdout

    def _outcome(self, line: str) -> Any:
        try:
            return json.loads(line)
        except ValueError as error:
            raise ReleaseError(
                f"{self.line!r} wrote {line[:80]!r}, which is not JSON. Write one JSON value a line."
            ) from error


def _plain(value: Any) -> Any:
    """Arrays and numbers of numpy as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a dataset of {type(value).__name__} cannot be sent to a program as JSON")
