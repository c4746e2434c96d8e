"""The usual form of what a function returns, fixed beforehand from its first runs; and what has another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .labels import class_name, cut, digest, message_of

Floats = NDArray[np.float64]

NAMES = {1.0: "nan", 2.0: "inf", 3.0: "-inf", 4.0: "None"}
"""Marks of exceptional values; strings have a digest above these, whole numbers what their float lacks."""


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
    """

    shape: tuple[int, ...] = ()
    label: str = "shape ()"
    exceptional: tuple[int, ...] = ()
    padded: bool = False
    known: tuple[tuple[str, int], ...] = ()

    @property
    def plain(self) -> bool:
        """True if only finite numbers of one shape have this form."""
        return not (self.exceptional or self.padded)

    def place(self, row: Row) -> Floats | None:
        """The numbers of `row` in this form, of shape `shape`; None if it does not fit, and is an event.

        Its own numbers come first, 0 in place of exceptional values; then the marks of the places in `exceptional`:
        0 for an ordinary number, 1 to 4 for nan, inf, -inf and None, a 32-bit digest for a string, and for a whole
        number beyond 2^53 what the float next to it lacks. If `padded`, the end is the length of a vector, a digest of
        any other form.
        """
        if not self.padded and row.label != self.label:
            return None
        width = self.shape[0] - len(self.exceptional) - 1 if self.padded else row.numbers.size
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
        return np.concatenate([numbers, extra])

    def parts(self, placed: Floats) -> tuple[list[float | str], str]:
        """What `place` laid out, for people: the numbers, or the names of exceptional values, and the name of the form
        where results have several.

        >>> Form((3,), "any form", padded=True, known=(("keys a", 1),)).parts(np.array([2.5, 0.0, code("keys a")]))
        ([2.5], 'keys a')
        """
        end = len(placed) - self.padded
        numbers: list[float | str] = placed[: end - len(self.exceptional)].tolist()
        for place, mark in zip(self.exceptional, placed[end - len(self.exceptional) : end].tolist(), strict=True):
            if mark:
                numbers[place] = NAMES.get(mark, "text") if mark > 0.0 and not numbers[place] else numbers[place]
        if not self.padded:
            return numbers, ""
        known = {code(label): (label, size) for label, size in self.known}
        label, size = known.get(float(placed[-1]), ("", len(numbers)))
        return numbers[: size if label or placed[-1] > len(numbers) else int(placed[-1])], label


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
    """

    label: str
    shape: tuple[int, ...]
    numbers: Floats
    marks: Floats
    names: dict[int, str] = field(default_factory=dict)

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
    if len({row.label for row in rows}) > 1:
        width = max(row.numbers.size for row in rows)
        known = {row.label: row.numbers.size for row in rows if row.label != shape_label((row.numbers.size,))}
        return Form((width + len(exceptional) + 1,), "any form", exceptional, True, tuple(sorted(known.items())))
    first = rows[0]
    if not exceptional:
        return Form(first.shape, first.label)
    return Form((first.numbers.size + len(exceptional),), first.label, exceptional)


def shape_label(shape: tuple[int, ...]) -> str:
    """The label of a plain array."""
    return f"shape {shape}"


def code(text: str) -> float:
    """A stable number for `text`, above those of `NAMES`."""
    return 5.0 + int.from_bytes(digest(text), "big")
