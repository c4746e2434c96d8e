"""Intentionally broken matrix mechanisms: the noise is that of the workload."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ....accounting.broken import Broken
from ....core import example
from ....noise.queries.domain import Domain
from ....noise.queries.workload import Workload
from .matrix_mechanism import GaussianMatrixMechanism, LaplaceMatrixMechanism
from .strategies import HierarchicalStrategy, Strategy


def _eight_cells() -> Workload:
    """Return the counts of eight values: sensitivity 1, whereas the tree over them has 4."""
    return Workload.identity(Domain((("value", 8),)))


@dataclass(frozen=True)
class LaplaceNoiseForWorkload(Broken, LaplaceMatrixMechanism):
    """Broken: `LaplaceMatrixMechanism` with noise for the sensitivity of the workload, not of the measured strategy.

    A column of a tree over 8 values has four ones, and a column of the workload of the 8 counts has one.

    True epsilon: epsilon ||A|| / ||W||, with the largest L1 norm of a column of each, since the measurements are those
    of `Laplace` of that epsilon. A missing
    column norm is the case ||W|| = 1. Where the sensitivity of the workload is larger than that of the strategy, too
    much noise is added and the claim holds.

    Args:
        epsilon, workload, strategy, view, relation: as for `LaplaceMatrixMechanism`, the correct twin.

    Example:
        >>> broken = LaplaceNoiseForWorkload(0.5)
        >>> broken.guarantee().epsilon(0.0), broken.exact_guarantee().epsilon(0.0)
        (0.5, 2.0)
    """

    cause = (
        "The noise is scaled to the sensitivity of the released answers, but it is added to the answers of the "
        "strategy."
    )
    source = "Dwork, McSherry, Nissim and Smith (2006), proposition 1, for the true epsilon."
    correct_class = LaplaceMatrixMechanism

    workload: Workload = field(default_factory=_eight_cells)
    strategy: Strategy = field(default_factory=HierarchicalStrategy)
    view: str = "measurements"

    @cached_property
    def noise_sensitivity(self) -> float:
        """Sensitivity of the workload; should be that of the strategy."""
        return self.workload.sensitivity(self.relation, norm=self.norm)


@dataclass(frozen=True)
class GaussianNoiseForWorkload(Broken, GaussianMatrixMechanism):
    """Broken: `GaussianMatrixMechanism` with noise for the sensitivity of the workload, not of the measured strategy.

    True mu: ||A|| / (||W|| noise_multiplier), with the largest L2 norm of a column of each.

    Args:
        epsilon, delta, noise_multiplier, workload, strategy, view, relation: as for the correct twin,
            `GaussianMatrixMechanism`.

    Example:
        >>> broken = GaussianNoiseForWorkload(noise_multiplier=4.0)
        >>> broken.guarantee().mu, round(broken.exact_guarantee().mu, 12)
        (0.25, 0.5)
    """

    _example = example(noise_multiplier=2.0)

    cause = LaplaceNoiseForWorkload.cause
    source = "Dong, Roth and Su (2022), for the true mu."
    correct_class = GaussianMatrixMechanism

    workload: Workload = field(default_factory=_eight_cells)
    strategy: Strategy = field(default_factory=HierarchicalStrategy)
    view: str = "answers"

    @cached_property
    def noise_sensitivity(self) -> float:
        """Sensitivity of the workload; should be that of the strategy."""
        return self.workload.sensitivity(self.relation, norm=self.norm)
