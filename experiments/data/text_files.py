"""Texts with the log probabilities of their tokens in a JSONL file: one JSON object in each line, one line per text.

    field                        value
    log_probabilities            natural logarithm of the probability of each token under the model; required
    id                           text or whole number; default: the number of the line
    text                         the text
    tokens                       the tokens, not used, except that their number is checked
    reference_log_probabilities  of a reference model, which may have other tokens
    means, standard_deviations   of the log probability of a token drawn from the model, at each position
    member, or label             true or false, or 1 or 0: whether the text was in the training data
    prefix_tokens                number of tokens of the prompt
    alternatives                 log probabilities of the other texts of the space of a canary

With a released text set, the texts alone are required: their log probabilities are those under a model of the release,
one for each character (attacks/membership/released_texts.py).

`null` or NaN at one end of the lists over tokens is padding, or an API's mark for a first token without a probability:
the positions are cut, as zeros and -100 are (`ScoredTexts`), and `prefix_tokens` still counts those before the first
token. All other fields are ignored.

Guarantees: the file is data; no code runs, and nothing is unpickled. Every defect is a `ParameterError` that names the
file and the line.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from ...attacks.membership.released_texts import release_log_probabilities
from ...attacks.membership.scored_texts import ScoredTexts
from ...audit.trials.array_files import open_regular
from ...mechanisms.core import ParameterError, line as one_line
from .table_files import LONGEST_REASON, short

OVER_TOKENS = ("log_probabilities", "means", "standard_deviations", "tokens")
"""Fields with one entry per token of the model under attack."""
FOR_ALL = ("text", "reference_log_probabilities", "means", "standard_deviations", "member")
"""Fields that all lines have, or none."""
FIELDS = ("id", *OVER_TOKENS, "text", "reference_log_probabilities", "member", "label", "prefix_tokens", "alternatives")
EXPECTED = 'one JSON object, such as {"id": "canary 7", "log_probabilities": [-2.1, -0.4]}'
"""What a line holds, in a message."""


@dataclass(frozen=True, eq=False)
class _Line:
    """Fields of one text, and the number of its line."""

    number: int
    fields: dict[str, Any]


def load_texts(file: Path | str, *, zeros: str = "auto", release: Path | str | None = None) -> ScoredTexts:
    """Read texts and the log probabilities of their tokens.

    Args:
        file: JSONL in UTF-8, as above; empty lines are skipped.
        zeros: meaning of log probabilities of exactly 0 at one end of a text, see `ScoredTexts`.
        release: released text set, one text a line, or JSONL with the field `text`; the file then has texts, and no
            log probabilities.

    Raises:
        ParameterError: no such file, a line that is not a JSON object, a missing, misspelled or duplicate field, or
            values that cannot be log probabilities.
    """
    path, required = Path(file), "log_probabilities" if release is None else "text"
    lines = [_parsed(path, i, raw, required) for i, raw in enumerate(_lines(path), 1) if raw.strip()]
    if not lines:
        raise ParameterError(f"{file} must hold one JSON object in each line, but is empty.", argument="file")
    if release is not None:
        _score(path, lines, _released(Path(release)))
    _check_same_fields(path, lines)
    try:
        return _texts(lines, zeros)
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}", argument=("file", *error.arguments)) from error


def _lines(file: Path) -> list[str]:
    try:
        with open_regular(file) as stream:
            return stream.read().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ParameterError(
            f"{file} must be text in UTF-8, but has another byte at {error.start}.", argument="file"
        ) from None
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror or error}.", argument="file") from error
    except ValueError as error:
        raise ParameterError(f"{file} cannot be read: {error}.", argument="file") from error


def _released(file: Path) -> list[str]:
    """Return the released texts."""
    rows = [(i, row) for i, row in enumerate(_lines(file), 1) if row.strip()]
    if not rows:
        raise ParameterError(f"{file} must hold a released text in each line, but is empty.", argument="from_release")
    if file.suffix == ".jsonl":
        return [_parsed(file, i, row, "text").fields["text"] for i, row in rows]
    return [row.strip() for _, row in rows]


def _score(path: Path, lines: list[_Line], release: list[str]) -> None:
    """Set the log probabilities of the texts under a model of the release."""
    for line in lines:
        if not line.fields["text"]:
            _refuse(path, line.number, "must have a text that is not empty in text")
        for name in (*OVER_TOKENS, "prefix_tokens", "alternatives"):
            if name in line.fields:
                _refuse(path, line.number, f"must not have {name} where a release is given: it is of another model")
    scores = release_log_probabilities([line.fields["text"] for line in lines], release)
    for line, row in zip(lines, scores, strict=True):
        line.fields["log_probabilities"] = row.tolist()


def _parsed(path: Path, number: int, raw: str, required: str) -> _Line:
    """Return one line with its shape checked."""
    try:
        content = json.loads(raw, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        near = repr(raw[max(0, error.pos - 20) : error.pos + 20].strip())
        _refuse(path, number, f"must be {EXPECTED}, but is no JSON from column {error.pos + 1} on, near {near}")
    except (ValueError, RecursionError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else error
        _refuse(path, number, f"must be {EXPECTED}, but {reason}")
    if not isinstance(content, dict):
        _refuse(path, number, f"must be {EXPECTED}, but is a {type(content).__name__}")
    fields = {name: value for name, value in content.items() if value is not None}
    if required not in fields:
        has = ", ".join(content) or "none"
        what = "text, a text" if required == "text" else "log_probabilities, a list of one number per token"
        _refuse(path, number, f"must have {what}, but has the fields {has}")
    for name in content:
        close = [] if name in FIELDS else get_close_matches(name, FIELDS, 1, cutoff=0.85)
        if close:
            _refuse(
                path, number, f"has the field {name!r}; if {close[0]!r} is meant, rename it, otherwise leave it out"
            )
    if "label" in fields:
        if "member" in fields:
            _refuse(path, number, "must have one of member and label, but has both")
        fields["member"] = fields.pop("label")
    _check_types(path, number, fields)
    _check_lengths(path, number, fields)
    return _Line(number, fields)


def _check_types(path: Path, number: int, fields: dict[str, Any]) -> None:
    for name in (*OVER_TOKENS, "reference_log_probabilities", "alternatives"):
        values = fields.get(name)
        if values is not None and (not isinstance(values, list) or not values):
            _refuse(path, number, f"must have a list in {name}, at least one entry, but has {short(values)}")
    for name in ("log_probabilities", "means", "standard_deviations", "reference_log_probabilities", "alternatives"):
        values = fields.get(name, [])
        if name != "alternatives" and any(map(_missing, values)):
            values = fields[name] = _padded(values)
        for place, value in enumerate(values):
            if type(value) not in (int, float):
                _refuse(path, number, f"must have numbers in {name}, but has {short(value)} at index {place}")
            if type(value) is int and abs(value) > 10**15:
                _refuse(
                    path,
                    number,
                    f"must have log probabilities in {name}, but has a number of {len(str(abs(value)))} digits",
                )
    if type(fields.get("member", True)) not in (bool, int, float) or fields.get("member", True) not in (0, 1):
        _refuse(path, number, f"must have true or false in member, but has {short(fields['member'])}")
    if type(fields.get("prefix_tokens", 0)) is not int:
        _refuse(path, number, f"must have a whole number in prefix_tokens, but has {short(fields['prefix_tokens'])}")
    if type(fields.get("id", 0)) not in (int, str) or fields.get("id") == "":
        _refuse(path, number, f"must have a text or a whole number in id, but has {short(fields['id'])}")
    if not isinstance(fields.get("text", ""), str):
        _refuse(path, number, f"must have a text in text, but has {short(fields['text'])}")


def _missing(value: Any) -> bool:
    return value is None or value != value


def _padded(values: list[Any]) -> list[Any]:
    """Return the values with NaN for what is missing at both ends; other missing values become None."""
    known = [place for place, value in enumerate(values) if not _missing(value)] or [0]
    return [
        value if not _missing(value) else None if known[0] < place < known[-1] else math.nan
        for place, value in enumerate(values)
    ]


def _check_lengths(path: Path, number: int, fields: dict[str, Any]) -> None:
    """Refuse lists over the tokens of different lengths, and lists without a number."""
    lengths = {name: len(fields[name]) for name in OVER_TOKENS if name in fields}
    if len(set(lengths.values())) > 1:
        _refuse(path, number, f"must have lists of one length over the tokens, but has the lengths {lengths}")
    for name in ("log_probabilities", "reference_log_probabilities"):
        if name in fields and all(map(_missing, fields[name])):
            _refuse(path, number, f"must have a number in {name}, but has only null")


def _check_same_fields(path: Path, lines: list[_Line]) -> None:
    for name in FOR_ALL:
        have = [line.number for line in lines if name in line.fields]
        if 0 < len(have) < len(lines):
            missing = next(line.number for line in lines if name not in line.fields)
            raise ParameterError(
                f"{path} must have {name} in every line or in none, but line {have[0]} has it and line {missing} does "
                f"not: {len(have):,} of {len(lines):,} lines have it.",
                argument="file",
            )


def _texts(lines: list[_Line], zeros: str) -> ScoredTexts:
    def column(name: str) -> list[Any] | None:
        values = [line.fields.get(name) for line in lines]
        return None if all(value is None for value in values) else values

    return ScoredTexts(
        [line.fields["log_probabilities"] for line in lines],
        ids=[line.fields.get("id", line.number) for line in lines],
        texts=column("text"),
        reference_log_probabilities=column("reference_log_probabilities"),
        means=column("means"),
        standard_deviations=column("standard_deviations"),
        member=column("member"),
        prefix_tokens=column("prefix_tokens"),
        alternatives=column("alternatives"),
        zeros=zeros,
    )


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it has the field {next(n for n in names if names.count(n) > 1)!r} twice")
    return fields


def _no_constant(name: str) -> float:
    if name == "NaN":
        return math.nan
    raise ValueError(
        f"it holds {name}: write finite numbers, and null for padding; a token that is impossible for the model needs "
        "smoothing"
    )


def _refuse(path: Path, number: int, problem: str) -> NoReturn:
    raise ParameterError(f"line {number} of {path} {one_line(problem)[:LONGEST_REASON]}.", argument="file") from None


__all__ = ["load_texts"]
