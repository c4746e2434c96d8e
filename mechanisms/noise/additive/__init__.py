"""Mechanisms that add noise to numbers.

additive.py      what every mechanism that adds independent noise to numbers shares
calibration.py   how much noise a wanted (epsilon, delta) takes
counters.py      Gaussian noise on several counters, each with a sensitivity of its own
gaussian.py      Gaussian noise on a number or a vector of numbers
laplace.py       Laplace noise on a number or a vector of numbers
prefix_sums.py   running sums of noisy numbers
snapping.py      Laplace noise that is rounded so coarsely that floats give nothing away
staircase.py     the least noise that epsilon allows
uniforms.py      uniform numbers with every bit that a float has room for
"""

from ..discrete.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from ..discrete.geometric import Geometric as Geometric
from ..discrete.grid import GridLaplace as GridLaplace
from .gaussian import Gaussian as Gaussian
from .laplace import Laplace as Laplace, PrefixSums as PrefixSums
from .snapping import Snapping as Snapping
from .staircase import Staircase as Staircase
