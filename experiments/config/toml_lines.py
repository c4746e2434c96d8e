"""Where a key stands in a TOML text. What the keys mean is left to `tomllib`.

locate(text, path)     line of the key, or of the nearest table around it
lines_of_keys(text)    line of every key, table and element of an array
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
_LONG = r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}"  # up to two quotes may stand before the closing three
_SCALAR = re.compile(rf"{_LONG}|{_QUOTED}|[^\s,\[\]{{}}#\"'][^,\]}}#\n]*", re.DOTALL)


def locate(text: str, path: Path) -> int | None:
    """Line (from 1) on which `path` is set, or else the table that holds it; None if neither stands in the text.

    A part of `path` may be a dotted key as a whole, as the keys of [sweep] are.

    >>> locate('[audit]\\ntrials = 10\\n', ("audit", "trials"))
    2
    """
    lines = lines_of_keys(text)
    dotted = {".".join(key): line for key, line in reversed([*lines.items()])}
    for length in range(len(path), 0, -1):
        line = lines.get(path[:length]) or dotted.get(".".join(path[:length]))
        if line is not None:
            return line
    return None


@lru_cache(maxsize=8)
def lines_of_keys(text: str) -> MappingProxyType[Path, int]:
    """The line of every key and table; what follows the first mistake in the text is left out.

    Elements of arrays are numbered: ("sweep", "case", "1") is the second [[sweep.case]]. A table that is only implied,
    as `a` by [a.b], stands where it is implied first.

    >>> dict(lines_of_keys('a.b = [\\n  1,\\n  {c = 2},\\n]'))
    {('a',): 1, ('a', 'b'): 1, ('a', 'b', '0'): 2, ('a', 'b', '1'): 3, ('a', 'b', '1', 'c'): 3}
    """
    scanner = _Scanner(text)
    with suppress(_Mistake, RecursionError):
        scanner.document()
    return MappingProxyType(scanner.implied | scanner.stated)


class _Mistake(Exception):  # noqa: N818 - never leaves this module
    """The text is no TOML from here on."""


class _Scanner:
    """Goes through a text once, and notes where keys are stated and implied."""

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
        """[table], or [[table of an array]]; the path of what follows."""
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
        """The last table of an array of tables; any other table is itself."""
        count = self._tables.get(table)
        return table if count is None else (*table, str(count - 1))

    def _entry(self, table: Path) -> None:
        """key = value"""
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
        """The places of a list up to its closing bracket, with the scanner at the beginning of each element."""
        for place in count():
            self._skip(_SPACE)
            if self._take(closing):
                return
            yield place
            self._skip(_SPACE)
            if not self._take(","):
                return self._expect(closing)

    def _key(self) -> Path:
        """A dotted key, without its quotes."""
        parts = [self._part()]
        while self._skip(_DOT):
            parts.append(self._part())
        return tuple(parts)

    def _part(self) -> str:
        self._skip(_SPACE)
        found = _PART.match(self.text, self.at)
        if found is None:
            raise _Mistake
        self.at = found.end()
        try:
            return next(iter(tomllib.loads(f"{found[0]} = 0"))) if found[0][0] in "\"'" else found[0]
        except tomllib.TOMLDecodeError as error:
            raise _Mistake from error

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self.text, self.at)
        self.at = self.at if found is None else found.end()
        return found is not None

    def _take(self, token: str) -> bool:
        found = self.text.startswith(token, self.at)
        self.at += len(token) if found else 0
        return found

    def _expect(self, token: str) -> None:
        self._skip(_SPACE)
        if not self._take(token):
            raise _Mistake

    def _line(self) -> int:
        return bisect_left(self._breaks, self.at) + 1
