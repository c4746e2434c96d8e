"""The JSON form of all results, checked in full when it is read.

    {"format": "dpassay.audit-result", "version": 2, ...the fields..., "sha256": "..."}

Audits, searches, sweeps, membership metrics and certificates are each a `Saved` dataclass.

Written    dataclasses as objects, in the order of their fields; tuples and arrays as lists; enumerations as their
           values; infinities and NaN as "inf", "-inf", "nan".
Read       the digest over everything else must match, so that every change is detected; then each field must have the
           type that its class states. A field with a default may be missing: new fields need no new version.
           `Saved.check` checks that the numbers agree with each other.

The digest detects damage and accidental edits. It is no signature: a file with a recomputed digest can state anything
that is consistent, so results are as trustworthy as their source.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import operator
import types
from collections.abc import Callable, Mapping, Sized
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from ...mechanisms.core import DpassayError, Floats, Ints, ResultError
from ..evidence.scores import Tally
from .plain import plain
from .result_text import ResultText

DIGEST_KEY = "sha256"
DRAWINGS_GROUP = "dpassay.drawings"
"""Entry points: name of a result's class -> function that draws it."""
CUT_SHORT = "fresh processes were compared, and not"
"""Words of the only warning that depends on the speed of the machine: fewer processes were compared than planned."""
_SPECIAL_NUMBERS = ("inf", "-inf", "nan")
_ITEM_TYPES: dict[Any, Any] = {Floats: float, Ints: int}
"""Type of an array -> type of its items; looked up as a whole, since its parts differ between versions of numpy."""
ADVICE = "Restore an intact copy, or run the same command again."


class Described:
    """A result with a text, which all its forms show."""

    DESCRIBED_BY: ClassVar[str]
    """Module of the package whose function `describe` returns the text, so that results import no text."""

    def text(self) -> ResultText:
        """Return the text of the result: headline, answer, facts, evidence, next steps and details."""
        module = import_module(f"{__package__.partition('.audit')[0]}.{self.DESCRIBED_BY}")
        described: ResultText = module.describe(self)
        return described

    def summary(self, *, details: bool = True) -> str:
        """Return the result as plain text.

        Args:
            details: whether to add power, assumptions, choices and corrections, below the result.
        """
        return plain(self.text(), details=details)


class Saved(Described):
    """A result with a JSON form: a frozen dataclass that states its format and version, and checks its numbers."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]

    def check(self, at: str = "") -> None:
        """Raise `ResultError` if the numbers contradict each other or the verdict; `at` is the place, for messages."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form as a dictionary of plain values, digest included."""
        content = {"format": self.FORMAT, "version": self.VERSION, **encode(self, type(self))}
        return content | {DIGEST_KEY: digest(content)}

    def to_json(self) -> str:
        """Return the JSON form: versioned, with a digest, without times or paths; equal bytes for equal results."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a result that `to_json` wrote.

        Raises:
            ResultError: the text is not JSON, has another format or version, was changed since it was written, or
                contains a field of another type or numbers that contradict each other. The message gives the reason
                and the next step.
        """
        result: Self = decode(_fields(_object(text), cls.FORMAT, cls.VERSION), cls, "")
        result.check()
        return result


class DrawnResult(Saved):
    """A saved result with a table, a figure and arrays: audits and metrics; equal if the JSON forms are equal."""

    def plot(self) -> Any:
        """Return a matplotlib Figure of the result.

        The metadata of the package names the function that draws it, so that results import no plots.

        Raises:
            DpassayError: no installed package draws this kind of result.
        """
        kind = type(self).__name__
        for point in entry_points(group=DRAWINGS_GROUP, name=kind):
            return point.load()(self)
        raise DpassayError(
            f"no installed package draws a {kind}: dpassay runs from a copy. Install it: pip install -e ."
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())


def comparable(text: str) -> str:
    """Return a JSON form without digests, and without the one warning that depends on the speed of the machine.

    Two audits with the same seed have the same comparable form, however fast the machines are.

    >>> comparable('{"warnings": ["8 fresh processes were compared, and not 79, as they took long"], "n": 5}')
    '{"warnings": [], "n": 5}'
    """
    return json.dumps(json.loads(text, object_hook=_without_speed))


def _without_speed(content: dict[str, Any]) -> dict[str, Any]:
    warnings = content.get("warnings")
    if isinstance(warnings, list):
        content["warnings"] = [one for one in warnings if CUT_SHORT not in str(one)]
    return {key: value for key, value in content.items() if key != DIGEST_KEY}


