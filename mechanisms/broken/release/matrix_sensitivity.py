"""Wrong on purpose: a matrix mechanism whose noise is scaled to the workload."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ...queries.domain import Domain
from ...queries.workload import Workload
from ...release.matrix.gaussian import GaussianMatrix
from ...release.matrix.laplace import LaplaceMatrix
from ...release.matrix.strategies import Hierarchical, Strategy


def eight_cells() -> Workload:
    """The count of each of eight values: sensitivity 1, whereas the tree above them has 4."""
    return Workload.identity(Domain((("value", 8),)))


@dataclass(frozen=True)
class LaplaceNoiseForWorkload(LaplaceMatrix):
    """Broken: `LaplaceMatrix` with noise for the sensitivity of the queries that are asked, not of those measured.

    The slip: the analyst sees only the answers, so that their sensitivity is taken; but what noise is added to is the
    strategy. A column of a tree over 8 values has four ones, and one of the workload of the 8 counts has one.

    True epsilon: epsilon ||A|| / ||W||, with the largest L1 norm of a column of each, since the measurements are those
    of `Laplace` of that epsilon (Dwork, McSherry, Nissim and Smith 2006, proposition 1, which is tight). A column norm
    that is forgotten altogether is the case ||W|| = 1. Where the workload moves more than the strategy, too much noise
    is added and the claim holds.

    Args:
        epsilon, workload, strategy, view, relation: as for `LaplaceMatrix`, the correct twin.

    Example:
        >>> broken = LaplaceNoiseForWorkload(0.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.0)
        (0.5, 2.0)
    """

    workload: Workload = field(default_factory=eight_cells)
    strategy: Strategy = field(default_factory=Hierarchical)
    view: str = "measurements"

    @cached_property
    def noise_sensitivity(self) -> float:
        """That of the workload; should be that of what is measured."""
        return self.workload.sensitivity(self.relation, norm=self.norm)


@dataclass(frozen=True)
class GaussianNoiseForWorkload(GaussianMatrix):
    """Broken: `GaussianMatrix` with noise for the sensitivity of the queries that are asked, not of those measured.

    The same slip with Gaussian noise: mu-Gaussian DP with mu = ||A|| / (||W|| noise_multiplier), with the largest L2
    norm of a column of each (Dong, Roth and Su 2022).

    Args:
        epsilon, delta, noise_multiplier, workload, strategy, view, relation: as for `GaussianMatrix`, the correct twin.

    Example:
        >>> broken = GaussianNoiseForWorkload(noise_multiplier=4.0)
        >>> broken.guarantee().mu, round(broken.exact_guarantee().mu, 12)
        (0.25, 0.5)
    """

    workload: Workload = field(default_factory=eight_cells)
    strategy: Strategy = field(default_factory=Hierarchical)
    view: str = "answers"

    @cached_property
    def noise_sensitivity(self) -> float:
        """That of the workload; should be that of what is measured."""
        return self.workload.sensitivity(self.relation, norm=self.norm)
