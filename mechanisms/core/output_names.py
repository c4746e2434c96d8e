"""Names of the numbers of an output, for descriptions of attacks and events; they enter no score and no bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_SHOWN_NUMBERS = 8
"""Largest number of numbers of an output that are shown."""


class OutputNames:
    """Names of the numbers of a flattened output: "coordinate 3", or "the output" if there is one number only."""

    def name(self, index: int | None) -> str:
        """Return the name of the number at `index`; None for the only one."""
        return "the output" if index is None else f"coordinate {index}"

    def part(self, index: int | None) -> str:
        """Return the name of the part of the output that contains the number, such as a column of a table."""
        return self.name(index)

    def is_code(self, index: int | None) -> bool:
        """Return whether the number stands for a text or another value, so that its size has no meaning."""
        return False

    def value(self, index: int | None, number: float) -> str:
        """Return what the number stands for: all digits, or a text in quotes."""
        return shown_number(number)

    def row(self, values: NDArray[Any]) -> str:
        """Return an output as text: a number, or the first numbers of several.

        >>> OutputNames().row(np.array([0.1, 2.0]))
        '[0.1, 2.0]'
        """
        return shown_number(values) if np.ndim(values) == 0 else listed_parts(np.ravel(values).tolist())


NO_NAMES = OutputNames()
"""Names of outputs whose numbers have indices only."""


def listed_parts(parts: Sequence[Any], names: Sequence[str] = ()) -> str:
    """Return the first parts of an output as a list, each with its name if there are names.

    >>> listed_parts(["'ok'", 0.5], ["kind", "mean"])
    "[kind = 'ok', mean = 0.5]"
    """
    shown = [part if isinstance(part, str) else shown_number(part) for part in parts[:MAX_SHOWN_NUMBERS]]
    if names:
        shown = [f"{name} = {text}" for name, text in zip(names, shown, strict=False)]
    more = f", ... {len(parts):,} numbers" if len(parts) > MAX_SHOWN_NUMBERS else ""
    return f"[{', '.join(shown)}{more}]"


def shown_number(value: Any) -> str:
    """Return all digits of a number."""
    return repr(value.item() if isinstance(value, np.generic) else value)
