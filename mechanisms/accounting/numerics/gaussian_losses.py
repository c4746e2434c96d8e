"""Privacy losses of one Gaussian step on a Poisson sample: the arrays of dp-accounting without a loop over losses.

`plds.from_gaussian_mechanism` inverts each of a hundred thousand losses in a Python function. Here they are inverted at
once, in the same order of operations, so that the distribution has the bytes of dp-accounting 0.6.

With q the sampling probability and s the noise multiplier, and a record added, a loss l of the sampled noise is one of

    L = -log(1 + (e^-l - 1) / q)

without sampling, and the noise there is 1/2 - s^2 L; if it is removed, L = log(1 + (e^l - 1) / q) and the noise is
-1/2 - s^2 L. The probabilities of a grid of losses follow from delta at each of them (Doroshenko, Ghazi, Kamath, Kumar,
Manurangsi 2022, Algorithm 1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import Floats


def gaussian_losses(noise_multiplier: float, sampling_probability: float, interval: float) -> Any:
    """Return the pessimistic `PrivacyLossDistribution` of one step for adding or removing a record.

    Args:
        noise_multiplier: standard deviation / sensitivity, > 0.
        sampling_probability: in (0, 1].
        interval: of the grid of losses, > 0.
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution as plds
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

    def losses(adjacency: AdjacencyType) -> Any:
        step = GaussianPrivacyLoss(noise_multiplier, sampling_prob=sampling_probability, adjacency_type=adjacency)
        bounds = step.connect_dots_bounds()
        first, last = math.floor(bounds.epsilon_lower / interval), math.ceil(bounds.epsilon_upper / interval)
        epsilons = np.arange(first, last + 1) * interval
        deltas = _deltas(step, noise_multiplier, epsilons, 1.0 if adjacency is AdjacencyType.REMOVE else -1.0)
        return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, first, last, deltas)

    removed = losses(AdjacencyType.REMOVE)
    added = None if sampling_probability == 1.0 else losses(AdjacencyType.ADD)
    return plds.PrivacyLossDistribution(removed, added)


def symmetric_gaussian_losses(noise_multiplier: float, sampling_probability: float, interval: float) -> Any:
    """Return the pessimistic `PrivacyLossDistribution` of one step with the curve of removing a record both ways.

    The curve is delta(epsilon) of a removed record at epsilon >= 0, and that of the same pair with its sides swapped at
    -epsilon: 1 - e^-epsilon + e^-epsilon delta(epsilon). The arguments are those of `gaussian_losses`.
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution as plds
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

    step = GaussianPrivacyLoss(
        noise_multiplier, sampling_prob=sampling_probability, adjacency_type=AdjacencyType.REMOVE
    )
    last = math.ceil(step.connect_dots_bounds().epsilon_upper / interval)
    epsilons = np.arange(last + 1) * interval
    deltas = _deltas(step, noise_multiplier, epsilons, 1.0)
    mirrored = (np.exp(-epsilons) * deltas - np.expm1(-epsilons))[:0:-1]
    curve = np.concatenate([mirrored, deltas])
    return plds.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, -last, last, curve)
    )


def _deltas(step: Any, noise_multiplier: float, epsilons: Floats, sign: float) -> Floats:
    """Return delta at each epsilon: sign = 1 for a removed record, -1 for an added one."""
    q = step.sampling_prob
    if q == 1.0:
        inside, unsampled = np.full(len(epsilons), True), epsilons
    else:
        smallest_loss = math.log1p(-q)  # no loss of a sampled record is smaller
        inside = sign * epsilons > smallest_loss
        unsampled = sign * _unsampled(sign * epsilons[inside], q, smallest_loss)
    noise = -0.5 - unsampled * noise_multiplier**2 + (sign < 0.0)
    deltas = -np.expm1(np.minimum(epsilons, 0.0)) if sign > 0.0 else np.zeros(len(epsilons))
    deltas[inside] = step.mu_upper_cdf(noise) - np.exp(epsilons[inside] + step.mu_lower_log_cdf(noise))
    return np.asarray(np.clip(deltas, 0.0, 1.0))


def _unsampled(losses: Floats, q: float, smallest_loss: float) -> Floats:
    """Return log(1 + (e^loss - 1) / q)."""
    scaled, shift = losses + np.log(1.0 / q), 1.0 - 1.0 / q
    with np.errstate(divide="ignore", invalid="ignore"):  # next to the least loss
        unsampled = scaled + np.log1p(-np.exp(np.log(-shift) - scaled))
    unsampled[losses == 0.0] = np.log(1.0 / q + shift)
    unsampled[np.isclose(losses, smallest_loss, rtol=1e-9, atol=0.0)] = -np.inf
    return np.asarray(unsampled)
