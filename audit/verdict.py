"""Bound against claim.

    violation      the bound exceeds the claim
    underpowered   no outcome of these trials could have exceeded it (ceiling <= claim)
    consistent     neither; always reported with the power that the trials had

A verdict over several audits is a statement of its own: `holm` corrects it over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np


class Verdict(StrEnum):
    """What an audit says about a claim."""

    VIOLATION = "violation"
    CONSISTENT = "consistent"
    UNDERPOWERED = "underpowered"


def judge(*, bound: float, claim: float, ceiling: float) -> Verdict:
    """The verdict on `claim` from a lower bound and the largest value that it could have had."""
    if bound > claim:
        return Verdict.VIOLATION
    return Verdict.UNDERPOWERED if ceiling <= claim else Verdict.CONSISTENT


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm (1979) adjusted p-values: reject those <= a, and the probability of any false rejection is <= a.

    Holds under any dependence between the p-values.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return [float(a) for a in adjusted]
