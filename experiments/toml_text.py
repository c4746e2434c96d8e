"""TOML as text: where a key stands in a file, and how plain values are written. Reading is left to `tomllib`.

locate(text, path)    line number of the key, or of the nearest table around it
to_toml(table)        text that `tomllib.loads` reads back as the same table
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

Path = tuple[str, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=")
_STRING = re.compile(r"""\"{3}|'{3}|"(?:[^"\\]|\\.)*"|'[^']*'|#.*""")


def locate(text: str, path: Path) -> int | None:
    """Line (from 1) on which `path` is set, or else the table that holds it; None if neither stands in the text.

    >>> locate('[audit]\\ntrials = 10\\n', ("audit", "trials"))
    2
    """
    lines = _lines_of_keys(text)
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _lines_of_keys(text: str) -> dict[Path, int]:
    """The line of every table header and assignment that starts a line; keys of inline tables are not told apart.

    The tables of an array are numbered: ("sweep", "case", "1") is the second [[sweep.case]].
    """
    found: dict[Path, int] = {}
    table: Path = ()
    closing: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if closing is None:
            if header := _HEADER.match(line):
                table = _split(header[2])
                found.setdefault(table, number)
                if header[1] == "[[":
                    table = (*table, str(next(i for i in count() if (*table, str(i)) not in found)))
                    found[table] = number
            elif assignment := _ASSIGNMENT.match(line):
                found.setdefault(table + _split(assignment[1]), number)
        closing = _open_string(line, closing)
    return found


def _split(dotted: str) -> Path:
    """The parts of a key as it stands in the text; quotes are taken off."""
    parts = re.findall(_KEY, dotted)
    return tuple(json.loads(p) if p[0] == '"' else p.strip("'") for p in parts)


def _open_string(line: str, closing: str | None) -> str | None:
    """The quotes that a string still open at the end of `line` is waiting for; `closing` is open at its start."""
    while True:
        if closing is not None:
            _, quotes, line = line.partition(closing)
            if not quotes:
                return closing
            closing = None
        match = next((m for m in _STRING.finditer(line) if m[0] in ('"""', "'''")), None)
        if match is None:
            return None
        closing, line = match[0], line[match.end() :]


def to_toml(table: Mapping[str, Any]) -> str:
    """TOML text of a table of plain values: strings, numbers, booleans, lists and tables of them; None is left out.

    Tables directly inside become sections, deeper ones inline tables. Raises `TypeError` for anything else.

    >>> print(to_toml({"seed": 1, "audit": {"bounds": ["betting"]}}))
    seed = 1
    <BLANKLINE>
    [audit]
    bounds = ["betting"]
    <BLANKLINE>
    """
    entries = {key: value for key, value in table.items() if value is not None}
    sections = {key: value for key, value in entries.items() if isinstance(value, Mapping)}
    text = "".join(_assignment(key, value) for key, value in entries.items() if key not in sections)
    for name, section in sections.items():
        body = "".join(_assignment(key, value) for key, value in section.items() if value is not None)
        text += ("\n" if text else "") + f"[{_key(name)}]\n{body}"
    return text


def _assignment(key: str, value: Any) -> str:
    return f"{_key(key)} = {_value(value)}\n"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _value(value: Any) -> str:
    """One value on one line; a string of several lines gets triple quotes."""
    if isinstance(value, str):
        return _string(value) if "\n" not in value else '"""\n' + "\n".join(map(_escaped, value.split("\n"))) + '"""'
    if isinstance(value, bool | int):
        return json.dumps(int(value)) if not isinstance(value, bool) else json.dumps(value)
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_inline(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_inline, value)) + "]"
    raise TypeError(f"{value!r} ({type(value).__name__}) has no form in a configuration.")


def _inline(value: Any) -> str:
    """A value inside a list or an inline table: no string over several lines."""
    return _string(value) if isinstance(value, str) else _value(value)


def _string(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """`text` as inside double quotes; JSON escapes are TOML escapes, and DEL has to be one."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007F")
