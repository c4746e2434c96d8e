"""RMIA: the likelihood ratio of the record against each of many other records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.constraints import Positive, UnitInterval, one_of_names
from ...mechanisms.core.errors import ParameterError
from .base import MembershipAttack
from .population import share_below
from .shadows import Shadows


@dataclass(frozen=True)
class RMIA(MembershipAttack):
    """Share of the population z whose likelihood ratio is below that of record x by a factor of more than gamma.

        LR(x, z) = [p(x | target) / p(x)] / [p(z | target) / p(z)],     score = Pr_z[LR(x, z) > gamma]

        online     p(x): mean over all references
        offline    p(x) = ((1 + a) p_out(x) + 1 - a) / 2, p_out(x): mean over the references without x

    The ratios of the population are sorted once, and each record is searched among them: (n + m) log m operations
    instead of n m. The population is the set of records that no model was trained on, if the shadows have some,
    otherwise the other scored records, which has little effect on the order of the scores but moves the false positive
    rate of a threshold. Scores are multiples of 1 / |Z|: records above the whole population are tied, so that false
    positive rates below their share cannot be attained.

    Args:
        mode: "online" or "offline".
        gamma: > 0, how much more likely the record must be. The paper uses 2; 1 often has a slightly larger AUC, but
            ties more records at the top.
        a: in [0, 1], slope of the assumed linear relation of p_in and p_out; offline only.

    Guarantees:
        * equals the matrix of all pairs exactly, ties included (strictly greater);
        * with p(x) constant and gamma = 1 the score is that of Attack-P on the confidence.

    References:
        Zarifzadeh, Liu and Shokri (2024), "Low-cost high-power membership inference attacks", ICML, equations (2) to
        (4) and (9), (10); temperature 1 and the plain softmax.
    """

    name: ClassVar[str] = "rmia"

    mode: Annotated[str, one_of_names("online", "offline")] = "online"
    gamma: Positive = 2.0
    a: UnitInterval = 0.3

    @property
    def minimum_references(self) -> int:
        return 1

    def scores_of(self, shadows: Shadows) -> Floats:
        separate = shadows.population is not None
        if not separate and self.gamma < 1.0:
            raise ParameterError(
                f"gamma must be >= 1 if the records are their own population, but is {self.gamma!r}. "
                "Give train_shadows a population.",
                argument="gamma",
            )
        ratios = self.log_ratios(shadows)
        others = ratios if shadows.population is None else self.log_ratios(shadows.population)
        # A record without a reference is not compared with others, and has no score.
        scores = share_below(ratios - np.log(self.gamma), np.where(np.isnan(others), np.inf, others), apart=separate)
        return np.where(np.isnan(ratios), np.nan, scores)

    def log_ratios(self, shadows: Shadows) -> Floats:
        """Return the log of p(x | target) / p(x), `(n_models, n_records)`."""
        p = shadows.signal("confidence")
        if self.mode == "online":
            expected = shadows.others(p, which="all").mean
        else:
            expected = 0.5 * ((1.0 + self.a) * shadows.others(p).mean + 1.0 - self.a)
        return shadows.signal("loss") - np.log(np.maximum(expected, 1e-45))
