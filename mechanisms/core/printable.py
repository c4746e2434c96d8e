"""Display names of objects, and untrusted text escaped for the medium on which it is shown.

Titles, names of cases, exception messages and the output of a program may contain any characters. Characters that move
the cursor, hide or reorder text, or have a meaning for the medium are shown as escapes; all others are unchanged.

    terminal(text)     several lines
    line(text)         one line, or one cell
    csv_cell(value)    numbers stay numbers
    markdown(text)     one line of prose, or one cell
    fenced(text)       a code block of Markdown
    html(text)         text of pages and drawings, before it is escaped
    display_name(x)    short name of an object, not escaped

JSON needs no function: its encoder escapes such characters.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import FunctionType
from typing import Any

import numpy as np

from .number_text import parameter_text

_UNCHANGED = "\n\t"
INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # controls: escape sequences begin with one
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # characters that order text, or are invisible
    "\u2028\u2029\ud800-\udfff\U000e0000-\U000e007f]"  # line breaks, halves of characters, tags
)
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_MARKUP = re.compile(r"[\\`*_\[\]|~$#]|^([-+]|\d+[.)])(?=\s|$)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def terminal(text: str) -> str:
    r"""Return text of several lines for a terminal or a log.

    >>> terminal("a\x1b[2Jb\u202ec\nd")
    'a\\x1b[2Jb\\u202ec\nd'
    """
    return INVISIBLE.sub(lambda match: match[0] if match[0] in _UNCHANGED else _visible(match[0]), text)


def line(text: str) -> str:
    r"""Return text on one line, for a row or a cell; line breaks are escaped too, so that no text looks like a new row.

    >>> line("x\nverdict  CONSISTENT")
    'x\\nverdict  CONSISTENT'
    """
    return INVISIBLE.sub(lambda match: _visible(match[0]), text)


def csv_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet reads as a formula: text that begins like one is prefixed by an apostrophe.

    >>> csv_cell("=1+1"), csv_cell(-1.5), csv_cell("-1.5"), csv_cell("a-b")
    ("'=1+1", -1.5, '-1.5', 'a-b')
    """
    if not isinstance(value, str) or _is_number(value):
        return value
    shown = line(value)
    return f"'{shown}" if _FORMULA.match(value) else shown


def markdown(text: str) -> str:
    r"""Return one line of Markdown that shows the text literally, without table, heading, link, list or tag.

    >>> markdown("a|b <c> `d` [e](f)")
    'a\\|b &lt;c&gt; \\`d\\` \\[e\\](f)'
    """
    plain = line(" ".join(text.split()))
    escaped = _MARKUP.sub(lambda match: f"{match[0][:-1]}\\{match[0][-1]}", plain)
    return re.sub("[&<>]", lambda match: _ENTITIES[match[0]], escaped)


def fenced(text: str, language: str = "text") -> str:
    """Return a Markdown code block with a fence longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{terminal(text)}\n{fence}"


def html(text: str) -> str:
    """Return text for a page or a drawing without control characters, which XML forbids; the caller escapes it."""
    return terminal(text)


def display_name(thing: Any) -> str:
    """Return the short display name of an object, such as "Laplace(epsilon=1)"; default fields are omitted.

    A class with its own `__str__` is displayed by it.
    """
    if not is_dataclass(thing) or isinstance(thing, type) or type(thing).__str__ is not object.__str__:
        return _cut(getattr(thing, "__name__", None) or str(thing))
    items = []
    for field in fields(thing):
        value = getattr(thing, field.name)
        if field.repr and not (field.default is not MISSING and _is_default(field.default, value)):
            items.append(f"{field.name}={_display_value(value)}")
    return f"{type(thing).__name__}({', '.join(items)})"


def _display_value(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, np.ndarray):
        return f"array{value.shape}" if value.size > 4 else np.array2string(value, separator=", ")
    if isinstance(value, float):
        return f"{parameter_text(value)}"
    return display_name(value) if is_dataclass(value) or isinstance(value, FunctionType) else _cut(repr(value))


def _is_default(default: Any, value: Any) -> bool:
    return type(default) is type(value) and not isinstance(value, np.ndarray) and bool(default == value)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _visible(character: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    code = ord(character)
    return named.get(character) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


__all__ = ["INVISIBLE", "csv_cell", "display_name", "fenced", "html", "line", "markdown", "terminal"]
