"""Noise on whole numbers and on grids, without floating-point trouble.

discrete_gaussian.py   Gaussian noise on whole numbers
exact_samplers.py      samplers of discrete noise in whole numbers and fractions alone: the reference
geometric.py           two-sided geometric (discrete Laplace) noise on whole numbers
grid.py                geometric noise on a grid of real numbers
"""

from .discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from .geometric import Geometric as Geometric
from .grid import GridLaplace as GridLaplace
