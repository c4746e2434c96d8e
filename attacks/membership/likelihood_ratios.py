"""Likelihood ratios of a record, from reference models.

LiRA      two normal laws of a signal, fitted for each record
BaVarIA   two predictive laws of a signal for each record, Student's t, with a prior that all records share
BASE      the loss of the target, compared with the mean likelihood under the references
RMIA      the ratio of the record against each of many other records
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import special

from ...mechanisms.core import AttackError, Bools, Floats, Ints, ParameterError, Positive, UnitInterval, one_of_names
from .base import MembershipAttack
from .comparisons import share_below
from .shadows import OtherModels, Shadows
from .signals import RESIDUAL_SIGNAL

MODES = ("online", "offline-tail", "offline-density")
MIN_MODELS_FOR_VARIANCES = 64
"""Smallest number of models for which "auto" fits a variance to each record: about 32 with it and 32 without."""
MIN_RELATIVE_VARIANCE = 1e-10
"""Smallest variance, as a share of the variance of the signal over all models and records; smaller variances, such as
those of a signal that is constant among the references, are replaced by this value."""


@dataclass(frozen=True)
class RecordLikelihoodRatio(MembershipAttack):
    """Base class of attacks whose scores are log likelihood ratios, added over several queries of a record."""

    additive: ClassVar[bool] = True

    @abstractmethod
    def ratio(self, shadows: Shadows) -> Floats:
        """Return the scores of one query."""

    def scores_of(self, shadows: Shadows) -> Floats:
        if getattr(self, "signal", None) == RESIDUAL_SIGNAL and getattr(self, "mode", None) in (
            "offline",
            "offline-tail",
        ):
            raise AttackError(
                f"attack {self.name!r} in mode {getattr(self, 'mode', None)!r} takes a higher signal for that of a "
                "member, but a residual has no direction. Use mode='online', or signal='loss'."
            )
        return np.asarray(np.sum([self.ratio(query) for query in shadows.queries or (shadows,)], axis=0))


@dataclass(frozen=True)
class LiRA(RecordLikelihoodRatio):
    """Log likelihood ratio of the target's signal under two normal laws, fitted to the other models for each record.

    N(mu_in, s_in^2) is the law of the models with the record, N(mu_out, s_out^2) the law of the models without it.
    Scores of several queries of a record are added, as if independent (the paper's diagonal covariance).

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
    any_signal: ClassVar[bool] = True
    other_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ({"mode": "offline-tail"},)

    mode: Annotated[str, one_of_names(*MODES)] = "online"
    variance: Annotated[str, one_of_names("auto", "record", "global")] = "auto"
    centre: Annotated[str, one_of_names("mean", "median")] = "mean"
    signal: str = "rescaled-logit"

    @property
    def minimum_references(self) -> int:
        return 4 if self.mode == "online" else 2

    @property
    def references(self) -> str:
        return "both" if self.mode == "online" else "out"

    def ratio(self, shadows: Shadows) -> Floats:
        phi = shadows.signal(self.signal)
        law_out = self._law(shadows.others(phi), len(shadows))
        if self.mode == "offline-tail":
            return (phi - law_out[0]) / np.sqrt(law_out[1])
        if self.mode == "offline-density":
            return -_log_density(phi, *law_out)
        law_in = self._law(shadows.others(phi, which="in"), len(shadows))
        return _log_density(phi, *law_in) - _log_density(phi, *law_out)

    def _law(self, others: OtherModels, n_models: int) -> tuple[Floats, Floats]:
        """Return mean and variance of the signal among the references."""
        per_record = self.variance == "record" or (self.variance == "auto" and n_models >= MIN_MODELS_FOR_VARIANCES)
        variance = others.variance if per_record else others.pooled_variance
        return getattr(others, self.centre), np.maximum(variance, MIN_RELATIVE_VARIANCE * others.values.var() + 1e-300)


def _log_density(phi: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the log density of the normal law, up to a constant."""
    return -0.5 * ((phi - mean) ** 2 / variance + np.log(variance))


@dataclass(frozen=True)
class BaVarIA(RecordLikelihoodRatio):
    """Log ratio of two predictive laws of the target's signal, with priors learned from all records.

    On each side, in and out, the n references of a record with mean m and sum of squares S around it have the law

        phi | mu, s^2 ~ N(mu, s^2),   mu | s^2 ~ N(m_0, s^2 / kappa_0),   s^2 ~ inverse gamma(nu_0 / 2, nu_0 s_0^2 / 2)

    The normal-inverse-gamma prior is conjugate: the predictive law of the target is Student's t with nu_0 + n degrees
    of freedom, and with kappa_n = kappa_0 + n

        location    m_n = (kappa_0 m_0 + n m) / kappa_n
        scale^2     (1 + 1 / kappa_n) (nu_0 s_0^2 + S + kappa_0 n (m - m_0)^2 / kappa_n) / (nu_0 + n)

    The prior is fitted by moments over the records, for each target without its signals and bits (empirical Bayes):

        nu_0, s_0^2    mean and variance of log(S / (n - 1)) over the records (Smyth 2004, section 6.2)
        m_0            "regression": the least-squares line of the means of this side on those of the other side, over
                       the records, at this record. "flat": kappa_0 = 0, and nu_0 + n - 1 degrees of freedom
        kappa_0        the pooled variance, divided by the part of the variance around the line that it does not explain

    Where no record has two references on a side, nothing separates the two parts of the variance around the line: each
    is taken as one half.

    Args:
        mode: "online"; or "offline", minus the log of the upper tail of the law without the record, always "flat".
        predictive: "student-t", or "normal" with the same location and scale.
        prior: "regression" or "flat", as above.
        signal: any signal; the rescaled logit is nearly normal.

    Raises:
        AttackError: fewer than 10 records.

    Guarantees:
        * the predictive law is that of Bayes' rule, equal to the integral over mu and s^2;
        * with many references the score tends to that of LiRA with a variance for each record.

    References:
        Brannvall (2026), "Exponential-family membership inference: from LiRA and RMIA to BaVarIA", arXiv 2603.11799:
        the conjugate prior and both predictive laws. The fit of the prior by moments and m_0 by regression are ours:
        with 4 to 16 references they detect more members than "flat" (docs/attacks/membership.md).
        Smyth (2004), "Linear models and empirical Bayes methods for assessing differential expression in microarray
        experiments", Statistical Applications in Genetics and Molecular Biology 3.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inclusion = rng.random((6, 500)) < 0.5
        >>> signal = rng.normal(size=(6, 500)) + 2 * inclusion + 3 * rng.normal(size=500)
        >>> shadows = Shadows(inclusion, np.zeros(500), {"rescaled-logit": signal})
        >>> scores = BaVarIA().score(shadows)
        >>> bool(np.median(scores[inclusion]) > 1.0 > 0.0 > np.median(scores[~inclusion]))
        True
    """

    name: ClassVar[str] = "bavaria"
    any_signal: ClassVar[bool] = True
    other_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ({"mode": "offline"},)

    mode: Annotated[str, one_of_names("online", "offline")] = "online"
    predictive: Annotated[str, one_of_names("student-t", "normal")] = "student-t"
    prior: Annotated[str, one_of_names("regression", "flat")] = "regression"
    signal: str = "rescaled-logit"

    @property
    def minimum_references(self) -> int:
        return 4 if self.mode == "online" and self.prior == "flat" else 2

    @property
    def references(self) -> str:
        return "both" if self.mode == "online" else "out"

    def ratio(self, shadows: Shadows) -> Floats:
        if shadows.n_records < MIN_RECORDS_FOR_PRIOR:
            raise AttackError(
                f"attack {self.name!r} learns a prior over the records and needs at least {MIN_RECORDS_FOR_PRIOR}, but "
                f"there {'is' if shadows.n_records == 1 else 'are'} {shadows.n_records}. Score more records, or use "
                "'lira'."
            )
        phi = shadows.signal(self.signal)
        out = shadows.others(phi)
        if self.mode == "offline":
            return self._law(out, None).log_surprise(phi)
        in_ = shadows.others(phi, which="in")
        return self._law(in_, out).log_density(phi) - self._law(out, in_).log_density(phi)

    def _law(self, side: OtherModels, other: OtherModels | None) -> _StudentT:
        """Return the predictive law of each target and record on one side."""
        n, sum_of_squares = side.count, side.sum_of_squares
        flat = other is None or self.prior == "flat"
        centre = np.where(n > 0, _row_mean(side.mean, n > 0), np.nan) if flat else _regressed(side, other)
        within, freedom, scale2, between = _variances(side, centre)
        kappa = np.zeros_like(within) if flat else within / between
        own, weight = np.where(n > 0, side.mean, centre), kappa + n
        with np.errstate(divide="ignore", invalid="ignore"):  # no references
            location = (kappa * centre + n * own) / weight
            spread = freedom * scale2 + sum_of_squares + kappa * n * (own - centre) ** 2 / weight
            freedom = freedom + (np.maximum(n - 1, 0) if flat else n)
            law = _StudentT(location, spread / freedom * (1.0 + 1.0 / weight), freedom)
        return law if self.predictive == "student-t" else replace(law, freedom=np.full_like(law.scale2, NORMAL_DEGREES))


MIN_RECORDS_FOR_PRIOR = 10
"""Smallest number of records over which a prior is learned."""
NORMAL_DEGREES = 1e8
"""Degrees of freedom from which on Student's law is taken as normal."""


@dataclass(frozen=True, eq=False)
class _StudentT:
    """Student's t laws, `(n_models, n_records)`; NaN where a record has no references."""

    location: Floats
    scale2: Floats
    freedom: Floats

    def log_density(self, phi: Floats) -> Floats:
        """Return the log density, up to a constant that is the same for all laws."""
        nu = self.freedom
        # log gamma((nu + 1) / 2) - log gamma(nu / 2), whose difference loses its digits for large nu.
        gammas = 0.5 * np.log(0.5 * nu)
        small = nu < 1e6
        gammas[small] = special.gammaln(0.5 * nu[small] + 0.5) - special.gammaln(0.5 * nu[small])
        body = np.log1p((phi - self.location) ** 2 / (nu * self.scale2))
        return np.asarray(gammas - 0.5 * np.log(nu * self.scale2) - 0.5 * (nu + 1.0) * body)

    def log_surprise(self, phi: Floats) -> Floats:
        """Return minus the log of the probability of a larger signal."""
        z = (phi - self.location) / np.sqrt(self.scale2)
        tail = np.where(self.freedom < NORMAL_DEGREES, special.stdtr(self.freedom, -z), 0.0)
        with np.errstate(divide="ignore"):
            heavy = -np.log(tail)
        return np.asarray(np.where(self.freedom < NORMAL_DEGREES, heavy, -special.log_ndtr(-z)))


def _regressed(side: OtherModels, other: OtherModels | None) -> Floats:
    """Return the mean of each record expected from its mean on the other side; NaN without any reference.

    It is the least-squares line over the records with references on both sides. A record without references on the
    other side has the mean over all records.
    """
    assert other is not None
    both = (side.count > 0) & (other.count > 0)
    x_mean, y_mean = _row_mean(other.mean, both), _row_mean(side.mean, both)
    dx, dy = (np.where(both, v, 0.0) for v in (other.mean - x_mean, side.mean - y_mean))
    slope = (dx * dy).sum(axis=1, keepdims=True) / np.maximum((dx**2).sum(axis=1, keepdims=True), 1e-300)
    overall = np.where(side.count > 0, _row_mean(side.mean, side.count > 0), np.nan)
    return np.where(other.count > 0, y_mean + slope * (other.mean - x_mean), overall)


def _variances(side: OtherModels, centre: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the variance within records, freedom and scale^2 of its prior, and the variance between records."""
    n, min_variance = side.count, MIN_RELATIVE_VARIANCE * side.values.var() + 1e-300
    present = (n > 0) & ~np.isnan(centre)
    distance2 = np.where(present, side.mean - centre, 0.0) ** 2
    around = np.maximum(_row_mean(distance2, present), min_variance)
    inverse = _row_mean(1.0 / np.maximum(n, 1), present)
    known = (n > 1).any(axis=1)
    within, freedom = 0.5 * around / inverse, np.full_like(around, NORMAL_DEGREES)
    within[known] = np.maximum(side.pooled_variance[known], min_variance)
    scale2 = within.copy()
    if known.any():
        freedom[known], scale2[known] = _variance_prior(side.sum_of_squares[known], n[known], min_variance)
    return within, freedom, scale2, np.maximum(around - within * inverse, MIN_RELATIVE_VARIANCE * around)


def _row_mean(values: Floats, used: Bools) -> Floats:
    """Return the mean of the used values of each row, `(n_models, 1)`; NaN if there are none."""
    count = used.sum(axis=1, keepdims=True)
    total = np.where(used, values, 0.0).sum(axis=1, keepdims=True)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _variance_prior(sum_of_squares: Floats, n: Ints, min_variance: float) -> tuple[Floats, Floats]:
    """Return degrees of freedom and scale^2 of the prior of the variances, `(n_models, 1)`, by moments of their logs.

    log(S / d), with d = n - 1, has mean log s_0^2 + psi(d/2) - log(d/2) - psi(nu_0/2) + log(nu_0/2) and variance
    psi'(d/2) + psi'(nu_0/2). Variances below 1e-5 of their median are raised to that (as in limma).
    """
    used = n > 1
    d = np.where(used, n - 1.0, 1.0)
    median = np.nanmedian(np.where(used, sum_of_squares / d, np.nan), axis=1, keepdims=True)
    variance = np.maximum(sum_of_squares / d, np.maximum(1e-5 * median, min_variance))
    e = np.log(variance) - special.digamma(0.5 * d) + np.log(0.5 * d)
    mean, count = _row_mean(e, used), used.sum(axis=1, keepdims=True)
    sum_of_e2 = np.where(used, e - mean, 0.0) ** 2
    excess = sum_of_e2.sum(axis=1, keepdims=True) / np.maximum(count - 1, 1)
    excess -= _row_mean(special.polygamma(1, 0.5 * d), used)
    half = _inverse_trigamma(np.maximum(excess, 2.0 / NORMAL_DEGREES))
    return 2.0 * half, np.exp(mean + special.digamma(half) - np.log(half))


def _inverse_trigamma(values: Floats) -> Floats:
    """Return x with trigamma(x) = value > 0, by Newton's method on 1 / trigamma, which is convex (Smyth 2004)."""
    x = 0.5 + 1.0 / values
    for _ in range(50):
        trigamma = special.polygamma(1, x)
        step = trigamma * (1.0 - trigamma / values) / special.polygamma(2, x)
        x = x + step
        if np.abs(step / x).max() < 1e-10:
            break
    return np.asarray(x)


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
    other_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ({"mode": "offline"},)

    mode: Annotated[str, one_of_names("online", "offline")] = "online"
    alpha: UnitInterval = 0.33

    @property
    def references(self) -> str:
        return "any" if self.mode == "online" else "out"

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
        gamma: > 0, how much more likely the record must be. The paper uses 2. The ratio of x is at most 1 / p(x), so
            that x beats with factor 2 only others whose ratio is below 1 / (2 p(x)). Where models predict most records
            well, p(x) is near 1, and these are the few others that the target predicts badly: scores are tied near 0,
            and only the order of those few is left. Factor 1 uses the order of all ratios.
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
    other_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ({"mode": "offline"},)

    mode: Annotated[str, one_of_names("online", "offline")] = "online"
    gamma: Positive = 1.0
    a: UnitInterval = 0.3

    @property
    def references(self) -> str:
        return "any" if self.mode == "online" else "out"

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
