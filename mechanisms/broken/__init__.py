"""Mechanisms that are wrong on purpose: each claims one epsilon, has another, and says why.

Broken trainers are in `dpassay.mechanisms.broken.dp_sgd`.
"""

from .biased_coin import BiasedCoinResponse
from .laplace_scale import LaplaceInverseScale
from .laplace_sensitivity import LaplaceForgottenSensitivity

__all__ = ["BiasedCoinResponse", "LaplaceForgottenSensitivity", "LaplaceInverseScale"]
