"""The audited calls of a library: NAME.toml, whose functions are in NAME_calls.py."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

HERE = Path(__file__).parent
CONFIDENCE = 1 - 1e-6
"""Of every verdict; it is the default of `dpassay check`."""
OPTIONS = ("--confidence", "--python", "--json", "--quiet")
"""Options that the run sets, or that are the same for all."""

Text = Field(min_length=1)


class Call(BaseModel, extra="forbid", frozen=True):
    """One audited call.

    Args:
        function: its name in NAME_calls.py.
        options: those of `dpassay check`, as written on the command line.
        conditions: the data, in words.
    """

    function: str = Field(pattern=r"^\w+$")
    options: str = Text
    conditions: str = Text

    @model_validator(mode="after")
    def _has_a_claim(self) -> Call:
        words = shlex.split(self.options)
        assert "--epsilon" in words, f"{self.function}: no --epsilon"
        assert not set(OPTIONS) & set(words), f"{self.function}: {OPTIONS} are the same for all rows"
        return self


class Row(Call):
    """A call of a library.

    Args:
        call: the call, as a user of the library writes it.
        claim: what the library states, and where.
        relation: the relation that the library states, or "not stated".
        cause: why the claim is false, from the source; empty where nothing contradicts it.
        known: where the cause has been reported, by repository and number; empty if a search found no report.
        twin: the same call without the cause.
    """

    call: str = Text
    claim: str = Text
    relation: Literal["add_remove", "replace_one", "zero_out", "not stated"]
    cause: str = ""
    known: str = ""
    twin: Call | None = None


class Library(BaseModel, extra="forbid", frozen=True):
    """A library.

    Args:
        name: the name under which it is installed.
        install: arguments of `pip install`; the first is the library, with its exact version.
        not_run: why no call is run; empty if there are rows.
        rows: its calls.
    """

    name: str = Text
    install: tuple[str, ...] = Field(min_length=1)
    not_run: str = ""
    rows: tuple[Row, ...] = ()

    @model_validator(mode="after")
    def _is_run_or_not(self) -> Library:
        assert bool(self.rows) != bool(self.not_run), f"{self.name}: rows, or a reason why there are none"
        assert self.install[0].startswith(f"{self.name}=="), f"{self.name}: an exact version"
        return self

    @property
    def version(self) -> str:
        return self.install[0].partition("==")[2]

    @property
    def file(self) -> Path:
        return HERE / f"{slug(self.name)}_calls.py"

    def calls(self) -> list[Call]:
        """Every call, each followed by its twin."""
        return [call for row in self.rows for call in (row, row.twin) if call is not None]


def slug(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def library(path: Path) -> Library:
    return Library(**tomllib.loads(path.read_text()))


def libraries(folder: Path = HERE) -> list[Library]:
    """Return all libraries, by name."""
    return sorted(map(library, folder.glob("*.toml")), key=lambda one: one.name.lower())


def key(record: dict[str, Any]) -> tuple[str, ...]:
    """Return what identifies a record: a library in a version, and a call with its options."""
    return tuple(record[name] for name in ("library", "version", "function", "options"))


def current(record: dict[str, Any], made: list[Library]) -> bool:
    """Return whether a record is of a call of today, or of another version of its library than today's."""
    for one in made:
        if (one.name, one.version) == (record["library"], record["version"]):
            return any((call.function, call.options) == (record["function"], record["options"]) for call in one.calls())
    return True
