"""Gaussian noise on Poisson samples of the records, for datasets that differ in a group of k records, such as a user's.

Each record of the group is sampled by itself, so that a step holds j of them with the binomial probability w_j, and the
sum moves by the sum v_S of the gradients of the sampled set S, |v_S| <= |S| = j. Equal gradients are the worst case:

    P = sum over j of w_j N(j, s^2),   Q = N(0, s^2).

Proof. With z standard normal and X_S = <v_S, z> / s, the likelihood ratio is a mean R of exp(X_S - Var X_S / 2) over S,
and both directions of the hockey-stick divergence are means E f(R) of convex functions f. By integration by parts, the
derivative of E f(R) by the covariance of X_S and X_T is a positive multiple of the mean of f''(R) times exponentials,
>= 0, and likewise by the variance of X_S (Kahane 1986). All covariances <v_S, v_T> / s^2 are at most those of equal
gradients, |S| |T| / s^2. Steps that depend on earlier ones compose.

Charles et al. (2024) state this bound for example-level sampling with user-level privacy (ELS).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import logsumexp, ndtr

from ...core import AccountingError, Relation, parameter_text, whole
from ..composition.compose import compose
from ..conversion.convert import to_privacy_loss
from ..kinds.exact import ExactDP
from ..kinds.privacy_loss import PrivacyLossDP
from ..kinds.renyi import check_steps
from ..numerics.binomial import binomial_pmf, binomial_sf
from ..numerics.cells import normal_cells, spread_to_edges

MAX_DEVIATIONS = 9.0
"""Range of the normal numbers on the grid: 1e-19 of probability lies beyond."""
MAX_SHIFT = 29.0
"""Largest shift in standard deviations whose likelihood ratios are floats; larger ones count as infinite losses."""
POINTS_PER_DEVIATION = 200
"""Grid points per standard deviation of the noise."""


def sampled_group_gaussian(
    noise_multiplier: float,
    *,
    sampling_probability: float,
    size: int,
    steps: int = 1,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> PrivacyLossDP:
    """Return the guarantee of composed Gaussian noise on Poisson samples, for a group of records.

    Args:
        noise_multiplier: standard deviation / sensitivity to one record, > 0.
        sampling_probability: inclusion probability of each record in each step, in (0, 1].
        size: k, the largest number of records in which two datasets differ, >= 1.
        steps: number of compositions, >= 1.
        relation: add_remove or zero_out, of every record of the group.

    Returns:
        The composition of the pair above, tight up to its grid; sums of more than 29 noise_multiplier sampled records
        count as infinite losses. If most sums are as large, the claim is that without sampling, an upper bound as well.

    Raises:
        ParameterError: a value out of range.
        AccountingError: replace_one.

    References:
        Charles, Ganesh, McKenna, McMahan, Mitchell, Pillutla, Rush (2024), "Fine-tuning large language models with
        user-level differential privacy", Theorem 3.1.

    Example:
        >>> for size in (1, 4):
        ...     claim = sampled_group_gaussian(2.0, sampling_probability=0.01, size=size, steps=100)
        ...     print(size, round(claim.epsilon(1e-5), 2))
        1 0.19
        4 0.87
    """
    check_steps(sampling_probability, steps, noise_multiplier=noise_multiplier)
    whole(1, size=size)
    relation = Relation.of(relation)
    if relation is Relation.REPLACE_ONE:
        raise AccountingError(
            "relation 'replace_one' is not known for groups of Poisson-sampled records: which pair is worst depends on "
            "the replacement records. Use 'add_remove' or 'zero_out'.",
            argument="relation",
        )
    if binomial_sf(min(size, int(MAX_SHIFT * noise_multiplier)), size, sampling_probability) > 0.5:
        return PrivacyLossDP.gaussian(noise_multiplier / size, steps=steps, relation=relation)
    pairs = [_step(noise_multiplier, sampling_probability, size).under(relation)] * steps
    composed = to_privacy_loss(pairs[0], fixed_sides=True)
    if steps > 1:
        whole_run = compose(pairs, accounting="privacy-loss", fixed_sides=True)
        assert isinstance(whole_run, PrivacyLossDP)
        composed = whole_run
    title = (
        f"gaussian, noise_multiplier={parameter_text(noise_multiplier)}, "
        f"sampling_probability={parameter_text(sampling_probability)}"
    )
    return PrivacyLossDP.from_pld(
        composed.pld, relation=relation, description=f"{title}, steps={steps}, groups of {size}"
    )


@lru_cache(maxsize=32)
def _step(noise_multiplier: float, sampling_probability: float, size: int) -> ExactDP:
    """Return a finite pair that dominates a step; side 1 has the group.

    The likelihood ratio grows with the output. It is spread in each cell to the edges of the cell, with the same mean.
    """
    chances = binomial_pmf(np.arange(size + 1), size, sampling_probability)
    shifts = np.arange(size + 1) / noise_multiplier
    close = shifts <= MAX_SHIFT
    far = float(chances[~close].sum())
    shifts, chances = shifts[close], chances[close]
    edges = np.arange(-MAX_DEVIATIONS, MAX_DEVIATIONS + shifts[-1], 1.0 / POINTS_PER_DEVIATION)
    cells = np.append(-np.inf, edges)
    q = normal_cells(cells)
    p = chances @ np.array([normal_cells(cells - shift) for shift in shifts])
    ratios = np.append(chances[0], np.exp(logsumexp(edges[:, None] * shifts - 0.5 * shifts**2, b=chances, axis=1)))
    masses = spread_to_edges(ratios, q, p)
    beyond = float(ndtr(-edges[-1]))
    masses[-1] += beyond
    infinite = max(0.0, float(chances @ ndtr(shifts - edges[-1])) - beyond * float(ratios[-1]))
    p1 = np.append(masses * ratios, infinite + far)
    return ExactDP(np.append(masses, 0.0), p1 / p1.sum(), exact=False)
