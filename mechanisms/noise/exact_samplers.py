"""Exact samplers of discrete noise: whole numbers and fractions only, one value at a time.

They are the reference that the vectorised noise of `Geometric` and `DiscreteGaussian` is tested against. No float is
rounded anywhere: every probability is exact. The running time depends on the value returned, so a timing attack is
possible.

    _uniform_below                 uniform on 0, ..., n - 1
    bernoulli                     1 with a rational probability
    _bernoulli_exp                 1 with probability exp(-rate)              Canonne, Kamath, Steinke 2020, algorithm 1
    discrete_laplace              Pr[x] proportional to exp(-|x| / scale)    algorithm 2
    discrete_gaussian             Pr[x] proportional to exp(-x^2 / (2 variance))              algorithm 3
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import count

import numpy as np

from ..core import ParameterError


def _uniform_below(n: int, rng: np.random.Generator) -> int:
    """Draw a whole number below n uniformly, by rejection: random bits are drawn again while they are >= n."""
    bits = (n - 1).bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes(-(-bits // 8)), "little") & ((1 << bits) - 1)
        if drawn < n:
            return drawn


def bernoulli(probability: Fraction, rng: np.random.Generator) -> bool:
    """Return True with this probability."""
    return _uniform_below(probability.denominator, rng) < probability.numerator


def _bernoulli_exp(rate: Fraction, rng: np.random.Generator) -> bool:
    """Return True with probability exp(-rate), rate >= 0: coins of the series of exp are tossed until one fails."""
    if rate > 1:
        integer_part = math.floor(rate)
        return all(_bernoulli_exp(Fraction(1), rng) for _ in range(integer_part)) and _bernoulli_exp(
            rate - integer_part, rng
        )
    return next(k for k in count(1) if not bernoulli(rate / k, rng)) % 2 == 1


def discrete_laplace(scale: Fraction, rng: np.random.Generator) -> int:
    """Draw two-sided geometric noise, Pr[x] proportional to exp(-|x| / scale), scale > 0 a fraction t / s.

    Raises:
        ParameterError: scale not above 0.
    """
    if scale <= 0:
        raise ParameterError(argument="scale", value=scale, allowed="be above 0")
    t, s = scale.numerator, scale.denominator
    while True:
        start = _uniform_below(t, rng)
        if not _bernoulli_exp(Fraction(start, t), rng):
            continue
        turns = next(k for k in count() if not _bernoulli_exp(Fraction(1), rng))
        size, negative = (start + t * turns) // s, bernoulli(Fraction(1, 2), rng)
        if size or not negative:
            return -size if negative else size


def discrete_gaussian(variance: Fraction, rng: np.random.Generator) -> int:
    """Draw discrete Gaussian noise, Pr[x] proportional to exp(-x^2 / (2 variance)) on the integers, variance > 0.

    Discrete Laplace noise of scale t = floor(sqrt(variance)) + 1 is accepted with probability
    exp(-(|x| - variance / t)^2 / (2 variance)).

    Raises:
        ParameterError: variance not above 0.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> drawn = [discrete_gaussian(Fraction(9, 4), rng) for _ in range(200)]
        >>> all(isinstance(value, int) for value in drawn), -7 < min(drawn) < max(drawn) < 7
        (True, True)
    """
    if variance <= 0:
        raise ParameterError(argument="variance", value=variance, allowed="be above 0")
    t = math.isqrt(math.floor(variance)) + 1
    while True:
        drawn = discrete_laplace(Fraction(t), rng)
        if _bernoulli_exp((abs(drawn) - variance / t) ** 2 / (2 * variance), rng):
            return drawn
