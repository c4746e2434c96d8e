"""The store of chunks on disk: append-only, checked, resumable.

    DIRECTORY/manifest.json     everything that determines the trials, and its fingerprint
    DIRECTORY/journal.jsonl     one line per finished chunk: its key, size and SHA-256
    DIRECTORY/chunks/KEY.npz    the arrays of one chunk

Guarantees
    * A chunk is written to a temporary file, flushed to the disk, renamed, and only then journaled: a process killed
      at any point leaves a store from which the next run continues.
    * All writes stay in the directory: links in it are refused; see `dpassay.audit.trials.folder`.
    * A store of other trials is refused, and the difference is reported.
    * A chunk whose bytes do not match the journal, or that is missing, is recomputed and reported.
    * A chunk with a valid checksum but invalid contents raises a `StoreError`.
    * Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...mechanisms.core.errors import DpassayError, FingerprintError, StoreError
from .array_files import NUMBERS, Arrays, read_npz
from .folder import Folder, is_temporary

_OF_CONTENT = (KeyError, IndexError, ValueError, TypeError, AttributeError, AssertionError)
"""Errors due to arrays that are not the arrays of a chunk."""
_FORMAT = "dpassay.trials"
_VERSION = 2


class TrialStore:
    """The chunks of one audit, in a directory. Use it as a context manager: it holds a lock while open.

    Args:
        directory: directory of the store, created if missing.
        manifest: everything that determines the trials, JSON-ready.
        warn: called with a line of text for each damaged chunk.

    Raises:
        FingerprintError: the directory holds other trials, or is not a store.
        StoreError: the directory cannot be read or written, or another process is using it.
    """

    def __init__(self, directory: Path, manifest: Mapping[str, Any], *, warn: Callable[[str], None]) -> None:
        self.directory = Path(directory)
        self._folder = Folder(self.directory)
        self._manifest = {"format": _FORMAT, "version": _VERSION, **manifest}
        self._warn = warn
        self._journal: IO[bytes] | None = None
        self._known: dict[str, str] = {}
        self._has_read = False

    def __enter__(self) -> TrialStore:
        with _disk(self.directory):
            self._folder.make("chunks")
            self._journal = self._folder.append("journal.jsonl")
        try:
            _lock(self._journal, self.directory)
            with _disk(self.directory):
                self._claim_directory()
                self._known = self._read_journal()
                self._folder.remove_temporaries()
                self._folder.remove_temporaries("chunks")
        except BaseException:
            self._journal.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._journal is not None:
            self._journal.close()
        if self._has_read and isinstance(error, _OF_CONTENT) and not isinstance(error, DpassayError):
            raise StoreError(
                f"the trials in {self.directory} cannot be used ({type(error).__name__}: {error}): some chunks are not "
                "as this version writes them, or were changed together with the journal. Remove it to start over."
            ) from error

    def load(self, key: str) -> Arrays | None:
        """Return the arrays of a finished chunk, or None if it has to be run."""
        expected = self._known.get(key)
        if expected is None:
            return None
        name = _name(key)
        try:
            content = self._folder.read(name)
        except FileNotFoundError:
            self._warn(f"chunk {key} is missing from {self.directory}; running it again")
            return None
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(f"cannot read {self.directory / name}: {error.strerror or error}.") from error
        self._has_read = True
        arrays = _arrays(content) if hashlib.sha256(content).hexdigest() == expected else None
        if arrays is None:
            self._warn(f"chunk {key} in {self.directory} is damaged (checksum differs); running it again")
        return arrays

    def save(self, key: str, arrays: Arrays) -> None:
        """Write a finished chunk and flush it to the disk."""
        assert self._journal is not None, "the store is not open"
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        content = buffer.getvalue()
        digest = hashlib.sha256(content).hexdigest()
        with _disk(self.directory):
            self._folder.write(_name(key), content)
            line = json.dumps({"chunk": key, "bytes": len(content), "sha256": digest}) + "\n"
            self._journal.write(line.encode())
            self._journal.flush()
            os.fsync(self._journal.fileno())
        self._known[key] = digest

    def _claim_directory(self) -> None:
        """Write the manifest into a new store, or compare it with the manifest of an existing one."""
        path = self.directory / "manifest.json"
        try:
            text = self._folder.read(path.name)
        except FileNotFoundError:
            text = None
        if text is None:
            names = sorted(p.name for p in self.directory.iterdir())
            foreign = [name for name in names if name not in ("chunks", "journal.jsonl") and not is_temporary(name)]
            if foreign:
                raise FingerprintError(
                    f"{self.directory} is not empty and holds no trials (found {', '.join(foreign[:5])}). "
                    "Choose an empty or a new directory."
                )
            self._folder.write(path.name, json.dumps(self._manifest, indent=1, sort_keys=True).encode())
            return
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise StoreError(
                f"{path} is not readable as JSON ({error}). Remove {self.directory} to start over."
            ) from error
        difference = list(differences(stored, json.loads(json.dumps(self._manifest))))
        if difference:
            lines = "\n  ".join(difference[:12])
            raise FingerprintError(
                f"{self.directory} holds the trials of another experiment. It differs in\n  {lines}\n"
                "Choose another directory, or remove this one to start over."
            )

    def _read_journal(self) -> dict[str, str]:
        """Return the checksum of every finished chunk by key; remove an incomplete last line."""
        assert self._journal is not None
        self._journal.seek(0)
        content = self._journal.read()
        whole, _, torn = content.rpartition(b"\n")
        if torn:
            self._journal.truncate(len(content) - len(torn))
            self._journal.seek(0, os.SEEK_END)
        known: dict[str, str] = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = json.loads(line)
                known[str(entry["chunk"])] = str(entry["sha256"])
            except (ValueError, KeyError, TypeError, RecursionError):
                self._warn(f"line {number} of {self.directory / 'journal.jsonl'} is damaged; its chunk is run again")
        return known


def _name(key: str) -> str:
    return f"chunks/{key}.npz"


def _arrays(content: bytes) -> Arrays | None:
    """Return the arrays of a chunk; None for content that `TrialStore.save` never writes, such as pickled objects."""
    try:
        return read_npz(content, kinds=f"{NUMBERS}cU")
    except (ValueError, OSError):
        return None


def differences(found: Any, wanted: Any, at: str = "") -> Iterator[str]:
    """Yield a line "key: the store has ..., this run has ..." for each leaf in which two JSON values differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(found.keys() | wanted.keys()):
            where = f"{at}.{key}" if at else key
            if key not in found:
                yield f"{where}: not in the store, this run has {_short(wanted[key])}"
            elif key not in wanted:
                yield f"{where}: the store has {_short(found[key])}, this run has none"
            else:
                yield from differences(found[key], wanted[key], where)
    elif found != wanted:
        yield f"{at}: the store has {_short(found)}, this run has {_short(wanted)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


@contextmanager
def _disk(directory: Path) -> Iterator[None]:
    """Convert errors of the operating system into a `StoreError` with the state of the store and the next step."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(
            f"cannot write trials to {directory}: {error.strerror or error}. Chunks written so far are safe; free some "
            "space or fix the permissions and run the same command again, or choose another directory."
        ) from error


def _lock(file: IO[bytes], directory: Path) -> None:
    """Lock the store for this process, until the journal is closed."""
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise StoreError(
            f"{directory} is being used by another process. Wait for it, or choose another directory."
        ) from error
