"""Construction of a domain from a line of text, a table, or a file with a table.

    KIND [RANGE or NAMES] [x LENGTH] [; OPTION]...

    numbers 0..1                              lists of numbers
    numbers 0..1; 20 records                  20 records on the larger side; or 1..50 records
    numbers; nan                              any numbers, NaN and the infinities included
    integers 0..10 x 5                        lists of vectors of 5 integers
    categories a,b,c; one value               one of three texts: the value of one user
    answers x 5; sensitivity 1; norm inf      vectors of 5 answers that each change by at most 1
    counts 0..5                               an integer that changes by 1

The keys of a table, in a configuration or a file of TOML or JSON: kind, range = [0, 1], names, length, records = 20 or
[1, 50], one_value, nan, sensitivity, norm.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ....mechanisms.core import ParameterError, unknown_name_message
from ...trials.array_files import read_text
from .answers import AnswersDomain
from .base import SearchDomain
from .records import OneValue, Records
from .values import Categories, Integers, Numbers, Values, Vectors

DOMAIN_KINDS = ("numbers", "integers", "categories", "answers", "counts")
RECORD_KEYS = {"kind", "range", "names", "length", "records", "one_value", "nan"}
ANSWER_KEYS = {"kind", "range", "length", "sensitivity", "norm"}
DOMAIN_EXAMPLES = (
    "'numbers 0..1', 'integers 0..10 x 5; 20 records', 'categories a,b,c; one value', 'answers x 5; norm inf'"
)

_RANGE = re.compile(r"(?P<low>[^\s.]*(?:\.\d+)?)\s*\.\.\s*(?P<high>\S*)")
_OPTIONS: tuple[tuple[str, Callable[[re.Match[str]], dict[str, Any]]], ...] = (
    (r"(\d+) records?", lambda m: {"records": int(m[1])}),
    (r"(\d+)\s*\.\.\s*(\d+) records?", lambda m: {"records": [int(m[1]), int(m[2])]}),
    (r"one value", lambda m: {"one_value": True}),
    (r"nan", lambda m: {"nan": True}),
    (r"sensitivity (\S+)", lambda m: {"sensitivity": _number(m[1])}),
    (r"norm (\S+)", lambda m: {"norm": _number(m[1])}),
)


def domain_from(domain: SearchDomain[Any] | str | Mapping[str, Any]) -> SearchDomain[Any]:
    """Return the domain that a line, a table, or "@FILE" describes; a `SearchDomain` is returned unchanged.

    Raises:
        ParameterError: no such kind, an option that the kind does not have, or a file that cannot be read.

    Example:
        >>> domain_from("numbers 0..1; 20 records")
        Records(of=Numbers(low=0.0, high=1.0, special=None), smallest=20, largest=20)
        >>> domain_from({"kind": "categories", "names": ["a", "b"], "one_value": True})
        OneValue(of=Categories(names=('a', 'b')))
    """
    if isinstance(domain, SearchDomain):
        return domain
    if isinstance(domain, Mapping):
        return _from_table(domain)
    if not isinstance(domain, str):
        raise ParameterError(
            argument="domain", value=domain, allowed=f"be a line such as {DOMAIN_EXAMPLES}, a table, or a Domain"
        )
    return _from_table(_file(domain[1:]) if domain.startswith("@") else _table(domain))


def _table(text: str) -> dict[str, Any]:
    """Return the table that a line describes."""
    first, *options = (part.strip() for part in text.split(";"))
    kind, _, rest = first.partition(" ")
    table: dict[str, Any] = {"kind": kind}
    if kind == "categories":
        table["names"] = [name.strip() for name in rest.split(",") if name.strip()]
    else:
        table |= _range_and_length(rest.strip(), text)
    for option in filter(None, options):
        parsed = [make(match) for pattern, make in _OPTIONS if (match := re.fullmatch(pattern, option.strip()))]
        if not parsed:
            raise ParameterError(
                f"domain {text!r} has the option {option!r}, which is not 'N records', 'A..B records', 'one value', "
                "'nan', 'sensitivity S' or 'norm 1', 'norm 2', 'norm inf'.",
                argument="domain",
            )
        table |= parsed[0]
    return table


def _range_and_length(text: str, whole_text: str) -> dict[str, Any]:
    """Parse a text such as "0..10 x 5": a range, a length, both or neither."""
    rest, cross, length = text.rpartition("x") if re.search(r"(^|\s)x\s*\d+$", text) else (text, "", "")
    table: dict[str, Any] = {"length": int(length)} if cross else {}
    if rest.strip():
        match = _RANGE.fullmatch(rest.strip())
        if match is None:
            raise ParameterError(
                f"domain {whole_text!r} must be a kind and a range, such as {DOMAIN_EXAMPLES}.", argument="domain"
            )
        table["range"] = [
            _number(match["low"]) if match["low"] else -math.inf,
            _number(match["high"]) if match["high"] else math.inf,
        ]
    return table


def _number(text: str) -> float | int:
    """Return a number of a line; integers stay integers."""
    try:
        number = float(text)
    except ValueError as error:
        raise ParameterError(f"domain must have numbers, but has {text!r}.", argument="domain") from error
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else number


def _file(name: str) -> Mapping[str, Any]:
    """Return the table in a file of TOML or JSON."""
    path = Path(name)
    try:
        text = read_text(path)
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(f"domain cannot be read from the file {name!r}: {reason}.", argument="domain") from error
    if not isinstance(table, Mapping):
        raise ParameterError(f"domain must be a table in {name!r}, but is {table!r}.", argument="domain")
    return table


def _from_table(table: Mapping[str, Any]) -> SearchDomain[Any]:
    """Return the domain that a table describes."""
    kind = table.get("kind")
    if kind not in DOMAIN_KINDS:
        raise ParameterError(unknown_name_message("kind of domain:", str(kind), DOMAIN_KINDS), argument="domain")
    of_answers = kind in ("answers", "counts")
    allowed = ANSWER_KEYS if of_answers else RECORD_KEYS
    wrong = next((key for key in table if key not in allowed), None)
    if wrong is not None:
        raise ParameterError(unknown_name_message(f"option of {kind}:", wrong, sorted(allowed)), argument="domain")
    try:
        return _answers(table) if of_answers else _records(table)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"domain {dict(table)!r} cannot be read: {error}.", argument="domain") from error


def _answers(table: Mapping[str, Any]) -> AnswersDomain:
    low, high = table.get("range", (-math.inf, math.inf))
    return AnswersDomain(
        table.get("length"),
        sensitivity=float(table.get("sensitivity", 1.0)),
        norm=float(table.get("norm", math.inf)),
        low=float(low),
        high=float(high),
        counts=table["kind"] == "counts",
    )


def _records(table: Mapping[str, Any]) -> SearchDomain[Any]:
    values = _values(table)
    if table.get("one_value"):
        return OneValue(values)
    size = table.get("records", (1, 10))
    smallest, largest = (size, size) if isinstance(size, int) else size
    return Records(values, smallest, largest)


def _values(table: Mapping[str, Any]) -> Values:
    if table["kind"] == "categories":
        return Categories(tuple(table.get("names", ())))
    low, high = table.get("range", (-math.inf, math.inf))
    entry: Numbers | Integers
    if table["kind"] == "integers":
        limits = {"low": low, "high": high}
        entry = Integers(**{name: value for name, value in limits.items() if not math.isinf(value)})
    else:
        entry = Numbers(float(low), float(high), special=True if table.get("nan") else None)
    return entry if table.get("length") is None else Vectors(entry, table["length"])
