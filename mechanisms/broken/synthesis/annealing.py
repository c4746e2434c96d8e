"""Intentionally broken AIM: it accounts for the planned cost of a round, not for the actual one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Floats
from ...noise.queries.domain import Domain
from ...synthetic_data.selection.aim import AIM


@dataclass(frozen=True)
class AnnealingNotBooked(AIM):
    """Broken: AIM that accounts for each round with rho / rounds, not with its actual cost.

    Bug: the cost of a round is computed once, at the start; when little was learned the noise is halved and the epsilon
    of the next selection doubled, which costs four times as much, but the accounting does not change. The claim is rho.
    A run that learns little in each of k rounds spends rho / rounds * (1 + 4 + 16 + ...), until the accounted cost
    reaches rho: with 9 rounds of 3 attributes up to (2.7 + 1 + 4 + 16 + 64 + 256) / 9 = 38 times rho. The cost of a run
    depends on the data, and is largest for few records, from which there is little to learn.

    Args:
        rho, workload, rounds, measuring, largest_model, relation: as for `AIM`.

    Example:
        >>> selection, domain = AnnealingNotBooked(0.1, workload=2, rounds=9), Domain({"a": 2, "b": 2, "c": 2})
        >>> print(selection.guarantee(domain))
        ConcentratedDP(rho=0.1)
    """

    def booked(self, cost: Floats, domain: Domain) -> Floats:
        return np.full(len(cost), self.rho / self.n_rounds(domain))
