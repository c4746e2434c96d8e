"""Line numbers of the keys in a TOML text, which `tomllib` does not report.

locate(text, path)     line of the key, or of the nearest enclosing table
_lines_of_keys(text)    line of every key, table and element of an array
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import count
from types import MappingProxyType

Path = tuple[str, ...]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_QUOTED = r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'"
_PART = re.compile(rf"[A-Za-z0-9_-]+|{_QUOTED}")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_LONG = r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}"  # up to two quotes may precede the closing three
_SCALAR = re.compile(rf"{_LONG}|{_QUOTED}|[^\s,\[\]{{}}#\"'][^,\]}}#\n]*", re.DOTALL)


def locate(text: str, path: Path) -> int | None:
    r"""Return the line (from 1) of `path`, or else of the table that contains it; None if the text has neither.

    A part of `path` may be a complete dotted key, as in [sweep].

    >>> locate('[audit]\ntrials = 10\n', ("audit", "trials"))
    2
    """
    lines = _lines_of_keys(text)
    dotted = {".".join(key): line for key, line in reversed([*lines.items()])}
    for length in range(len(path), 0, -1):
        line = lines.get(path[:length]) or dotted.get(".".join(path[:length]))
        if line is not None:
            return line
    return None


@lru_cache(maxsize=8)
def _lines_of_keys(text: str) -> MappingProxyType[Path, int]:
    r"""Return the line of every key and table up to the first syntax error in the text.

    Elements of arrays are numbered: ("sweep", "case", "1") is the second [[sweep.case]]. A table that is only implied,
    as `a` by [a.b], has the line of its first implication.

    >>> dict(_lines_of_keys('a.b = [\n  1,\n  {c = 2},\n]'))
    {('a',): 1, ('a', 'b'): 1, ('a', 'b', '0'): 2, ('a', 'b', '1'): 3, ('a', 'b', '1', 'c'): 3}
    """
    scanner = _Scanner(text)
    with suppress(_Mistake, RecursionError):
        scanner.document()
    return MappingProxyType(scanner.implied | scanner.stated)


class _Mistake(Exception):  # noqa: N818 - private to this module
    """Syntax error: the text is not TOML from this position on."""


class _Scanner:
    """Single-pass scanner that records the lines of stated and implied keys."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.stated: dict[Path, int] = {}
        self.implied: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}  # how many [[tables]] an array has
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def document(self) -> None:
        table: Path = ()
        while self._skip(_SPACE) and self.at < len(self.text):
            if self._take("["):
                table = self._header()
            else:
                self._entry(table)

    def _header(self) -> Path:
        """Scan [table], or [[table of an array]], and return the path of the keys that follow."""
        line, array = self._line(), self._take("[")
        *outer, last = self._key()
        self._expect("]]" if array else "]")
        table: Path = ()
        for part in outer:
            table = self._newest((*table, part))
            self.implied.setdefault(table, line)
        table = (*table, last)
        self.stated.setdefault(table, line)
        if array:
            self._tables[table] = self._tables.get(table, 0) + 1
            self.stated[self._newest(table)] = line
        return self._newest(table)

    def _newest(self, table: Path) -> Path:
        """Return the last table of an array of tables; any other table unchanged."""
        count = self._tables.get(table)
        return table if count is None else (*table, str(count - 1))

    def _entry(self, table: Path) -> None:
        """Scan "key = value"."""
        line, key = self._line(), self._key()
        for length in range(1, len(key)):
            self.implied.setdefault(table + key[:length], line)
        self.stated.setdefault(table + key, line)
        self._expect("=")
        self._value(table + key)

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        if self._take("["):
            for place in self._until("]"):
                element = (*path, str(place))
                self.stated[element] = self._line()
                self._value(element)
        elif self._take("{"):
            for _ in self._until("}"):
                self._entry(path)
        elif not self._skip(_SCALAR):
            raise _Mistake

    def _until(self, closing: str) -> Iterator[int]:
        """Yield the indices of a list up to its closing bracket, with the scanner at the start of each element."""
        for place in count():
            self._skip(_SPACE)
            if self._take(closing):
                return
            yield place
            self._skip(_SPACE)
            if not self._take(","):
                return self._expect(closing)

    def _key(self) -> Path:
        """Scan a dotted key, and return it without its quotes."""
        parts = [self._part()]
        while self._skip(_DOT):
            parts.append(self._part())
        return tuple(parts)

    def _part(self) -> str:
        self._skip(_SPACE)
        match = _PART.match(self.text, self.at)
        if match is None:
            raise _Mistake
        self.at = match.end()
        try:
            return next(iter(tomllib.loads(f"{match[0]} = 0"))) if match[0][0] in "\"'" else match[0]
        except tomllib.TOMLDecodeError as error:
            raise _Mistake from error

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.at)
        self.at = self.at if match is None else match.end()
        return match is not None

    def _take(self, token: str) -> bool:
        match = self.text.startswith(token, self.at)
        self.at += len(token) if match else 0
        return match

    def _expect(self, token: str) -> None:
        self._skip(_SPACE)
        if not self._take(token):
            raise _Mistake

    def _line(self) -> int:
        return bisect_left(self._breaks, self.at) + 1
