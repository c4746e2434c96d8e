"""Gaussian noise on a random sample of fixed size, drawn without replacement: a Renyi bound, and privacy losses.

Fix the records shared by both datasets. Given the sample except for one place, a step of the mechanism is

    with the record d1 holds    p = (1 - q) N(c, s^2 I) + q N(a, s^2 I)
    with the one d0 holds       r = (1 - q) N(c, s^2 I) + q N(b, s^2 I)

where q is the sampled fraction of the records and c, a, b are the sums if that place holds a shared record, the record
of d1, or the record of d0. (Draw a sample without the record, and replace one of its members by the record: the
remaining members are uniform in both cases. Renyi moments are convex in the pair of laws, so that their average over
the samples is at most their largest value.) For a whole order

    E_r (p / r)^order = 1 + sum over j >= 2 of C(order, j) q^j E_r ((N(a) - N(b)) / r)^j,

in which the term j = 1 is 0, and the convexity of |u|^j / r^(j - 1) replaces r by N(c) or N(b): Wang, Balle,
Kasiviswanathan (2019), Theorem 9 and its proof. That theorem uses only divergences of pairs. For three Gaussian laws,
whose centres are points of a Euclidean space, the moments

    M_j = integral of |N(a) - N(b)|^j / N(c)^(j - 1)

have better bounds. With v = a - b, e_t = b + t v - c, |v| <= step, |e_t| <= reach and g standard normal,

    M_2   = e^A + e^B - 2 e^((A + B - D) / 2),  A, B, D = |a - c|^2, |b - c|^2, |a - b|^2 over s^2; it grows with each
            of A, B, D as long as none of them exceeds the sum of the others
    M_j  <= e^(j (j-1) |a-c|^2 / (2 s^2)) + e^(j (j-1) |b-c|^2 / (2 s^2)),  as |u - v|^j <= max(u, v)^j
    M_j  <= e^(j (j-1) reach^2 / (2 s^2)) E |(j - 1) step reach / s^2 + step g / s|^j,  j even: Minkowski's inequality
            along the segment from b to a; the best bound for large noise
    M_j  <= sqrt(M_(j-1) M_(j+1)), j odd

Privacy losses under replace_one, where a, b and c are at most 1 sensitivity apart. For alpha >= 1, advanced joint
convexity (Balle, Barthe, Gaboardi 2018, Theorem 2) with alpha' = 1 + (alpha - 1) / q and beta = alpha / alpha' gives

    H_alpha(p | r) = q H_alpha'(N(a) | (1 - beta) N(c) + beta N(b)) <= q H_alpha'(N(1) | N(0)),

the curve of (1 - q) N(0) + q N(1) from N(0), and the same holds for r from p. For alpha < 1, H_alpha(p | r) is
1 - alpha + alpha H_(1/alpha)(r | p). Any pair whose curve is above both parts dominates a step, also within a
composition (Zhu, Dong, Wang 2022, Theorem 10 and Proposition 30). The pair (1 - q) N(0) + q N(1), N(0) of Poisson
sampling does not, and neither does the maximum over its two directions: the neighbour that is worst from p is not the
one that is worst from r, and steps may take turns (Lebeda, Regehr, Kamath, Steinke 2024).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp

from ...core import AccountingError, Floats, Relation, parameter_text
from ..kinds.privacy_loss import PrivacyLossDP, fitting_interval, gaussian_reach
from ..kinds.renyi import RenyiDP, check_steps
from ..numerics.binomial import log_choose
from ..numerics.composed_losses import composed_losses
from ..numerics.noise_losses import symmetric_gaussian_losses

MAX_ORDER = 256
"""Largest of the whole orders, which start at 2."""
_ORDERS = np.arange(2.0, MAX_ORDER + 1.0)

_MAX_SHARED_DISTANCE = {Relation.REPLACE_ONE: 1.0, Relation.ZERO_OUT: 2.0}
"""Largest distance of a shared record from either differing record, relative to the distance of these two."""


def fixed_size_gaussian(
    noise_multiplier: float,
    *,
    sampling_probability: float,
    steps: int = 1,
    relation: str | Relation = Relation.REPLACE_ONE,
) -> RenyiDP:
    """Return the guarantee of composed Gaussian noise on sums over fixed-size samples without replacement.

    Args:
        noise_multiplier: standard deviation / sensitivity under `relation`, > 0. For sums of vectors of norm at most C,
            such as clipped gradients, the sensitivity is 2 C under replace_one and C under zero_out: a standard
            deviation of z C is a noise multiplier of z / 2 or of z.
        sampling_probability: size of the sample / number of records, in (0, 1].
        steps: number of compositions, each with a new sample, >= 1.
        relation: replace_one, where sums over samples that differ in one place differ by at most 1 sensitivity; or
            zero_out, where the blank record adds 0 and every other record at most 1 sensitivity.

    Returns:
        Renyi divergences at the whole orders 2 to 256.

    Raises:
        ParameterError: a value out of range.
        AccountingError: add_remove: samples of fixed size from n and from n + 1 records have different rates.

    Guarantees:
        * An upper bound, in both directions; never above the divergence of the Gaussian without sampling.

    References:
        Wang, Balle, Kasiviswanathan (2019), Theorem 9, with the moments of three Gaussians in place of (2) and (3)
        there; about a fourth of its leading term.

    Example:
        >>> claim = fixed_size_gaussian(4.0, sampling_probability=0.01, steps=10_000)
        >>> round(claim.epsilon(1e-5), 3)
        1.06
    """
    check_steps(sampling_probability, steps, noise_multiplier=noise_multiplier)
    relation = Relation.of(relation)
    if relation not in _MAX_SHARED_DISTANCE:
        raise AccountingError(
            "no bound for samples of fixed size under 'add_remove': an additional record changes the sampling rate of "
            "all. Use relation='replace_one' or 'zero_out', or Poisson sampling: PrivacyLossDP.gaussian(...)."
        )
    per_step = _one_step(float(noise_multiplier), float(sampling_probability), _MAX_SHARED_DISTANCE[relation])
    return RenyiDP(tuple(_ORDERS), tuple(steps * per_step), relation)


def fixed_size_losses(
    noise_multiplier: float,
    *,
    sampling_probability: float,
    steps: int = 1,
    relation: str | Relation = Relation.REPLACE_ONE,
) -> PrivacyLossDP:
    """Return the guarantee of `fixed_size_gaussian` by privacy losses, which is smaller for most settings.

    Args:
        noise_multiplier, sampling_probability, steps: as for `fixed_size_gaussian`.
        relation: replace_one.

    Raises:
        ParameterError: a value out of range.
        AccountingError: another relation.

    Guarantees:
        * An upper bound, in both directions; that of the Gaussian without sampling if the sample holds all records.

    Example:
        >>> options = {"sampling_probability": 0.01, "steps": 100}
        >>> round(fixed_size_losses(1.0, **options).epsilon(1e-5), 2)
        0.77
        >>> round(fixed_size_gaussian(1.0, **options).epsilon(1e-5), 2)
        1.35
    """
    check_steps(sampling_probability, steps, noise_multiplier=noise_multiplier)
    relation = Relation.of(relation)
    if relation is not Relation.REPLACE_ONE:
        raise AccountingError(
            f"privacy losses of samples of fixed size are known under 'replace_one', not under {relation.value!r}. Use "
            "'replace_one', or fixed_size_gaussian(...) under 'zero_out'.",
            argument="relation",
        )
    reach = gaussian_reach(1.0 / noise_multiplier, sampling_probability, steps)
    finer = max(0.1 * sampling_probability / noise_multiplier, 1e-6 * reach)  # many losses of this size add up
    pld = symmetric_gaussian_losses(noise_multiplier, sampling_probability, min(fitting_interval(reach), finer))
    title = (
        f"samples of fixed size, noise_multiplier={parameter_text(noise_multiplier)}, "
        f"sampling_probability={parameter_text(sampling_probability)}"
    )
    return PrivacyLossDP.from_pld(
        composed_losses([(pld, steps)]), relation=relation, description=f"{title}, steps={steps}"
    )


@lru_cache(maxsize=32)
def _one_step(noise_multiplier: float, sampling_probability: float, reach: float) -> Floats:
    """Return the divergences of one step; cached, since the claim of a mechanism is read many times."""
    divergences = _ORDERS / (2.0 * noise_multiplier**2)
    if sampling_probability < 1.0:
        moments = _log_moments(noise_multiplier, reach, MAX_ORDER)
        divergences = np.minimum(divergences, _sampled_divergences(_ORDERS, sampling_probability, moments))
    divergences.setflags(write=False)
    return divergences


def _log_moments(noise_multiplier: float, reach: float, largest: int) -> Floats:
    """Return log bounds on M_j, j = 0 .. `largest`, with step 1 and s the noise multiplier; M_0, M_1 are not used."""
    j = np.arange(largest + 2.0)
    square = 1.0 / noise_multiplier**2
    near = 0.5 * j * (j - 1.0) * square
    far = reach**2 * near
    bound = np.minimum(np.logaddexp(far, near), far + _log_even_moments(j, square, reach))
    bound[2] = _log_second_moment(square, reach)
    for odd in range(3, largest + 1, 2):
        bound[odd] = min(bound[odd], 0.5 * (bound[odd - 1] + bound[odd + 1]))
    return bound[: largest + 1]


def _log_second_moment(square: float, reach: float) -> float:
    """Return the log of M_2 with all distances at their largest: |a - c| = reach, and |b - c| = |a - b| = 1."""
    far = reach**2 * square
    return far + math.log1p(math.exp(square - far) - 2.0 * math.exp(-0.5 * far))


def _log_even_moments(j: Floats, square: float, reach: float) -> Floats:
    """Return log E |(j - 1) reach square + sqrt(square) g|^j for even j; inf for odd j."""
    log_moments = np.full(len(j), np.inf)
    for order in range(2, len(j), 2):
        k = np.arange(0.0, order + 1.0, 2.0)
        log_normal = gammaln(k + 1.0) - 0.5 * k * math.log(2.0) - gammaln(0.5 * k + 1.0)
        shift = (order - k) * math.log((order - 1.0) * reach * square)
        log_moments[order] = logsumexp(log_choose(float(order), k) + shift + log_normal + 0.5 * k * math.log(square))
    return log_moments


def _sampled_divergences(orders: Floats, probability: float, moments: Floats) -> Floats:
    divergences = np.empty(len(orders))
    for i, order in enumerate(orders):
        j = np.arange(2.0, order + 1.0)
        terms = log_choose(order, j) + j * math.log(probability) + moments[2 : int(order) + 1]
        divergences[i] = np.logaddexp(0.0, logsumexp(terms)) / (order - 1.0)
    return divergences
