"""Answers of an assistant in a JSONL file: append-only, so that an interrupted run continues.

    {"format": "dpassay answers 1", "canaries": DIGEST, "coins": DIGEST}
    {"document": 0, "account": 0, "turn": 0, "answer": "...", "log_probability": -0.1}

The first line names the canaries and the coins of the store. Documents, accounts and turns are numbered from 0 on;
`log_probability`, of the secret, is optional. A last line that was cut by a killed process is asked again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...mechanisms.core import ParameterError
from .array_files import read_text

ANSWERS_FORMAT = "dpassay answers 1"
"""Value of `format` in the first line."""
Key = tuple[int, int, int]
"""Numbers of document, account and turn."""


@dataclass(eq=False)
class Answers:
    """Answers by document, account and turn, in memory and, with a file, on disk.

    Args:
        canaries, coins: digests of the canary documents and of the coins that decided which of them are in the store.
        file: JSONL file, created if it is missing; None for memory only.

    Raises:
        ParameterError: the file has answers about other canaries or from another store, or is no such file.
    """

    canaries: str
    coins: str
    file: Path | None = None
    _known: dict[Key, tuple[str, float]] = field(default_factory=dict, init=False)
    _size: int = field(default=0, init=False)  # bytes of whole lines in the file

    def __post_init__(self) -> None:
        if self.file is not None and self.file.exists():
            self._read(self.file)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Key) -> tuple[str, float] | None:
        """Return the answer and the log probability of the secret, NaN for none; None if it was not asked."""
        return self._known.get(key)

    def add(self, key: Key, answer: str, log_probability: float = math.nan) -> None:
        """Keep one answer; with a file, flush it to the disk.

        Raises:
            ParameterError: the file cannot be written.
        """
        document, account, turn = key
        line: dict[str, Any] = {"document": document, "account": account, "turn": turn, "answer": answer}
        stated = {} if math.isnan(log_probability) else {"log_probability": log_probability}
        self._append(line | stated)
        self._known[key] = answer, log_probability

    def _append(self, line: Mapping[str, Any]) -> None:
        if self.file is None:
            return
        head = {"format": ANSWERS_FORMAT, "canaries": self.canaries, "coins": self.coins}
        content = "".join(json.dumps(one) + "\n" for one in ([line] if self._size else [head, line])).encode()
        try:
            with self.file.open("r+b" if self.file.exists() else "xb") as stream:
                stream.seek(self._size)
                stream.truncate()
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise ParameterError(
                f"{self.file} cannot be written: {error.strerror or error}.", argument="answers"
            ) from error
        self._size += len(content)

    def _read(self, file: Path) -> None:
        try:
            lines = read_text(file).rpartition("\n")[0].encode().splitlines(keepends=True)
            content = [json.loads(line) for line in lines]
            if content and content[0]["format"] != ANSWERS_FORMAT:
                raise ValueError(f"its format is {content[0]['format']!r}")
            other = [name for name in ("canaries", "coins") if content and content[0][name] != getattr(self, name)]
            for line in content[1:]:
                key, text = (line["document"], line["account"], line["turn"]), line["answer"]
                if not all(type(number) is int for number in key) or not isinstance(text, str):
                    raise ValueError(f"one line is {line}")
                self._known[key] = text, float(line.get("log_probability", math.nan))
        except OSError as error:
            raise ParameterError(f"{file} cannot be read: {error.strerror or error}.", argument="answers") from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ParameterError(
                f"{file} must be a file of answers that `dpassay ask` wrote, but {error}. Give another name.",
                argument="answers",
            ) from error
        if other:
            raise ParameterError(
                f"{file} has the answers of an assistant with other {other[0]}. Give the {other[0]} that it was built "
                "with, or another file for the answers.",
                argument="answers",
            )
        self._size = sum(map(len, lines)) + bool(lines)  # the last line feed was cut


__all__ = ["ANSWERS_FORMAT", "Answers"]
