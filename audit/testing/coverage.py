"""How often a bound exceeds the truth, measured on laws whose exact curve is known.

    law = laplace_ratio(1.0)
    found = misses(SimultaneousBand(), law, repeats=2000, n_out=200, n_in=200, confidence=0.8, seed=1)
    assert found.holds

A miss rate above the significance is never accepted as bad luck beyond a false alarm of 1e-6, and a bound that forgot a
correction shows best at a large significance, such as 0.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...mechanisms.guarantees import ApproximateDP
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.validation import whole
from ..bounds.base import PairBound
from ..bounds.families import CurveFamily
from ..bounds.numerics.binomial import quantile
from ..evidence.scores import Floats
from ..evidence.statement import Statement
from .laws import (
    FiniteLaw,
    Law,
    SampledLaw,
    all_equal,
    gaussian,
    geometric,
    laplace,
    laplace_ratio,
    randomized_response,
)

FALSE_ALARM = 1e-6


@dataclass(frozen=True)
class Coverage:
    """How a bound did on a law.

    Args:
        bound, law: names.
        exact_epsilon: true epsilon at delta.
        repeats: independent audits.
        misses: those whose bound exceeded the truth.
        significance: the miss rate that is allowed.
        mean: mean of the bounds.
    """

    bound: str
    law: str
    exact_epsilon: float
    repeats: int
    misses: int
    significance: float
    mean: float

    @property
    def allowed(self) -> int:
        """Most misses that a bound at its level shows, but for a probability of 1e-6."""
        return int(quantile(1.0 - FALSE_ALARM, self.repeats, self.significance))

    @property
    def holds(self) -> bool:
        """Whether the misses are within what is allowed."""
        return self.misses <= self.allowed


def misses(
    bound: PairBound,
    law: Law,
    *,
    repeats: int,
    n_out: int,
    n_in: int,
    confidence: float,
    seed: int,
    delta: float = 0.0,
    n_pilot: int = 0,
    claim: Guarantee | None = None,
) -> Coverage:
    """Repeats the whole way from pilot to bound, and counts how often the bound exceeds the truth.

    Args:
        bound: what is examined.
        law: where the scores come from.
        repeats: independent audits.
        n_out, n_in: evaluation scores on each side.
        confidence, delta: of the bound.
        seed: of all samples.
        n_pilot: pilot scores on each side, drawn afresh for each audit and handed to `bound.fix`; 0 for none.
        claim: whose family a bound may lean on; None takes a member of the family that the bound was given, if any.

    Example:
        >>> from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
        >>> fixed = ClopperPearson(threshold=2.0)
        >>> found = misses(fixed, randomized_response(1.0), repeats=500, n_out=100, n_in=100, confidence=0.8, seed=1)
        >>> found.holds
        True
    """
    whole(1, repeats=repeats, n_out=n_out, n_in=n_in)
    whole(0, n_pilot=n_pilot)
    found = bounds_drawn(
        bound,
        law,
        repeats=repeats,
        n_out=n_out,
        n_in=n_in,
        confidence=confidence,
        seed=seed,
        delta=delta,
        n_pilot=n_pilot,
        claim=claim,
    )
    exact = float(law.curve.epsilon(delta))
    above = int(np.count_nonzero(found > exact * (1.0 + 1e-12)))
    return Coverage(bound.name, law.name, exact, repeats, above, 1.0 - confidence, float(found.mean()))


def bounds_drawn(
    bound: PairBound,
    law: Law,
    *,
    repeats: int,
    n_out: int,
    n_in: int,
    confidence: float,
    seed: int,
    delta: float = 0.0,
    n_pilot: int = 0,
    claim: Guarantee | None = None,
) -> Floats:
    """The `(repeats,)` bounds of independent audits, arguments as in `misses`."""
    evaluation, pilot = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    scores = law.draws(evaluation, n_out, n_in)
    pilots = law.draws(pilot, n_pilot, n_pilot) if n_pilot else None
    family = getattr(bound, "curve_family", None)
    own = family.member(family.claimed) if isinstance(family, CurveFamily) else ApproximateDP(1.0, delta)
    stated = Statement(claim or own, delta, confidence)
    ready = bound.fix(stated, None, (n_out, n_in)) if pilots is None else None
    found = np.empty(repeats)
    for i in range(repeats):
        fixed = ready or bound.fix(stated, None if pilots is None else next(pilots), (n_out, n_in))
        found[i] = fixed.lower_bound(next(scores)).epsilon
    return found


__all__ = [
    "FALSE_ALARM",
    "Coverage",
    "FiniteLaw",
    "Law",
    "SampledLaw",
    "all_equal",
    "bounds_drawn",
    "gaussian",
    "geometric",
    "laplace",
    "laplace_ratio",
    "misses",
    "randomized_response",
]