def _fields(content: dict[str, Any], form: str, version: int) -> dict[str, Any]:
    """Return the fields of a result; raise `ResultError` unless format, version and digest are right."""
    if content.get("format") != form:
        raise ResultError(
            f"format must be {form!r}, but is {_short(content.get('format'))}: these are other results, or none."
        )
    if content.get("version") != version:
        raise ResultError(_other_version(content.get("version"), version))
    stated = content.pop(DIGEST_KEY, None)
    if stated != digest(content):
        raise ResultError(
            f"the results do not match their {DIGEST_KEY}: they were changed or damaged after they were written. "
            f"{ADVICE}"
        )
    return {key: value for key, value in content.items() if key not in ("format", "version")}


def digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content as compact JSON."""
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def _object(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ResultError(f"the results are not readable as JSON ({error}): they are damaged. {ADVICE}") from error
    if not isinstance(content, dict):
        raise ResultError(f"results must be a JSON object, but are a JSON {type(content).__name__}.")
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


def _other_version(version: Any, known: int) -> str:
    if type(version) is int and version > known:
        return (
            f"version must be {known}, but is {_short(version)}: a newer dpassay wrote these results. Update dpassay."
        )
    return (
        f"version must be {known}, but is {_short(version)}: another release wrote these results. Read them with that "
        "release, or run the same command again, which reuses the stored trials."
    )


# --- to plain values --------------------------------------------------------------------------------------------------


def encode(value: Any, hint: Any) -> Any:
    """Return `value`, whose type is `hint`, in plain values.

    >>> encode((1, 2.5, float("inf")), tuple[float, ...])
    [1.0, 2.5, 'inf']
    """
    if _is_dataclass(hint):
        return {name: encode(getattr(value, name), inner) for name, inner in _hints(hint).items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return value.value
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return None if value is None else encode(value, _optional(inner))
    if origin is tuple:
        return [encode(v, h) for v, h in zip(value, _each(inner, len(value)), strict=True)]
    if origin is dict:
        return {str(key): encode(v, inner[1]) for key, v in value.items()}
    if hint in _ITEM_TYPES:
        return [encode(v, _ITEM_TYPES[hint]) for v in value.tolist()]
    return _plain(value) if hint is Any else _VALUE_WRITERS[hint](value)


def _plain(value: Any) -> Any:
    """Return a value without a type hint, such as a swept parameter, as JSON: converts tuples and infinities."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _number(value) if isinstance(value, float) else value


def _number(value: Any) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)


_VALUE_WRITERS: dict[Any, Callable[[Any], Any]] = {float: _number, int: operator.index, bool: bool, str: str}


# --- and back ---------------------------------------------------------------------------------------------------------


def decode(value: Any, hint: Any, at: str) -> Any:
    """Return the object of type `hint` from plain values; `at` is its place, for messages.

    >>> decode([1.0, "inf"], tuple[float, ...], "fpr")
    (1.0, inf)

    Raises:
        ResultError: another type than the hint, an unknown key, or one that is missing and has no default.
    """
    if _is_dataclass(hint):
        return _dataclass(value, hint, at)
    if isinstance(hint, type) and issubclass(hint, Enum):
        known = [member.value for member in hint]
        return hint(value) if value in known else _refuse(value, f"one of {', '.join(map(repr, known))}", at)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return None if value is None else decode(value, _optional(inner), at)
    if origin is tuple:
        return tuple(decode(v, h, f"{at}[{i}]") for i, (v, h) in enumerate(zip(*_items(value, inner, at), strict=True)))
    if origin is dict:
        entries = value if isinstance(value, dict) else _refuse(value, "an object", at)
        return {key: decode(v, inner[1], f"{at}.{key}") for key, v in entries.items()}
    if hint in _ITEM_TYPES:
        item = _ITEM_TYPES[hint]
        numbers = decode(value, tuple[item, ...], at)  # type: ignore[valid-type]
        return np.array(numbers, dtype=np.float64 if item is float else np.int64)
    if hint is Any:
        return _from_plain(value)
    fits, allowed = _VALUE_CHECKS[hint]
    return hint(value) if fits(value) else _refuse(value, allowed, at)


