"""Intentionally broken DualQuery: the samples of a round are counted as one."""

from __future__ import annotations

from dataclasses import dataclass

from ...query_release.multiplicative_weights.dual_query import DualQuery


@dataclass(frozen=True)
class SamplesCountedOnce(DualQuery):
    """Broken: DualQuery that accounts for the samples of a round as one, since they have the same distribution.

    Bug: epsilon = eta T (T - 1) / n, where each of the s samples of a round is a separate exponential mechanism, and
    together they have eta T (T - 1) s / n: s times the claim. With delta, rho is s times the claimed one. `DualQuery`
    is correct. (Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014, theorem 3.1, without the factor s.)

    Args:
        marginals, n_records, rounds, samples, solver, view, relation: as for `DualQuery`.
        epsilon, delta: the claim; false for more than one sample.

    Example:
        >>> from dpassay.mechanisms.noise.queries import Marginals
        >>> broken = SamplesCountedOnce(Marginals({"a": 2}, 1), n_records=20, epsilon=0.5, rounds=2, samples=3)
        >>> broken.guarantee().epsilon(0.0), round(broken.exact_guarantee().epsilon(0.0), 3)
        (0.5, 1.5)
    """

    @property
    def accounted_samples(self) -> int:
        return 1
