"""A folder that no write leaves.

Guarantees
    * A file is written under a random name that must be new, flushed to the disk, and renamed: what has its name is
      whole, even after a crash, and two writers of one file never meet.
    * A symbolic link below the folder is never followed, neither as a file nor on the way to one: writing replaces a
      link, appending and reading refuse it, and so does every folder on the way. Appending also refuses a file that
      has a second name elsewhere (a hard link).

The folder itself may be reached through links: whoever names it chooses where it lies. What is below it may have come
with an archive or from a stranger.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...mechanisms.errors import StoreError

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")
_WAY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe must not wait for its other end


@dataclass(frozen=True)
class Folder:
    """The root of what may be written. Names below it are relative, with "/" between folders.

    Args:
        root: made by `make`, if missing.

    Raises:
        StoreError: from every method, where a link or something else than a file or folder stands in the way.
        OSError: what the operating system says, with the whole path as its `filename`.
    """

    root: Path

    def make(self, name: str = "") -> Path:
        """Makes the folder, and one below it if named; returns its path."""
        self.root.mkdir(parents=True, exist_ok=True)
        with self._within(_parts(name), make=True):
            return self.root / name

    def write(self, name: str, content: bytes) -> Path:
        """Writes a file, whole or not at all; on return it will survive a crash. Returns its path."""
        *way, last = _parts(name)
        with self._within(way, file=last) as here:
            temporary, descriptor = _new_temporary(last, here)
            try:
                with os.fdopen(descriptor, "wb") as file:  # its lock says until the end that somebody writes it
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                    os.replace(temporary, last, src_dir_fd=here, dst_dir_fd=here)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=here)
                raise
            os.fsync(here)
        return self.root / name

    def append(self, name: str) -> IO[bytes]:
        """Opens a file for reading and for writing at its end; made if missing."""
        return self._open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT, "ab+")

    def read(self, name: str) -> bytes:
        """The content of a file; `FileNotFoundError` if there is none."""
        with self._open(name, os.O_RDONLY, "rb") as file:
            return file.read()

    def remove_temporaries(self, name: str = "", *, seconds: float = 0.0) -> None:
        """Remove what killed processes left half-written: files that nobody has locked.

        Args:
            name: of the folder.
            seconds: where the file system has no locks, the age from which on a file counts as left behind.
        """
        before = time.time() - seconds
        with self._within(_parts(name)) as here:
            with os.scandir(here) as entries:
                names = [entry.name for entry in entries]
            for left in filter(is_temporary, names):
                with suppress(OSError):
                    descriptor = os.open(left, os.O_RDONLY | _FILE, dir_fd=here)
                    try:
                        locked = _lock(descriptor, wait=False)
                        if locked or (locked is None and os.fstat(descriptor).st_mtime <= before):
                            os.unlink(left, dir_fd=here)
                    finally:
                        os.close(descriptor)

    def _open(self, name: str, flags: int, mode: str) -> IO[bytes]:
        *way, last = _parts(name)
        with self._within(way, file=last) as here:
            descriptor = os.open(last, flags | _FILE, 0o666, dir_fd=here)
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and (mode == "rb" or found.st_nlink == 1):
                return os.fdopen(descriptor, mode)
            os.close(descriptor)
            raise StoreError(_in_the_way(self.root / name, "has a second name elsewhere, or is no file"))

    @contextmanager
    def _within(self, way: list[str], *, file: str = "", make: bool = False) -> Iterator[int]:
        """A descriptor of the folder at the end of the way, which is gone step by step; links are refused."""
        here, at = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), self.root
        try:
            for step in way:
                at = at / step
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(step, dir_fd=here)
                below = os.open(step, _WAY, dir_fd=here)
                os.close(here)
                here = below
            at = at / file
            yield here
        except StoreError:
            raise
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO) and at.is_symlink():
                raise StoreError(_in_the_way(at, "is a symbolic link")) from error
            error.filename, error.filename2 = str(at), None
            raise
        finally:
            os.close(here)


def _new_temporary(last: str, here: int) -> tuple[str, int]:
    """A new file in the folder, by its name and descriptor, locked by this process."""
    while True:
        temporary = f".{last}.{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o666, dir_fd=here)
        _lock(descriptor, wait=True)
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)  # it was removed before it was locked


def _lock(descriptor: int, *, wait: bool) -> bool | None:
    """Whether the file is locked by this process now; None where there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def write_atomically(path: Path, content: bytes) -> None:
    """Writes `content` so that `path` holds either what it held before or all of it; see `Folder.write`."""
    Folder(path.parent).write(path.name, content)


def is_temporary(name: str) -> bool:
    """Whether a file was being written by `Folder.write` when its process was killed, or still is."""
    return _TEMPORARY.fullmatch(name) is not None


def _parts(name: str) -> list[str]:
    """The steps of a relative name; none of them leads up."""
    parts = name.split("/") if name else []
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise StoreError(f"{name!r} does not name something below a folder.")
    return parts


def _in_the_way(path: Path, what: str) -> str:
    return (
        f"{path} {what}, and nothing is written or read through it: it might lead out of its folder. Remove it, or "
        "choose another directory."
    )


__all__ = ["Folder", "is_temporary", "write_atomically"]