def _dataclass(value: Any, hint: Any, at: str) -> Any:
    content = value if isinstance(value, dict) else _refuse(value, "an object", at)
    hints = _hints(hint)
    needed = {f.name for f in dataclasses.fields(hint) if not _has_default(f)}
    for name in sorted(content.keys() - hints.keys()):
        raise ResultError(f"{_join(at, name)} is not known: these results are damaged. {ADVICE}")
    for name in sorted(needed - content.keys()):
        raise ResultError(f"{_join(at, name)} is missing: these results are damaged. {ADVICE}")
    fields = {name: decode(inner, hints[name], _join(at, name)) for name, inner in content.items()}
    try:
        return hint(**fields)
    except DpassayError as error:
        raise ResultError(f"{at or 'the result'}: {error}") from error


def _items(value: Any, inner: tuple[Any, ...], at: str) -> tuple[list[Any], list[Any]]:
    """Return the items of a list, and the type of each."""
    items = value if isinstance(value, list) else _refuse(value, "a list", at)
    hints = _each(inner, len(items))
    return (items, hints) if len(items) == len(hints) else _refuse(value, f"a list of {len(hints)}", at)


_VALUE_CHECKS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    float: (
        lambda value: type(value) is float or value in _SPECIAL_NUMBERS,
        "a number with a decimal point, or 'inf', '-inf', 'nan'",
    ),
    int: (lambda value: type(value) is int and abs(value) < 2**63, "a whole number of at most 63 bits"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    str: (lambda value: isinstance(value, str), "text"),
}
"""Check of the plain values of each type, and the allowed ones in words."""


def _from_plain(value: Any) -> Any:
    """Return a value that `_plain` wrote; tuples stay lists."""
    if isinstance(value, dict):
        return {key: _from_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_from_plain(item) for item in value]
    return float(value) if isinstance(value, str) and value in _SPECIAL_NUMBERS else value


# --- types ------------------------------------------------------------------------------------------------------------


def _is_dataclass(hint: Any) -> bool:  # narrows no type, unlike the one that it calls
    return dataclasses.is_dataclass(hint)


@cache
def _hints(result: Any) -> dict[str, Any]:
    """Return the type of each field, in order."""
    hints = get_type_hints(result)
    return {field.name: hints[field.name] for field in dataclasses.fields(result)}


def _has_default(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing


def _optional(members: tuple[Any, ...]) -> Any:
    """Return T of `T | None`; no other union is used in results."""
    (only,) = (member for member in members if member is not type(None))
    return only


def _each(inner: tuple[Any, ...], size: int) -> list[Any]:
    """Return the types of the items of a tuple."""
    return [inner[0]] * size if len(inner) == 2 and inner[1] is Ellipsis else list(inner)


def _join(at: str, name: str) -> str:
    return f"{at}.{_short(name)[1:-1]}" if at else _short(name)[1:-1]


def _refuse(value: Any, allowed: str, at: str) -> Any:
    raise ResultError(f"{at or 'the result'} must be {allowed}, but is {_short(value)}. {ADVICE}")


def _short(value: Any) -> str:
    """Return a value for a message: JSON, truncated."""
    text = json.dumps(value) if not isinstance(value, dict | list) else f"a JSON {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."


# --- numbers that agree with each other -------------------------------------------------------------------------------


def check_tally(tally: Tally, at: str) -> None:
    """Raise `ResultError` unless hits decrease with the threshold, within the number of scores."""
    same_length(at, thresholds=tally.thresholds, hits_out=tally.hits_out, hits_in=tally.hits_in)
    require(bool((np.diff(tally.thresholds) > 0).all()), at, "the thresholds of the tally do not increase")
    for name, hits, n in (("hits_out", tally.hits_out, tally.n_out), ("hits_in", tally.hits_in, tally.n_in)):
        decreasing = (np.diff(hits) <= 0).all() and (hits >= 0).all() and (hits <= n).all()
        require(bool(decreasing), at, f"{name} of the tally does not decrease from at most {n} to at least 0")


def same_length(at: str, **columns: Sized) -> None:
    """Raise `ResultError` unless the columns have the same length."""
    lengths = {name: len(column) for name, column in columns.items()}
    require(len(set(lengths.values())) == 1, at, f"columns differ in length: {lengths}")


def within(low: float, high: float, at: str, **numbers: float) -> None:
    """Raise `ResultError` unless low <= number <= high; NaN is refused."""
    for name, number in numbers.items():
        require(low <= number <= high, at, f"{name} must lie between {low:g} and {high:g}, but is {number!r}")


def require(holds: bool, at: str, otherwise: str) -> None:
    """Raise `ResultError` with the place `at` and the reason `otherwise` unless `holds`."""
    if not holds:
        place = f"{at}: " if at else ""
        raise ResultError(f"{place}{otherwise}. These results contradict themselves: run the same command again.")
