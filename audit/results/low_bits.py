"""The bound on the same trials without the low bits of floats."""

from __future__ import annotations

from dataclasses import dataclass

from ..bounds.base import LowerBound
from ..bounds.curve import CurveViolation


@dataclass(frozen=True)
class WithoutLowBits:
    """The largest bound of the attack without rules on the low bits of floats.

    This bound and that of the whole attack hold simultaneously at the confidence of the audit.

    Args:
        bound: the largest bound, on the same trials.
        curve_violation: the point where the trials contradict the claimed curve most; None where they do not.
        rule: the event of the bound, in words; empty where there is none.
    """

    bound: LowerBound
    curve_violation: CurveViolation | None = None
    rule: str = ""

    def refutes(self, claim: float) -> bool:
        """Return whether the claim is refuted without low bits too."""
        return self.bound.epsilon > claim or self.curve_violation is not None


__all__ = ["WithoutLowBits"]
