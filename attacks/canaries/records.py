"""Canaries for any training loop, as arrays or texts: made before training, and tossed with `Coins`.

    mislabelled            records with a wrong label                               tables, images
    random_records         records whose features are drawn independently           tables, images
    out_of_distribution    records at random corners of the range of the features   tables, images
    inserted_tokens        texts into which random tokens are inserted              texts

Null hypothesis of the audit: the training satisfies its claim for each canary. Any canaries that are fixed before the
coins are tossed are valid, so the choice affects only the power. Canaries of one set are all different, since two equal
ones show their bits together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import Bools, ParameterError, whole

MAX_DRAWS = 20
"""Number of draws after which a set of different canaries is given up."""


@dataclass(frozen=True, eq=False)
class CanaryRecords:
    """Canaries with their ids.

    Args:
        ids: `(n_canaries,)` ids, for `Coins.toss`.
        records: `(n_canaries, *shape)` records of the type of the data, or texts, `(n_canaries,)`.
        labels: `(n_canaries,)` labels; None for records without labels.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> canaries = mislabelled(rng.normal(size=(50, 3)), np.arange(50) % 2, 20, seed=1)
        >>> included = np.arange(20) % 2 == 0                  # `included` of the coins for canaries.ids
        >>> canaries.where(included).records.shape
        (10, 3)
    """

    ids: tuple[str, ...]
    records: NDArray[Any]
    labels: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def where(self, included: Bools) -> CanaryRecords:
        """Return the canaries where `included`, `(n_canaries,)`, is True."""
        chosen = np.asarray(included)
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            raise ParameterError(
                f"included must be True or False for each of {len(self)} canaries, but is {chosen.dtype} of shape "
                f"{chosen.shape}.",
                argument="included",
            )
        labels = None if self.labels is None else self.labels[chosen]
        return replace(
            self, ids=tuple(np.array(self.ids, dtype=object)[chosen]), records=self.records[chosen], labels=labels
        )


def mislabelled(X: Any, y: Any, n: int, *, seed: int) -> CanaryRecords:
    """Return n different records of the data, each with a wrong label.

    The label is drawn uniformly from the other labels in `y`. Leave these records out of the training set.

    Args:
        X: `(n_records, *shape)` features or images, of any type.
        y: `(n_records,)` labels, numbers or texts.
        n: 1 to n_records.
        seed: seed of the choice, which must not be that of coins or training.

    Raises:
        ParameterError: shapes that do not fit, fewer than n different records, or fewer than two labels.

    Example:
        >>> canaries = mislabelled(np.eye(4), np.array(["a", "b", "a", "b"]), 3, seed=0)
        >>> canaries.records.shape, canaries.ids[0]
        ((3, 4), 'mislabelled 0')
    """
    records, labels = _data(X, y, n)
    rng = np.random.default_rng(seed)
    _, first = np.unique(_rows(records), axis=0, return_index=True)
    if n > len(first):
        raise ParameterError(
            f"n must be at most {len(first)}, the number of different records, but is {n}.", argument="n"
        )
    chosen = rng.choice(np.sort(first), n, replace=False)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ParameterError(f"y must have two labels or more, but has {classes.tolist()}.", argument="y")
    wrong = classes[(codes[chosen] + rng.integers(1, len(classes), n)) % len(classes)]
    return CanaryRecords(_ids("mislabelled", n), records[chosen], wrong)


def random_records(X: Any, y: Any, n: int, *, seed: int) -> CanaryRecords:
    """Return n records whose features are each drawn from the values of this feature, independently of the others.

    Each feature has its distribution in the data, and no feature depends on another one or on the label. Labels are
    uniform over those in `y`. Arguments and errors are those of `mislabelled`; X needs two different values in enough
    features that n records differ.

    Example:
        >>> random_records(np.arange(12).reshape(4, 3), np.zeros(4), 5, seed=0).records.shape
        (5, 3)
    """
    records, labels = _data(X, y, n)

    def draw(rng: np.random.Generator, size: int) -> NDArray[Any]:
        flat = records.reshape(len(records), -1)
        rows = rng.integers(0, len(flat), size=(size, flat.shape[1]))
        return np.take_along_axis(flat, rows, axis=0).reshape(size, *records.shape[1:])

    return _made("random", draw, records, labels, n, seed)


def out_of_distribution(X: Any, y: Any, n: int, *, seed: int, beyond: float = 0.0) -> CanaryRecords:
    """Return n records each of whose features is at the lower or the upper end of its range, by a fair coin.

    Images are random patterns of the darkest and the brightest value. Labels are uniform over those in `y`. Arguments
    and errors are those of `mislabelled`, with

    Args:
        X: numbers, finite.
        y: as above.
        n: as above.
        seed: as above.
        beyond: >= 0: the ends are moved outwards by this multiple of the range; 0 for data that must stay in range.

    Example:
        >>> X, y = np.array([[0.0, 5.0], [1.0, 7.0]]), np.zeros(2)
        >>> out_of_distribution(X, y, 4, seed=0, beyond=1.0).records.max(axis=0)
        array([2., 9.])
    """
    records, labels = _data(X, y, n)
    if records.dtype.kind not in "biuf" or not np.isfinite(records).all():
        raise ParameterError(
            f"X must hold finite numbers, but is {records.dtype}, or holds NaN. Encode categories first, or use "
            "random_records.",
            argument="X",
        )
    if not isinstance(beyond, int | float) or not 0.0 <= beyond < np.inf:
        raise ParameterError(argument="beyond", value=beyond, allowed="be a finite number >= 0")
    wide = records.astype(np.float64)
    low, high = wide.min(axis=0), wide.max(axis=0)
    low, high = low - beyond * (high - low), high + beyond * (high - low)
    if records.dtype.kind in "iu":
        limits = np.iinfo(records.dtype)
        if low.min() < limits.min or high.max() > limits.max:
            raise ParameterError(
                f"beyond must keep {records.dtype} between {limits.min} and {limits.max}, but is {beyond}. Give 0, or "
                "convert X to float.",
                argument="beyond",
            )

    def draw(rng: np.random.Generator, size: int) -> NDArray[Any]:
        return np.asarray(np.where(rng.random((size, *low.shape)) < 0.5, low, high), dtype=records.dtype)

    return _made("out of distribution", draw, records, labels, n, seed)


def inserted_tokens(
    texts: Sequence[str], n: int, *, seed: int, n_tokens: int = 8, vocabulary: Sequence[str] | None = None
) -> CanaryRecords:
    """Return n different texts of the data, each with a sequence of random tokens inserted between two words.

    The tokens are uniform and independent, so that nothing but training with the canary makes them likely: score a
    canary by the loss of the whole text, or better of the inserted tokens alone.

    Args:
        texts: `(n_records,)` texts.
        n: 1 to the number of different texts.
        seed: seed of texts, places and tokens, which must not be that of coins or training.
        n_tokens: >= 1, number of tokens.
        vocabulary: the tokens; None for the decimal digits.

    Raises:
        ParameterError: entries that are not text, fewer than n different texts, or fewer than two tokens.

    Example:
        >>> canaries = inserted_tokens(["to be or not to be", "that is the question"], 2, seed=0, n_tokens=3)
        >>> canaries.records[0]
        'to be or 2 3 0 not to be'
    """
    whole(1, n=n, n_tokens=n_tokens)
    whole(0, seed=seed)
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ParameterError("texts must be a list of texts, one per record.", argument="texts")
    different = list(dict.fromkeys(map(str, texts)))
    tokens = list("0123456789") if vocabulary is None else list(dict.fromkeys(vocabulary))
    if len(tokens) < 2 or not all(isinstance(token, str) and token for token in tokens):
        raise ParameterError(
            "vocabulary must hold two different tokens or more, texts that are not empty.", argument="vocabulary"
        )
    if n > len(different):
        raise ParameterError(
            f"n must be at most {len(different)}, the number of different texts, but is {n}.", argument="n"
        )
    rng = np.random.default_rng(seed)
    inserted = np.empty(n, dtype=object)
    for i, index in enumerate(rng.choice(len(different), n, replace=False)):
        words = different[index].split(" ")
        at = int(rng.integers(0, len(words) + 1))
        secret = [tokens[k] for k in rng.integers(0, len(tokens), n_tokens)]
        inserted[i] = " ".join(words[:at] + secret + words[at:])
    if len(set(inserted)) < n:
        raise _equal(n)
    return CanaryRecords(_ids("inserted", n), inserted)


def _made(
    kind: str,
    draw: Callable[[np.random.Generator, int], NDArray[Any]],
    records: NDArray[Any],
    labels: NDArray[Any],
    n: int,
    seed: int,
) -> CanaryRecords:
    """Return n different canaries with uniform labels, none of which is a record of the data."""
    rng = np.random.default_rng(seed)
    existing = {row.tobytes() for row in _rows(records)}
    chosen: list[NDArray[Any]] = []
    for _ in range(MAX_DRAWS):
        drawn = draw(rng, n)
        for record, row in zip(drawn, _rows(drawn), strict=True):
            if row.tobytes() not in existing and len(chosen) < n:
                existing.add(row.tobytes())
                chosen.append(record)
        if len(chosen) == n:
            return CanaryRecords(_ids(kind, n), np.stack(chosen), rng.choice(np.unique(labels), n))
    raise _equal(n)


def _rows(records: NDArray[Any]) -> NDArray[Any]:
    """Return the records as rows of numbers, or of fixed texts for objects, whose bytes can be compared."""
    flat = records.reshape(len(records), -1)
    return np.vectorize(repr, otypes=["U100"])(flat) if flat.dtype.kind == "O" else np.ascontiguousarray(flat)


def _data(X: Any, y: Any, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    whole(1, n=n)
    records, labels = np.asarray(X), np.asarray(y)
    if records.ndim < 2 or labels.shape != records.shape[:1] or records.size == 0:
        raise ParameterError(
            "X must be the records, shape (n_records, ...), and y their labels, shape (n_records,), but have shapes "
            f"{records.shape} and {labels.shape}.",
            argument="X",
        )
    if labels.dtype.kind not in "biufUO" or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        raise ParameterError(f"y must hold labels without NaN, but is {labels.dtype}.", argument="y")
    return records, labels


def _ids(kind: str, n: int) -> tuple[str, ...]:
    return tuple(f"{kind} {i}" for i in range(n))


def _equal(n: int) -> ParameterError:
    return ParameterError(
        f"n must be smaller, but is {n}: the data have too few different values for so many different canaries that "
        "are no records of the data.",
        argument="n",
    )


__all__ = ["CanaryRecords", "inserted_tokens", "mislabelled", "out_of_distribution", "random_records"]
