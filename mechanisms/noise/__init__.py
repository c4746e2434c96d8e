"""Mechanisms that add noise to numbers.

additive.py            what every mechanism that adds independent noise to numbers shares
calibration.py         how much noise a wanted (epsilon, delta) takes
counters.py            Gaussian noise on several counters, each with a sensitivity of its own
discrete_gaussian.py   Gaussian noise on whole numbers, without floating-point trouble
exact_samplers.py      samplers of discrete noise in whole numbers and fractions alone: the reference
gaussian.py            Gaussian noise on a number or a vector of numbers
geometric.py           two-sided geometric (discrete Laplace) noise on whole numbers, without floating-point trouble
grid.py                geometric noise on a grid of real numbers
laplace.py             Laplace noise on a number or a vector of numbers
snapping.py            Laplace noise that is rounded so coarsely that floats give nothing away
staircase.py           the least noise that epsilon allows
uniforms.py            uniform numbers with every bit that a float has room for
"""

from .discrete_gaussian import DiscreteGaussian
from .gaussian import Gaussian
from .geometric import Geometric
from .grid import GridLaplace
from .laplace import Laplace
from .snapping import Snapping
from .staircase import Staircase

__all__ = ["DiscreteGaussian", "Gaussian", "Geometric", "GridLaplace", "Laplace", "Snapping", "Staircase"]
