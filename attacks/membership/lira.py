"""LiRA: the likelihood ratio of two normal laws of a signal, fitted for each record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.constraints import one_of_names
from .base import MembershipAttack
from .leave_one_out import Others
from .shadows import Shadows

MODES = ("online", "offline-tail", "offline-density")
ENOUGH = 64
"""Smallest number of models for which "auto" fits a variance to each record: about 32 with it and 32 without."""
SMALLEST = 1e-10
"""Smallest variance, as a share of the variance of the signal over all models and records; smaller variances, such as
those of a signal that is constant among the references, are replaced by this value."""


@dataclass(frozen=True)
class LiRA(MembershipAttack):
    """Log likelihood ratio of the target's signal under two normal laws, fitted to the other models for each record.

    N(mu_in, s_in^2) is the law of the models with the record, N(mu_out, s_out^2) the law of the models without it.

        online             log N(phi; mu_in, s_in^2) - log N(phi; mu_out, s_out^2)
        offline-tail       z = (phi - mu_out) / s_out; the paper's score Phi(z) increases with z but rounds to 1
                           from z = 8.3 on
        offline-density    -log N(phi; mu_out, s_out^2), as in the authors' code: two-sided, so that a record that is
                           predicted unusually badly also gets a high score

    Args:
        mode: "online", "offline-tail" or "offline-density".
        variance: "record", fitted to each record; "global", one for all records, pooled around the mean of each, with
            the target left out; "auto", "record" for 64 models or more.
        centre: mu is the "mean" or the "median" of the references.
        signal: any signal; the rescaled logit is nearly normal.

    Guarantees:
        * with known N(2, 1) and N(0, 1), online and tail have AUC Phi(sqrt 2) = 0.9214 and TPR 0.3721 at 1 % FPR, the
          density 0.8551 and 0.2824;
        * the pooled variance is unbiased: each record is centred within its own models.

    References:
        Carlini, Chien, Nasr, Song, Terzis and Tramer (2022), "Membership inference attacks from first principles",
        IEEE S&P, algorithm 1 and section V. Here the pooled variance is centred for each record, which the authors'
        plotting code does not do.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inclusion = rng.random((40, 50)) < 0.5
        >>> shadows = Shadows(inclusion, np.zeros(50), {"rescaled-logit": rng.normal(size=(40, 50)) + 2 * inclusion})
        >>> scores = LiRA().score(shadows)
        >>> bool(scores[inclusion].mean() > scores[~inclusion].mean() + 2)
        True
    """

    name: ClassVar[str] = "lira"

    mode: Annotated[str, one_of_names(*MODES)] = "online"
    variance: Annotated[str, one_of_names("auto", "record", "global")] = "auto"
    centre: Annotated[str, one_of_names("mean", "median")] = "mean"
    signal: str = "rescaled-logit"

    @property
    def minimum_references(self) -> int:
        return 4 if self.mode == "online" else 2

    def scores_of(self, shadows: Shadows) -> Floats:
        phi = shadows.signal(self.signal)
        law_out = self._law(shadows.others(phi), len(shadows))
        if self.mode == "offline-tail":
            return (phi - law_out[0]) / np.sqrt(law_out[1])
        if self.mode == "offline-density":
            return -_log_density(phi, *law_out)
        return _log_density(phi, *self._law(shadows.others(phi, which="in"), len(shadows))) - _log_density(
            phi, *law_out
        )

    def _law(self, others: Others, n_models: int) -> tuple[Floats, Floats]:
        """Return mean and variance of the signal among the references."""
        per_record = self.variance == "record" or (self.variance == "auto" and n_models >= ENOUGH)
        variance = others.variance if per_record else others.pooled_variance
        return getattr(others, self.centre), np.maximum(variance, SMALLEST * others.values.var() + 1e-300)


def _log_density(phi: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the log density of the normal law, up to a constant."""
    return -0.5 * ((phi - mean) ** 2 / variance + np.log(variance))
