"""Mechanisms that are wrong on purpose: each claims one epsilon, has another, and says why.

Broken trainers are in `mechanisms.broken.dp_sgd`.
"""

from mechanisms.broken.biased_coin import BiasedCoinResponse
from mechanisms.broken.laplace_scale import LaplaceInverseScale
from mechanisms.broken.laplace_sensitivity import LaplaceForgottenSensitivity

__all__ = ["BiasedCoinResponse", "LaplaceForgottenSensitivity", "LaplaceInverseScale"]
