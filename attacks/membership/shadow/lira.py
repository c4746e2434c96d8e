"""LiRA: the likelihood ratio of two normal laws of a signal, fitted for each record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....mechanisms.validation import one_of
from ..base import Floats, MembershipAttack
from ..shadows import Shadows
from .leave_one_out import Others

MODES = ("online", "offline-tail", "offline-density")
ENOUGH = 64
"""Models from which "auto" fits a variance to each record: about 32 with the record and 32 without."""
SMALLEST = 1e-10
"""Of the variance of the signal over all models and records: variances below this share of it, such as that of a signal
that does not vary among the references at all, count as this share."""


@dataclass(frozen=True)
class LiRA(MembershipAttack):
    """Log likelihood ratio of the target's signal under two normal laws, fitted to the other models, record by record.

    N(mu_in, s_in^2) is the law of the models with the record, N(mu_out, s_out^2) that of those without.

        online             log N(phi; mu_in, s_in^2) - log N(phi; mu_out, s_out^2)
        offline-tail       z = (phi - mu_out) / s_out, of which the paper's score Phi(z) is an increasing function that
                           would round to 1 from z = 8.3 on
        offline-density    -log N(phi; mu_out, s_out^2), as the authors' code: two-sided, so that a record that is
                           predicted unusually badly looks like a member too

    Args:
        mode: one of these.
        variance: "record", fitted to each record; "global", one for all records, pooled around the mean of each, with
            the target left out; "auto", "record" from 64 models on.
        centre: mu is the "mean" or the "median" of the references.
        signal: any signal; the rescaled logit is the one that is nearly normal.

    Guarantees:
        * with known N(2, 1) and N(0, 1), online and tail have AUC Phi(sqrt 2) = 0.9214 and TPR 0.3721 at 1 % FPR, the
          density 0.8551 and 0.2824;
        * the pooled variance is unbiased: each record is centred within its own models.

    References:
        Carlini, Chien, Nasr, Song, Terzis and Tramer (2022), "Membership inference attacks from first principles",
        IEEE S&P, algorithm 1 and section V. Here the pooled variance is centred for each record, which the authors'
        plotting code leaves out.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inclusion = rng.random((40, 50)) < 0.5
        >>> shadows = Shadows(inclusion, np.zeros(50), {"rescaled-logit": rng.normal(size=(40, 50)) + 2 * inclusion})
        >>> scores = LiRA().score(shadows)
        >>> bool(scores[inclusion].mean() > scores[~inclusion].mean() + 2)
        True
    """

    name: ClassVar[str] = "lira"

    mode: str = "online"
    variance: str = "auto"
    centre: str = "mean"
    signal: str = "rescaled-logit"

    def __post_init__(self) -> None:
        one_of(MODES, mode=self.mode)
        one_of(("auto", "record", "global"), variance=self.variance)
        one_of(("mean", "median"), centre=self.centre)

    @property
    def minimum_references(self) -> int:
        return 4 if self.mode == "online" else 2

    def scores_of(self, shadows: Shadows) -> Floats:
        phi = shadows.signal(self.signal)
        without = self._law(shadows.others(phi), len(shadows))
        if self.mode == "offline-tail":
            return (phi - without[0]) / np.sqrt(without[1])
        if self.mode == "offline-density":
            return -_log_density(phi, *without)
        return _log_density(phi, *self._law(shadows.others(phi, which="in"), len(shadows))) - _log_density(
            phi, *without
        )

    def _law(self, others: Others, n_models: int) -> tuple[Floats, Floats]:
        """Mean and variance of the signal among the references."""
        of_each = self.variance == "record" or (self.variance == "auto" and n_models >= ENOUGH)
        variance = others.variance if of_each else others.pooled_variance
        return getattr(others, self.centre), np.maximum(variance, SMALLEST * others.values.var() + 1e-300)


def _log_density(phi: Floats, mean: Floats, variance: Floats) -> Floats:
    """Log density of the normal law, less a constant."""
    return -0.5 * ((phi - mean) ** 2 / variance + np.log(variance))
