"""Findings of a command for build servers: each tested claim with its text, and its place in the sources.

    command -> Findings -> JUnit XML, SARIF

`Place` is where a build server shows a violation: the line that defines the audited object, or the configuration.
"""

from __future__ import annotations

import ast
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....audit.results.plain import plain
from ....audit.results.result_text import ResultText, Tone


@dataclass(frozen=True)
class Place:
    """A place in the sources.

    Args:
        name: name of the audited object, such as "noise.py:release".
        file: its file; None where there is none.
        line: from 1.
    """

    name: str
    file: Path | None = None
    line: int = 1


@dataclass(frozen=True)
class FoundClaim:
    """One tested claim.

    Args:
        name: of the audit, unique among the findings.
        text: of its result, without values of datasets and outputs.
        same: what makes it the same claim in another build.
        numbers: of the claim and the outcome, by name.
        seconds: duration of the audit; 0 where unknown.
        state: "new", "unchanged" for a known violation, or "updated", since the baseline; "" without one.
        lost: why the audit has less power than in the baseline, a sentence; "" if it has not.
    """

    name: str
    text: ResultText
    same: tuple[Any, ...]
    numbers: Mapping[str, Any]
    seconds: float = 0.0
    state: str = ""
    lost: str = ""

    @property
    def detail(self) -> str:
        """The text in full; without the details for a violation, whose evidence comes first."""
        return plain(self.text, details=self.text.tone is not Tone.VIOLATION)


@dataclass(frozen=True)
class Findings:
    """The tested claims of a command.

    Args:
        title: name of the audit or the experiment.
        place: what was audited.
        claims: the claims, those of the baseline that are no longer tested last.
        strict: whether an underpowered audit is a failure.
    """

    title: str
    place: Place
    claims: tuple[FoundClaim, ...]
    strict: bool = False


def place_of_target(target: str | None, program: str | None) -> Place:
    """Return the place of the audited object of `dpassay check`: a function, or the first file of a program.

    Args:
        target: "package.module:object" or "file.py:object", loaded before; None for a program.
        program: a command line.
    """
    if target is None:
        words = _words(program or "")
        return Place(program or "", next((Path(word) for word in words if _is_file(word)), None))
    location, _, name = target.rpartition(":")
    file = Path(location) if location.endswith(".py") else _file_of_module(location)
    return Place(target, file, 1 if file is None else _line_of(file, name))


def _line_of(file: Path, name: str) -> int:
    """Return the line that defines a dotted name in a Python file; 1 where the text does not show it."""
    try:
        body: list[ast.stmt] = ast.parse(file.read_text(encoding="utf-8")).body
    except (OSError, ValueError, SyntaxError, RecursionError):
        return 1
    line = 1
    for part in name.split("."):
        found = next((node for node in reversed(body) if part in _defined(node)), None)
        if found is None:
            return line
        line, body = found.lineno, getattr(found, "body", [])
    return line


def line_of_table(file: Path, table: str) -> int:
    """Return the line of the header of a table in a TOML file; 1 where there is none."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return 1
    return next((place for place, text in enumerate(lines, start=1) if text.strip() == f"[{table}]"), 1)


def _defined(node: ast.stmt) -> set[str]:
    """Return the names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _file_of_module(name: str) -> Path | None:
    file = getattr(sys.modules.get(name), "__file__", None)
    return Path(file) if isinstance(file, str) and file.endswith(".py") else None


def _words(program: str) -> list[str]:
    try:
        return shlex.split(program)
    except ValueError:
        return []


def _is_file(word: str) -> bool:
    try:
        return not Path(word).is_absolute() and Path(word).is_file()
    except (OSError, ValueError):
        return False
