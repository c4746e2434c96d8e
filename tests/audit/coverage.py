"""Coverage of a bound, measured on laws with a known exact curve.

    law = laplace_ratio(1.0)
    coverage = count_misses(SimultaneousBand(), law, repeats=2000, n_out=200, n_in=200, confidence=0.8, seed=1)
    assert coverage.holds

The limit on the misses has a false-alarm probability of 1e-6. A missing correction is easiest to detect at a large
significance, such as 0.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpassay.audit.bounds.base import PairBound
from dpassay.audit.bounds.families import CurveFamily
from dpassay.audit.bounds.numerics.binomial import quantile
from dpassay.audit.calibration.cell import FALSE_ALARM
from dpassay.audit.calibration.laws import Law
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.core import Floats, Guarantee, whole


@dataclass(frozen=True)
class Coverage:
    """Coverage of a bound on a law.

    Args:
        bound, law: names.
        exact_epsilon: true epsilon at delta.
        repeats: independent audits.
        misses: number of audits whose bound exceeds the true epsilon.
        significance: nominal miss rate.
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
        """Largest number of misses of a valid bound, up to a probability of 1e-6."""
        return int(quantile(1.0 - FALSE_ALARM, self.repeats, self.significance))

    @property
    def holds(self) -> bool:
        """True if there are at most `allowed` misses."""
        return self.misses <= self.allowed


def count_misses(
    bound: PairBound, law: Law, *, repeats: int, confidence: float, delta: float = 0.0, **audits: Any
) -> Coverage:
    """Repeat the audit from pilot to bound, and count how often the bound exceeds the true epsilon.

    All arguments are those of `bounds_drawn`.
    """
    bounds = bounds_drawn(bound, law, repeats=repeats, confidence=confidence, delta=delta, **audits)
    exact = float(law.curve.epsilon(delta))
    above = int(np.count_nonzero(bounds > exact * (1.0 + 1e-12)))
    return Coverage(bound.name, law.name, exact, repeats, above, 1.0 - confidence, float(bounds.mean()))


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
    """Return the bounds of independent audits, `(repeats,)`.

    Args:
        bound: the bound under test.
        law: of the scores.
        repeats: independent audits.
        n_out, n_in: evaluation scores on each side.
        confidence, delta: of the bound.
        seed: of all samples.
        n_pilot: pilot scores on each side, drawn for each audit and passed to `bound.fix`; 0 for none.
        claim: gives the family that a bound may assume; None for a member of the family of the bound, if any.
    """
    whole(1, repeats=repeats, n_out=n_out, n_in=n_in)
    whole(0, n_pilot=n_pilot)
    evaluation, pilot = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    scores = law.draws(evaluation, n_out, n_in)
    pilots = law.draws(pilot, n_pilot, n_pilot) if n_pilot else None
    family = getattr(bound, "curve_family", None)
    default_claim = family.member(family.claimed) if isinstance(family, CurveFamily) else ApproximateDP(1.0, delta)
    stated = Statement(claim or default_claim, delta, confidence)
    ready = bound.fix(stated, None, (n_out, n_in)) if pilots is None else None
    bounds = np.empty(repeats)
    for i in range(repeats):
        fixed = ready or bound.fix(stated, None if pilots is None else next(pilots), (n_out, n_in))
        bounds[i] = fixed.lower_bound(next(scores)).epsilon
    return bounds
