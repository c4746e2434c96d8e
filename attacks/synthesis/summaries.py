"""Groundhog in the membership game: what statistics of a table say of each record, learned from other tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...mechanisms.errors import AttackError
from ...mechanisms.validation import positive
from ..membership.base import MembershipAttack
from ..membership.shadows import Shadows
from .base import Floats

FLAT = 1e-12
"""A statistic that varies less than this among the references says nothing."""


@dataclass(frozen=True)
class GroundhogMembership(MembershipAttack):
    """Scores a record by a linear rule on summary statistics of the table, learned for each record from other tables.

    For each target a ridge regression of "was in" on the statistics of its references, all records at once: with Z the
    statistics of the references, standardised among them, z those of the target, and Y who was in, less its mean,

        score = z' (Z'Z + ridge p I)^-1 Z' Y,        p statistics

    Args:
        ridge: > 0, the penalty for each statistic.

    Raises:
        ParameterError: a ridge that is not positive.

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

    ridge: float = 1.0

    def __post_init__(self) -> None:
        positive(ridge=self.ridge)

    @property
    def minimum_references(self) -> int:
        return 2

    def scores_of(self, shadows: Shadows) -> Floats:
        """`(n_models, n_records)`."""
        if shadows.summaries is None:
            raise AttackError(
                "attack 'groundhog' reads summary statistics of synthetic tables, and these shadows have none. Make "
                "them by ShadowTables(..., statistics='all')."
            )
        return np.stack([self._of_target(shadows, target) for target in range(len(shadows))])

    def _of_target(self, shadows: Shadows, target: int) -> Floats:
        others = np.setdiff1d(np.arange(len(shadows)), [target, shadows.partners[target]])
        summaries = np.asarray(shadows.summaries)
        known = summaries[others]
        spread = known.std(axis=0)
        varies = spread > FLAT * (1.0 + np.abs(known).max(axis=0))
        z, mine = (
            ((some - known.mean(axis=0)) / np.where(varies, spread, 1.0)) * varies
            for some in (known, summaries[target])
        )
        was_in = shadows.inclusion[others] - shadows.inclusion[others].mean(axis=0)
        penalty = self.ridge * max(1, int(varies.sum()))
        return np.asarray(mine @ z.T @ np.linalg.solve(z @ z.T + penalty * np.eye(len(others)), was_in))
