"""The store of chunks on disk: append-only, checked, resumable.

    DIRECTORY/manifest.json     everything that determines the trials, and its fingerprint
    DIRECTORY/journal.jsonl     one line per finished chunk: its key, size and SHA-256
    DIRECTORY/chunks/KEY.npz    the arrays of one chunk

A store of a slice holds the whole pilot, and a slice of the other chunks; `merge_stores` joins the slices of an audit.

Guarantees
    * A chunk is written to a temporary file, flushed to the disk, renamed, and only then journaled: a process killed
      at any point leaves a store from which the next run continues.
    * All writes stay in the directory: links in it are refused; see `dpassay.audit.trials.folder`.
    * A store of other trials is refused, and the difference is reported.
    * A chunk whose bytes do not match the journal, or that is missing, is recomputed and reported.
    * A chunk with a valid checksum, but with arrays of another name, type or shape than the plan determines, raises a
      `StoreError`.
    * A chunk that is in several slices, such as one of the pilot, has the same bytes in all of them, or the merge is
      refused: different machines would otherwise have scored the trials in different ways.
    * Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...mechanisms.core import DpassayError, FingerprintError, StoreError
from .array_files import NUMBER_KINDS, Arrays, Expected, check_arrays, read_npz
from .folder import Folder, is_temporary
from .plan import Slice

_CONTENT_ERRORS = (KeyError, IndexError, ValueError, TypeError, AttributeError, AssertionError)
"""Errors due to arrays that are not the arrays of a chunk."""
_FORMAT = "dpassay.trials"
_VERSION = 2


@dataclass(frozen=True)
class SlicedStore:
    """The place of the store of one slice, for the option `store` of every game.

    Args:
        directory: directory of the store.
        share: the slice of the chunks that is run.
    """

    directory: Path
    share: Slice


class TrialStore:
    """The chunks of one audit, in a directory. Use it as a context manager: it holds a lock while open.

    Args:
        directory: directory of the store, created if missing.
        manifest: everything that determines the trials, JSON-ready.
        warn: called with a line of text for each damaged chunk.
        share: the slice of the chunks that is run; None for all chunks.

    Raises:
        FingerprintError: the directory holds other trials, or is not a store.
        StoreError: the directory cannot be read or written, or another process is using it.
    """

    def __init__(
        self, directory: Path, manifest: Mapping[str, Any], *, warn: Callable[[str], None], share: Slice | None = None
    ) -> None:
        self.directory, self.share = Path(directory), share
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
        if self._has_read and isinstance(error, _CONTENT_ERRORS) and not isinstance(error, DpassayError):
            raise StoreError(_unusable(self.directory, f"{type(error).__name__}: {error}")) from error

    @property
    def n_finished(self) -> int:
        """Number of chunks that the journal lists."""
        return len(self._known)

    def load(self, key: str, expected: Mapping[str, Expected] | None = None) -> Arrays | None:
        """Return the arrays of a finished chunk, or None if it has to be run.

        Args:
            key: name of the chunk.
            expected: types and shapes of its arrays; None checks nothing.

        Raises:
            StoreError: the chunk has the checksum of the journal, but other arrays.
        """
        content = self._content(key)
        arrays = None if content is None else _arrays(content)
        if content is not None and arrays is None:
            self._warn(f"chunk {key} in {self.directory} is damaged (it holds no arrays); running it again")
        if arrays is not None and expected is not None:
            try:
                check_arrays(arrays, expected)
            except ValueError as error:
                raise StoreError(_unusable(self.directory, f"chunk {key}: {error}")) from error
        return arrays

    def _content(self, key: str) -> bytes | None:
        """Return the bytes of a finished chunk; None if it is missing or damaged."""
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
        if hashlib.sha256(content).hexdigest() != expected:
            self._warn(f"chunk {key} in {self.directory} is damaged (checksum differs); running it again")
            return None
        return content

    def save(self, key: str, arrays: Arrays) -> None:
        """Write a finished chunk and flush it to the disk."""
        self._put(key, _bytes(arrays))

    def agree(self, key: str, arrays: Arrays) -> None:
        """Record arrays that every machine computes from the same pilot; only a store of slices has them.

        Raises:
            StoreError: another machine has computed other arrays, and has scored its trials differently.
        """
        content = _bytes(arrays)
        if key in self._known:
            self._check_same(key, hashlib.sha256(content).hexdigest(), "this machine")
        elif self.share is not None:
            self._put(key, content)

    def merge(self, other: TrialStore) -> None:
        """Copy every chunk of another open store of the same trials; a damaged one is reported and left out.

        Raises:
            StoreError: both have a chunk, with different bytes.
        """
        for key, digest in other._known.items():
            if key in self._known:
                self._check_same(key, digest, str(other.directory))
            elif (content := other._content(key)) is not None:
                self._put(key, content)

    def _check_same(self, key: str, digest: str, where: str) -> None:
        if self._known[key] != digest:
            raise StoreError(
                f"{key} of {where} is not that of {self.directory}: the machines of the slices compute different "
                "numbers from the same seed, and have scored their trials differently. Run all slices on machines "
                "with the same processors and the same libraries."
            )

    def _put(self, key: str, content: bytes) -> None:
        assert self._journal is not None, "the store is not open"
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


def _unusable(directory: Path, reason: str) -> str:
    return (
        f"the trials in {directory} cannot be used ({reason}): some chunks are not as this version writes them, or "
        "were changed together with the journal. Remove it to start over."
    )


def _name(key: str) -> str:
    return f"chunks/{key}.npz"


def _bytes(arrays: Arrays) -> bytes:
    """Return the content of the file of a chunk; equal arrays have equal bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def merge_stores(directories: Sequence[Path], into: Path, *, warn: Callable[[str], None]) -> None:
    """Join the stores of the slices of one audit.

    Args:
        directories: stores with the same manifest.
        into: directory of the joined store, which may have chunks of an interrupted merge.
        warn: called with a line of text for each damaged chunk, which is left out.

    Raises:
        FingerprintError: the stores hold different trials.
        StoreError: a store cannot be read or written, or two of them have different bytes for one chunk.
    """
    manifest = _read_manifest(directories[0])
    with TrialStore(into, manifest, warn=warn) as joined:
        for directory in directories:
            with TrialStore(directory, manifest, warn=warn) as part:
                joined.merge(part)


def _read_manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a store; raise `StoreError` if there is none."""
    try:
        manifest: dict[str, Any] = dict(json.loads(Folder(directory).read("manifest.json")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"{directory} holds no readable trials: {error}. Run its slice again.") from error
    return manifest


def _arrays(content: bytes) -> Arrays | None:
    """Return the arrays of a chunk; None for content that `TrialStore.save` never writes, such as pickled objects."""
    try:
        return read_npz(content, kinds=f"{NUMBER_KINDS}cU")
    except (ValueError, OSError):
        return None


def differences(stored: Any, wanted: Any, at: str = "") -> Iterator[str]:
    """Yield a line "key: the store has ..., this run has ..." for each leaf in which two JSON values differ."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for key in sorted(stored.keys() | wanted.keys()):
            where = f"{at}.{key}" if at else key
            if key not in stored:
                yield f"{where}: not in the store, this run has {_short(wanted[key])}"
            elif key not in wanted:
                yield f"{where}: the store has {_short(stored[key])}, this run has none"
            else:
                yield from differences(stored[key], wanted[key], where)
    elif stored != wanted:
        yield f"{at}: the store has {_short(stored)}, this run has {_short(wanted)}"


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
