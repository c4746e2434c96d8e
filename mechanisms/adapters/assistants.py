"""Assistants that are programs: started for each question, or once for all of them."""

from __future__ import annotations

import json
import shlex
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any

from ..core import ReleaseError
from .command import Command, end_group


@dataclass(frozen=True)
class CommandAssistant(Command):
    """Assistant that is started for each question: the question is its input, and its output is the answer.

    The environment of the program has DPASSAY_ACCOUNT, the account that asks.

    Args:
        line, timeout: see `Command`; the time limit is for one answer.

    Raises:
        ParameterError: see `Command`.
        ReleaseError: when asked: the program cannot be started, fails, or takes too long.

    Example:
        >>> CommandAssistant("sed s/What/That/").ask("What is new?", account="account 1")
        'That is new?'
    """

    def ask(self, prompt: str, account: str) -> str:
        """Return what the program writes."""
        code, out, stderr_tail = self._started(f"{prompt}\n", DPASSAY_ACCOUNT=account)
        if code != 0:
            raise ReleaseError(f"{self.line!r} ended with exit code {code}. The end of its stderr: {stderr_tail}")
        return out.strip()


@dataclass(frozen=True)
class LineAssistant(Command):
    r"""Assistant that is started once, and answers each line of its input with a line: it may have a memory.

    A line of its input is {"prompt": "...", "account": "..."}; a line of its output is the answer as JSON, a string or
    {"answer": "...", "log_probability": ...}. Other lines belong on its standard error: they would be taken for
    answers, and each answer for that to the next question. Use it as a context manager.

    Args:
        line, timeout: see `Command`; the time limit is for one answer.

    Raises:
        ParameterError: see `Command`.
        ReleaseError: the program cannot be started, ends, takes too long, or writes other lines than one answer to
            each question.

    Example:
        >>> import sys
        >>> program = "import sys\nfor line in sys.stdin: print('\"No.\"', flush=True)"
        >>> with LineAssistant(shlex.join([sys.executable, "-c", program])) as assistant:
        ...     assistant.ask("What?", account="a")
        'No.'
    """

    _running: list[tuple[subprocess.Popen[str], SimpleQueue[str]]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )  # the process, and the lines that it has written

    def __enter__(self) -> LineAssistant:
        try:
            process = subprocess.Popen(
                shlex.split(self.line),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ReleaseError(f"{self.line!r} cannot be started: {error}. Check the path.") from error
        written = SimpleQueue[str]()
        self._running.append((process, written))
        threading.Thread(target=_read, args=(process.stdout, written), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        process, _written = self._running.pop()
        end_group(process)
        process.wait()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]  # both are pipes

    def ask(self, prompt: str, account: str) -> Any:
        """Return the next line of the program, for one line of input."""
        (process, written), overdue = self._running[-1], threading.Event()
        if not written.empty() and (line := _next_line(written)):
            raise ReleaseError(self._no_answer(line, "before it was asked this question"))

        def stop() -> None:
            overdue.set()
            end_group(process)

        alarm = threading.Timer(self.timeout, stop)
        alarm.daemon = True
        alarm.start()
        try:
            process.stdin.write(json.dumps({"prompt": prompt, "account": account}) + "\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            answer = _next_line(written)
        except (OSError, ValueError):
            answer = ""
        finally:
            alarm.cancel()
        if overdue.is_set():
            raise ReleaseError(f"{self.line!r} took longer than timeout={self.timeout:g} seconds for an answer.")
        if not answer:
            raise ReleaseError(f"{self.line!r} ended, or closed its output, before it answered.")
        with suppress(ValueError, RecursionError):
            if isinstance(read := json.loads(answer), str | dict):
                return read
        raise ReleaseError(self._no_answer(answer, "as an answer"))

    def _no_answer(self, line: str, when: str) -> str:
        return (
            f"{self.line!r} wrote {line.strip()!r:.80} {when}. It must write one line of JSON for each question, a "
            'text or {"answer": ...}, and everything else, such as a log, to its standard error.'
        )


def _read(stream: IO[str], written: SimpleQueue[str]) -> None:
    """Queue the lines of a program, and an empty text at their end."""
    with suppress(OSError, ValueError):
        for line in stream:
            written.put(line)
    written.put("")


def _next_line(written: SimpleQueue[str]) -> str:
    """Return the next line of a program; an empty text at their end, now and later."""
    line = written.get()
    if not line:
        written.put(line)
    return line


__all__ = ["CommandAssistant", "LineAssistant"]
