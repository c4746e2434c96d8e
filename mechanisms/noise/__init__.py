"""Mechanisms that add noise to numbers.

additive.py      what every mechanism that adds independent noise to numbers shares
calibration.py   how much Gaussian noise a wanted (epsilon, delta) takes
gaussian.py      Gaussian noise on a number or a vector of numbers
geometric.py     two-sided geometric noise on whole numbers: Laplace noise without floating-point trouble
laplace.py       Laplace noise on a number or a vector of numbers
prefix_sums.py   running sums of noisy numbers
"""

from .gaussian import Gaussian
from .geometric import Geometric
from .laplace import Laplace
from .prefix_sums import PrefixSums

__all__ = ["Gaussian", "Geometric", "Laplace", "PrefixSums"]
