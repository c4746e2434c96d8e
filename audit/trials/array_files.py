"""Arrays and texts from untrusted files: NPZ archives in which every header is read, and bounded, before any data.

Guarantees
    * Nothing is unpickled, and no code runs.
    * Only regular files are opened: no pipe, which would wait for a writer, and no device.
    * An array holds as many bytes as its header states; headers are at most `MAX_HEADER_LENGTH` characters long.
    * Memory: all arrays together fit into the available memory, whatever the archive states about their sizes.
    * Every defect raises a `ValueError` that names it, or an `OSError` of the operating system.
"""

from __future__ import annotations

import io
import os
import stat
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...mechanisms.core import available_memory, in_units

Arrays = dict[str, NDArray[Any]]
NUMBER_KINDS = "biuf"
"""Kinds of dtype that are real numbers: bool, int, unsigned int, float."""
MAX_HEADER_LENGTH = 1_000
"""Largest number of characters in the header of an array; numpy writes about 120 for a plain one."""
MAX_MEMBERS = 10_000
"""Largest number of arrays in an archive."""
_SMALLEST_SHARE = 1 / 1_040
"""Smallest ratio of the deflated size to the plain size, a limit of the format."""
_METHODS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}
_ENCRYPTED = 0x1


Side = int | range | None
"""Allowed length of an axis: one number, one of a range, or any."""


@dataclass(frozen=True)
class Expected:
    """The type and shape that an array of a file must have.

    Args:
        kinds: allowed kinds of dtype (`numpy.dtype.kind`); numbers have at most 8 bytes, complex ones 16.
        shape: length of each axis; further axes are allowed if `more` is True.
        most: largest value of counts, which are >= 0; None for values that are no counts.
        optional: True if the array may be missing.
    """

    kinds: str
    shape: tuple[Side, ...]
    more: bool = False
    most: int | None = None
    optional: bool = False

    def problem(self, array: NDArray[Any]) -> str:
        """Return what is wrong with an array, in words that follow its name; empty if nothing is."""
        kind, size = array.dtype.kind, array.dtype.itemsize
        if kind not in self.kinds or (kind != "U" and size > (16 if kind == "c" else 8)):
            return f"has type {array.dtype}"
        n = len(self.shape)
        if array.ndim < n or (array.ndim > n and not self.more):
            return f"has shape {_shape_text(array.shape)}"
        if not all(map(_fits, array.shape, self.shape)):
            return f"has shape {_shape_text(array.shape)}"
        if self.most is not None and array.size and not 0 <= array.min() <= array.max() <= self.most:
            return f"has counts outside of 0 to {self.most:,}"
        return ""


def _fits(length: int, allowed: Side) -> bool:
    return allowed is None or (length in allowed if isinstance(allowed, range) else length == allowed)


def check_arrays(arrays: Arrays, expected: Mapping[str, Expected]) -> None:
    """Raise `ValueError` unless these are exactly the expected arrays, apart from the optional ones."""
    for name in arrays:
        if name not in expected:
            raise ValueError(f"there is an unknown array {name[:60]!r}")
    for name, expectation in expected.items():
        if name not in arrays and not expectation.optional:
            raise ValueError(f"{name!r} is missing")
        if name in arrays and (problem := expectation.problem(arrays[name])):
            raise ValueError(f"{name!r} {problem}")


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file for reading; raise `ValueError` for anything else, and for a file beyond the memory."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    status, available = os.fstat(descriptor), available_memory()
    if stat.S_ISREG(status.st_mode) and status.st_size <= available:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISREG(status.st_mode):
        raise ValueError(f"it takes {in_units(status.st_size)}, but {in_units(available)} of memory are available")
    raise ValueError("it is not a regular file, but a folder, a pipe or a device; copy its content into a file")


def read_text(path: Path) -> str:
    """Return the text of a regular file in UTF-8; raise `ValueError` for anything else, and see `open_regular`."""
    with open_regular(path) as file:
        return file.read().decode("utf-8")


def read_npz(source: Path | bytes, *, kinds: str = NUMBER_KINDS) -> Arrays:
    """Return the arrays of an NPZ archive by name, in native byte order.

    Args:
        source: path of a file, or its content.
        kinds: allowed kinds of dtype (`numpy.dtype.kind`); never objects.

    Raises:
        ValueError: the file is not such an archive, or holds anything except arrays of these kinds.
        OSError: the file cannot be read.
    """
    with io.BytesIO(source) if isinstance(source, bytes) else open_regular(source) as file:
        try:
            with warnings.catch_warnings(), zipfile.ZipFile(file) as archive:
                warnings.simplefilter("ignore")  # such as numpy's on headers of Python 2
                members = archive.infolist()
                _check_directory(members)
                return {member.filename.removesuffix(".npy"): _member(archive, member, kinds) for member in members}
        except (ValueError, OSError):
            raise
        except Exception as error:  # zipfile, zlib, ast and numpy raise arbitrary errors on damaged input
            raise ValueError(f"it is not an intact NPZ archive ({type(error).__name__}: {error})") from error


