"""Where the epsilon of a claim goes: the steps from the claim down to the bound, and what each of them loses.

    claim                               epsilon of the accountant
      accounting      - exact epsilon of the worst case, for an adversary who sees every intermediate release
      threat model    - exact epsilon of the view and the pair of the audit: what the best attack could show
      attack          - epsilon of the attack that was used
      estimator       - lower bound from this number of trials
    bound

Each part is the difference of two numbers, so that the parts and the bound sum to the claim. Where a number in between
is not known, the parts on both sides of it are one part with both names: nothing is guessed. The epsilon of an attack
is known if the attack is the likelihood ratio of a known law. Elsewhere it is an estimate, `gaussian_fit`, made only
where the worst case has a Gaussian curve; the parts that depend on it have an interval, which has no coverage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...mechanisms.core import ParameterError, number
from .estimates.base import Estimate
from .saved import require

PARTS = ("accounting", "threat model", "attack", "estimator")
"""Names of the parts, from the claim down to the bound."""


@dataclass(frozen=True)
class EpsilonPart:
    """One part of a claimed epsilon.

    Args:
        steps: names of the steps that lose it, consecutive ones of `PARTS`; several where they cannot be separated.
        epsilon: how much. Natural logarithm. Below 0 only by the error of an estimate.
        interval: (low, high) where the part depends on an estimate, without coverage; None where it is exact.
    """

    steps: tuple[str, ...]
    epsilon: float
    interval: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """Names of the steps: "threat model + attack"."""
        return " + ".join(self.steps)


@dataclass(frozen=True)
class EpsilonBreakdown:
    """The parts of a claimed epsilon, and the bound.

    Args:
        parts: from the claim down to the bound; every name of `PARTS` occurs once, in this order.
        bound: the lower bound on epsilon.
        level: nominal level of the intervals.

    Example:
        >>> broken_down = break_down(10.0, white_box=9.0, view=None, attack=6.0, bound=5.0)
        >>> [(part.name, part.epsilon) for part in broken_down.parts]
        [('accounting', 1.0), ('threat model + attack', 3.0), ('estimator', 1.0)]
        >>> broken_down.claim
        10.0
    """

    parts: tuple[EpsilonPart, ...]
    bound: float
    level: float = 0.95

    @property
    def claim(self) -> float:
        """Sum of the parts and the bound."""
        return math.fsum([*(part.epsilon for part in self.parts), self.bound])

    def check(self, claim: float, bound: float, at: str) -> None:
        """Raise `ResultError` unless the parts and the bound sum to the claim, in the right order."""
        names = tuple(step for part in self.parts for step in part.steps)
        require(names == PARTS, at, f"the parts of the claim are {names}, but must be {PARTS}")
        require(self.bound == bound, at, f"the bound is {bound:.6g}, but its breakdown ends at {self.bound:.6g}")
        total = f"the parts and the bound sum to {number(self.claim)}, not to the claim of {number(claim)}"
        require(math.isclose(self.claim, claim, rel_tol=1e-9, abs_tol=1e-9), at, total)


def break_down(
    claim: float, *, white_box: float | None, view: float | None, attack: float | Estimate | None, bound: float
) -> EpsilonBreakdown:
    """Return the parts of a claim, all at one delta.

    Args:
        claim: the claimed epsilon, finite.
        white_box: exact epsilon of the worst case if every intermediate release is seen; None if unknown.
        view: exact epsilon of the output on the pair; None if unknown.
        attack: epsilon of the attack, exact or an estimate; None if unknown. An estimate, and its interval, is cut at
            the last known number above it, which no attack exceeds.
        bound: the lower bound.

    Raises:
        ParameterError: the claim is not finite.
    """
    if not math.isfinite(claim):
        raise ParameterError(f"claim must be finite to have parts, but is {claim!r}.", argument="claim")
    level = attack.level if isinstance(attack, Estimate) else 0.95
    if isinstance(attack, Estimate):
        attack = _cut(attack, next(known for known in (view, white_box, claim) if known is not None))
    parts: list[EpsilonPart] = []
    waiting: list[str] = []
    upper: float | Estimate = claim
    for step, lower in zip(PARTS, (white_box, view, attack, bound), strict=True):
        waiting.append(step)
        if lower is not None:
            parts.append(_part(tuple(waiting), upper, lower))
            waiting, upper = [], lower
    return EpsilonBreakdown(tuple(parts), bound, level)


def _cut(estimate: Estimate, largest: float) -> Estimate:
    low, high = (min(end, largest) for end in estimate.interval)
    return replace(estimate, value=min(estimate.value, largest), interval=(low, high))


def _part(steps: tuple[str, ...], upper: float | Estimate, lower: float | Estimate) -> EpsilonPart:
    """Return the difference; at most one of the two numbers is an estimate."""
    if isinstance(upper, Estimate):
        assert not isinstance(lower, Estimate)
        return EpsilonPart(steps, upper.value - lower, (upper.interval[0] - lower, upper.interval[1] - lower))
    if isinstance(lower, Estimate):
        return EpsilonPart(steps, upper - lower.value, (upper - lower.interval[1], upper - lower.interval[0]))
    return EpsilonPart(steps, upper - lower)
