"""Published rounding: the printed number and the numbers that round to it, exact in whole numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Ints
from ...core.constraints import NonNegativeInt, check_fields, one_of_names
from ...core.errors import ParameterError

RULES = ("half-even", "half-up", "half-down", "down", "unknown")


@dataclass(frozen=True)
class Rounding:
    """Rounding to `digits` digits after the decimal point.

    Args:
        digits: >= 0.
        rule: the treatment of midpoints: "half-even", "half-up" and "half-down" take the even, the larger
            or the smaller neighbour; "down" truncates. "unknown" publishes as "half-even" does, and concludes only what
            holds for each of the first three.

    Example:
        >>> Rounding(1).interval(36.7)
        (Fraction(733, 20), Fraction(147, 4), False, False)
        >>> Rounding(1).of(np.array([110]), np.array([3]))
        array([36.7])
    """

    digits: NonNegativeInt = 1
    _: KW_ONLY
    rule: Annotated[str, one_of_names(*RULES)] = "half-even"

    def __post_init__(self) -> None:
        check_fields(self)

    def of(self, numerators: Ints, denominators: Ints) -> NDArray[np.float64]:
        """Return numerator / denominator >= 0, rounded; denominators > 0."""
        steps, rest = np.divmod(numerators * 10**self.digits, denominators)
        up = 2 * rest > denominators
        if self.rule == "down":
            up = np.zeros_like(up)
        elif self.rule == "half-up":
            up |= 2 * rest == denominators
        elif self.rule != "half-down":
            up |= (2 * rest == denominators) & (steps % 2 == 1)
        return np.asarray((steps + up) / 10**self.digits)

    def interval(self, value: float) -> tuple[Fraction, Fraction, bool, bool]:
        """Return the interval of numbers that are published as `value`, and whether each end belongs to it."""
        exact = Fraction(repr(float(value)))
        steps = exact * 10**self.digits
        if steps.denominator != 1 or steps < 0:
            raise ParameterError(
                f"value must be a number >= 0 with {self.digits} digits after the point, but is {value!r}. Round "
                "it first, or set `digits` to the number of digits that it has.",
                argument="value",
            )
        step = Fraction(1, 10**self.digits)
        if self.rule == "down":
            return exact, exact + step, True, False
        even = steps % 2 == 0
        ends = {
            "half-up": (True, False),
            "half-down": (False, True),
            "half-even": (even, even),
            "unknown": (True, True),
        }
        at_low, at_high = ends[self.rule]
        return exact - step / 2, exact + step / 2, at_low, at_high

    def whole_numbers(self, value: float, times: int) -> tuple[int, int]:
        """Return the smallest and largest whole number m for which m / `times` is published as `value`; times > 0."""
        low, high, at_low, at_high = self.interval(value)
        least, most = -((-low * times) // 1), (high * times) // 1
        least += least == low * times and not at_low
        most -= most == high * times and not at_high
        return int(least), int(most)
