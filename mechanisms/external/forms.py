"""The usual form of what a function returns, fixed beforehand from its first runs; and what has another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .labels import class_name, cut, digest, message_of

Floats = NDArray[np.float64]

NAMES = {1.0: "nan", 2.0: "inf", 3.0: "-inf", 4.0: "None"}
"""Marks of exceptional values; strings have a digest above these, whole numbers what their float lacks."""


def by_name(key: Any) -> tuple[str, str]:
    """Sorts keys of a dict by their text, and those of one text, such as 1 and "1", by their type."""
    return str(key), type(key).__name__


@dataclass(frozen=True)
class Raised:
    """Stands for the result of a run that raised an exception.

    Args:
        error: name of the exception's class.
        message: what it said.
    """

    error: str
    message: str = ""

    @staticmethod
    def by(error: BaseException) -> Raised:
        """That for `error`."""
        return Raised(class_name(error), message_of(error))


@dataclass(frozen=True)
class Form:
    """The usual form of a result, and how it is laid out.

    Args:
        shape: of the row that `place` gives: `()` for a number, the shape of an array, else a vector.
        label: how people call it, and what two results must share to have the same form.
        exceptional: places, in the flattened result, that have a mark: after the numbers, in this order.
        padded: results of any form are laid out, cut or padded to the same length, with a number for the form at the
            end.
        known: forms of the first runs that no length tells apart, each with how many numbers it has; for `parts`.
        kind: types of the usual result, as `Row.kind`; none where they are not looked at.
        typed: the types of the first results differ, and a number for them is the last of all.
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
        """Numbers of a flattened result that are kept; of an array, all of them."""
        return self.shape[0] - len(self.exceptional) - self.padded - self.typed

    def place(self, row: Row) -> Floats | None:
        """The numbers of `row` in this form, of shape `shape`; None if it does not fit, and is an event.

        Its own numbers come first, 0 in place of exceptional values; then the marks of the places in `exceptional`:
        0 for an ordinary number, 1 to 4 for nan, inf, -inf and None, a 32-bit digest for a string, and for a whole
        number beyond 2^53 what the float next to it lacks. If `padded`, then comes the length of a vector, a digest of
        any other form; if `typed`, a digest of the types.
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
            extra.append(code(words_of(row.kind)))
        return np.concatenate([numbers, extra])

    def parts(self, placed: Floats) -> tuple[list[float | str], str]:
        """What `place` laid out, for people: the numbers, or the names of exceptional values, and the name of the form
        where results have several.

        >>> Form((3,), "any form", padded=True, known=(("keys a", 1),)).parts(np.array([2.5, 0.0, code("keys a")]))
        ([2.5], 'keys a')
        """
        end = len(placed) - self.padded - self.typed
        numbers: list[float | str] = placed[: end - len(self.exceptional)].tolist()
        for place, mark in zip(self.exceptional, placed[end - len(self.exceptional) : end].tolist(), strict=True):
            if mark:
                numbers[place] = NAMES.get(mark, "text") if mark > 0.0 and not numbers[place] else numbers[place]
        if not self.padded:
            return numbers, ""
        known = {code(label): (label, size) for label, size in self.known}
        label, size = known.get(float(placed[end]), ("", len(numbers)))
        return numbers[: size if label or placed[end] > len(numbers) else int(placed[end])], label

    def strange(self, row: Row) -> bool:
        """Whether a row of this form has other types than the usual ones: a number of another type is an event, and
        so is another order of keys or a list for a tuple; numbers of other types inside of these are not."""
        if self.typed or self.padded or not self.kind or agree(self.kind, row.kind):
            return False
        return row.shape == () or not agree(structure(self.kind), structure(row.kind))

    def label_of(self, row: Row) -> str:
        """The label of the event that `row` is, where it has no place."""
        return cut(f"type {words_of(row.kind)}") if self.label == row.label and self.strange(row) else row.event()


@dataclass(frozen=True)
class Event:
    """Something other than a row of numbers."""

    label: str
    mark: float = 0.0
    """Of this as one part of a row."""


@dataclass(frozen=True, eq=False)
class Row:
    """A row of numbers.

    Args:
        label: of its form.
        shape: of the array; the vector of all parts for a dict or a mixed tuple.
        numbers: flattened, 0 in place of exceptional values.
        marks: of the exceptional values, 0 elsewhere.
        names: of those exceptional values that no mark of `NAMES` stands for.
        kind: types from the outside in, such as ("list", "float") or ("keys b, a", "int", "float"); "" for an
            exceptional value, which has none. What is the same number to numpy, such as 1, 1.0 and True, differs here.
    """

    label: str
    shape: tuple[int, ...]
    numbers: Floats
    marks: Floats
    names: dict[int, str] = field(default_factory=dict)
    kind: tuple[str, ...] = ()

    def event(self) -> str:
        """The label of the event that this is where it does not fit the usual form."""
        places: dict[str, list[int]] = {}
        for i in np.flatnonzero(self.marks).tolist():
            places.setdefault(self.names.get(i) or NAMES[float(self.marks[i])], []).append(i)
        if not places:
            return cut(self.label)
        if self.shape == ():
            return cut(next(iter(places)))
        return cut("; ".join(f"{name} at {', '.join(map(str, where))}" for name, where in places.items()))


def usual_form(rows: Iterable[Row]) -> Form:
    """The form in which all of `rows`, those of the first runs, are laid out; of a number if there are none.

    Example:
        >>> from dpassay.mechanisms.external.outcomes import read
        >>> rows = [read({"status": "ok", "sum": 3.5}), read({"status": "ok", "sum": 2.5})]
        >>> form = usual_form(rows)
        >>> form.label, form.shape, form.exceptional
        ('keys status, sum', (3,), (0,))
    """
    rows = list(rows)
    if not rows:
        return Form()
    exceptional = tuple(sorted({i for row in rows for i in np.flatnonzero(row.marks).tolist()}))
    typed = not all(agree(row.kind, other.kind) for row in rows for other in rows if row.label == other.label)
    if len({row.label for row in rows}) > 1:
        width = max(row.numbers.size for row in rows)
        known = {row.label: row.numbers.size for row in rows if row.label != shape_label((row.numbers.size,))}
        shape = (width + len(exceptional) + 1 + typed,)
        return Form(shape, "any form", exceptional, True, tuple(sorted(known.items())), typed=typed)
    first, kind = rows[0], max((row.kind for row in rows), key=lambda kind: sum(map(bool, kind)))
    if not (exceptional or typed):
        return Form(first.shape, first.label, kind=kind)
    return Form((first.numbers.size + len(exceptional) + typed,), first.label, exceptional, kind=kind, typed=typed)


NUMBERS = frozenset({"", "bool", "int", "float", "float16", "float32", "float128", "number"})
"""Types of numbers; the others have parts. An exceptional value has none."""


def agree(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two kinds are the same, exceptional values aside."""
    return len(one) == len(other) and all(a == b or not a or not b for a, b in zip(one, other, strict=True))


def structure(kind: tuple[str, ...]) -> tuple[str, ...]:
    """A kind without its types of numbers."""
    return tuple(name for name in kind if name not in NUMBERS)


def words_of(kind: tuple[str, ...]) -> str:
    """A kind for people, such as "list of float"."""
    numbers = ", ".join(name for name in kind if name and name in NUMBERS)
    return " of ".join([*structure(kind), *([numbers] if numbers else [])])


def shape_label(shape: tuple[int, ...]) -> str:
    """The label of a plain array."""
    return f"shape {shape}"


def code(text: str) -> float:
    """A stable number for `text`, above those of `NAMES`."""
    return 5.0 + int.from_bytes(digest(text), "big")
