"""Uniform numbers with every bit that a float has room for."""

from __future__ import annotations

import numpy as np

from ..queries.base import Floats

BITS = 52
"""Of the fraction of a float."""


def full_precision_uniform(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Uniform floats in (0, 1), each drawn with the probability of the gap above it (Mironov 2012).

    `Generator.random` gives multiples of 2^-53 alone: below 1/2 it leaves out most floats, and -ln(U) with them.
    Here the exponent is that of the first 1 among fair bits, and the fraction that follows has all its 52 bits.
    """
    fraction = rng.integers(0, 1 << BITS, size=shape) * 2.0**-BITS
    found: Floats = np.ldexp(1.0 + fraction, -rng.geometric(0.5, size=shape))
    return found
