"""Usual form of the results of a function, fixed in advance from its first runs; other forms are events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from ...core.arrays import Floats
from .guard import class_name, cut, digest, message_of

BELOW_ZERO = -float(np.finfo(np.float64).tiny)
"""Replacement for -0.0, which compares equal to 0.0 but can be distinguished: the largest normal number below zero."""
EXCEPTIONAL_NAMES = {1.0: "nan", 2.0: "inf", 3.0: "-inf", 4.0: "None"}
"""Marks of exceptional values; the mark of a string is a larger digest, that of a whole number the rounding error."""


def by_name(key: Any) -> tuple[str, str]:
    """Return the sort key of a dict key: its text, then its type, to separate keys such as 1 and "1"."""
    return str(key), type(key).__name__


def fields_of(result: Any) -> dict[str, Any] | None:
    """Return the fields of a dataclass by name; None for any other result."""
    if not is_dataclass(result) or isinstance(result, type):
        return None
    return {field.name: getattr(result, field.name) for field in fields(result)}


@dataclass(frozen=True)
class RaisedException:
    """Placeholder for the result of a run that raised an exception.

    Args:
        error: name of the exception's class.
        message: message of the exception.
    """

    error: str
    message: str = ""

    @staticmethod
    def by(error: BaseException) -> RaisedException:
        """Return the placeholder for `error`."""
        return RaisedException(class_name(error), message_of(error))


@dataclass(frozen=True)
class ResultForm:
    """Usual form of a result, and its layout.

    Args:
        shape: shape of the row that `place` returns: `()` for a number, the shape of an array, otherwise a vector.
        label: display name of the form; results with the same label have the same form.
        exceptional: places in the flattened result that have a mark; marks follow the numbers, in this order.
        padded: True if results of any form are cut or padded to the same length, with a number for the form at the
            end.
        known: forms of the first runs that cannot be identified by length, each with its number of values; for `parts`.
        kind: types of the usual result, as in `OutputRow.kind`; empty if types are ignored.
        typed: True if the types of the first results differ, so that a number for them comes last.
    """

    shape: tuple[int, ...] = ()
    label: str = "shape ()"
    exceptional: tuple[int, ...] = ()
    padded: bool = False
    known: tuple[tuple[str, int], ...] = ()
    kind: tuple[str, ...] = ()
    typed: bool = False

    @property
    def plain(self) -> bool:
        """True if only finite numbers of one shape have this form."""
        return not (self.exceptional or self.padded or self.typed)

    @property
    def width(self) -> int:
        """Number of values of a flattened result that are kept; for an array, all of them."""
        return self.shape[0] - len(self.exceptional) - self.padded - self.typed

    def place(self, row: OutputRow) -> Floats | None:
        """Return the numbers of `row` in this form, of shape `shape`; None if it does not fit and is an event.

        The numbers of the row come first, with 0 for exceptional values; then the marks of the places in `exceptional`:
        0 for an ordinary number, 1 to 4 for nan, inf, -inf and None, a 32-bit digest for a string, and for a whole
        number beyond 2^53 its difference from the nearest float. If `padded`, the next number is the length of a
        vector, or a digest of any other form; if `typed`, a digest of the types follows.
        """
        if (not self.padded and row.label != self.label) or self.strange(row):
            return None
        width = self.width if self.padded else row.numbers.size
        marks = row.marks[:width]
        if not set(np.flatnonzero(marks).tolist()) <= set(self.exceptional):
            return None
        if self.plain:
            return row.numbers.reshape(self.shape)
        numbers = np.zeros(width)
        numbers[: row.numbers.size] = row.numbers[:width]
        extra = [float(marks[i]) if i < len(marks) else 0.0 for i in self.exceptional]
        if self.padded:
            size = row.numbers.size
            extra.append(float(size) if row.label == shape_label((size,)) else code(row.label))
        if self.typed:
            extra.append(code(kind_text(row.kind)))
        return np.concatenate([numbers, extra])

    def parts(self, placed: Floats, texts: Mapping[float, str] | None = None) -> tuple[list[float | str], str]:
        """Return what `place` laid out, in readable form, and the name of the form if results have several.

        The first part holds the numbers, or the names of exceptional values; `texts` has the texts of their marks.

        >>> form = ResultForm((3,), "any form", padded=True, known=(("keys a", 1),))
        >>> form.parts(np.array([2.5, 0.0, code("keys a")]))
        ([2.5], 'keys a')
        """
        if self.plain:
            return list(placed.tolist()), ""
        end = len(placed) - self.padded - self.typed
        numbers: list[float | str] = placed[: end - len(self.exceptional)].tolist()
        for index, mark in zip(self.exceptional, placed[end - len(self.exceptional) : end].tolist(), strict=True):
            if mark > 0.0 and not numbers[index]:
                numbers[index] = self.mark_text(mark, texts or {})
        if not self.padded:
            return numbers, ""
        known = {code(label): (label, size) for label, size in self.known}
        label, size = known.get(float(placed[end]), ("", len(numbers)))
        return numbers[: size if label or placed[end] > len(numbers) else int(placed[end])], label

    @staticmethod
    def mark_text(mark: float, texts: Mapping[float, str]) -> str:
        """Return the name of an exceptional value; "text" for one that `texts` does not have.

        >>> ResultForm.mark_text(1.0, {}), ResultForm.mark_text(9.0, {9.0: "text 'ok'"})
        ('nan', "'ok'")
        """
        return EXCEPTIONAL_NAMES.get(mark) or texts.get(mark, "text").removeprefix("text ")

    def strange(self, row: OutputRow) -> bool:
        """Return True if a row of this form has other types than usual, which makes it an event.

        A number of another type, another order of keys or a list in place of a tuple is an event; other types of
        numbers inside of an array, list, tuple or dict are not.
        """
        if self.typed or self.padded or not self.kind or _kinds_agree(self.kind, row.kind):
            return False
        return row.shape == () or not _kinds_agree(_kind_structure(self.kind), _kind_structure(row.kind))

    def label_of(self, row: OutputRow) -> str:
        """Return the label of the event `row`, which has no place in this form."""
        return cut(f"type {kind_text(row.kind)}") if self.label == row.label and self.strange(row) else row.event()


@dataclass(frozen=True, eq=False)
class ReadResult:
    """Result that was read where the function runs, in place of the object that it returned.

    Args:
        outcome: the row of numbers, or the event.
        names: the names of its numbers; empty if they have none, or if they were not asked for.
    """

    outcome: OutputRow | UnusualForm
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class UnusualForm:
    """Outcome other than a row of numbers."""

    label: str
    mark: float = 0.0
    """Mark of the event as one part of a row."""


@dataclass(frozen=True, eq=False)
class OutputRow:
    """A row of numbers.

    Args:
        label: label of the form.
        shape: shape of the array; for a dict or a mixed tuple, of the vector of all parts.
        numbers: flattened, 0 in place of exceptional values.
        marks: marks of the exceptional values, 0 elsewhere.
        names: names of the exceptional values without a mark in `EXCEPTIONAL_NAMES`.
        kind: types from the outside in, such as ("list", "float") or ("keys b, a", "int", "float"); "" for an
            exceptional value, which has none. Values that are equal to numpy, such as 1, 1.0 and True, differ in kind.
    """

    label: str
    shape: tuple[int, ...]
    numbers: Floats
    marks: Floats
    names: dict[int, str] = field(default_factory=dict)
    kind: tuple[str, ...] = ()

    def event(self) -> str:
        """Return the label of the event for a row that does not fit the usual form."""
        places: dict[str, list[int]] = {}
        for i in np.flatnonzero(self.marks).tolist():
            places.setdefault(self.names.get(i) or EXCEPTIONAL_NAMES[float(self.marks[i])], []).append(i)
        if not places:
            return cut(self.label)
        if self.shape == ():
            return cut(next(iter(places)))
        return cut("; ".join(f"{name} at {', '.join(map(str, where))}" for name, where in places.items()))


def usual_form(rows: Iterable[OutputRow]) -> ResultForm:
    """Return the form in which all of `rows`, from the first runs, are laid out; that of a number without rows.

    Example:
        >>> from dpassay.mechanisms.adapters.functions.reading import read_result
        >>> rows = [read_result({"status": "ok", "sum": total}) for total in (3.5, 2.5)]
        >>> form = usual_form(rows)
        >>> form.label, form.shape, form.exceptional
        ('keys status, sum', (3,), (0,))
    """
    rows = list(rows)
    if not rows:
        return ResultForm()
    exceptional = tuple(sorted({i for row in rows for i in np.flatnonzero(row.marks).tolist()}))
    typed = not all(_kinds_agree(row.kind, other.kind) for row in rows for other in rows if row.label == other.label)
    if len({row.label for row in rows}) > 1:
        width = max(row.numbers.size for row in rows)
        known = {row.label: row.numbers.size for row in rows if row.label != shape_label((row.numbers.size,))}
        shape = (width + len(exceptional) + 1 + typed,)
        return ResultForm(shape, "any form", exceptional, True, tuple(sorted(known.items())), typed=typed)
    first, kind = rows[0], max((row.kind for row in rows), key=lambda kind: sum(map(bool, kind)))
    if not (exceptional or typed):
        return ResultForm(first.shape, first.label, kind=kind)
    return ResultForm(
        (first.numbers.size + len(exceptional) + typed,), first.label, exceptional, kind=kind, typed=typed
    )


NUMBER_TYPES = frozenset({"", "bool", "int", "float", "float16", "float32", "float128", "number"})
"""Names of number types; other types have parts. Exceptional values have the empty name."""


def _kinds_agree(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return True if two kinds are the same, ignoring exceptional values."""
    return len(first) == len(second) and all(a == b or not a or not b for a, b in zip(first, second, strict=True))


def _kind_structure(kind: tuple[str, ...]) -> tuple[str, ...]:
    """Return a kind without its types of numbers."""
    return tuple(name for name in kind if name not in NUMBER_TYPES)


def kind_text(kind: tuple[str, ...]) -> str:
    """Return a kind as text, such as "list of float"."""
    numbers = ", ".join(name for name in kind if name and name in NUMBER_TYPES)
    return " of ".join([*_kind_structure(kind), *([numbers] if numbers else [])])


def shape_label(shape: tuple[int, ...]) -> str:
    """Return the label of a plain array."""
    return f"shape {shape}"


def code(text: str) -> float:
    """Return a stable number for `text`, larger than the marks of `EXCEPTIONAL_NAMES`."""
    return 5.0 + int.from_bytes(digest(text), "big")
