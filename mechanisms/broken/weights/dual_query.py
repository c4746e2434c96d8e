"""Wrong on purpose: DualQuery that counts the draws of a round as one."""

from __future__ import annotations

from dataclasses import dataclass

from ...release.weights.dual_query import DualQuery


@dataclass(frozen=True)
class SamplesCountedOnce(DualQuery):
    """Broken: the draws of a round are paid for as one, since they come from one distribution.

    The slip: epsilon = eta T (T - 1) / n, where each of the s draws of a round is an exponential mechanism of its own,
    and they add up to eta T (T - 1) s / n: s times the claim. With delta, rho is s times what is claimed. Right:
    `DualQuery`. (Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, theorem 3.1, with s left out.)

    Args:
        marginals, n_records, rounds, samples, solver, view, relation: as for `DualQuery`.
        epsilon, delta: the claim; false for more than one sample.

    Example:
        >>> from dpassay.mechanisms.queries import Marginals
        >>> broken = SamplesCountedOnce(Marginals({"a": 2}, 1), n_records=20, epsilon=0.5, rounds=2, samples=3)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.5, 1.5)
    """

    @property
    def paid_samples(self) -> int:
        return 1
