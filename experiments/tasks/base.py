"""The interface of a task: a question that is checked and ready to run. Read this first.

Task            one question, checked when it is made
  estimate      number of runs of the mechanism
  run           makes the evidence, from what the store holds
  answer        computes the result from the evidence
CommandTask     a question that one command line states in full
  command_line  the command line that reproduces the numbers
FileTask        such a question on files of other programs: evidence and result, and what is kept of them
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ...audit.trials.options import RunOptions

if TYPE_CHECKING:
    import pandas as pd

HERE = RunOptions()
"""Options of a run in this process, without a store."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(ABC):
    """One question, ready to run."""

    @abstractmethod
    def estimate(self) -> int:
        """Return the number of runs of the mechanism that `run` makes with an empty store."""

    @abstractmethod
    def run(self, options: RunOptions = HERE) -> Any:
        """Make the evidence, from the runs in the store of the options, and those that are missing."""

    def answer(self, evidence: Any) -> Any:
        """Compute the result from what `run` returned; by default this is the result."""
        return evidence


def stated(default: Any) -> Any:
    """Return a field of a `CommandTask` that the command line states, also where it has its default value.

    For a number that a later version may choose differently, such as a confidence.
    """
    return field(default=default, metadata={"stated": True})


@dataclass(frozen=True, eq=False, kw_only=True)
class CommandTask(Task):
    """A task whose fields are the arguments and options of one command, under the same names.

    The command line states each field without a default, and those with another value than their default.
    """

    command: ClassVar[str]
    arguments: ClassVar[tuple[str, ...]] = ()
    """Fields that are given without the name of an option."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the task for the parameters of the function of its command; those of the output are left out."""
        several = {field.name: tuple(options[field.name] or ()) for field in fields(cls) if field.default == ()}
        return cls(**{field.name: options[field.name] for field in fields(cls)} | several)

    @property
    def stated(self) -> dict[str, Any]:
        """Name -> value of the fields that the command line states."""
        values = {field: getattr(self, field.name) for field in fields(self)}
        return {f.name: value for f, value in values.items() if "stated" in f.metadata or value != f.default}

    @property
    def command_line(self) -> str:
        """Command line that reproduces the numbers, in the folder of its files."""
        words = ["dpassay", self.command]
        for name, value in self.stated.items():
            option = [] if name in self.arguments else [f"--{name.replace('_', '-')}"]
            for each in value if isinstance(value, tuple) else (value,):
                words += option if each is True else [*option, each.name if isinstance(each, Path) else str(each)]
        return shlex.join(words)


@dataclass(frozen=True, eq=False, kw_only=True)
class FileTask(CommandTask):
    """A question on files that other programs wrote."""

    arguments: ClassVar[tuple[str, ...]] = ("file",)

    def estimate(self) -> int:
        """Return 0: the runs were made by other programs."""
        return 0

    @cached_property
    def evidence(self) -> Any:
        """What `run` makes."""
        return self.run()

    @cached_property
    def result(self) -> Any:
        """What `answer` computes."""
        return self.answer(self.evidence)

    @property
    def title(self) -> str:
        """Display name of the files."""
        return str(getattr(self, self.arguments[-1]).name)

    @property
    def privacy_unit(self) -> str:
        """The privacy unit in words; empty if the files do not state it."""
        return ""

    @property
    @abstractmethod
    def digests(self) -> Mapping[str, str]:
        """Name -> digest of what was read from the files."""

    @property
    def parts(self) -> Mapping[str, Any]:
        """Folder -> result that is kept in it, with figures and reports."""
        return {"": self.result}

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Name of a file -> table that is kept in it, beside the folders of the parts."""
        return {}

    @property
    def record_ids(self) -> Sequence[str]:
        """Names of the records of the result; empty if it has none."""
        return ()

    @property
    def records_text(self) -> str:
        """CSV of the real records that a table discloses, with their values; empty for other questions."""
        return ""


__all__ = ["CommandTask", "FileTask", "Task", "stated"]
