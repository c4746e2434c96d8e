"""Mechanisms that add noise to numbers.

additive.py      what every mechanism that adds independent noise to numbers shares
calibration.py   how much Gaussian noise a wanted (epsilon, delta) takes
gaussian.py      Gaussian noise on a number or a vector of numbers
geometric.py     two-sided geometric noise on whole numbers: Laplace noise without floating-point trouble
laplace.py       Laplace noise on a number or a vector of numbers
snapping.py      Laplace noise that is rounded so coarsely that floats give nothing away
uniforms.py      uniform numbers with every bit that a float has room for
"""

from .gaussian import Gaussian
from .geometric import Geometric
from .laplace import Laplace
from .snapping import Snapping

__all__ = ["Gaussian", "Geometric", "Laplace", "Snapping"]
