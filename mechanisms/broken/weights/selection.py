"""Intentionally broken MWEM: its selections are not accounted for."""

from __future__ import annotations

from dataclasses import dataclass

from ...query_release.multiplicative_weights.mwem import MWEM


@dataclass(frozen=True)
class UnpaidSelection(MWEM):
    """Broken: MWEM that spends the whole budget of a round on the measurement, and leaves out the selection.

    Bug: the selected index of a query is released as if it did not depend on the data. But it is the output of an
    exponential mechanism at selection_share epsilon / T in each round, and the release is (1 + selection_share)
    epsilon-DP in total. `MWEM`, which divides epsilon / T between the two, is correct. (Hardt, Ligett and McSherry
    2012, figure 1, without the budget of one of its two mechanisms.)

    Args:
        workload, n_records, rounds, replays, synthetic, view, relation: as for `MWEM`.
        epsilon: the claim, > 0; false.
        selection_share: additional, unaccounted share of epsilon for the selections, strictly between 0 and 1.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Workload
        >>> broken = UnpaidSelection(Workload.identity({"cell": 3}), n_records=30, epsilon=2.0, rounds=1)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (2.0, 2.518)
    """

    @property
    def measurement_epsilon(self) -> float:
        return self.epsilon / self.rounds
