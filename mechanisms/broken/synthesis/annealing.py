"""Wrong on purpose: AIM that books what a round was planned to cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...queries.domain import Domain
from ...synthesis.base import Floats
from ...synthesis.selection.aim import AIM


@dataclass(frozen=True)
class AnnealingNotBooked(AIM):
    """Broken: each round is booked at rho / rounds, where what it really costs was meant.

    The slip: the cost of a round is computed once, at the start; when little was learned the noise is halved and the
    epsilon of the next choice doubled, which costs four times as much, but the books stay as they were. The claim is
    rho. A run that learns little in each of k rounds spends rho / rounds * (1 + 4 + 16 + ...), until what is booked
    reaches rho: with 9 rounds of 3 attributes up to (2.7 + 1 + 4 + 16 + 64 + 256) / 9 = 38 times rho. How much a run
    spends depends on the data, and is largest where few records leave little to learn.

    Args:
        rho, workload, rounds, measuring, largest_model, relation: as for `AIM`.

    Example:
        >>> selection, domain = AnnealingNotBooked(0.1, workload=2, rounds=9), Domain({"a": 2, "b": 2, "c": 2})
        >>> print(selection.guarantee(domain))
        ConcentratedDP(rho=0.1)
    """

    def booked(self, cost: Floats, domain: Domain) -> Floats:
        return np.full(len(cost), self.rho / self.n_rounds(domain))
