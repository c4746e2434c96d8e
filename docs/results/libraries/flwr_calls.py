"""Calls of Flower: what its strategies with a fixed clipping norm do to the updates of the clients, in process."""

import numpy as np
from flwr.supercore.differential_privacy import add_gaussian_noise_inplace, clip_inputs_inplace, compute_stdv


def clipped_mean(dataset):
    """Return the mean of the updates, each clipped to norm 1."""
    clipped = []
    for update in dataset:
        arrays = [np.atleast_1d(np.array(update, dtype=float))]
        clip_inputs_inplace(arrays, 1.0)
        clipped += arrays
    return np.mean(clipped, axis=0)


def mean_of_clients(dataset, size, rng):
    """Return noisy means of `size` rounds; six digits, since the low bits of floats leak by themselves."""
    np.random.seed(rng.integers(2**32))
    rounds = [np.repeat(clipped_mean(dataset)[None], size, axis=0)]
    add_gaussian_noise_inplace(rounds, compute_stdv(4.0, 1.0, len(dataset)))
    return np.round(rounds[0], 6)
