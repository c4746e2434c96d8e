"""Success rate of a reconstruction, with the success of a blind guess and the largest one that the claim allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.core import Guarantee, Relation
from ..bounds.base import Evidence
from ..bounds.numerics.binomial import lower, upper
from ..bounds.reconstruction import Reconstruction, allowed_success
from ..evidence.scores import BitScores, Successes


@dataclass(frozen=True)
class Recovery:
    """The success of a reconstruction.

    Args:
        success: share of successful rounds; for bits the share of correct guesses, where a score of 0 counts half.
        lower, upper: exact limits on the success rate (Clopper and Pearson 1934), both at the confidence of the result;
            NaN for bits, since those of one run are dependent.
        prior: success without the output: the exact prior success; 1/2 for bits.
        allowed: the largest success rate that the claim allows at this prior, as `allowed_success` gives it.
    """

    success: float
    lower: float
    upper: float
    prior: float
    allowed: float


def recovery_of(evidence: Evidence, claim: Guarantee, bounds: Sequence[Any], confidence: float) -> Recovery | None:
    """Return the recovery of successes, or of bits that are values of records; None for other evidence.

    Example:
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> rate = recovery_of(Successes(60, 100, 0.1), PureDP(1.0), [Reconstruction()], 0.95)
        >>> rate.success, rate.prior, round(rate.lower, 3), round(rate.upper, 3), round(rate.allowed, 3)
        (0.6, 0.1, 0.497, 0.697, 0.272)
    """
    if isinstance(evidence, BitScores):
        if evidence.relation is not Relation.REPLACE_ONE:
            return None
        agree = np.sign(evidence.scores) * np.where(evidence.bits, 1.0, -1.0)
        allowed = allowed_success(claim, 0.5, candidates=2)
        return Recovery(float(0.5 + 0.5 * agree.mean()), math.nan, math.nan, 0.5, allowed)
    if not isinstance(evidence, Successes):
        return None
    n, n_success, tail = evidence.n_runs, evidence.n_success, 0.5 * (1.0 - confidence)
    candidates = {bound.candidates for bound in bounds if isinstance(bound, Reconstruction)} or {None}
    allowed = min(allowed_success(claim, evidence.prior_success, candidates=number) for number in candidates)
    limits = float(lower(n_success, n, tail)), float(upper(n_success, n, tail))
    return Recovery(n_success / n, *limits, evidence.prior_success, allowed)
