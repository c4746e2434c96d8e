"""environment.json: versions, times and file digests of a run, and the check that a finished run is still valid.

The results of a finished run are reused if none of their inputs has changed:

    config.toml                        the same configuration, texts included
    versions, code                     the same packages, and the same sources of dpassay
    trials                             the journals, which have the SHA-256 of each chunk, if they still exist
    results.json                       the same bytes

Missing or changed figures and reports are drawn again from the numbers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...mechanisms.core import StoreError
from ..config.schema import Config
from ..present.results import provenance
from ..present.results.provenance import TIMES, read_times, times_text
from .directory import STATEMENT, RunDirectory
from .evidence import statement

NAME = "environment.json"
NUMBERS = "results.json"


@dataclass(frozen=True)
class Finished:
    """A finished run whose results can be reused.

    Args:
        results: the text of results.json.
        complete: whether table, figures and reports are unchanged.
    """

    results: str
    complete: bool


def finished(directory: RunDirectory, config: Config) -> Finished | None:
    """Return the finished run of the same code and configuration; None if it must be computed. Writes nothing."""
    try:
        record = json.loads(directory.read(NAME))
        last, products = record["sessions"][-1], directory.products()
        unchanged = (
            last["finished"]
            and record.items() >= provenance.derived_by().items()
            and directory.read("config.toml") == config.to_toml()
            and directory.journals().items() <= last["trials"].items()
            and last["files"][NUMBERS] == products[NUMBERS]
        )
        return Finished(directory.read(NUMBERS), complete=last["files"] == products) if unchanged else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def left(directory: RunDirectory) -> dict[str, dict[str, str]]:
    """Return the record of a finished session: the SHA-256 of the journals, and of the files derived from them."""
    return {"trials": directory.journals(), "files": directory.products()}


def recorded(directory: RunDirectory) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the environment of the last session, and path -> SHA-256 of the files that it read.

    Both are empty if the record is damaged, or if that session did not finish: its code may not have made the numbers.
    """
    try:
        record = json.loads(directory.read(NAME))
        if not record["sessions"][-1]["finished"]:
            return {}, {}
        known = {key: record[key] for key in ("versions", "code", "commit", "machine")}
        inputs = record["sessions"][-1].get("inputs", {})
        known["versions"] = {str(name): str(version) for name, version in known["versions"].items() if version}
        return known, {str(name): str(digest) for name, digest in inputs.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, StoreError):
        return {}, {}


def _append_session(directory: RunDirectory, seed: int, session: Mapping[str, Any]) -> None:
    """Append one session; a full disk must not hide the error that ended it."""
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


@contextmanager
def session(
    directory: RunDirectory, seed: int, workers: int | str | None, inputs: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Record a session: time, workers, digests of the files it read, whether it finished, and digests of its files."""
    started, clock, done = datetime.now(UTC), time.monotonic(), False
    try:
        yield
        done = True
    finally:
        entry = {
            "started": started.isoformat(timespec="seconds"),
            "wall_seconds": round(time.monotonic() - clock, 3),
            "workers": workers,
            "finished": done,
            **({"inputs": dict(inputs)} if inputs else {}),
        }
        _append_session(directory, seed, entry | (left(directory) if done else {}))
    state(directory)


def state(directory: RunDirectory) -> None:
    """Write the statement on a finished run; the directory of a slice has none."""
    if (directory.path / NUMBERS).is_file():
        directory.write(STATEMENT, statement(directory))


@contextmanager
def timed(directory: RunDirectory, point: str) -> Iterator[None]:
    """Add the elapsed seconds to the recorded time of the audit, also if it is interrupted."""
    clock = time.monotonic()
    try:
        yield
    finally:
        add_time(directory, point, time.monotonic() - clock)


def add_time(directory: RunDirectory, point: str, seconds: float) -> None:
    """Add seconds to the recorded time of an audit."""
    times = read_times(directory.path)
    times[point] = times.get(point, 0.0) + seconds
    with suppress(StoreError):  # a full disk must not hide the error that ended the audit
        directory.write(TIMES, times_text(times))
