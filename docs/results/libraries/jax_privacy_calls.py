"""Calls of jax-privacy: one step of DP-SGD, without a model."""

import jax
import numpy as np
from jax_privacy import clipped_grad, noise_addition

GRADIENT = clipped_grad(lambda parameter, record: 0.5 * ((record - parameter) ** 2).sum(), l2_clip_norm=1.0)


def noisy_gradient(dataset, size, rng):
    """Return sums of clipped gradients with noise of standard deviation 1; single precision, six digits."""
    total = GRADIENT(np.zeros(3, np.float32), np.asarray(dataset, np.float32).reshape(-1, 3))

    def noisy(key):
        privatizer = noise_addition.gaussian_privatizer(stddev=1.0, prng_key=key)
        return privatizer.update(total, privatizer.init(total))[0]

    keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), size)
    return np.round(np.asarray(jax.vmap(noisy)(keys), float), 6)
