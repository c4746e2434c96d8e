"""Mechanisms that add noise to numbers."""

from .gaussian import Gaussian
from .geometric import Geometric
from .laplace import Laplace

__all__ = ["Gaussian", "Geometric", "Laplace"]
