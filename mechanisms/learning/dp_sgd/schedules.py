"""Learning-rate schedules, which are public: no schedule depends on the data."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...core.constraints import NonNegative, Positive, PositiveInt, check_fields


@runtime_checkable
class Schedule(Protocol):
    """Learning rate of each step."""

    def rates(self, steps: int) -> NDArray[np.float64]:
        """Return the learning rates of steps 1 to `steps`, `(steps,)`."""
        ...


@dataclass(frozen=True)
class ConstantSchedule:
    """Constant learning rate.

    Args:
        initial: > 0.
    """

    initial: Positive

    def __post_init__(self) -> None:
        check_fields(self)

    def rates(self, steps: int) -> NDArray[np.float64]:
        return np.full(steps, float(self.initial))


@dataclass(frozen=True)
class InverseSquareRoot:
    """Rate initial / sqrt(t) in step t = 1, 2, ..., as for projected subgradient descent on convex losses.

    Args:
        initial: > 0.

    Example:
        >>> InverseSquareRoot(2.0).rates(4)[3].item()
        1.0
    """

    initial: Positive

    def __post_init__(self) -> None:
        check_fields(self)

    def rates(self, steps: int) -> NDArray[np.float64]:
        return self.initial / np.sqrt(np.arange(1, steps + 1))


@dataclass(frozen=True)
class StepDecay:
    """Rate initial * factor^floor((t - 1) / every) in step t = 1, 2, ....

    Args:
        initial: > 0.
        factor: > 0.
        every: steps between two changes, >= 1.
    """

    initial: Positive
    _: KW_ONLY
    factor: Positive
    every: PositiveInt

    def __post_init__(self) -> None:
        check_fields(self)

    def rates(self, steps: int) -> NDArray[np.float64]:
        changes = np.arange(steps) // self.every
        return np.asarray(self.initial * float(self.factor) ** changes, dtype=np.float64)


@dataclass(frozen=True)
class Cosine:
    """Half a cosine from `initial` in the first step to `final`, which the step after the last would have.

    Args:
        initial: > 0.
        final: >= 0.
    """

    initial: Positive
    _: KW_ONLY
    final: NonNegative = 0.0

    def __post_init__(self) -> None:
        check_fields(self)

    def rates(self, steps: int) -> NDArray[np.float64]:
        weights = 0.5 * (1.0 + np.cos(np.pi * np.arange(steps) / steps))
        return self.final + (self.initial - self.final) * weights
