"""Datasets as JSON text, as on the command line, or in a file of JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ...audit.trials.array_files import read_text
from ...mechanisms.core import Dataset, ParameterError

LONGEST_SHOWN = 200
"""Largest number of characters of a dataset in a message."""


def read_dataset(option: str, argument: str, as_json: bool) -> Dataset:
    """Return a dataset from JSON text, or from "@FILE"; lists of numbers become arrays, except `as_json`.

    Args:
        option: name of the option with the text, for messages.
        argument: the text.
        as_json: True to keep lists.

    Raises:
        ParameterError: the text is not JSON, or the file cannot be read.
    """
    named = argument.startswith("@")
    text = _file(option, argument.removeprefix("@")) if named else argument
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError(_not_json(option, argument, error, in_file=named), argument=option) from error
    if as_json or not isinstance(value, list):
        return value
    try:
        array = np.asarray(value)
    except ValueError:
        return value
    return array if array.dtype.kind in "biuf" else value


def _names_a_file(argument: str) -> bool:
    """Return whether an argument is the path of a file; False also for what no path can be."""
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):
        return False


def _not_json(option: str, argument: str, error: Exception, *, in_file: bool) -> str:
    excerpt = argument if len(argument) <= LONGEST_SHOWN else f"{argument[:LONGEST_SHOWN]}..."
    if in_file:
        return (
            f"{option} must be a dataset in JSON, but the file {excerpt[1:]!r} is not JSON ({error}). Write a column "
            "of numbers as [1, 0, 1], and a table, such as a CSV, as a list of rows: [[34, 1], [51, 0]]."
        )
    advice = f" For the file write '@{excerpt}'." if _names_a_file(argument) else ""
    allowed = "be JSON, such as '[1, 0, 1]', or @FILE for a file of JSON"
    return f"{option} must {allowed}, but is {excerpt!r} ({error}).{advice}"


def _file(option: str, name: str) -> str:
    """Return the text of a file; raises `ParameterError` if it cannot be read."""
    try:
        return read_text(Path(name))
    except (OSError, ValueError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        reason = (error.strerror if isinstance(error, OSError) else None) or reason
        raise ParameterError(f"{option} cannot be read from the file {name!r}: {reason}.", argument=option) from error


__all__ = ["read_dataset"]
