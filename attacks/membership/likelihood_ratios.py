"""Likelihood ratios of a record, from reference models.

LiRA   two normal laws of a signal, fitted for each record
BASE   the loss of the target, compared with the mean likelihood under the references
RMIA   the ratio of the record against each of many other records
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ...mechanisms.core.arrays import Floats
from ...mechanisms.core.constraints import Positive, UnitInterval, one_of_names
from ...mechanisms.core.errors import ParameterError
from .base import MembershipAttack
from .comparisons import share_below
from .shadows import Others, Shadows

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
        law_in = self._law(shadows.others(phi, which="in"), len(shadows))
        return _log_density(phi, *law_in) - _log_density(phi, *law_out)

    def _law(self, others: Others, n_models: int) -> tuple[Floats, Floats]:
        """Return mean and variance of the signal among the references."""
        per_record = self.variance == "record" or (self.variance == "auto" and n_models >= ENOUGH)
        variance = others.variance if per_record else others.pooled_variance
        return getattr(others, self.centre), np.maximum(variance, SMALLEST * others.values.var() + 1e-300)


def _log_density(phi: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the log density of the normal law, up to a constant."""
    return -0.5 * ((phi - mean) ** 2 / variance + np.log(variance))


@dataclass(frozen=True)
class BASE(MembershipAttack):
    """Log likelihood of the record under the target, minus the log of its mean likelihood under the references.

        online     -loss(x) - log mean_j exp(-loss_j(x))                 over all references
        offline    -loss(x) - alpha log mean_j exp(-loss_j(x))           over the references without x

    Args:
        mode: "online" or "offline".
        alpha: in [0, 1], weight of the references; offline only.

    Guarantees:
        * with one reference, online is the calibrated score of Watson et al.;
        * online is RMIA's ratio on the log scale, without a population.

    References:
        Lassila, Ostman, Ngo and Graell i Amat (2025), "Practical Bayes-optimal membership inference attacks".
    """

    name: ClassVar[str] = "base"
    minimum_references = 1

    mode: Annotated[str, one_of_names("online", "offline")] = "online"
    alpha: UnitInterval = 0.33

    def scores_of(self, shadows: Shadows) -> Floats:
        log_p = shadows.signal("loss")
        online = self.mode == "online"
        # Shifted by the largest, so that the mean of tiny likelihoods is accurate.
        top = log_p.max(axis=0)
        mean = shadows.others(np.exp(log_p - top), which="all" if online else "out").mean
        with np.errstate(divide="ignore"):
            expected = top + np.log(np.maximum(mean, 1e-300))
        return np.asarray(log_p - (1.0 if online else self.alpha) * expected)


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
    minimum_references = 1

    mode: Annotated[str, one_of_names("online", "offline")] = "online"
    gamma: Positive = 2.0
    a: UnitInterval = 0.3

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
        scores = share_below(ratios - np.log(self.gamma), np.where(np.isnan(others), np.inf, others), disjoint=separate)
        return np.where(np.isnan(ratios), np.nan, scores)

    def log_ratios(self, shadows: Shadows) -> Floats:
        """Return the log of p(x | target) / p(x), `(n_models, n_records)`."""
        p = shadows.signal("confidence")
        if self.mode == "online":
            expected = shadows.others(p, which="all").mean
        else:
            expected = 0.5 * ((1.0 + self.a) * shadows.others(p).mean + 1.0 - self.a)
        return shadows.signal("loss") - np.log(np.maximum(expected, 1e-45))
