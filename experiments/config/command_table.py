"""Tables with the options of a command: [judge], [text], [risk], [ask] and [calibrate], each a whole configuration.

Their keys are the options of the command, by the fields of its task. A file is named from the folder in which dpassay
runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ...mechanisms.core import Catalogue, ParameterError, unknown_name_message
from ..tasks.base import CommandTask, FileTask
from ..tasks.membership import MembershipStudy
from .overrides import apply
from .sections import Names, Whole
from .source import Source

commands = Catalogue(
    "command",
    "dpassay.experiments",
    {
        "judge": "tasks.judgement:Judgement",
        "text": "tasks.texts:TextStudy",
        "risk": "tasks.table_risk:TableRisk",
        "ask": "tasks.assistants:AssistantAudit",
        "calibrate": "runs.calibration:Calibration",
    },
)
"""Name of a table -> task whose options it has."""
MEMBERSHIP = MembershipStudy.command
"""Command on files that is no table: [membership] is part of an experiment."""
TYPES: dict[str, tuple[Any, str]] = {
    "Path": (Annotated[Path, Field(strict=False)], "the name of a file, in quotes"),
    "str": (str, "text, in quotes"),
    "float": (float, "a number"),
    "int": (Whole, "a whole number"),
    "bool": (bool, "true or false"),
    "tuple[str, ...]": (Names, "a list of names, in quotes"),
    "tuple[int, ...]": (Annotated[tuple[Whole, ...], Field(strict=False)], "a list of whole numbers"),
}
"""Type of a field of a task -> type of the value in a table, and what it must be."""


def command_of(source: Source) -> str | None:
    """Return the name of the table of a command in a configuration; None for an experiment."""
    return next((name for name in commands if name in source.tables), None)


def task_of(name: str, source: Source) -> CommandTask:
    """Build the task of a command from its table.

    Raises:
        ConfigError: another table, an unknown or missing key, or a value of another type.
        ParameterError: as for the task.
    """
    tables = apply(source.tables, source.settings)
    source.check_values(tables)
    for other in (key for key in tables if key != name):
        raise source.error((other,), f"{other} is not used with [{name}], which stands alone. Leave it out.")
    kind, table = commands.get(name), tables[name]
    if not isinstance(table, dict):
        raise source.error((name,), f"[{name}] must be a table, but is {table!r}.")
    known, values = {field.name: field for field in fields(kind)}, {}
    for key, value in table.items():
        if key not in known:
            raise source.error((name, key), unknown_name_message(f"key of [{name}]", key, known))
        type_, allowed = TYPES[known[key].type.removesuffix(" | None")]
        try:
            values[key] = TypeAdapter(type_, config=ConfigDict(strict=True)).validate_python(value)
        except ValidationError:
            shown = f"{value!r} ({type(value).__name__})"
            raise source.error((name, key), f"{name}.{key} must be {allowed}, but is {shown}.") from None
    for key, field in known.items():
        if key not in values and field.default is MISSING:
            allowed = TYPES[field.type.removesuffix(" | None")][1]
            raise source.error((name,), f"{name}.{key} is missing: add {allowed}.")
    task: CommandTask = kind(**values)
    return task


def task_of_line(line: str, files: Path) -> FileTask:
    """Build the task on files that a `CommandTask.command_line` states. It runs no code.

    Args:
        line: such as "dpassay judge scores.csv --epsilon 1.0".
        files: folder of the files that it names.

    Raises:
        ParameterError: it is no such command line, or a file is missing.
    """
    try:
        program, name, *words = shlex.split(line)
    except ValueError:
        program, name, words = "", "", []
    if program != "dpassay" or name not in (*commands, MEMBERSHIP):
        raise ParameterError(f"{line!r} is no command on files: dpassay can judge nothing again.")
    kind = MembershipStudy if name == MEMBERSHIP else commands.get(name)
    if not issubclass(kind, FileTask):
        raise ParameterError(f"{line!r} reads no files.")
    read: dict[str, Any] = {"Path": lambda text: files / Path(text).name, "str": str, "float": float, "int": int}
    known = {field.name: field.type.removesuffix(" | None") for field in fields(kind)}
    arguments, given, values = iter(kind.arguments), iter(words), dict[str, Any]()
    try:
        for word in given:
            key = word[2:].replace("-", "_") if word.startswith("--") else next(arguments)
            type_ = known[key]
            if type_ == "bool":
                values[key] = True
                continue
            value = read[type_.removeprefix("tuple[").removesuffix(", ...]")](
                next(given) if word.startswith("--") else word
            )
            values[key] = (*values.get(key, ()), value) if type_.startswith("tuple") else value
        task: FileTask = kind(**values)
    except (LookupError, ValueError, TypeError, StopIteration) as error:
        raise ParameterError(f"{line!r} is no command of dpassay ({error}).") from error
    return task


@contextmanager
def located(name: str, source: Source) -> Iterator[None]:
    """Convert a `ParameterError` to a `ConfigError` with the line of its key, and with keys in place of options."""
    try:
        yield
    except ParameterError as error:
        table = apply(source.tables, source.settings)[name]
        keys = (argument.removeprefix("--").replace("-", "_") for argument in error.arguments)
        at = next(((name, key) for key in keys if key in table), (name,))
        text = re.sub(r"--([a-z][a-z-]*)", lambda option: option[1].replace("-", "_"), str(error))
        raise source.error(at, f"[{name}] {text}") from error


__all__ = ["command_of", "commands", "located", "task_of", "task_of_line"]
