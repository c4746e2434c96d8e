"""Gaussian noise on a random sample of fixed size, drawn without replacement: a Renyi bound of its own.

Fix the records that both datasets share. Given the sample, up to one place in it, a step of the mechanism is

    with the record d1 holds    p = (1 - q) N(c, s^2 I) + q N(a, s^2 I)
    with the one d0 holds       r = (1 - q) N(c, s^2 I) + q N(b, s^2 I)

where q is the share of the records that is sampled and c, a, b are what the sum becomes when that place goes to a
shared record, to the record of d1, or to that of d0. (Take a sample without the record, and give the place of one of
its members to it: what is left is uniform either way. Renyi moments are convex in the pair of laws, so that their
average over the samples is at most their largest value.) For a whole order

    E_r (p / r)^order = 1 + sum over j >= 2 of C(order, j) q^j E_r ((N(a) - N(b)) / r)^j,

in which the term j = 1 is 0, and the convexity of |u|^j / r^(j - 1) replaces r by N(c) or N(b): Wang, Balle,
Kasiviswanathan (2019), Theorem 9 and its proof. There only divergences of pairs are known. Here the three laws are
Gaussian and their centres are points of a Euclidean space, so that the moments

    M_j = integral of |N(a) - N(b)|^j / N(c)^(j - 1)

can be bounded better. With v = a - b, e_t = b + t v - c, |v| <= step, |e_t| <= reach and g standard normal,

    M_2   = e^A + e^B - 2 e^((A + B - D) / 2),  A, B, D = |a - c|^2, |b - c|^2, |a - b|^2 over s^2; it grows with each
            of A, B, D as long as none of them exceeds the sum of the others
    M_j  <= e^(j (j-1) |a-c|^2 / (2 s^2)) + e^(j (j-1) |b-c|^2 / (2 s^2)),  as |u - v|^j <= max(u, v)^j
    M_j  <= e^(j (j-1) reach^2 / (2 s^2)) E |(j - 1) step reach / s^2 + step g / s|^j,  j even: Minkowski's inequality
            along the segment from b to a; this is the good one where the noise is large
    M_j  <= sqrt(M_(j-1) M_(j+1)), j odd
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp

from ...errors import AccountingError
from ...relation import Relation
from ...validation import positive, unit_interval, whole
from ..base import Floats
from ..renyi import RenyiDP

LARGEST_ORDER = 256
"""Whole orders from 2 to this one are listed."""
_ORDERS = np.arange(2.0, LARGEST_ORDER + 1.0)

_REACH = {Relation.REPLACE_ONE: 1.0, Relation.ZERO_OUT: 2.0}
"""How far a shared record may lie from either of the two that differ, over the distance of these two at most."""


def fixed_size_gaussian(
    noise_multiplier: float,
    *,
    sampling_probability: float,
    steps: int = 1,
    relation: str | Relation = Relation.REPLACE_ONE,
) -> RenyiDP:
    """Gaussian noise on the sum over a fixed-size sample without replacement, composed with itself.

    Args:
        noise_multiplier: standard deviation / sensitivity under `relation`, > 0. For sums of vectors of norm at most C,
            such as clipped gradients, the sensitivity is 2 C under replace_one and C under zero_out: a standard
            deviation of z C is a noise multiplier of z / 2 or of z.
        sampling_probability: size of the sample / number of records, in (0, 1].
        steps: compositions, each with a fresh sample, >= 1.
        relation: replace_one, where the sums over samples that differ in one place lie within 1 sensitivity; or
            zero_out, where the blank record adds nothing and all others at most 1 sensitivity.

    Returns:
        Renyi divergences at the whole orders 2 to 256.

    Raises:
        ParameterError: a value out of range.
        AccountingError: add_remove: a sample of fixed size from n records, or from n + 1, is drawn at another rate.

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
    positive(noise_multiplier=noise_multiplier, sampling_probability=sampling_probability)
    unit_interval(sampling_probability=sampling_probability)
    whole(1, steps=steps)
    relation = Relation.of(relation)
    if relation not in _REACH:
        raise AccountingError(
            "no bound for samples of fixed size under 'add_remove': with one record more every record is sampled at "
            "another rate. Use relation='replace_one' or 'zero_out', or Poisson sampling: PrivacyLossDP.gaussian(...)."
        )
    each = _one_step(float(noise_multiplier), float(sampling_probability), _REACH[relation])
    return RenyiDP(tuple(_ORDERS), tuple(steps * each), relation)


@lru_cache(maxsize=32)
def _one_step(noise_multiplier: float, sampling_probability: float, reach: float) -> Floats:
    """Divergences at the orders. Remembered, as a mechanism is asked for its claim many times."""
    each = _ORDERS / (2.0 * noise_multiplier**2)
    if sampling_probability < 1.0:
        moments = log_moments(noise_multiplier, reach, LARGEST_ORDER)
        each = np.minimum(each, _sampled_divergences(_ORDERS, sampling_probability, moments))
    each.setflags(write=False)
    return each


def log_moments(noise_multiplier: float, reach: float, largest: int) -> Floats:
    """log of bounds on M_j, j = 0 .. `largest`, with step 1 and s the noise multiplier. M_0 and M_1 are not used."""
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
    """log of M_2 with every distance as large as it may be: |a - c| = reach, and |b - c| = |a - b| = 1."""
    far = reach**2 * square
    return far + math.log1p(math.exp(square - far) - 2.0 * math.exp(-0.5 * far))


def _log_even_moments(j: Floats, square: float, reach: float) -> Floats:
    """log E |(j - 1) reach square + sqrt(square) g|^j for even j; inf for odd j."""
    found = np.full(len(j), np.inf)
    for order in range(2, len(j), 2):
        k = np.arange(0.0, order + 1.0, 2.0)
        log_normal = gammaln(k + 1.0) - 0.5 * k * math.log(2.0) - gammaln(0.5 * k + 1.0)
        shift = (order - k) * math.log((order - 1.0) * reach * square)
        found[order] = logsumexp(_log_binomial(float(order), k) + shift + log_normal + 0.5 * k * math.log(square))
    return found


def _sampled_divergences(orders: Floats, probability: float, moments: Floats) -> Floats:
    found = np.empty(len(orders))
    for i, order in enumerate(orders):
        j = np.arange(2.0, order + 1.0)
        terms = _log_binomial(order, j) + j * math.log(probability) + moments[2 : int(order) + 1]
        found[i] = np.logaddexp(0.0, logsumexp(terms)) / (order - 1.0)
    return found


def _log_binomial(n: float, k: Floats) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
