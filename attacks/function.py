"""The attack of a function: the scores that code of the user gives to outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..mechanisms.adapters.functions.guard import in_words
from ..mechanisms.adapters.functions.target import name_of
from ..mechanisms.core import AttackError, DpassayError, Floats, Outputs, ParameterError
from .base import Attack, Scorer, Target


@dataclass(frozen=True)
class FunctionAttack(Attack):
    """Score of an output: the value of a function, which learns nothing.

    The function is fixed before the first run, so that nothing needs a correction. Whether side 1 has the higher scores
    is found out on the pilot. Outputs that are not numbers, such as texts or exceptions, are scored by the library.

    Args:
        function: `score(outputs)`: from outputs, `(size, ...)` with a row for each run, to `(size,)` numbers. It must
            be picklable (with cloudpickle) to run on several workers.

    Raises:
        ParameterError: `function` is not callable.
        AttackError: it raises, or does not return one number for each run.

    Example:
        >>> import numpy as np
        >>> from dpassay.mechanisms import Laplace
        >>> target = Target(Laplace(epsilon=1.0), Laplace(epsilon=1.0).worst_case())
        >>> none = Outputs(np.empty(0))
        >>> scorer = FunctionAttack(np.abs).fit(target, none, none, np.random.default_rng(0))
        >>> scorer.score(Outputs(np.array([2.0, -3.0]))).tolist()
        [2.0, 3.0]
    """

    minimum_pilot: ClassVar[int] = 0

    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise ParameterError(
                f"function must be callable, such as score(outputs), but is {self.function!r}.", argument="function"
            )

    @property
    def name(self) -> str:
        """Name of the function."""
        return name_of(self.function)

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Scorer:
        """Return the function as a scorer."""
        return FunctionScorer(self.function)


@dataclass(frozen=True)
class FunctionScorer:
    """Scorer that calls a function with the outputs of all runs."""

    function: Callable[[Any], Any]

    def score(self, outputs: Outputs) -> Floats:
        """Return the values of the function, shape `(size,)`."""
        name, size = name_of(self.function), len(outputs)
        try:
            scores = np.asarray(self.function(outputs.values), dtype=np.float64)
        except DpassayError:
            raise
        except Exception as error:
            raise AttackError(
                f"the attack {name} raised {in_words(error)} on outputs of shape {outputs.values.shape}. It is called "
                "with an array that has a row for each run, and returns a number for each."
            ) from error
        if scores.shape != (size,):
            raise AttackError(
                f"the attack {name} must return one number for each of {size:,} runs, shape ({size},), but returned "
                f"shape {scores.shape}. Compute along the other axes only, as outputs.sum(axis=1) does."
            )
        if np.isnan(scores).any():
            raise AttackError(f"the attack {name} returned NaN. Return a number, or an infinity, for each run.")
        return scores


__all__ = ["FunctionAttack"]
