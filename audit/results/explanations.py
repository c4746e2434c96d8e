"""The steps of an explanation: one that fails is missing, with a warning, and the result is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ...mechanisms.adapters.functions.guard import in_words

T = TypeVar("T")


@dataclass(frozen=True)
class Explanations:
    """The steps of one explanation, and a warning for each step that raised.

    Args:
        through: exceptions that are not caught, such as that of a full disk.
        warnings: of the steps so far, a clause each.

    Example:
        >>> explained = Explanations()
        >>> explained.step("the rule of the event", lambda: 1 // 0, otherwise=None)
        >>> explained.warnings
        ['the rule of the event is missing: ZeroDivisionError: integer division or modulo by zero']
    """

    through: tuple[type[Exception], ...] = ()
    warnings: list[str] = field(default_factory=list)

    def step(self, what: str, make: Callable[[], T], otherwise: Any) -> T:
        """Return the value of `make`, or `otherwise` if it raises; `what` names the step in the warning."""
        try:
            return make()
        except self.through:
            raise
        except Exception as error:
            self.warnings.append(f"{what} is missing: {in_words(error)}")
            return cast("T", otherwise)
