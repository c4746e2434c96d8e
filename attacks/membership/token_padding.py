"""Padding of the log probabilities of tokens: positions that hold no token.

A batch of texts is an array as long as its longest text. The other positions hold a value that stands for "no token":

    NaN, -100 (the ignore index of PyTorch), -1000 or less     at one end: padding
    exactly 0                                                  at one end: padding, or tokens of probability 1 (below)

As tokens, zeros raise the mean of short texts, and the smallest of all values hide the others. Zeros also occur where a
softmax is rounded to 1. They are padding if they are more than a single text shows (two in a row at one end of a text,
or one at the same end of all texts) and none stands between other tokens. They are tokens if at least half as many in a
row stand between other tokens. Otherwise the values do not decide, and the caller must (`zeros`). A reference on the
same tokens that has a probability at these positions also contradicts padding.

Padding is decided from the outputs of the models only, never from membership.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.core import Bools, Floats, Ints, ParameterError

IGNORED_VALUE = -100.0
"""Value of ignored positions in PyTorch and Transformers."""
MASK_THRESHOLD = -1e3
"""Log probabilities of a token at or below this value are a mask: the softmax of logits does not return them."""
ZERO_MEANINGS = ("auto", "padding", "tokens")
"""Meanings of log probabilities of exactly 0 at one end of a text."""


@dataclass(frozen=True, eq=False)
class Padding:
    """Number of positions to cut at both ends of each text, `(n_texts,)`.

    Args:
        before, after: number of positions, before the first and after the last token.
        lengths: number of all positions.
        of_zeros: number of texts in which zeros are cut.
    """

    before: Ints
    after: Ints
    lengths: Ints
    of_zeros: int = 0

    def cut(self, rows: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values at the tokens of each text; arrays of another length than the text as they are."""
        cut_rows = []
        for values, before, after, length in zip(rows, self.before, self.after, self.lengths, strict=True):
            row = _as_row(values)
            same = row is not None and len(row) == length and before + after > 0
            cut_rows.append(row[before : length - after] if same and row is not None else values)
        return tuple(cut_rows)

    def statement(self, field: str) -> tuple[str, ...]:
        """Return a sentence on what was cut; none if nothing was."""
        n_cut = self.before + self.after
        if not n_cut.any():
            return ()
        sides = " and ".join(side for side, n in (("start", self.before), ("end", self.after)) if n.any())
        advice = (
            f" In {self.of_zeros:,} texts these were log probabilities of exactly 0: if they are tokens of probability "
            "1, pass zeros='tokens' (--zeros tokens)."
        )
        return (
            f"padding of {field}: {int(n_cut.sum()):,} of {int(self.lengths.sum()):,} positions, at the {sides} of "
            f"{int((n_cut > 0).sum()):,} of {len(n_cut):,} texts, were cut.{advice if self.of_zeros else ''}",
        )


