"""Groundhog in the membership game: a rule on statistics of a table for each record, learned from other tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import Positive
from ....mechanisms.core.errors import AttackError
from ..base import MembershipAttack
from ..shadows import Shadows

FLAT = 1e-12
"""Relative spread among the references below which a statistic is not used."""


@dataclass(frozen=True)
class GroundhogMembership(MembershipAttack):
    """Score of a record: a linear rule on summary statistics of the table, learned for each record from other tables.

    For each target, a ridge regression of membership on the statistics of its references, all records at once: with Z
    the statistics of the references, standardised among them, z those of the target, and Y the membership, minus its
    mean,

        score = z' (Z'Z + ridge p I)^-1 Z' Y,        p statistics

    Args:
        ridge: penalty for each statistic, > 0.

    Raises:
        ParameterError: `ridge` is not positive.

    Guarantees:
        * the score of a target uses its own table, and tables and inclusion of the others, never its own coins.

    References:
        Stadler, Oprisanu and Troncoso (2022), "Synthetic data: anonymisation groundhog day", USENIX Security, who train
        a classifier for each record on shadow tables with and without it. Here the same tables serve all records.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inclusion = rng.random((40, 10)) < 0.5
        >>> summaries = rng.normal(size=(40, 5)) + 5.0 * inclusion[:, :1] * (np.arange(5) == 2)
        >>> shadows = Shadows(inclusion, np.zeros(10), summaries=summaries)
        >>> scores = GroundhogMembership().score(shadows)[:, 0]
        >>> bool(scores[inclusion[:, 0]].min() > scores[~inclusion[:, 0]].max())
        True
    """

    name: ClassVar[str] = "groundhog"
    learns_each_record: ClassVar[bool] = True

    ridge: Positive = 1.0

    @property
    def minimum_references(self) -> int:
        return 2

    def scores_of(self, shadows: Shadows) -> Floats:
        """Return scores, `(n_models, n_records)`."""
        if shadows.summaries is None:
            raise AttackError(
                "attack 'groundhog' reads summary statistics of synthetic tables, but these shadows have none. Make "
                "them by ShadowTables(..., statistics='all')."
            )
        return np.stack([self._of_target(shadows, target) for target in range(len(shadows))])

    def _of_target(self, shadows: Shadows, target: int) -> Floats:
        others = np.setdiff1d(np.arange(len(shadows)), [target, shadows.partners[target]])
        summaries = np.asarray(shadows.summaries)
        references = summaries[others]
        spread = references.std(axis=0)
        varies = spread > FLAT * (1.0 + np.abs(references).max(axis=0))
        z, z_target = (
            ((values - references.mean(axis=0)) / np.where(varies, spread, 1.0)) * varies
            for values in (references, summaries[target])
        )
        membership = shadows.inclusion[others] - shadows.inclusion[others].mean(axis=0)
        penalty = self.ridge * max(1, int(varies.sum()))
        return np.asarray(z_target @ z.T @ np.linalg.solve(z @ z.T + penalty * np.eye(len(others)), membership))
