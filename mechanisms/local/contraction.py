"""Contraction of the distance of two distributions by a random channel: an equivalent form of local privacy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..core import Floats, ParameterError, non_negative


def contraction_coefficient(channel: ArrayLike, epsilon: float) -> float:
    """Return the largest ratio of the divergence E_gamma at the output to the divergence at the input.

    With gamma = e^epsilon,

        eta_gamma = sup over P, Q with E_gamma(P, Q) > 0 of E_gamma(PK, QK) / E_gamma(P, Q)
                  = max over two inputs x, y of E_gamma(K(x), K(y)).

    The mechanism K is epsilon-locally private if and only if it is 0, that is, if no two distributions of the values
    can be distinguished at e^epsilon by the messages. At epsilon = 0 it is Dobrushin's coefficient.

    Args:
        channel: `(n_inputs, n_outputs)`, each row the law of the output under one input: `LocalMechanism.channel()`.
        epsilon: >= 0.

    Returns:
        A number in [0, 1]; instead of 0 it may be of the size of the rounding errors, 1e-16.

    Raises:
        ParameterError: the channel is not a matrix of laws.

    References:
        Asoodeh, Aliakbarpour, Calmon (2021), "Local differential privacy is equivalent to contraction of an
        f-divergence"; the maximum over two inputs is Dobrushin's for epsilon = 0.

    Example:
        >>> from dpassay.mechanisms import KAryRandomizedResponse
        >>> channel = KAryRandomizedResponse(epsilon=1.0, k=4).channel()
        >>> [round(contraction_coefficient(channel, epsilon), 6) for epsilon in (0.0, 0.5, 0.99, 1.0)]
        [0.300489, 0.187042, 0.00473, 0.0]
    """
    non_negative(epsilon=epsilon)
    laws = _channel(channel)
    grown = _grown(laws, epsilon)
    return max(float(np.maximum(0.0, law - grown).sum(axis=1).max()) for law in laws)


def local_epsilon(channel: ArrayLike) -> float:
    """Return the least epsilon of a channel: the largest log ratio in a column; inf if an input excludes an output.

    Example:
        >>> round(local_epsilon([[0.75, 0.25], [0.25, 0.75]]), 6)
        1.098612
    """
    laws = _channel(channel)
    sent = laws[:, laws.max(axis=0) > 0.0]
    with np.errstate(divide="ignore"):
        return float(np.max(np.log(sent.max(axis=0)) - np.log(sent.min(axis=0))))


def _grown(law: Floats, epsilon: float) -> Floats:
    """Return e^epsilon times probabilities, capped at e, which no probability exceeds."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.minimum(epsilon + np.log(law), 1.0)))


def _channel(channel: ArrayLike) -> Floats:
    laws = np.asarray(channel, dtype=np.float64)
    if laws.ndim != 2 or laws.size == 0 or not (laws >= 0.0).all() or np.abs(laws.sum(axis=1) - 1.0).max() > 1e-9:
        raise ParameterError(
            f"channel must be a matrix (n_inputs, n_outputs) whose rows are probabilities that sum to 1, but has shape "
            f"{laws.shape}. Use `mechanism.channel()`.",
            argument="channel",
        )
    return laws
