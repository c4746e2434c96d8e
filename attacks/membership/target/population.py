"""Attack-P: how the record compares with other records under the same model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..base import Floats, MembershipAttack
from ..shadows import Shadows


@dataclass(frozen=True)
class AttackP(MembershipAttack):
    """Share of the population that the target model predicts worse than the record.

    The population are the records that no model was trained on, if the shadows have some: a threshold of 1 - a then has
    false positive rate a. Else it is the other scored records, members among them: the order of the scores is the
    same, but the threshold means nothing by itself.

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
    """Share of the population strictly below each value, model by model: one sort and one search.

    Args:
        values: `(n_models, n_records)`, the bars.
        population: `(n_models, n_population)`.
        apart: whether the population holds none of the records; else it is the records themselves, and a record is
            not compared with itself (the bars must then be no higher than their own values).
    """
    size = population.shape[1] - (0 if apart else 1)
    below = [np.searchsorted(np.sort(z), v, side="left") for z, v in zip(population, values, strict=True)]
    return np.asarray(np.array(below) / max(size, 1))
