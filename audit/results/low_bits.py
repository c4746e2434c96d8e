"""What the same trials show without a look at the low bits of floats."""

from __future__ import annotations

from dataclasses import dataclass

from ..bounds.base import LowerBound
from ..bounds.curve import CurveViolation


@dataclass(frozen=True)
class WithoutLowBits:
    """The largest bound of the attack without rules on the low bits of floats.

    Both bounds, this one and that of the whole attack, hold together at the confidence of the audit.

    Args:
        bound: on the same trials.
        curve_violation: where the claimed curve contradicts them most; None where it does not.
        rule: the event that the bound is from, in words; empty where there are none.
    """

    bound: LowerBound
    curve_violation: CurveViolation | None = None
    rule: str = ""

    def refutes(self, claim: float) -> bool:
        """Whether the claim is refuted without low bits too."""
        return self.bound.epsilon > claim or self.curve_violation is not None


__all__ = ["WithoutLowBits"]
