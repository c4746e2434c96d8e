"""Attack-P: comparison of the record with other records under the same model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...mechanisms.core.arrays import Floats
from .base import MembershipAttack
from .shadows import Shadows


@dataclass(frozen=True)
class AttackP(MembershipAttack):
    """Share of the population that the target model predicts worse than the record.

    The population is the set of records that no model was trained on, if the shadows have some: a threshold of 1 - a
    then has false positive rate a. Otherwise it is the other scored records, including members: the order of the scores
    is the same, but the threshold has no meaning.

    Args:
        signal: any signal.

    References:
        Ye, Maddi, Murakonda, Bindschaedler and Shokri (2022), "Enhanced membership inference attacks against machine
        learning models", CCS, attack P.
    """

    name: ClassVar[str] = "attack-p"

    signal: str = "loss"

    def scores_of(self, shadows: Shadows) -> Floats:
        values = shadows.signal(self.signal)
        population = None if shadows.population is None else shadows.population.signal(self.signal)
        return share_below(values, values if population is None else population, apart=population is not None)


def share_below(values: Floats, population: Floats, *, apart: bool) -> Floats:
    """Return the share of the population strictly below each value, model by model: one sort and one search.

    Args:
        values: `(n_models, n_records)` values to compare.
        population: `(n_models, n_population)` values of the population.
        apart: whether the population and the records are disjoint; otherwise the population is the records, and a
            record is not compared with itself (`values` must then be no higher than the population values).
    """
    size = population.shape[1] - (0 if apart else 1)
    below = [np.searchsorted(np.sort(z), v, side="left") for z, v in zip(population, values, strict=True)]
    return np.asarray(np.array(below) / max(size, 1))
