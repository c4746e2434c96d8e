"""Demo documents: percent-format files of Markdown and code cells, parsed but not executed.

A cell begins with a line `# %%` (code) or `# %% [markdown]`, and has tags at the end of this line, as in Jupytext:

    # %% tags=["hide-input"]              a code cell whose code is folded, such as the drawing of a figure
    # %% [markdown] tags=["answer"]       part of the hidden answer to the exercise; code cells too

Each code cell runs after those above it. The first one sets `SEED`. Markdown states what holds for every seed; what was
measured is printed, or displayed by the last expression of a cell: a DataFrame or a figure. So text and numbers agree
for every seed, and the file reads the same in Jupyter, where nothing is filled in.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ...mechanisms.core.errors import ParameterError

HIDDEN, ANSWER = "hide-input", "answer"
TAGS = {HIDDEN, ANSWER}
SECTIONS = ("The surprise", "What one would wrongly conclude", "Exercise", "See also", "Run it")
"""Headings of the second level that every demo has, in this order; other headings lie between them."""
_MARKER = re.compile(r'# %%(?: \[(?P<kind>markdown)\])?(?: tags=(?P<tags>\[("[\w-]+"(, )?)+\]))?')
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
        lines = self.text.splitlines()
        starts = [i for i, line in enumerate(lines) if line.startswith("# %%")]
        if not starts or starts[0] != 0:
            raise self._error(1, "must begin with a cell: # %% [markdown]")
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True), start=1):
            marker = _MARKER.fullmatch(lines[start])
            tags = frozenset(json.loads(marker["tags"] or "[]")) if marker else frozenset()
            if marker is None or not tags <= TAGS:
                raise self._error(start + 1, f"has a cell {lines[start]!r}; write # %%, [markdown] and tags of {TAGS}")
            body, is_code = lines[start + 1 : end], marker["kind"] is None
            if not is_code:
                body = [self._markdown(start + 2 + i, line) for i, line in enumerate(body)]
            cells.append(Cell("\n".join(body).rstrip(), is_code, start + 2, number, tags))
        return tuple(cells)

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

    def _markdown(self, number: int, line: str) -> str:
        if line and not re.match(r"#( |$)", line):
            raise self._error(number, "is in a Markdown cell, where lines begin with '# '")
        return line[2:]

    def _error(self, line: int, problem: str) -> ParameterError:
        return ParameterError(f"{self.path.name}, line {line}: the document {problem}.", argument="name")
