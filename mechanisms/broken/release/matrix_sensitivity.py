"""Intentionally broken matrix mechanism: its noise is scaled to the workload, not to the strategy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ...noise.queries.domain import Domain
from ...noise.queries.workload import Workload
from ...query_release.matrix.matrix_mechanism import GaussianMatrixMechanism, LaplaceMatrixMechanism
from ...query_release.matrix.strategies import HierarchicalStrategy, Strategy


def eight_cells() -> Workload:
    """Return the counts of eight values: sensitivity 1, whereas the tree over them has 4."""
    return Workload.identity(Domain((("value", 8),)))


@dataclass(frozen=True)
class LaplaceNoiseForWorkload(LaplaceMatrixMechanism):
    """Broken: `LaplaceMatrixMechanism` with noise for the sensitivity of the workload, not of the measured strategy.

    Bug: the noise is scaled to the sensitivity of the released answers, but it is added to the answers of the strategy.
    A column of a tree over 8 values has four ones, and a column of the workload of the 8 counts has one.

    True epsilon: epsilon ||A|| / ||W||, with the largest L1 norm of a column of each, since the measurements are those
    of `Laplace` of that epsilon (Dwork, McSherry, Nissim and Smith 2006, proposition 1, which is tight). A missing
    column norm is the case ||W|| = 1. Where the sensitivity of the workload is larger than that of the strategy, too
    much noise is added and the claim holds.

    Args:
        epsilon, workload, strategy, view, relation: as for `LaplaceMatrixMechanism`, the correct twin.

    Example:
        >>> broken = LaplaceNoiseForWorkload(0.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.0)
        (0.5, 2.0)
    """

    workload: Workload = field(default_factory=eight_cells)
    strategy: Strategy = field(default_factory=HierarchicalStrategy)
    view: str = "measurements"

    @cached_property
    def noise_sensitivity(self) -> float:
        """Sensitivity of the workload; should be that of the strategy."""
        return self.workload.sensitivity(self.relation, norm=self.norm)


@dataclass(frozen=True)
class GaussianNoiseForWorkload(GaussianMatrixMechanism):
    """Broken: `GaussianMatrixMechanism` with noise for the sensitivity of the workload, not of the measured strategy.

    Bug: as in `LaplaceNoiseForWorkload`, with Gaussian noise: mu-Gaussian DP with mu = ||A|| / (||W||
    noise_multiplier), with the largest L2 norm of a column of each (Dong, Roth and Su 2022).

    Args:
        epsilon, delta, noise_multiplier, workload, strategy, view, relation: as for the correct twin,
            `GaussianMatrixMechanism`.

    Example:
        >>> broken = GaussianNoiseForWorkload(noise_multiplier=4.0)
        >>> broken.guarantee().mu, round(broken.exact_guarantee().mu, 12)
        (0.25, 0.5)
    """

    workload: Workload = field(default_factory=eight_cells)
    strategy: Strategy = field(default_factory=HierarchicalStrategy)
    view: str = "answers"

    @cached_property
    def noise_sensitivity(self) -> float:
        """Sensitivity of the workload; should be that of the strategy."""
        return self.workload.sensitivity(self.relation, norm=self.norm)
