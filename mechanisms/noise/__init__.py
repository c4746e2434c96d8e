"""Mechanisms that add noise to numbers."""

from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.geometric import Geometric
from mechanisms.noise.laplace import Laplace

__all__ = ["Gaussian", "Geometric", "Laplace"]
