"""Privacy losses of one step of noise on a Poisson sample: the arrays of dp-accounting without a loop over losses.

`plds.from_gaussian_mechanism` and `from_laplace_mechanism` invert each of a hundred thousand losses in a Python
function, and pass their probabilities through a dictionary. Here they are inverted at once, in the same order of
operations, so that the distribution has the bytes of dp-accounting 0.6.

With q the sampling probability, and a record added, a loss l of the sampled noise is one of

    L = -log(1 + (e^-l - 1) / q)

without sampling; if it is removed, of L = log(1 + (e^l - 1) / q). Without sampling, the loss L of a removed record is
that of the noise -1/2 - s^2 L for Gaussian noise with deviation s, and of -(1 + b L) / 2 for Laplace noise with scale
b; that of an added one belongs to noise larger by 1. The probabilities of a grid of losses follow from delta at each of
them (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, Algorithm 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    return _both_ways(GaussianPrivacyLoss, noise_multiplier, sampling_probability, interval)


def laplace_losses(scale: float, sampling_probability: float, interval: float) -> Any:
    """Return the same for Laplace noise of this scale / sensitivity, > 0."""
    from dp_accounting.pld.privacy_loss_mechanism import LaplacePrivacyLoss

    return _both_ways(LaplacePrivacyLoss, scale, sampling_probability, interval)


def _both_ways(kind: Callable[..., Any], scale: float, sampling_probability: float, interval: float) -> Any:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType

    def losses(adjacency: AdjacencyType) -> Any:
        step = kind(scale, sampling_prob=sampling_probability, adjacency_type=adjacency)
        bounds = step.connect_dots_bounds()
        first, last = math.floor(bounds.epsilon_lower / interval), math.ceil(bounds.epsilon_upper / interval)
        epsilons = np.arange(first, last + 1) * interval
        deltas = _deltas(step, scale, epsilons, 1.0 if adjacency is AdjacencyType.REMOVE else -1.0)
        return _connected_dots(interval, first, deltas)

    removed = losses(AdjacencyType.REMOVE)
    return PrivacyLossDistribution(removed, None if sampling_probability == 1.0 else losses(AdjacencyType.ADD))


def symmetric_gaussian_losses(noise_multiplier: float, sampling_probability: float, interval: float) -> Any:
    """Return the pessimistic `PrivacyLossDistribution` of one step with the curve of removing a record both ways.

    The curve is delta(epsilon) of a removed record at epsilon >= 0, and that of the same pair with its sides swapped at
    -epsilon: 1 - e^-epsilon + e^-epsilon delta(epsilon). The arguments are those of `gaussian_losses`.
    """
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

    step = GaussianPrivacyLoss(
        noise_multiplier, sampling_prob=sampling_probability, adjacency_type=AdjacencyType.REMOVE
    )
    last = math.ceil(step.connect_dots_bounds().epsilon_upper / interval)
    epsilons = np.arange(last + 1) * interval
    deltas = _deltas(step, noise_multiplier, epsilons, 1.0)
    mirrored = (np.exp(-epsilons) * deltas - np.expm1(-epsilons))[:0:-1]
    return PrivacyLossDistribution(_connected_dots(interval, -last, np.concatenate([mirrored, deltas])))


def _connected_dots(interval: float, first: int, deltas: Floats) -> Any:
    """Return the pessimistic losses `first`, `first` + 1, ... times the interval with these deltas."""
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    if len(deltas) == 1:  # no loss but 0, at the smallest sampling probabilities
        return DensePLDPmf(interval, first, 1.0 - deltas, float(deltas[0]), True)
    deltas = np.minimum.accumulate(deltas)
    rises, growth = np.diff(deltas), math.expm1(interval)
    inner = (rises[1:] - rises[:-1] * math.exp(interval)) / growth
    ends = 1.0 - deltas[0] + rises[0] / growth, rises[-1] / math.expm1(-interval)
    probabilities = np.maximum(0.0, np.concatenate([ends[:1], inner, ends[1:]]))
    return DensePLDPmf(interval, first, probabilities, float(deltas[-1]), True)


def _deltas(step: Any, scale: float, epsilons: Floats, sign: float) -> Floats:
    """Return delta at each epsilon: sign = 1 for a removed record, -1 for an added one."""
    from dp_accounting.pld.privacy_loss_mechanism import LaplacePrivacyLoss

    q = step.sampling_prob
    if q == 1.0:
        inside, unsampled = np.full(len(epsilons), True), epsilons
    else:
        least = math.log1p(-q)  # no loss of a sampled record is smaller
        inside = sign * epsilons > least
        unsampled = sign * _unsampled(sign * epsilons[inside], q, least)
    noise = _laplace_noise(scale * unsampled) if isinstance(step, LaplacePrivacyLoss) else -0.5 - unsampled * scale**2
    noise += sign < 0.0
    deltas = -np.expm1(np.minimum(epsilons, 0.0)) if sign > 0.0 else np.zeros(len(epsilons))
    deltas[inside] = step.mu_upper_cdf(noise) - np.exp(epsilons[inside] + step.mu_lower_log_cdf(noise))
    return np.asarray(np.clip(deltas, 0.0, 1.0))


def _laplace_noise(losses: Floats) -> Floats:
    """Return the noise at which a removed record has each loss, in units of the scale: between -1 and 1, or beyond."""
    noise = 0.5 * (-1.0 - losses)
    noise[losses > 1.0], noise[losses <= -1.0] = -np.inf, np.inf
    return noise


def _unsampled(losses: Floats, q: float, least: float) -> Floats:
    """Return log(1 + (e^loss - 1) / q)."""
    scaled, shift = losses + np.log(1.0 / q), 1.0 - 1.0 / q
    with np.errstate(divide="ignore", invalid="ignore"):  # next to the least loss
        unsampled = scaled + np.log1p(-np.exp(np.log(-shift) - scaled))
    unsampled[losses == 0.0] = np.log(1.0 / q + shift)
    unsampled[np.isclose(losses, least, rtol=1e-9, atol=0.0)] = -np.inf
    return np.asarray(unsampled)
