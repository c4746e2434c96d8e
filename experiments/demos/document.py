"""Demo documents: MyST Markdown with code cells, parsed but not executed.

A code cell is a block of Python code; Markdown ends where one begins, or at a line of three plus signs. Jupytext reads
the same format. Tags stand in the first line of a code cell, and after the plus signs:

    ```{code-cell} python
    :tags: [hide-input]                 code that is folded, such as the drawing of a figure

    figure_of(plot)
    ```

    +++ {"tags": ["answer"]}            part of the hidden answer to the exercise; code cells too

Each code cell runs after those above it. The first one sets `SEED`. Markdown states what holds for every seed; what was
measured is printed, or displayed by the last expression of a cell: a DataFrame or a figure. So text and numbers agree
for every seed, and the file reads the same in Jupyter, where nothing is filled in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ...mechanisms.core import ParameterError

HIDDEN, ANSWER = "hide-input", "answer"
TAGS = {HIDDEN, ANSWER}
SECTIONS = ("The surprise", "What one would wrongly conclude", "Exercise", "See also", "Run it")
"""Headings of the second level that every demo has, in this order; other headings lie between them."""
_CODE = r"^```\{code-cell\} python\n(?::tags: \[(?P<code_tags>[\w, -]+)\]\n\n?)?(?P<code>.*?)\n```$"
_BREAK = r'^\+\+\+(?: \{"tags": \["(?P<tags>[\w-]+)"\]\})?$'
_BOUNDARY = re.compile(f"{_CODE}|{_BREAK}", re.MULTILINE | re.DOTALL)
_LIKE_BOUNDARY = re.compile(r"^(```\{|\+\+\+)", re.MULTILINE)
_SEED = re.compile(r"^SEED = (\d+)$", re.MULTILINE)
_SECONDS = re.compile(r"about (\d+) s\b")


@dataclass(frozen=True)
class Cell:
    """One cell of a document.

    Args:
        source: Markdown, or Python code.
        is_code: True for code.
        line: line of the file on which the source begins, from 1.
        number: place in the document, from 1.
        tags: some of `TAGS`.
    """

    source: str
    is_code: bool
    line: int
    number: int
    tags: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_answer(self) -> bool:
        """True for a part of the answer to the exercise."""
        return ANSWER in self.tags

    @property
    def is_hidden(self) -> bool:
        """True if the code is folded."""
        return HIDDEN in self.tags


@dataclass(frozen=True)
class Document:
    """Cells of one demo.

    Args:
        path: the file; its stem is the name of the demo.
        text: content of the file.
    """

    path: Path
    text: str = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Document:
        """Return the document in a file."""
        return cls(path, path.read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        """Name of the demo."""
        return self.path.stem

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells, from top to bottom; raises ParameterError with the line that is not in the format."""
        cells: list[Cell] = []
        end, tags = 0, ""
        if not self.text.startswith("# "):
            raise self._error(0, "must begin with a heading: # Does this leak?")
        for boundary in _BOUNDARY.finditer(self.text):
            self._append(cells, end, boundary.start(), tags)
            if boundary["code"] is not None:
                self._append(cells, *boundary.span("code"), boundary["code_tags"], is_code=True)
            end, tags = boundary.end(), boundary["tags"]
        self._append(cells, end, len(self.text), tags)
        return tuple(cells)

    def _append(self, cells: list[Cell], start: int, end: int, tags: str | None, *, is_code: bool = False) -> None:
        """Append the cell between two places in the text, unless it is empty."""
        source = self.text[start:end].strip("\n")
        start = self.text.index(source, start)
        wrong = _LIKE_BOUNDARY.search(source)
        if wrong is not None:
            raise self._error(
                start + wrong.start(), "has a cell in another format; write ```{code-cell} python, or a line +++"
            )
        named = frozenset((tags or "").replace(",", " ").split())
        if not named <= TAGS:
            raise self._error(start, f"has a cell with the tags {sorted(named)}; write some of {sorted(TAGS)}")
        if source:
            cells.append(Cell(source, is_code, self._line(start), len(cells) + 1, named))

    @property
    def title(self) -> str:
        """The heading of the document, a question."""
        return self.cells[0].source.partition("\n")[0].removeprefix("# ")

    @property
    def seconds(self) -> int:
        """Running time that the last section states ("about 5 s"); 0 if it states none."""
        stated = _SECONDS.search(self.cells[-1].source)
        return int(stated[1]) if stated else 0

    @property
    def summary(self) -> str:
        """Title and running time, for lists."""
        return f"{self.title} ({self.seconds} s)"

    @property
    def headings(self) -> list[str]:
        """Headings of the second level."""
        return [
            line.removeprefix("## ")
            for cell in self.cells
            if not cell.is_code
            for line in cell.source.splitlines()
            if line.startswith("## ")
        ]

    @property
    def seed(self) -> int | None:
        """Value of SEED; None if no line of the form `SEED = 1` sets it."""
        match = _SEED.search(self.text)
        return int(match[1]) if match else None

    def with_seed(self, seed: int | None) -> Document:
        """Return the document with another value of SEED, or itself if `seed` is None."""
        if seed is None:
            return self
        if seed < 0:
            raise ParameterError(argument="seed", value=seed, allowed="be an integer >= 0")
        return replace(self, text=_SEED.sub(f"SEED = {seed}", self.text, count=1))

    def _line(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def _error(self, position: int, problem: str) -> ParameterError:
        return ParameterError(
            f"{self.path.name}, line {self._line(position)}: the document {problem}.", argument="name"
        )
