"""Names of the numbers of a result: keys of dicts, columns of tables, fields of dataclasses and of named tuples.

{"kind": "ok", "mean": 1.5}     output['kind'], output['mean']
{"a": [1.0, 2.0]}               output['a'][0], output['a'][1]
Stats(mean=1.5)                 output.mean
a DataFrame                     output['income'][0]: column, then index
an array or a list of numbers   coordinate 0, coordinate 1, as for every mechanism
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ...core.output_names import OutputNames, listed_parts, shown_number
from ...core.tensors import tensor_to_array
from .forms import BELOW_ZERO, ReadResult, ResultForm, by_name, code, fields_of
from .guard import cut

MAX_NAMES = 2_000
"""Largest number of numbers of a result that have names: the names travel to every worker."""
OUTPUT = "output"
_KEY = re.compile(r"^\['(\w+)'\]")

Name = tuple[str, str]
"""The name of a part of a result, and the rest of the name of one number in it."""


def names_of(result: Any, n_numbers: int) -> tuple[Name, ...]:
    """Return the names of the numbers of a result in the order in which they are read; empty if they have none.

    Args:
        result: what a function returned.
        n_numbers: number of numbers that were read from it.

    Example:
        >>> names_of({"b": [1.0, 2.0], "a": 0.5}, 3)
        (("output['a']", ''), ("output['b']", '[0]'), ("output['b']", '[1]'))
        >>> names_of([1.0, 2.0], 2)
        ()
    """
    if isinstance(result, ReadResult):
        return result.names
    return _safely(lambda: _names_of(tensor_to_array(result), n_numbers))


def _names_of(result: Any, n_numbers: int) -> tuple[Name, ...]:
    if n_numbers > MAX_NAMES or _is_vector(result):
        return ()
    names = tuple(_names(result, (OUTPUT, "")))
    return names if len(names) == n_numbers else ()


def names_of_columns(results: Any) -> tuple[Name, ...]:
    """Return the names of the numbers of one run, from a dict or DataFrame with one row per run; empty for others."""
    return _safely(lambda: _names_of_columns(results))


def _names_of_columns(results: Any) -> tuple[Name, ...]:
    keys = sorted(results, key=by_name) if isinstance(results, dict) else list(getattr(results, "columns", ()))
    first = {key: np.asarray(results[key])[0] for key in keys}
    if sum(map(np.size, first.values())) > MAX_NAMES:
        return ()
    return tuple(name for key, part in first.items() for name in _names(part, _inside((OUTPUT, ""), f"[{key!r}]")))


def _safely(make: Callable[[], tuple[Name, ...]]) -> tuple[Name, ...]:
    """Return names, or none if the result cannot be read again: it may run any code of the user.

    A real interrupt is noted by the guard, which raises it again.
    """
    try:
        return make()
    except BaseException:
        return ()


def common_names(of_results: Iterable[tuple[Name, ...]]) -> tuple[Name, ...]:
    """Return the names that several results share; a number with several names keeps none.

    >>> common_names([(("output['a']", ""),), (("output['a']", ""), ("output['b']", ""))])
    (("output['a']", ''), ("output['b']", ''))
    """
    distinct = list(dict.fromkeys(of_results))
    if not all(distinct):
        return ()
    several = [{names[i] for names in distinct if i < len(names)} for i in range(max(map(len, distinct), default=0))]
    return tuple(
        names.pop() if len(names) == 1 else (f"number {i} of the output", "") for i, names in enumerate(several)
    )


def _is_vector(result: Any) -> bool:
    """Return whether a result is a plain array or list of numbers, which have indices and no names."""
    if isinstance(result, np.ndarray):
        return result.ndim == 1
    return type(result) in (list, tuple) and all(isinstance(part, (Real, type(None))) for part in result)


def _names(result: Any, at: Name) -> Iterator[Name]:
    if result is None or isinstance(result, (str, bytes)):
        yield at
    elif isinstance(result, Mapping):
        for key in sorted(result, key=by_name):
            yield from _names(result[key], _inside(at, f"[{key!r}]"))
    elif (inside := fields_of(result)) is not None:
        for name, value in inside.items():
            yield from _names(value, _inside(at, f".{name}"))
    elif hasattr(result, "to_numpy") and hasattr(result, "index"):  # pandas
        columns = [f"[{column!r}]" for column in getattr(result, "columns", ())]
        for label in result.index:
            yield from (_inside(at, column, f"[{label!r}]") for column in columns or [""])
    elif isinstance(result, tuple) and hasattr(result, "_fields"):
        for name, value in zip(result._fields, result, strict=True):
            yield from _names(value, _inside(at, f".{name}"))
    elif isinstance(result, Sequence):
        for i, value in enumerate(result):
            yield from _names(value, _inside(at, "", f"[{i}]"))
    else:
        shape = np.shape(tensor_to_array(result))
        for index in np.ndindex(shape):
            yield _inside(at, "", f"[{', '.join(map(str, index))}]") if shape else at


def _inside(at: Name, part: str, rest: str = "") -> Name:
    """Return the name of something inside: `part` belongs to the name of a part, `rest` counts within it."""
    name, end = at
    return (name, end + part + rest) if end else (name + part, rest)


@dataclass(frozen=True)
class ResultNames(OutputNames):
    """Names of the numbers of a result that `form` lays out.

    Args:
        form: layout of a row.
        names: names of the numbers, in their order; empty for indices.
        texts: text of each code of a text or of a large whole number, as far as known.
    """

    form: ResultForm
    names: tuple[Name, ...] = ()
    texts: Mapping[float, str] | None = None

    def name(self, index: int | None) -> str:
        return self._called(index, whole=True)

    def part(self, index: int | None) -> str:
        return self._called(index, whole=False)

    def _called(self, index: int | None, *, whole: bool) -> str:
        number = self._number_at(index)
        if index is None or number is None:
            return super().name(index) if index is None else self._extra(index)
        if number >= len(self.names):
            return super().name(number)
        part, rest = self.names[number]
        return part + rest if whole else part

    def _number_at(self, index: int | None) -> int | None:
        """Return the index of the number that an entry of a row belongs to; None for what describes the whole row."""
        if index is None or self.form.plain or index < self.form.width:
            return index
        at = index - self.form.width
        return self.form.exceptional[at] if at < len(self.form.exceptional) else None

    def _extra(self, index: int) -> str:
        last = self.form.typed and index == self.form.shape[0] - 1
        what = "types" if last else "form" if self.form.known else "length"
        return f"the {what} of the output"

    def is_code(self, index: int | None) -> bool:
        if index is None or self.form.plain or index < self.form.width:
            return False
        return self._number_at(index) is not None or self._extra(index) != "the length of the output"

    def value(self, index: int | None, number: float) -> str:
        if not self.is_code(index):
            return _shown(number)
        if self._number_at(index) is None:
            forms = {code(label): label for label, _ in self.form.known}
            return forms.get(number) or (f"length {round(number)}" if number < 5.0 else "another one")
        if number == 0.0:
            return "a number"
        return self.form.mark_text(number, self.texts or {})

    def row(self, values: Any) -> str:
        if np.ndim(values) == 0:
            return _shown(values)
        parts, label = self.form.parts(np.ravel(values), self.texts)
        named = len(self.names) >= len(parts) and not self.form.padded
        names = (
            [_KEY.sub(r"\1", "".join(name).removeprefix(OUTPUT)).lstrip(".") for name in self.names] if named else []
        )
        texts = [part if isinstance(part, str) else _shown(part) for part in parts]
        return f"{f'{cut(label)}: ' if label else ''}{listed_parts(texts, names)}"


def _shown(value: Any) -> str:
    """Return all digits of a number; the placeholder of -0.0 as "-0.0"."""
    return "-0.0" if value == BELOW_ZERO else shown_number(value)
