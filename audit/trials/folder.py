"""A folder that confines all writes below it.

Guarantees
    * A file is written under a new random name, flushed to the disk, and renamed: a file with the final name is
      complete, even after a crash, and concurrent writers of one file do not interfere.
    * A symbolic link below the folder is never followed, neither as a file nor as a folder on the path: writing
      replaces a link, appending and reading refuse it. Appending also refuses a file that has a second name elsewhere
      (a hard link).

The folder itself may be reached through links, because the caller chooses it. Its contents may come from an archive or
another untrusted source.

The guarantees need system calls that take a descriptor of an open folder. Systems without them, such as Windows, are
refused at the first use.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...mechanisms.core import StoreError

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")
CAN_CONFINE_WRITES = hasattr(os, "O_DIRECTORY") and os.open in os.supports_dir_fd
"""Whether this system can confine writes to a folder."""
UNSUPPORTED = (
    "saved trials, run directories and `dpassay check` of a function need Linux or macOS, but this is {system}: use "
    "the Windows Subsystem for Linux, or call audit() and audit_scores() in Python without store=."
)
"""Sentence about a system that can neither confine writes nor fork; `system` is `platform.system()`."""
_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC if CAN_CONFINE_WRITES else 0
_DIRECTORY = _ROOT | os.O_NOFOLLOW if CAN_CONFINE_WRITES else 0
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC if CAN_CONFINE_WRITES else 0  # opening a pipe must not wait


@dataclass(frozen=True)
class Folder:
    """The root folder of all writes. Names below it are relative, with "/" between folders.

    Args:
        root: path of the folder; `make` creates it if it is missing.

    Raises:
        StoreError: from every method, if the path contains a link, or anything except files and folders, or if this
            system cannot confine writes.
        OSError: an error of the operating system, with the whole path as its `filename`.
    """

    root: Path

    def make(self, name: str = "") -> Path:
        """Create the folder, and the folder `name` below it; return its path."""
        _check_system()
        self.root.mkdir(parents=True, exist_ok=True)
        with self._within(_parts(name), make=True):
            return self.root / name

    def write(self, name: str, content: bytes) -> Path:
        """Write a file atomically and flush it to the disk; return its path."""
        *folders, last = _parts(name)
        with self._within(folders, file=last) as parent:
            temporary, descriptor = _new_temporary(last, parent)
            try:
                with os.fdopen(descriptor, "wb") as file:  # locked until closed, so that no other process removes it
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                    os.replace(temporary, last, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            os.fsync(parent)
        return self.root / name

    def append(self, name: str) -> IO[bytes]:
        """Open a file for reading and for appending; create it if it is missing."""
        return self._open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT, "ab+")

    def read(self, name: str) -> bytes:
        """Return the content of a file; raise `FileNotFoundError` if there is none."""
        with self._open(name, os.O_RDONLY, "rb") as file:
            return file.read()

    def remove_temporaries(self, name: str = "", *, seconds: float = 0.0) -> None:
        """Remove incomplete files of killed processes: temporary files that no process has locked.

        Args:
            name: name of the folder.
            seconds: age at which a temporary file is removed if the file system has no locks.
        """
        before = time.time() - seconds
        with self._within(_parts(name)) as folder:
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries]
            for temporary in filter(is_temporary, names):
                with suppress(OSError):
                    descriptor = os.open(temporary, os.O_RDONLY | _FILE, dir_fd=folder)
                    try:
                        locked = lock(descriptor, wait=False)
                        if locked or (locked is None and os.fstat(descriptor).st_mtime <= before):
                            os.unlink(temporary, dir_fd=folder)
                    finally:
                        os.close(descriptor)

    def _open(self, name: str, flags: int, mode: str) -> IO[bytes]:
        *folders, last = _parts(name)
        with self._within(folders, file=last) as parent:
            descriptor = os.open(last, flags | _FILE, 0o666, dir_fd=parent)
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and (mode == "rb" or status.st_nlink == 1):
                return os.fdopen(descriptor, mode)
            os.close(descriptor)
            raise StoreError(_refusal(self.root / name, "has a second name elsewhere, or is not a file"))

    @contextmanager
    def _within(self, folders: list[str], *, file: str = "", make: bool = False) -> Iterator[int]:
        """Yield a descriptor of the last of nested folders, opened one by one; links are refused."""
        _check_system()
        current, path = os.open(self.root, _ROOT), self.root
        try:
            for folder in folders:
                path = path / folder
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=current)
                below = os.open(folder, _DIRECTORY, dir_fd=current)
                os.close(current)
                current = below
            path = path / file
            yield current
        except StoreError:
            raise
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO) and path.is_symlink():
                raise StoreError(_refusal(path, "is a symbolic link")) from error
            error.filename, error.filename2 = str(path), None
            raise
        finally:
            os.close(current)


def _check_system() -> None:
    """Raise `StoreError` on a system that cannot confine writes."""
    if not CAN_CONFINE_WRITES:
        raise StoreError(UNSUPPORTED.format(system=platform.system() or "another system"))


def _new_temporary(last: str, folder: int) -> tuple[str, int]:
    """Return the name and the descriptor of a new file in the folder, locked by this process."""
    while True:
        temporary = f".{last}.{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o666, dir_fd=folder)
        lock(descriptor, wait=True)
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)  # it was removed before it was locked


def lock(descriptor: int, *, wait: bool) -> bool | None:
    """Lock a file; return True on success, False if another process holds the lock, None if there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def unlock(descriptor: int) -> None:
    """Unlock a file, also where a forked process holds the same open file."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically; see `Folder.write`."""
    Folder(path.parent).write(path.name, content)


def is_temporary(name: str) -> bool:
    """Return True if this is the name of an incomplete file of `Folder.write`."""
    return _TEMPORARY.fullmatch(name) is not None


def _parts(name: str) -> list[str]:
    """Return the parts of a relative name; raise `StoreError` if one of them leads out of the folder."""
    parts = name.split("/") if name else []
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise StoreError(f"{name!r} is not the name of a file or folder below the root.")
    return parts


def _refusal(path: Path, problem: str) -> str:
    return (
        f"{path} {problem}, and nothing is written or read through it: it might lead out of its folder. Remove it, or "
        "choose another directory."
    )
