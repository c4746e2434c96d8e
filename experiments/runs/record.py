"""environment.json: what a run was computed with and when, and what it left; and whether all of that still stands.

A finished run is answered from its files where nothing that they were derived from has changed:

    config.toml                        the same configuration, words included
    versions, code                     the same packages, and the same bytes of dpassay's own sources
    trials                             the journals, which hold the SHA-256 of each chunk, if they are still there
    results.json                       the bytes that were written

Figures and reports that are missing or changed are drawn again from the numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...mechanisms.errors import StoreError
from ..config.schema import Config
from ..results import provenance
from .directory import RunDirectory

NAME = "environment.json"
NUMBERS = "results.json"


@dataclass(frozen=True)
class Finished:
    """A run that need not be computed again.

    Args:
        results: the text of results.json.
        complete: whether table, figures and reports are those that were drawn from it.
    """

    results: str
    complete: bool


def finished(directory: RunDirectory, config: Config) -> Finished | None:
    """What this very code found out about this very configuration; None where it has to be computed. Writes nothing."""
    try:
        noted = json.loads(directory.read(NAME))
        last = noted["sessions"][-1]
        same = noted.items() >= provenance.derived_by().items()
        asked = directory.read("config.toml") == config.to_toml()
        if not (last["finished"] and same and asked and directory.journals().items() <= last["trials"].items()):
            return None
        files, found = last["files"], directory.products()
        if files[NUMBERS] != found[NUMBERS]:
            return None
        return Finished(directory.read(NUMBERS), complete=files == found)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def left(directory: RunDirectory) -> dict[str, dict[str, str]]:
    """What a finished session notes: the SHA-256 of the journals, and of what was derived from them."""
    return {"trials": directory.journals(), "files": directory.products()}


def append_session(directory: RunDirectory, seed: int, session: Mapping[str, Any]) -> None:
    """Adds one session; a disk that is full must not hide the error that ended it."""
    try:
        sessions = list(json.loads(directory.read(NAME))["sessions"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        sessions = []
    content = {**provenance.environment(), "seed": seed, "sessions": [*sessions, session]}
    try:
        directory.write(NAME, json.dumps(content, indent=1) + "\n")
    except StoreError:
        if session["finished"]:
            raise
