"""Detection of functions that change their dataset."""

from __future__ import annotations

import sys
from hashlib import blake2b
from typing import Any

import numpy as np

LARGEST = 100_000
"""Largest dataset, in numbers, that is checked in every release; larger ones are checked in the first runs only."""


def content_digest(dataset: Any) -> bytes:
    """Return a digest of the contents: of numbers, texts, arrays, tables, and lists, tuples, sets and dicts of these.

    Other objects contribute only their type: their attributes may change for good reasons, such as a cache.

    Example:
        >>> content_digest([1, 2]) == content_digest([1, 2]), content_digest([1, 2]) == content_digest([2, 1])
        (True, False)
    """
    digest = blake2b(digest_size=16)
    _feed(digest, dataset)
    return digest.digest()


def is_small(dataset: Any) -> bool:
    """Return True if a digest takes little time compared with a release."""
    parts = dataset if isinstance(dataset, tuple) else (dataset,)
    return sum(_size(part) for part in parts) <= LARGEST


def _size(part: Any) -> int:
    size = getattr(part, "size", None)
    if isinstance(size, (int, np.integer)):
        return int(size)
    if not isinstance(part, (list, tuple, dict, set)):
        return 1
    width = len(part[0]) if isinstance(part, (list, tuple)) and part and hasattr(part[0], "__len__") else 1
    return len(part) * width


def _feed(digest: Any, data: Any) -> None:
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, (pandas.DataFrame, pandas.Series)):
        names = list(data.columns) if data.ndim == 2 else [data.name]
        digest.update(repr(names).encode())
        _feed(digest, data.index.to_numpy())
        for i in range(len(names)):
            _feed(digest, (data.iloc[:, i] if data.ndim == 2 else data).to_numpy())
    elif isinstance(data, np.ndarray) and data.dtype != object:
        digest.update(f"array {data.dtype.str} {data.shape}".encode())
        digest.update(np.ascontiguousarray(data).tobytes())
    elif isinstance(data, (list, tuple, np.ndarray)):  # an array of objects
        items = data.ravel().tolist() if isinstance(data, np.ndarray) else data
        digest.update(f"{type(data).__name__} {len(items)}".encode())
        for item in items:
            _feed(digest, item)
    elif isinstance(data, dict):
        digest.update(f"dict {len(data)}".encode())
        for name, item in data.items():
            _feed(digest, name)
            _feed(digest, item)
    elif isinstance(data, (set, frozenset)):
        digest.update(f"set {len(data)}".encode())
        for item_digest in sorted(content_digest(item) for item in data):
            digest.update(item_digest)
    elif data is None or isinstance(data, (bool, int, float, complex, str, bytes, bytearray, np.generic)):
        digest.update(f"{type(data).__name__} {data!r};".encode(errors="surrogatepass"))
    else:
        digest.update(type(data).__name__.encode())
