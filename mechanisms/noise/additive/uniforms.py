"""Uniform random numbers with the full precision of a float."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Floats

BITS = 52
"""Number of bits of the fraction of a float."""


def full_precision_uniform(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw uniform floats in (0, 1), each with the probability of the gap above it (Mironov 2012).

    `Generator.random` gives only multiples of 2^-53: below 1/2 it leaves out most floats, and so does -ln(U). Here the
    exponent is the position of the first 1 among fair bits, and the fraction after it has all its 52 bits.
    """
    fraction = rng.integers(0, 1 << BITS, size=shape) * 2.0**-BITS
    uniforms: Floats = np.ldexp(1.0 + fraction, -rng.geometric(0.5, size=shape))
    return uniforms
