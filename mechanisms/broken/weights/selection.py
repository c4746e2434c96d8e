"""Wrong on purpose: MWEM that does not pay for its choices."""

from __future__ import annotations

from dataclasses import dataclass

from ...release.weights.mwem import MWEM


@dataclass(frozen=True)
class UnpaidSelection(MWEM):
    """Broken: the whole budget of a round goes to the measurement, and the choice of the query comes on top.

    The slip: what is published about the choice looks like a number of a query, not like data. It depends on the data
    all the same: an exponential mechanism at selection_share epsilon / T in each round makes it
    (1 + selection_share) epsilon-DP in all. Right: `MWEM`, which shares epsilon / T between the two. (Hardt, Ligett and
    McSherry 2012, figure 1, with the budget of one of its two mechanisms left out.)

    Args:
        workload, n_records, rounds, replays, synthetic, view, relation: as for `MWEM`.
        epsilon: the claim, > 0; false.
        selection_share: of epsilon, strictly between 0 and 1: what the choices take besides.

    Example:
        >>> from dpassay.mechanisms.queries import Workload
        >>> broken = UnpaidSelection(Workload.identity({"cell": 3}), n_records=30, epsilon=2.0, rounds=1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (2.0, 2.518)
    """

    @property
    def measurement_epsilon(self) -> float:
        return self.epsilon / self.rounds
