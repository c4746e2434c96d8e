"""Plain values as TOML text, with keys in their order. `tomllib` reads it, and `toml_lines` locates its keys.

Not by tomli-w, which writes lists of long tables after all other values (the order of the keys of `[sweep]` is that of
the results), one entry of a list on each line, carriage returns as line feeds, and invisible characters as they are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...mechanisms.core import INVISIBLE


def to_toml(table: Mapping[str, Any]) -> str:
    """Return the TOML text of plain values: strings, numbers, booleans, lists and tables of them; None is left out.

    Top-level tables become sections, deeper ones inline tables. Raises `TypeError` for other types.

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
    """Return the text of one value; a string of several lines gets triple quotes."""
    if isinstance(value, str):
        return _string(value) if "\n" not in value else '"""\n' + "\n".join(map(_escaped, value.split("\n"))) + '"""'
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    if isinstance(value, int | float):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_inline(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_inline, value)) + "]"
    raise TypeError(f"{value!r} ({type(value).__name__}) cannot be written to a configuration.")


def _inline(value: Any) -> str:
    """Return the text of a value inside a list or an inline table, always on one line."""
    return _string(value) if isinstance(value, str) else _value(value)


def _string(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Return `text` escaped for double quotes: JSON escapes are TOML escapes; invisible characters are escaped."""
    return INVISIBLE.sub(_escape, json.dumps(text, ensure_ascii=False)[1:-1])


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