def _check_directory(members: list[zipfile.ZipInfo]) -> None:
    """Raise `ValueError` for members that cannot be arrays, or cannot be as large as they claim to be."""
    if len(members) > MAX_MEMBERS:
        raise ValueError(f"it holds {len(members):,} arrays, but at most {MAX_MEMBERS:,} are read")
    names = [member.filename for member in members]
    for member in members:
        name = member.filename
        if not name.endswith(".npy"):
            raise ValueError(f"it holds {name!r}, which is not an array: the name of an array ends in .npy")
        if member.flag_bits & _ENCRYPTED:
            raise ValueError(f"{name!r} is encrypted; decrypt it first")
        if member.compress_type not in _METHODS:
            raise ValueError(
                f"{name!r} is compressed by method {member.compress_type}; numpy.savez and savez_compressed write "
                "methods 0 and 8"
            )
        smallest_share = 1.0 if member.compress_type == zipfile.ZIP_STORED else _SMALLEST_SHARE
        if member.compress_size < smallest_share * member.file_size - 64:
            raise ValueError(
                f"{name!r} claims {in_units(member.file_size)}, but {in_units(member.compress_size)} cannot hold them"
            )
    if len(set(names)) < len(names):
        raise ValueError("it holds two arrays with the same name")
    total, available = sum(member.file_size for member in members), available_memory()
    if 2 * total > available:  # the bytes, and their copy as an array
        raise ValueError(f"its arrays take {in_units(total)}, but {in_units(available)} of memory are available")


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, kinds: str) -> NDArray[Any]:
    """Return the array of one member; its header is checked before its data is read."""
    with archive.open(member) as stream:
        shape, fortran, dtype, length = _header(stream, member.filename)
        if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None or dtype.kind not in kinds:
            raise ValueError(
                f"{member.filename!r} must hold real numbers (bool, int or float), but its dtype is {str(dtype)[:60]}"
            )
        n = 1
        for size in shape:
            n *= size
        stated, actual = n * dtype.itemsize, member.file_size - length
        if stated != actual or (n and not dtype.itemsize):
            raise ValueError(
                f"{member.filename!r} has the shape {_shape_text(shape)} of {dtype}, which takes {in_units(stated)}, "
                f"but holds {in_units(actual)}"
            )
        content = stream.read()
    if len(content) != actual:
        raise ValueError(f"{member.filename!r} ends after {in_units(len(content))} of {in_units(actual)}")
    values = np.frombuffer(content, dtype=dtype) if n else np.empty(0, dtype=dtype)
    if dtype.kind == "b" and (values.view(np.uint8) > 1).any():
        raise ValueError(f"{member.filename!r} is bool, but holds bytes other than 0 and 1")
    return values.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return the shape, the order, the dtype, and the number of bytes of the header."""
    start = stream.read(8)
    readers = {(1, 0): (npy.read_array_header_1_0, 2), (2, 0): (npy.read_array_header_2_0, 4)}
    if start[:6] != npy.MAGIC_PREFIX or len(start) < 8:
        raise ValueError(f"{name!r} is not a numpy array: it begins with {start[:6]!r}")
    if tuple(start[6:8]) not in readers:
        raise ValueError(f"{name!r} has version {start[6]}.{start[7]} of the format, but only 1.0 and 2.0 are read")
    read, width = readers[start[6], start[7]]
    length = stream.read(width)
    size = int.from_bytes(length, "little")
    if size > MAX_HEADER_LENGTH:
        raise ValueError(f"{name!r} has a header of {size:,} bytes, but at most {MAX_HEADER_LENGTH:,} are read")
    text = stream.read(size)
    try:
        shape, fortran, dtype = read(io.BytesIO(length + text), max_header_size=MAX_HEADER_LENGTH)
    except Exception as error:
        raise ValueError(f"{name!r} has a header that cannot be read ({type(error).__name__})") from error
    if any(type(side) is not int or side < 0 for side in shape) or len(shape) > 32:
        raise ValueError(f"{name!r} has the shape {_shape_text(shape)}, but sizes are whole numbers >= 0")
    return shape, fortran, dtype, 8 + width + size


def _shape_text(shape: tuple[int, ...]) -> str:
    text = str(shape) if all(abs(side) < 2**200 for side in shape) else "with sizes beyond 2^200"
    return text if len(text) <= 60 else f"{text[:57]}..."
