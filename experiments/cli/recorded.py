"""Findings of a recording, from a process of its own: a recording needs the audited code beside this library."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from ...audit.recording import record
from ...mechanisms.adapters.functions.guard import in_words
from ...mechanisms.adapters.functions.isolated import end_text
from ...mechanisms.adapters.functions.target import load_target
from ...mechanisms.core import DpassayError, Guarantee, Neighbours, ReleaseError

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from dpassay.experiments.cli.recorded import main; main()"
)


@dataclass(frozen=True)
class RecordedTarget:
    """A function to record on both sides of a pair.

    Args:
        target: text that `load_target` takes.
        neighbours: the pair.
        claim: the claimed guarantee.
        delta: delta of the claim; None for its default.
    """

    target: str
    neighbours: Neighbours
    claim: Guarantee | None
    delta: float | None

    def findings(self) -> tuple[str, ...]:
        """Return the findings in sentences, from another process.

        Raises:
            ReleaseError: the function cannot be recorded, or its process ends without an answer.
        """
        done = subprocess.run(
            [sys.executable, "-c", _START, json.dumps([folder or os.getcwd() for folder in sys.path])],  # noqa: PTH109
            input=pickle.dumps(self),
            stdout=subprocess.PIPE,
        )
        try:
            answer = json.loads(done.stdout)
            found, error = [str(text) for text in answer["found"]], answer["error"]
        except (LookupError, TypeError, ValueError):
            raise ReleaseError(
                f"while it was recorded, {end_text(done.returncode)} Leave out --record, or make it return."
            ) from None
        if error is not None:
            raise ReleaseError(str(error))
        return tuple(found)

    def here(self) -> dict[str, Any]:
        """Return the findings, or the message of an error, of a recording in this process."""
        try:
            recording = record(load_target(self.target), self.neighbours)
            found = [f"recorded: {finding}" for finding in recording.findings(self.claim, delta=self.delta)]
        except DpassayError as error:
            return {"found": [], "error": str(error)}
        except BaseException as error:
            text = f"recorded: nothing, because {self.target} raised {in_words(error)} on the datasets."
            return {"found": [text], "error": None}
        return {"found": found, "error": None}


def main() -> None:
    """Read a recording from the standard input, and write its findings to the standard output."""
    asked, channel = sys.stdin.buffer.read(), os.dup(1)
    os.dup2(2, 1)
    answer = json.dumps(pickle.loads(asked).here())
    with os.fdopen(channel, "w", encoding="utf-8") as pipe:
        pipe.write(answer)
    sys.stderr.flush()
    os._exit(0)