def find_padding(rows: Sequence[Any], field: str, zeros: str, missing: Sequence[Any], other: Sequence[Any]) -> Padding:
    """Return the padding of texts.

    Args:
        rows: `(n_texts,)` log probabilities of tokens; what is no list of numbers is left to later checks.
        field: name of the rows in messages.
        zeros: one of `ZERO_MEANINGS`.
        missing: sequences of other arrays over the same tokens, whose NaN at one end are padding too.
        other: `(n_texts,)` log probabilities of a reference; where it has as many positions as the text, it has the
            same tokens.

    Raises:
        ParameterError: zeros that may be padding or tokens.
    """
    arrays = [_as_row(values) for values in rows]
    read = [np.empty(0) if row is None else row for row in arrays]
    unused = [_no_token(row) | _nan(same, len(row)) for row, *same in zip(read, *missing, strict=True)]
    before, after = _runs(unused)
    lengths = np.array(list(map(len, read)), dtype=np.int64)
    if zeros == "tokens":
        return _with_tokens(Padding(before, after, lengths), field)
    inner = [row[b : len(row) - a] for row, b, a in zip(read, before, after, strict=True)]
    first, last = _runs([row == 0.0 for row in inner])
    if zeros == "auto":
        for runs in (first, last):
            if runs.max() < 2 and not (len(runs) > 1 and runs.all()):
                runs[:] = 0
        longest = max(first.max(), last.max())
        inside = max(
            (_longest(row[f : len(row) - b] == 0.0) for row, f, b in zip(inner, first, last, strict=True)), default=0
        )
        if len(rows) == 1 or 2 * inside >= longest:
            return _with_tokens(Padding(before, after, lengths), field)
        reason = "zeros also occur between other tokens" if inside else ""
        if reason := reason or _contradiction(read, before, after, first, last, other):
            raise ParameterError(
                f"{field} must not leave open which positions are tokens, but {int(((first + last) > 0).sum()):,} of "
                f"{len(rows):,} texts start or end in log probabilities of exactly 0, up to {longest:,} in a row, and "
                f"{reason}. Say what they are: zeros='padding' cuts them, zeros='tokens' keeps them as tokens of "
                "probability 1 (--zeros). Better, write the tokens of each text only.",
                argument="zeros",
            )
    return _with_tokens(Padding(before + first, after + last, lengths, int(((first + last) > 0).sum())), field)


def _with_tokens(padding: Padding, field: str) -> Padding:
    """Return the padding, unless nothing is left of a text."""
    empty = np.flatnonzero((padding.before + padding.after == padding.lengths) & (padding.lengths > 0))
    if len(empty):
        raise ParameterError(
            f"{field} must have a token in each text, but all {padding.lengths[empty[0]]} positions of text "
            f"{empty[0]} (from 0 on), the first of {len(empty):,} such texts, are padding. Leave them out.",
            argument=field,
        )
    return padding


def _as_row(values: Any) -> Floats | None:
    """Return a one-dimensional array of numbers; None if the values are something else."""
    try:
        row = np.asarray(values)
    except ValueError:
        return None
    return row.astype(np.float64) if row.dtype.kind in "iuf" and row.ndim == 1 and row.size else None


def _no_token(row: Floats) -> Bools:
    """Return which values stand for no token; -inf stays, to be refused."""
    return np.asarray((~(row > MASK_THRESHOLD) & ~np.isneginf(row)) | (row == IGNORED_VALUE))


def _nan(same: Sequence[Any], length: int) -> Bools:
    """Return where an array over the same tokens is NaN."""
    is_nan = np.zeros(length, dtype=np.bool_)
    for values in same:
        row = _as_row(values)
        if row is not None and len(row) == length:
            is_nan |= np.isnan(row)
    return is_nan


def _runs(masks: Sequence[Bools]) -> tuple[Ints, Ints]:
    """Return how many entries at the start and at the end are True; all count as the end."""
    before = np.array([0 if mask.all() else int(np.argmin(mask)) for mask in masks], dtype=np.int64)
    after = np.array([len(mask) if mask.all() else int(np.argmin(mask[::-1])) for mask in masks], dtype=np.int64)
    return before, after


def _longest(mask: Bools) -> int:
    """Return the largest number of entries in a row that are True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _contradiction(
    read: Sequence[Floats], before: Ints, after: Ints, first: Ints, last: Ints, other: Sequence[Any]
) -> str:
    """Return a clause on a reference with the same tokens that has probabilities at the zeros; empty if none has."""
    for i, values in enumerate(other):
        row, n = _as_row(values), len(read[i])
        if row is None or len(row) != n or (_no_token(row[[0, -1]]) | (row[[0, -1]] == 0.0)).any():
            continue  # with padding of its own, it may have other tokens
        ends = np.concatenate([row[before[i] : before[i] + first[i]], row[n - after[i] - last[i] : n - after[i]]])
        if (ends < 0.0).any():
            return "the reference, which has as many positions, has probabilities below 1 there"
    return ""
