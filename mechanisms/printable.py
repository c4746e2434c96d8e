"""Text of strangers, cleaned for the medium that it is shown on.

Titles, names of cases, messages of exceptions and what a program writes may hold anything. What moves a cursor, hides
or reorders text, or means something to the medium is made visible instead; everything else stays as it is.

    terminal(text)     several lines
    line(text)         one line, or one cell
    csv_cell(value)    numbers stay numbers
    markdown(text)     one line of prose, or one cell
    fenced(text)       a code block of Markdown
    html(text)         before it is escaped, in pages and drawings

JSON needs nothing: it escapes by itself.
"""

from __future__ import annotations

import re
from typing import Any

_KEPT = "\n\t"
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # controls: escape sequences begin with one
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # what orders text, or is not seen
    "\u2028\u2029\ud800-\udfff\U000e0000-\U000e007f]"  # line breaks, halves of characters, tags
)
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_MARKUP = re.compile(r"[\\`*_\[\]|~$#]|^([-+]|\d+[.)])(?=\s|$)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def terminal(text: str) -> str:
    r"""Several lines for a terminal or a log.

    >>> terminal("a\x1b[2Jb\u202ec\nd")
    'a\\x1b[2Jb\\u202ec\nd'
    """
    return UNSEEN.sub(lambda match: match[0] if match[0] in _KEPT else _visible(match[0]), text)


def line(text: str) -> str:
    r"""One line, for a row or a cell: breaks are shown too, so that no text passes for another row.

    >>> line("x\nverdict  CONSISTENT")
    'x\\nverdict  CONSISTENT'
    """
    return UNSEEN.sub(lambda match: _visible(match[0]), text)


def csv_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: text that begins like one gets an apostrophe in front.

    >>> csv_cell("=1+1"), csv_cell(-1.5), csv_cell("-1.5"), csv_cell("a-b")
    ("'=1+1", -1.5, '-1.5', 'a-b')
    """
    if not isinstance(value, str) or _is_number(value):
        return value
    shown = line(value)
    return f"'{shown}" if _FORMULA.match(value) else shown


def markdown(text: str) -> str:
    """One line of Markdown that shows the text as it is: no table, heading, link, list or tag comes of it.

    >>> markdown("a|b <c> `d` [e](f)")
    'a\\\\|b &lt;c&gt; \\\\`d\\\\` \\\\[e\\\\](f)'
    """
    plain = line(" ".join(text.split()))
    escaped = _MARKUP.sub(lambda match: f"{match[0][:-1]}\\{match[0][-1]}", plain)
    return re.sub("[&<>]", lambda match: _ENTITIES[match[0]], escaped)


def fenced(text: str, language: str = "text") -> str:
    """A code block, behind a fence longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{terminal(text)}\n{fence}"


def html(text: str) -> str:
    """Text for a page or a drawing, to be escaped by whoever writes it: XML has no place for control characters."""
    return terminal(text)


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


__all__ = ["UNSEEN", "csv_cell", "fenced", "html", "line", "markdown", "terminal"]
