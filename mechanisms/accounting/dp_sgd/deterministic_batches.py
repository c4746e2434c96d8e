"""Gaussian noise on batches of the records in a fixed or a shuffled order, without a claim of amplification.

In one epoch each record is in exactly one batch. For two datasets of the same size that differ in one record, all other
batches are equal: an epoch is one use of the Gaussian mechanism on that record, and epochs compose,

    mu = sqrt(epochs) / noise multiplier.

This holds for any fixed order. If the order is a random permutation, drawn independently of the data, both datasets
draw it from the same law. Given the permutation, the trade-off curve is at least that of mu; so is its average over
permutations, since that curve is convex; and an attacker without the permutation knows less. So mu is an upper bound
for shuffled batches, nearly attained for few steps or little noise: the far smaller epsilon of Poisson sampling does
not hold for shuffled batches.

None of this holds under add_remove: an additional record moves the others between batches.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from ...core import AccountingError, Floats, ParameterError, Relation, delta_range, one_of, positive, whole
from ..kinds.gaussian import GaussianDP

ORDERS_OF_BATCHES = ("cyclic", "shuffled")
"""Orders of the records: the same in every epoch and known to the attacker, or a new uniform permutation in each."""


def deterministic_batches(
    noise_multiplier: float, *, epochs: int = 1, order: str = "shuffled", relation: str | Relation = Relation.ZERO_OUT
) -> GaussianDP:
    """Return the guarantee of Gaussian noise on the sum of each batch, with every record once per epoch.

    Args:
        noise_multiplier: standard deviation / sensitivity under `relation`, > 0. For sums of vectors of norm at most C
            the sensitivity is 2 C under replace_one and C under zero_out.
        epochs: number of uses of a record, >= 1; an incomplete last epoch counts as one.
        order: "cyclic" or "shuffled".
        relation: zero_out or replace_one.

    Returns:
        `GaussianDP(sqrt(epochs) / noise_multiplier)`; exact for cyclic batches whose noisy sums are all released, an
        upper bound otherwise.

    Raises:
        ParameterError: a value out of range.
        AccountingError: add_remove.

    References:
        Dong, Roth, Su (2019), Corollary 3.3; Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024), Section 3,
        where the same bound is called that of deterministic batches.

    Example:
        >>> print(deterministic_batches(2.0, epochs=4))
        GaussianDP(mu=1)
    """
    positive(noise_multiplier=noise_multiplier)
    whole(1, epochs=epochs)
    one_of(ORDERS_OF_BATCHES, order=order)
    relation = Relation.of(relation)
    _refuse_add_remove(relation, order)
    return GaussianDP(math.sqrt(epochs) / noise_multiplier, relation, exact=order == "cyclic")


def shuffled_epsilon_at_least(
    noise_multiplier: float, *, batches: int, delta: float, relation: str | Relation = Relation.ZERO_OUT
) -> float:
    """Return a lower bound on the epsilon of one epoch of shuffled batches at `delta`, for any accounting.

    All other records are the worst possible: gradient -C u. Relative to a batch of these only, in units of C, the sum
    along u of the batch with the record is 2 if its gradient is +C u and 1 if it is blank; the sums of the other
    batches are 0. With noise, the event "some sum is at least c", for the best c, has

        delta(epsilon) >= P(c) - e^epsilon Q(c),   P(c) = 1 - Phi((c - 2)/s) Phi(c/s)^(batches - 1), Q with 1 for 2.

    Under replace_one the other record is -C u, so that Q has 0 in place of 1, and s is twice the noise multiplier.

    Args:
        noise_multiplier: standard deviation / sensitivity under `relation`, > 0.
        batches: number of batches in the epoch, >= 1.
        delta: in [0, 1).
        relation: zero_out or replace_one.

    Returns:
        The largest such epsilon over a fine grid of c, 0 if there is none: each is valid, and the loss by the grid is
        less than 0.001.

    Raises:
        ParameterError, AccountingError: as for `deterministic_batches`; also delta 0, where epsilon is infinite.

    References:
        Chua et al. (2024), Theorem 4.2.

    Example:
        >>> round(shuffled_epsilon_at_least(1.0, batches=100, delta=1e-5), 2)
        4.06
    """
    positive(noise_multiplier=noise_multiplier)
    whole(1, batches=batches)
    delta_range(delta=delta)
    if delta == 0.0:
        raise ParameterError(
            "delta is 0, at which no noise of finite variance has a finite epsilon. Try delta=1e-5.", argument="delta"
        )
    relation = Relation.of(relation)
    _refuse_add_remove(relation, "shuffled")
    blank, scale = (0.0, 2.0) if relation is Relation.REPLACE_ONE else (1.0, 1.0)
    s = scale * noise_multiplier
    c = np.linspace(-8.0 * s, 2.0 + 40.0 * s, 40_001)
    none = (batches - 1) * log_ndtr(c / s)
    log_p, log_q = _log_some(none + log_ndtr((c - 2.0) / s)), _log_some(none + log_ndtr((c - blank) / s))
    above = log_p > math.log(delta)
    epsilons = log_p[above] + np.log(-np.expm1(math.log(delta) - log_p[above])) - log_q[above]
    return float(max(0.0, epsilons.max(initial=0.0)))


def _log_some(log_none: Floats) -> Floats:
    """Return log(1 - e^x) for x < 0, with the relative accuracy of x."""
    return np.asarray(np.log(-np.expm1(np.minimum(log_none, -1e-300))))


def _refuse_add_remove(relation: Relation, order: str) -> None:
    if relation is Relation.ADD_REMOVE:
        raise AccountingError(
            f"{order} batches have no guarantee under 'add_remove': adding a record moves others between batches. "
            "Use relation='zero_out', with a blank record in its place, or 'replace_one'; or Poisson sampling."
        )
